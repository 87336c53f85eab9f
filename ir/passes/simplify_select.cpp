#include "ir/passes/simplify.h"

namespace wavejit::ir::passes {

Replacement simplify_select(Rewriter& r, Inst* inst) {
  if (inst->op != Op::select) return nullptr;
  Inst* condition = inst->operands[0];
  Inst* a = inst->operands[1];
  Inst* b = inst->operands[2];
  if (condition->op == Op::not_) return {Rule::select_by_not, r.make(Op::select, {condition->operands[0], b, a})};
  if (condition->op == Op::splat_mask)
    return {Rule::select_by_splat, r.make(Op::select, {condition->operands[0], a, b})};
  if (a->op == Op::select && a->operands[0] == condition)
    return {Rule::select_in_first, r.make(Op::select, {condition, a->operands[1], b})};
  if (b->op == Op::select && b->operands[0] == condition)
    return {Rule::select_in_second, r.make(Op::select, {condition, a, b->operands[2]})};
  if (inst->type == kI1) {
    if (a->is_const(1)) return {Rule::select_of_booleans, r.make(Op::or_, {condition, b})};
    if (b->is_const(0)) return {Rule::select_of_booleans, r.make(Op::and_, {condition, a})};
    if (a->is_const(0)) return {Rule::select_of_booleans, r.make(Op::andn, {b, condition})};
    if (b->is_const(1)) return {Rule::select_of_booleans, r.make(Op::or_, {r.make(Op::not_, {condition}), a})};
  }
  if (inst->type == kI32 && a->is_const(1) && b->is_const(0))
    return {Rule::select_to_number, r.make(Op::zext_i1, {condition})};
  if (inst->type == kI32 && a->is_const(0) && b->is_const(1))
    return {Rule::select_to_number, r.make(Op::zext_i1, {r.make(Op::not_, {condition})})};
  if (inst->type == kMask && is_all_ones(a) && b->is_const(0))
    return {Rule::select_to_mask, r.make(Op::splat_mask, {condition})};
  // A merge of two splats under a scalar condition is a splat of the merge.
  if (condition->type == kI1 && a->op == b->op && (a->op == Op::splat || a->op == Op::splat64)) {
    return {Rule::select_of_splats, r.make(a->op, {r.make(Op::select, {condition, a->operands[0], b->operands[0]})})};
  }
  return nullptr;
}

}  // namespace wavejit::ir::passes
