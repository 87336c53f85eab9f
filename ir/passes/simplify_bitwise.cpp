// Bitwise algebra: integers, lane masks and booleans follow the same laws.
#include "ir/passes/simplify.h"

namespace wavejit::ir::passes {
namespace {

bool has_operand(const Inst* inst, const Inst* value) {
  return inst->operands[0] == value || inst->operands[1] == value;
}
Inst* other_operand(const Inst* inst, const Inst* value) {
  return inst->operands[0] == value ? inst->operands[1] : inst->operands[0];
}
bool complements(const Inst* a, const Inst* b) {
  return (a->op == Op::not_ && a->operands[0] == b) || (b->op == Op::not_ && b->operands[0] == a);
}
Inst* all_ones(Rewriter& r, Type type) {
  return r.constant(type, ~uint64_t{0});
}

// (x op c1) op c2 -> x op (c1 op c2), for the associative operations.
Replacement merge_constants(Rewriter& r, Inst* inst) {
  Inst* inner = inst->operands[0];
  if (!inst->operands[1]->is_const() || inner->op != inst->op || !inner->operands[1]->is_const()) return nullptr;
  return {Rule::bitwise_constants,
          r.make(inst->op, {inner->operands[0], r.make(inst->op, {inner->operands[1], inst->operands[1]})})};
}

Replacement simplify_and(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  if (complements(a, b)) return {Rule::and_of_complements, r.constant(inst->type, 0)};
  for (auto [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
    if (x->op == Op::not_) return {Rule::and_of_not, r.make(Op::andn, {y, x->operands[0]})};
    if (x->op == Op::andn && x->operands[1] == y)
      return {Rule::and_of_andn, r.constant(inst->type, 0)};  // (p & ~y) & y
    if (x->op == Op::xor_ && has_operand(x, y))
      return {Rule::and_of_xor, r.make(Op::andn, {y, other_operand(x, y)})};  // (y ^ p) & y
    // (y & p) & (y & q): y once is enough.
    if (x->op == Op::and_ && y->op == Op::and_ && single_use(y)) {
      for (Inst* common : {x->operands[0], x->operands[1]}) {
        if (has_operand(y, common)) return {Rule::and_of_ands, r.make(Op::and_, {x, other_operand(y, common)})};
      }
    }
  }
  return merge_constants(r, inst);
}

Replacement simplify_or(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  if (complements(a, b)) return {Rule::or_of_complements, all_ones(r, inst->type)};
  for (auto [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
    if (x->op == Op::andn && x->operands[1] == y)
      return {Rule::or_of_andn, r.make(Op::or_, {x->operands[0], y})};  // (p & ~y) | y
    if (x->op == Op::xor_ && has_operand(x, y)) return {Rule::or_of_xor, r.make(Op::or_, {y, other_operand(x, y)})};
    // (p & q) | ~q
    if (x->op == Op::and_ && y->op == Op::not_ && has_operand(x, y->operands[0])) {
      return {Rule::or_of_and, r.make(Op::or_, {other_operand(x, y->operands[0]), y})};
    }
    // (p & ~q) | (p & q) with the two spelled differently was folded; (p & ~q) | (q & ~p) stays an xor's form.
    if (x->op == Op::andn && y->op == Op::andn && x->operands[0] == y->operands[1] &&
        x->operands[1] == y->operands[0]) {
      return {Rule::or_of_andns, r.make(Op::xor_, {x->operands[0], x->operands[1]})};
    }
  }
  return merge_constants(r, inst);
}

Replacement simplify_xor(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  if (a == b) return {Rule::xor_of_equals, r.constant(inst->type, 0)};
  if (complements(a, b)) return {Rule::xor_of_complements, all_ones(r, inst->type)};
  if (is_all_ones(b)) return {Rule::xor_of_ones, r.make(Op::not_, {a})};
  for (auto [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
    if (x->op == Op::and_ && has_operand(x, y)) return {Rule::xor_of_and, r.make(Op::andn, {y, other_operand(x, y)})};
    if (x->op == Op::or_ && has_operand(x, y)) return {Rule::xor_of_or, r.make(Op::andn, {other_operand(x, y), y})};
    if (x->op == Op::andn && x->operands[0] == y)
      return {Rule::xor_of_andn_kept, r.make(Op::and_, {y, x->operands[1]})};
    if (x->op == Op::andn && x->operands[1] == y)
      return {Rule::xor_of_andn_cleared, r.make(Op::or_, {x->operands[0], y})};
    if (x->op == Op::not_ && single_use(x))
      return {Rule::xor_of_not, r.make(Op::not_, {r.make(Op::xor_, {x->operands[0], y})})};
  }
  return merge_constants(r, inst);
}

Replacement simplify_andn(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  if (a == b || is_all_ones(b)) return {Rule::andn_of_equals, r.constant(inst->type, 0)};
  if (is_all_ones(a)) return {Rule::andn_from_ones, r.make(Op::not_, {b})};
  if (b->is_const()) return {Rule::andn_of_constant, r.make(Op::and_, {a, r.constant(inst->type, ~b->imm)})};
  if (b->op == Op::not_) return {Rule::andn_of_not, r.make(Op::and_, {a, b->operands[0]})};
  if (b->op == Op::and_ && has_operand(b, a))
    return {Rule::andn_of_and, r.make(Op::andn, {a, other_operand(b, a)})};  // a & ~(a & p)
  if (b->op == Op::andn && b->operands[0] == a)
    return {Rule::andn_of_andn, r.make(Op::and_, {a, b->operands[1]})};  // a & ~(a & ~p)
  if (b->op == Op::or_ && has_operand(b, a)) return {Rule::andn_of_or, r.constant(inst->type, 0)};
  if (b->op == Op::xor_ && has_operand(b, a))
    return {Rule::andn_of_xor, r.make(Op::and_, {a, other_operand(b, a)})};  // a & ~(a ^ p)
  if (a->op == Op::or_ && has_operand(a, b))
    return {Rule::andn_from_or, r.make(Op::andn, {other_operand(a, b), b})};  // (b | p) & ~b
  if (a->op == Op::xor_ && has_operand(a, b)) return {Rule::andn_from_xor, r.make(Op::andn, {other_operand(a, b), b})};
  if (a->op == Op::and_ && has_operand(a, b)) return {Rule::andn_from_and, r.constant(inst->type, 0)};
  if (a->op == Op::andn && a->operands[0] == b) return {Rule::andn_from_andn, r.constant(inst->type, 0)};
  return nullptr;
}

Replacement simplify_not(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  if (!single_use(a)) return nullptr;
  switch (a->op) {
    case Op::icmp:
      return {Rule::not_of_compare, r.make(Op::icmp, {a->operands[0], a->operands[1]},
                                           static_cast<uint32_t>(inverse(static_cast<ICmp>(a->attr))))};
    case Op::fcmp_f16:
    case Op::fcmp_f32:
    case Op::fcmp_f64:
      // The 16 predicates are ordered so that p and 15 - p are complements, NaN included.
      return {Rule::not_of_fcmp, r.make(a->op, {a->operands[0], a->operands[1]}, a->attr ^ (15u << fpenv::kFCmpShift))};
    default:
      return nullptr;
  }
}

}  // namespace

ICmp inverse(ICmp predicate) {
  switch (predicate) {
    case ICmp::eq:
      return ICmp::ne;
    case ICmp::ne:
      return ICmp::eq;
    case ICmp::ult:
      return ICmp::uge;
    case ICmp::ule:
      return ICmp::ugt;
    case ICmp::ugt:
      return ICmp::ule;
    case ICmp::uge:
      return ICmp::ult;
    case ICmp::slt:
      return ICmp::sge;
    case ICmp::sle:
      return ICmp::sgt;
    case ICmp::sgt:
      return ICmp::sle;
    case ICmp::sge:
      return ICmp::slt;
  }
  return predicate;
}

ICmp swapped(ICmp predicate) {
  switch (predicate) {
    case ICmp::ult:
      return ICmp::ugt;
    case ICmp::ule:
      return ICmp::uge;
    case ICmp::ugt:
      return ICmp::ult;
    case ICmp::uge:
      return ICmp::ule;
    case ICmp::slt:
      return ICmp::sgt;
    case ICmp::sle:
      return ICmp::sge;
    case ICmp::sgt:
      return ICmp::slt;
    case ICmp::sge:
      return ICmp::sle;
    default:
      return predicate;
  }
}

Replacement simplify_bitwise(Rewriter& r, Inst* inst) {
  switch (inst->op) {
    case Op::and_:
      if (const Replacement simpler = simplify_and(r, inst)) return simpler;
      return simplify_low_bits(r, inst);
    case Op::or_:
      return simplify_or(r, inst);
    case Op::xor_:
      return simplify_xor(r, inst);
    case Op::andn:
      return simplify_andn(r, inst);
    case Op::not_:
      return simplify_not(r, inst);
    default:
      return nullptr;
  }
}

}  // namespace wavejit::ir::passes
