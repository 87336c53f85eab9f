// Identities whose result exists already.
#include "ir/fold.h"

#include "ir/signature.h"

namespace wavejit::ir {
namespace {

bool all_ones(const Inst* inst) {
  return inst->is_const(truncate_to(inst->type, ~uint64_t{0}));
}
bool zero(const Inst* inst) {
  return inst->is_const(0);
}
bool complements(const Inst* a, const Inst* b) {
  return (a->op == Op::not_ && a->operands[0] == b) || (b->op == Op::not_ && b->operands[0] == a);
}
bool has_operand(const Inst* inst, Op op, const Inst* value) {
  return inst->op == op && (inst->operands[0] == value || inst->operands[1] == value);
}
// Both operands, in any order; `a` and `b` may be the same value.
bool has_operands(const Inst* inst, Op op, const Inst* a, const Inst* b) {
  if (inst->op != op) return false;
  return (inst->operands[0] == a && inst->operands[1] == b) || (inst->operands[0] == b && inst->operands[1] == a);
}

Inst* fold_and(Inst* a, Inst* b) {
  if (a == b || all_ones(b) || zero(a)) return a;
  if (all_ones(a) || zero(b)) return b;
  for (auto [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
    if (has_operand(x, Op::and_, y)) return x;               // (y & z) & y
    if (has_operand(x, Op::or_, y)) return y;                // (y | z) & y
    if (x->op == Op::andn && x->operands[0] == y) return x;  // (y & ~z) & y
  }
  return nullptr;
}

Inst* fold_or(Inst* a, Inst* b) {
  if (a == b || zero(b) || all_ones(a)) return a;
  if (zero(a) || all_ones(b)) return b;
  for (auto [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
    if (has_operand(x, Op::or_, y)) return x;
    if (has_operand(x, Op::and_, y)) return y;
    if (x->op == Op::andn && x->operands[0] == y) return y;
    // (p & ~q) | (p & q) = p, and (p & ~q) | q = p when q is p & something.
    if (x->op != Op::andn) continue;
    Inst* p = x->operands[0];
    Inst* q = x->operands[1];
    if (has_operands(y, Op::and_, p, q)) return p;
    if (y == q && has_operand(q, Op::and_, p)) return p;
    if (y == q && q->op == Op::andn && q->operands[0] == p) return p;
  }
  return nullptr;
}

Inst* fold_xor(Inst* a, Inst* b) {
  if (zero(b)) return a;
  if (zero(a)) return b;
  for (auto [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
    if (x->op != Op::xor_) continue;
    if (x->operands[0] == y) return x->operands[1];
    if (x->operands[1] == y) return x->operands[0];
  }
  return nullptr;
}

Inst* fold_select(Inst* condition, Inst* a, Inst* b) {
  if (a == b) return a;
  if (condition->is_const()) {
    if (condition->imm == 0) return b;
    if (all_ones(condition)) return a;
  }
  return nullptr;
}

Inst* fold_phi(const Inst& phi) {
  Inst* only = nullptr;
  for (Inst* operand : phi.operands) {
    if (operand == &phi || operand == only) continue;
    if (only) return nullptr;
    only = operand;
  }
  return only;
}

}  // namespace

Inst* fold_to_existing(const Inst& inst) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const auto undo = [&](Op inverse) -> Inst* {
    return operand(0)->op == inverse && operand(0)->operands[0]->type == inst.type ? operand(0)->operands[0] : nullptr;
  };
  switch (inst.op) {
    case Op::add:
      if (zero(operand(1))) return operand(0);
      return zero(operand(0)) ? operand(1) : nullptr;
    case Op::sub:
    case Op::shl:
    case Op::lshr:
    case Op::ashr:
      return zero(operand(1)) ? operand(0) : nullptr;
    case Op::mul:
      if (operand(1)->is_const(1) || zero(operand(0))) return operand(0);
      return operand(0)->is_const(1) || zero(operand(1)) ? operand(1) : nullptr;
    case Op::and_:
      return fold_and(operand(0), operand(1));
    case Op::or_:
      return fold_or(operand(0), operand(1));
    case Op::xor_:
      return fold_xor(operand(0), operand(1));
    case Op::andn:
      if (zero(operand(1)) || zero(operand(0))) return operand(0);
      if (complements(operand(0), operand(1))) return operand(0);
      // (a & ~b) & ~b
      return operand(0)->op == Op::andn && operand(0)->operands[1] == operand(1) ? operand(0) : nullptr;
    case Op::not_:
      return undo(Op::not_);
    case Op::smin:
    case Op::smax:
    case Op::umin:
    case Op::umax:
      return operand(0) == operand(1) ? operand(0) : nullptr;
    case Op::bfi:
      if (all_ones(operand(0)) || operand(1) == operand(2)) return operand(1);
      return zero(operand(0)) ? operand(2) : nullptr;
    case Op::alignbit:
      return operand(2)->is_const() && operand(2)->imm % 32 == 0 ? operand(1) : nullptr;
    case Op::select:
      return fold_select(operand(0), operand(1), operand(2));
    case Op::pack64: {
      const Inst* lo = operand(0);
      const Inst* hi = operand(1);
      if (lo->op == Op::lo32 && hi->op == Op::hi32 && lo->operands[0] == hi->operands[0]) return lo->operands[0];
      return nullptr;
    }
    case Op::lo32:
      if (operand(0)->op == Op::zext64 || operand(0)->op == Op::sext64) return operand(0)->operands[0];
      return undo(Op::pack64);
    case Op::hi32:
      return operand(0)->op == Op::pack64 ? operand(0)->operands[1] : nullptr;
    case Op::i64_to_mask:
      return undo(Op::mask_to_i64);
    case Op::mask_to_i64:
      return undo(Op::i64_to_mask);
    case Op::extract:
      return operand(0)->op == Op::tuple ? operand(0)->operands[inst.imm] : nullptr;
    case Op::readlane:
    case Op::readfirstlane:
      return undo(Op::splat);
    case Op::mask_any:
    case Op::mask_all:
      return undo(Op::splat_mask);
    case Op::phi:
      return fold_phi(inst);
    default:
      return nullptr;
  }
}

}  // namespace wavejit::ir
