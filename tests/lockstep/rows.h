// What one work-group of 64 lanes reads and writes, for host references of lockstep kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "lockstep_case.h"

namespace wavejit::test {

using Row = std::array<uint32_t, kLanes>;

// data[global index] of the group's lanes.
inline Row inputs(const Memory& data, unsigned group) {
  Row row;
  std::copy_n(data.begin() + group * kLanes, kLanes, row.begin());
  return row;
}

// As the macro `out` stores it.
inline void output(Memory& data, unsigned group, unsigned slot, const Row& row) {
  std::copy(row.begin(), row.end(), data.begin() + 1024 + slot * 256 + group * kLanes);
}
inline void output(Memory& data, unsigned group, unsigned slot, uint32_t value) {
  Row row;
  row.fill(value);
  output(data, group, slot, row);
}

inline bool bit(uint64_t mask, unsigned lane) {
  return mask >> lane & 1;
}

inline constexpr const char* kLoadOwn =  // v5 = data[v1], v4 = 4 * v1
    "  v_lshlrev_b32_e32 v4, 2, v1\n  get_at 5, 4\n";

}  // namespace wavejit::test
