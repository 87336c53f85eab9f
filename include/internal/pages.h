// Pages of x86-64, which the segments of AMDGPU's ELF files share.
#pragma once

#include <cstdint>

namespace wavejit {

inline constexpr uint64_t kPage = 4096;  // bytes

/// The least multiple of `to` (not 0) that is not less than `value`.
[[nodiscard]] constexpr uint64_t round_up(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}
[[nodiscard]] constexpr uint64_t page_floor(uint64_t address) {
  return address & ~(kPage - 1);
}
[[nodiscard]] constexpr uint64_t page_ceil(uint64_t address) {
  return page_floor(address + kPage - 1);
}

}  // namespace wavejit
