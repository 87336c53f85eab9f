// Addresses as x86-64 has them.
#pragma once

#include <cstdint>

namespace wavejit {

// Returns true if bits 63:47 are alike. An access to any other address raises a general-protection fault, which does not
// say the address.
constexpr bool is_canonical(uint64_t address) {
  return static_cast<int64_t>(address << 16) >> 16 == static_cast<int64_t>(address);
}

}  // namespace wavejit
