// Local rules of the peephole pass. Each function returns what the instruction can be replaced by, if anything.
#pragma once

#include "ir/passes/rewriter.h"

namespace wavejit::ir::passes {

Replacement simplify_arithmetic(Rewriter& r, Inst* inst);  // integer arithmetic, shifts, fields, compares
Replacement simplify_bitwise(Rewriter& r, Inst* inst);     // and, or, xor, andn, not; on integers, masks and booleans
Replacement simplify_select(Rewriter& r, Inst* inst);
Replacement simplify_convert(Rewriter& r, Inst* inst);       // halves and pairs, splats, masks as numbers, lanes
Replacement simplify_lane_compare(Rewriter& r, Inst* inst);  // icmp of lane numbers and work-item ids
Replacement simplify_low_bits(Rewriter& r, Inst* inst);      // and

// For rules of every file.
[[nodiscard]] ICmp inverse(ICmp predicate);
[[nodiscard]] ICmp swapped(ICmp predicate);  // of the same operands the other way round
[[nodiscard]] inline bool is_all_ones(const Inst* inst) {
  const unsigned bits = inst->type.is_mask() ? 64 : inst->type.bits();
  return inst->is_const() && inst->imm == (bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
}
[[nodiscard]] inline bool is_zero(const Inst* inst) {
  return inst->is_const(0);
}
[[nodiscard]] inline bool single_use(const Inst* inst) {
  return inst->users.size() == 1;
}

}  // namespace wavejit::ir::passes
