#include "frontend/interp/atomics.h"

#include <immintrin.h>

#include <bit>

namespace wavejit::interp {

namespace {

// The sum of two 16-bit numbers, or the first NaN, quieted. `infinity` and `quiet` are of the format.
template <typename Sum>
uint32_t half_sum(uint32_t a, uint32_t b, uint32_t infinity, uint32_t quiet, Sum&& sum) {
  if ((a & 0x7fff) > infinity) return a | quiet;
  if ((b & 0x7fff) > infinity) return b | quiet;
  return sum(a, b);
}
template <typename Sum>
uint32_t both_sums(uint32_t a, uint32_t b, uint32_t infinity, uint32_t quiet, Sum&& sum) {
  return half_sum(a & 0xffff, b & 0xffff, infinity, quiet, sum) | half_sum(a >> 16, b >> 16, infinity, quiet, sum)
                                                                      << 16;
}

}  // namespace

// Sums in f32 are exact enough for one correct rounding to 16 bits (24 >= 2 * 11 + 2).
uint32_t packed_add_f16(uint32_t a, uint32_t b) {
  return both_sums(a, b, 0x7c00, 0x200, [](uint32_t x, uint32_t y) {
    const float sum = _cvtsh_ss(static_cast<uint16_t>(x)) + _cvtsh_ss(static_cast<uint16_t>(y));
    return uint32_t{_cvtss_sh(sum, _MM_FROUND_TO_NEAREST_INT)};
  });
}

uint32_t packed_add_bf16(uint32_t a, uint32_t b) {
  return both_sums(a, b, 0x7f80, 0x40, [](uint32_t x, uint32_t y) -> uint32_t {
    const auto sum = std::bit_cast<uint32_t>(std::bit_cast<float>(x << 16) + std::bit_cast<float>(y << 16));
    const uint32_t kept = sum >> 16, rest = sum & 0xffff;
    return kept + (rest > 0x8000 || (rest == 0x8000 && (kept & 1) != 0) ? 1 : 0);
  });
}

}  // namespace wavejit::interp
