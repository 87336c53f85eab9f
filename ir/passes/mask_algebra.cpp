// Lane masks: what EXEC and VCC logic amounts to once it is known which masks contain which.
#include "ir/analysis/mask_facts.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace wavejit::ir::passes {
namespace {

Replacement simplify_or(Rewriter& r, MaskFacts& facts, Inst* a, Inst* b) {
  if (facts.implies(a, b)) return {Rule::or_of_contained, b};
  if (facts.implies(b, a)) return {Rule::or_of_contained, a};
  const std::vector<Inst*> terms = facts.normalised_union({a, b});
  if (terms.size() == 1) return {Rule::union_of_terms, terms[0]};  // an operand's operand: available here
  Inst* whole = terms.size() == 2 ? facts.union_of_phis(terms[0], terms[1]) : nullptr;
  return {Rule::union_of_phis, whole != nullptr && whole->is_const() ? r.constant(kMask, whole->imm) : whole};
}

Replacement simplify_mask(Rewriter& r, MaskFacts& facts, Inst* inst) {
  if (inst->operands.size() != 2) return nullptr;
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  switch (inst->op) {
    case Op::and_:
      if (facts.implies(a, b)) return {Rule::and_of_contained, a};
      if (facts.implies(b, a)) return {Rule::and_of_contained, b};
      return {Rule::and_of_disjoint, facts.disjoint(a, b) ? r.constant(kMask, 0) : nullptr};
    case Op::or_:
      return simplify_or(r, facts, a, b);
    case Op::andn:
      if (facts.disjoint(a, b)) return {Rule::andn_of_disjoint, a};
      return {Rule::andn_of_contained, facts.implies(a, b) ? r.constant(kMask, 0) : nullptr};
    case Op::xor_:
      if (facts.implies(b, a)) return {Rule::xor_of_contained, r.make(Op::andn, {a, b})};
      if (facts.implies(a, b)) return {Rule::xor_of_contained, r.make(Op::andn, {b, a})};
      return {Rule::xor_of_disjoint, facts.disjoint(a, b) ? r.make(Op::or_, {a, b}) : nullptr};
    default:
      return nullptr;
  }
}

// Merges of merges: lanes the outer merge takes from elsewhere need not be right in the inner one.
Replacement simplify_merge(Rewriter& r, MaskFacts& facts, Inst* inst) {
  Inst* mask = inst->operands[0];
  Inst* a = inst->operands[1];
  Inst* b = inst->operands[2];
  const auto merges = [](const Inst* value) { return value->op == Op::select && value->operands[0]->type == kMask; };
  if (merges(a)) {
    if (facts.implies(mask, a->operands[0]))
      return {Rule::merge_in_merge, r.make(Op::select, {mask, a->operands[1], b})};
    if (facts.disjoint(mask, a->operands[0]))
      return {Rule::merge_beside_merge, r.make(Op::select, {mask, a->operands[2], b})};
  }
  if (merges(b) && facts.implies(b->operands[0], mask))
    return {Rule::merge_over_merge, r.make(Op::select, {mask, a, b->operands[2]})};
  return nullptr;
}

}  // namespace

PassResult mask_algebra(Function& function, const PassContext&) {
  constexpr int kMaxRounds = 4;
  PassResult result{.changed = drop_unreachable(function)};
  const Dominators dominators(function);
  for (int round = 0; round < kMaxRounds && !result.settled; ++round) {
    MaskFacts facts(dominators);
    Rewriter rewriter(function);
    const PassResult once = rewriter.repeat(1, [&](Inst* inst) -> Replacement {
      if (inst->op == Op::select && inst->operands[0]->type == kMask) return simplify_merge(rewriter, facts, inst);
      if (inst->type != kMask) return nullptr;
      return simplify_mask(rewriter, facts, inst);
    });
    result.changed |= once.changed;
    result.settled = once.settled;
  }
  return result;
}

}  // namespace wavejit::ir::passes
