// Samples of plane images, a wave at a time: what image::Sample of internal/semantics/image_access.h does for one lane,
// for images that most programs have. The results are the same bit by bit (tests/backend/plane_samples_test.cpp).
#pragma once

#include <cstdint>
#include <optional>

#include "backend-x86/helpers/texel_rows.h"
#include "internal/semantics/image_access.h"

namespace wavejit::backend {

class PlaneSamples {
 public:
  // Nothing unless the image has two dimensions, one level and less than 4 GiB; its components are numbers with a
  // fraction or are not filtered; the filter does not depend on the level of detail; and the instruction compares
  // nothing, adds no offset and has addresses of 32 bits. The image and the sampler have no `problem`.
  [[nodiscard]] static std::optional<PlaneSamples> of(const image::Image& image, const image::Sampler& sampler,
                                                      const image::Fields& fields);

  // The samples of `lanes` as components, and which lanes have got them: others read a texel outside of the image.
  // `needed`: components, as in TexelRows. Reads memory, which may fault: before, `accessing` gets the bits of the
  // lane, which is the lowest, and of others. Needs AVX2.
  uint64_t sample(const float* x, const float* y, uint64_t lanes, unsigned needed, uint64_t& accessing,
                  Rows& rows) const;

 private:
  enum class Sum : uint8_t { one_float, four_floats, four_halves, bytes, others };
  static constexpr int32_t kLinearBias = -128;
  // One axis. A position is position * scale, rounded down, or to nearest unless `truncate`, plus `bias`, in 1/256 of a
  // texel, and between `low` and `high` of such.
  struct Scaling {
    float scale;
    bool truncate;
    int32_t bias;
    double low, high;
    uint32_t near;  // bits of a position: up to it none is beyond 2^22 of these, or 2^14 texels
    uint32_t size, mode;
  };
  // What is known of positions: nothing, that they are clamped to the edge, or that they are besides up to
  // Scaling::near.
  enum class Way : uint8_t { general, to_edge, near };
  // A texel, not clamped, and the weight of the next one, in 1/256.
  struct Fixed;
  // The corners of each lane's footprint, as offsets from the first texel: upper left, upper right, lower left, lower
  // right; the weights of the right and the lower ones, in 1/256. Instead of one without weight there is the one next
  // to it.
  struct Places {
    alignas(32) uint32_t corner[4][kWaveSize];
    alignas(32) int32_t weight_right[kWaveSize], weight_lower[kWaveSize];
    uint64_t adjacent = 0;  // lanes whose right corners are next to the left ones
  };
  // Texels of up to four bytes: the left and the right one of the upper row, then those of the lower row.
  struct Pair {
    uint32_t left, right;
  };
  using Pairs = Pair[2][kWaveSize];

  PlaneSamples(const TexelPlane& plane, const TexelRows& texels) : plane_(plane), texels_(texels) {}
  template <bool kLinear, bool kToEdge, bool kNear>
  struct Axis;
  [[gnu::noinline]] static Fixed far_fixed_point(const float* positions, const Scaling& s);
  [[nodiscard]] Way way_of(const float* x, const float* y) const;
  template <Way kWay>
  uint64_t places(const float* x, const float* y, uint64_t lanes, Places& places) const;
  // Offsets of texels that are not filtered, and the lanes that have one in the image; others' offsets are any.
  template <Way kWay>
  uint64_t nearest(const float* x, const float* y, uint64_t lanes, uint32_t* out) const;
  uint64_t sums(const float* x, const float* y, uint64_t lanes, unsigned needed, uint64_t& accessing, Rows& rows) const;
  template <Sum kSum>
  void sum_four(const Places& places, uint64_t lanes, uint64_t& accessing, unsigned needed, Rows& rows) const;
  template <typename T>
  void fetch_pairs(const Places& places, uint64_t lanes, uint64_t& accessing, Pairs& pairs) const;
  template <typename T, typename Stored>
  void fetch(const Places& places, uint64_t lanes, uint64_t& accessing, Stored (*corners)[kWaveSize]) const;
  void sum_one(const Places& places, uint64_t lanes, uint64_t& accessing, Rows& rows) const;
  void sum_bytes(const Places& places, uint64_t lanes, uint64_t& accessing, unsigned needed, Rows& rows) const;
  template <typename T, typename Stored>
  void sum_others(const Places& places, uint64_t lanes, uint64_t& accessing, unsigned needed, Rows& rows) const;

  TexelPlane plane_;
  TexelRows texels_;
  Scaling scaling_[2] = {};
  bool linear_ = false;
  bool to_edge_ = false;  // both axes are clamped to the edge
  Sum sum_ = Sum::others;
};

}  // namespace wavejit::backend
