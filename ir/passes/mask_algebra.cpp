// Lane masks: what EXEC and VCC logic amounts to once it is known which masks contain which.
#include "ir/analysis/mask_facts.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace wavejit::ir::passes {
namespace {

Inst* simplify_or(Rewriter& r, MaskFacts& facts, Inst* a, Inst* b) {
  if (facts.implies(a, b)) return b;
  if (facts.implies(b, a)) return a;
  const std::vector<Inst*> terms = facts.normalised_union({a, b});
  if (terms.size() == 1) return terms[0];  // an operand's operand: available here
  Inst* whole = terms.size() == 2 ? facts.union_of_phis(terms[0], terms[1]) : nullptr;
  return whole != nullptr && whole->is_const() ? r.constant(kMask, whole->imm) : whole;
}

Inst* simplify_mask(Rewriter& r, MaskFacts& facts, Inst* inst) {
  if (inst->operands.size() != 2) return nullptr;
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  switch (inst->op) {
    case Op::and_:
      if (facts.implies(a, b)) return a;
      if (facts.implies(b, a)) return b;
      return facts.disjoint(a, b) ? r.constant(kMask, 0) : nullptr;
    case Op::or_:
      return simplify_or(r, facts, a, b);
    case Op::andn:
      if (facts.disjoint(a, b)) return a;
      return facts.implies(a, b) ? r.constant(kMask, 0) : nullptr;
    case Op::xor_:
      if (facts.implies(b, a)) return r.make(Op::andn, {a, b});
      if (facts.implies(a, b)) return r.make(Op::andn, {b, a});
      return facts.disjoint(a, b) ? r.make(Op::or_, {a, b}) : nullptr;
    default:
      return nullptr;
  }
}

// Merges of merges: lanes the outer merge takes from elsewhere need not be right in the inner one.
Inst* simplify_merge(Rewriter& r, MaskFacts& facts, Inst* inst) {
  Inst* mask = inst->operands[0];
  Inst* a = inst->operands[1];
  Inst* b = inst->operands[2];
  const auto merges = [](const Inst* value) { return value->op == Op::select && value->operands[0]->type == kMask; };
  if (merges(a)) {
    if (facts.implies(mask, a->operands[0])) return r.make(Op::select, {mask, a->operands[1], b});
    if (facts.disjoint(mask, a->operands[0])) return r.make(Op::select, {mask, a->operands[2], b});
  }
  if (merges(b) && facts.implies(b->operands[0], mask)) return r.make(Op::select, {mask, a, b->operands[2]});
  return nullptr;
}

}  // namespace

PassResult mask_algebra(Function& function, const PassContext&) {
  constexpr int kMaxRounds = 4;
  function.remove_unreachable();
  const Dominators dominators(function);
  bool changed = false;
  for (int round = 0; round < kMaxRounds; ++round) {
    MaskFacts facts(dominators);
    Rewriter rewriter(function);
    const bool again = rewriter.run([&](Inst* inst) -> Inst* {
      if (inst->op == Op::select && inst->operands[0]->type == kMask) return simplify_merge(rewriter, facts, inst);
      return inst->type == kMask ? simplify_mask(rewriter, facts, inst) : nullptr;
    });
    if (!again) break;
    function.sweep();
    changed = true;
  }
  return {.changed = changed};
}

}  // namespace wavejit::ir::passes
