// Values that live in memory, in a row of a block: accumulators that a loop carries, or sums in straight code, on the
// stack; or sums in the wave state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "backend-x86/lower/host_code.h"
#include "ir/function.h"

namespace wavejit::backend {

struct Lowering;

struct RowHome {
  Mem block;
  unsigned row = 0;
  unsigned row_bytes = 0;
  bool halves = false;  // of 64-bit values: the lower halves of all lanes, then the upper ones
};

struct RowHomes {
  explicit RowHomes(size_t values) : in_state(values) {}

  std::map<const ir::Inst*, RowHome> all;  // by the value that lives there
  std::unordered_map<const ir::Inst*, uint64_t>
      resident_sums;  // by result: its row of the wave state, the first of two
  // By instruction id: reads and writes of the wave state, and what is between them and sums that live there. They have
  // no code.
  std::vector<bool> in_state;

  // The home of a value that has registers of its own; null if it has none.
  [[nodiscard]] const RowHome* of(const ir::Inst* representative) const {
    const auto it = all.find(representative);
    return it == all.end() ? nullptr : &it->second;
  }
};

// The frame has room for the rows from here on.
[[nodiscard]] RowHomes plan_row_homes(Lowering& ctx);

// Whether the value has registers that nothing else shares, in all chunks, so that it may get a home.
[[nodiscard]] bool has_own_registers(const Lowering& ctx, const RowHomes& homes, const ir::Inst* inst);

// Its parts: sums of matrix products in the wave state (resident_sums.cpp), those that a block only takes apart or a loop
// carries (matrix_homes.cpp), and the sums of long blocks (sum_homes.cpp).
void plan_resident_sums(Lowering& ctx, RowHomes& homes);
void plan_matrix_homes(Lowering& ctx, RowHomes& homes);
void plan_sum_homes(Lowering& ctx, RowHomes& homes);

}  // namespace wavejit::backend
