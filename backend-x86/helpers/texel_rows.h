// Texels as registers have them, eight lanes at a time: what format::read_element and format::write_element of
// internal/semantics/data_format.h do for one element. The results are the same bit by bit
// (tests/backend/texel_rows_test.cpp).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "internal/semantics/data_format.h"
#include "internal/semantics/image_access.h"
#include "internal/wave_state.h"

// Functions with vector code. Inline functions of headers are not compiled for AVX2.
#define WAVEJIT_AVX2 __attribute__((target("avx2,fma,f16c")))

namespace wavejit::backend {

// The compiler keeps the order of accesses to memory around this: the first lane that faults is the one that is
// reported.
inline void keep_order() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

using Rows = uint32_t[4][kWaveSize];  // by component and lane

class TexelRows {
 public:
  static constexpr unsigned kGroup = 8;     // lanes
  static constexpr unsigned kLargest = 16;  // bytes of a texel
  using Raw = uint8_t[kGroup * kLargest];   // texels `stride()` bytes apart
  // What components are. `dwords`: of 32 bits, as they are; `by_lane`: what only internal/semantics knows.
  enum class Kind : uint8_t { dwords, plain, with_sign, unorm, snorm, uscaled, sscaled, half, by_lane };

  // The format is valid.
  TexelRows(const format::Layout& layout, format::Number number);

  // Texels of `lanes` at `addresses`: components whose bits are in `needed` (bit i: component i); rows of other lanes get
  // 0. The host's memory is read in the order of the lanes, so that the first one that faults is the first one that
  // would. Needs AVX2.
  void load(const uint64_t* addresses, uint64_t lanes, unsigned needed, Rows& rows) const;
  // The same of texels that are `offsets` bytes behind `base`, as samples: numbers other than integers are added to 0, so
  // that -0 becomes 0 and signalling NaNs become quiet. Before memory is read, which may fault, `accessing` gets the bits
  // of the lane, which is the lowest, and of others. Needs AVX2.
  void load(uint64_t base, const uint32_t* offsets, uint64_t lanes, unsigned needed, uint64_t& accessing,
            Rows& rows) const;
  // Components in registers to texels; null for one that is 0. Needs AVX2.
  void store(const uint64_t* addresses, uint64_t lanes, const uint32_t* const (&rows)[4]) const;

  // Bytes from texel to texel in `raw` of a group of lanes, and what convert() makes of them: a row of eight lanes for
  // each component of `needed`. Needs AVX2.
  [[nodiscard]] unsigned stride() const { return stride_; }
  void convert(const uint8_t* raw, unsigned needed, uint32_t (*rows)[kWaveSize]) const;

  [[nodiscard]] const format::Layout& layout() const { return layout_; }

 private:
  // A format that is not `by_lane`, as template arguments: code for it alone.
  template <Kind kKind, unsigned kStride>
  struct Form {
    static constexpr Kind kind = kKind;
    static constexpr unsigned stride = kStride;
  };

  template <typename F>
  void with_form(F&& function) const;
  template <bool kAsSums, typename Places>
  void load_from(const Places& places, uint64_t lanes, unsigned needed, Rows& rows) const;
  void put(const uint64_t* addresses, unsigned active, const uint8_t* texels) const;
  void store_by_lane(const uint64_t* addresses, uint64_t lanes, const uint32_t* const (&rows)[4]) const;

  format::Layout layout_;
  format::Number number_;
  Kind kind_;
  unsigned stride_;
};

// The texels of an image with two dimensions, of its first level and layer.
class TexelPlane {
 public:
  // Nothing if `image`, which has no `problem`, is none.
  [[nodiscard]] static std::optional<TexelPlane> of(const image::Image& image);

  // Addresses of `lanes`. Returns those with a texel in the image, of the others the address is 0. Needs AVX2.
  uint64_t addresses(const uint32_t* x, const uint32_t* y, uint64_t lanes, uint64_t* out) const;

  uint64_t first = 0;  // address
  uint32_t row_bytes = 0, texel_bytes = 0;
  uint32_t width = 1, height = 1;
};

// Where components of a result come from: the texel's, or a constant.
struct TexelSource {
  unsigned component = 0;
  bool is_constant = false;
  uint32_t constant = 0;
};
using TexelSources = std::array<TexelSource, 4>;
[[nodiscard]] TexelSources texel_sources(const image::Image& image);
// The components of texels that `sources` read, of those that `dmask` selects; one if there is none, as texels are read
// in any case, and may fault.
[[nodiscard]] unsigned needed_components(const TexelSources& sources, unsigned dmask);
// Writes the components that `dmask` selects one behind the other; 0 for lanes other than `lanes`. Needs AVX2.
void put_rows(const TexelSources& sources, unsigned dmask, const Rows& rows, uint64_t lanes,
              uint32_t (*out)[kWaveSize]);

}  // namespace wavejit::backend
