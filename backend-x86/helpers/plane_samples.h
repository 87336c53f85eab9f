// Samples of plane images, four lanes at a time: what image::Sample of internal/semantics/image_access.h does for one lane,
// for images that most programs have. The results are the same bit by bit (tests/backend/plane_samples_test.cpp).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "internal/semantics/image_access.h"

namespace wavejit::backend {

class PlaneSamples {
 public:
  // Nothing unless the image has two dimensions, one level, and components that are numbers with a fraction; the filter does
  // not depend on the level of detail; and the instruction compares nothing, adds no offset and has addresses of 32 bits.
  // `image` outlives the object. The image and the sampler have no `problem`.
  [[nodiscard]] static std::optional<PlaneSamples> of(const image::Image& image, const image::Sampler& sampler,
                                                      const image::Fields& fields);

  // Where the texels of four lanes are, and their weights. Only lanes of `active` (bit i: lane i) mean anything.
  struct Places {
    alignas(32) std::array<std::array<int32_t, 4>, 2> x, y;  // first and second; -1: the border
    alignas(32) std::array<double, 4> weight_x, weight_y;    // of the second
  };
  // `x`, `y`: coordinates of four lanes. Needs AVX2.
  [[nodiscard]] Places places(const float* x, const float* y) const;
  // Their components as register contents, result[component][lane]. Returns the lanes of `active` that are done: the others read
  // a texel outside of the image. Reads memory, which may fault: `accessing` gets the bit of the lane before, of lanes that
  // begin with `first_lane`. Needs AVX2.
  unsigned sample(const Places& places, unsigned active, uint64_t& accessing, unsigned first_lane,
                  uint32_t (&result)[4][4]) const;

 private:
  enum class Texels : uint8_t { floats, bytes, others };
  // Addresses of the four corners of one lane, and which of them count.
  struct Corners {
    uint64_t address[4];
    bool counts[4];
  };

  PlaneSamples() = default;
  [[nodiscard]] Corners corners(const Places& places, unsigned lane) const;
  void read(uint64_t address, double out[4]) const;

  const image::Image* image_ = nullptr;
  uint64_t first_row_ = 0;  // address
  uint64_t row_bytes_ = 0;
  uint32_t width_ = 1, height_ = 1;
  uint32_t clamp_[2] = {};
  bool linear_ = false, truncate_ = false, normalized_ = true;
  Texels texels_ = Texels::others;
  unsigned components_ = 4;  // that the format has
  // Where a component of the result comes from: the texel's, or a constant.
  struct Source {
    unsigned component;
    bool is_constant;
    uint32_t constant;
  };
  std::array<Source, 4> sources_{};
};

}  // namespace wavejit::backend
