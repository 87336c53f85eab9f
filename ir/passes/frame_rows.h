// Rows of the frame (set_lanes, get_lane, ...) that passes take into use.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ir/function.h"

namespace wavejit::ir::passes {

// The number of the first row that the function does not use, with room for elements of 64 bits.
[[nodiscard]] inline uint64_t free_frame_row(const Function& function) {
  uint64_t most = 0;
  for (const auto& block : function.blocks)
    for (const Inst* inst : block->insts) {
      if (inst->op == Op::set_lanes || inst->op == Op::set_lane) most = std::max(most, inst->imm / 2 + 1);
      if (inst->op == Op::begin_streams) most = std::max(most, inst->imm / 2 + 3);
    }
  return 2 * most;
}

}  // namespace wavejit::ir::passes
