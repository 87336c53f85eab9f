// Masks of bits.
#pragma once

#include <bit>
#include <cstdint>

namespace wavejit::ir {

[[nodiscard]] constexpr uint64_t low_bits(uint64_t count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}
/// All bits up to the highest one of `bound`.
[[nodiscard]] constexpr uint64_t bits_up_to(uint64_t bound) {
  return bound == 0 ? 0 : ~uint64_t{0} >> std::countl_zero(bound);
}

}  // namespace wavejit::ir
