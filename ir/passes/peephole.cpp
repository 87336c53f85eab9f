// Constant folding, copy propagation and algebraic simplification, repeated until nothing changes.
#include "ir/fold.h"
#include "ir/passes/passes.h"
#include "ir/passes/simplify.h"

namespace wavejit::ir::passes {
namespace {

// Rules feed each other through the users of a replaced value; reverse post-order makes most of that happen within one
// walk.
constexpr int kMaxPeepholeRounds = 12;

bool commutes(const Inst* inst) {
  return op_info(inst->op).commutes || (inst->op == Op::icmp && inst->attr <= static_cast<uint32_t>(ICmp::ne));
}

void swap_operands(Inst* inst) {
  std::swap(inst->operands[0], inst->operands[1]);
}

// The rule that a result of fold_to_existing() counts for.
Rule identity_of(Op op) {
  switch (op) {
    case Op::phi:
      return Rule::trivial_phi;
    case Op::add:
    case Op::sub:
    case Op::shl:
    case Op::lshr:
    case Op::ashr:
      return Rule::identity_sum;
    case Op::mul:
      return Rule::identity_product;
    case Op::smin:
    case Op::smax:
    case Op::umin:
    case Op::umax:
      return Rule::identity_extreme;
    case Op::bfi:
    case Op::alignbit:
      return Rule::identity_field;
    case Op::select:
      return Rule::identity_select;
    case Op::pack64:
    case Op::lo32:
    case Op::hi32:
      return Rule::identity_pair;
    case Op::i64_to_mask:
    case Op::mask_to_i64:
      return Rule::identity_mask_number;
    case Op::extract:
      return Rule::identity_element;
    case Op::readlane:
    case Op::readfirstlane:
    case Op::mask_any:
    case Op::mask_all:
      return Rule::identity_splat;
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::andn:
    case Op::not_:
      return Rule::identity_bitwise;
    default:
      WAVEJIT_CHECK(false, "no rule for identities of {}", op_info(op).mnemonic);
  }
}

// Loads whose mask is empty, and elements of them, are 0.
Replacement simplify_empty_load(Rewriter& r, Inst* inst) {
  const Inst* load = inst->op == Op::extract ? inst->operands[0] : inst;
  if ((load->op != Op::load && load->op != Op::load_edges) || !load->operands[0]->is_const(0)) return nullptr;
  if (inst->type != kV32 || inst->users.empty()) return nullptr;
  return {Rule::empty_load, r.constant(kV32, 0)};
}

Replacement simplify(Rewriter& r, Inst* inst) {
  if (const Replacement zero = simplify_empty_load(r, inst)) return zero;
  if (!is_pure(inst->op) || inst->op == Op::const_) return nullptr;
  if (const std::optional<uint64_t> value = fold_to_constant(*inst))
    return {Rule::constant_folded, r.constant(inst->type, *value)};
  if (Inst* existing = fold_to_existing(*inst)) return {identity_of(inst->op), existing};
  if (inst->op == Op::phi) return nullptr;
  if (commutes(inst) && inst->operands[0]->is_const() && !inst->operands[1]->is_const()) {
    swap_operands(inst);
    r.note_small_change(Rule::constant_second);
  }
  if (const Replacement result = simplify_convert(r, inst)) return result;
  if (const Replacement result = simplify_bitwise(r, inst)) return result;
  if (const Replacement result = simplify_select(r, inst)) return result;
  return simplify_arithmetic(r, inst);
}

}  // namespace

PassResult peephole(Function& function, const PassContext&) {
  Rewriter rewriter(function);
  return rewriter.repeat(kMaxPeepholeRounds, [&](Inst* inst) { return simplify(rewriter, inst); });
}

}  // namespace wavejit::ir::passes
