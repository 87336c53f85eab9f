// Constant folding, copy propagation and algebraic simplification, repeated until nothing changes.
#include "ir/fold.h"
#include "ir/passes/passes.h"
#include "ir/passes/simplify.h"

namespace wavejit::ir::passes {
namespace {

// Rules feed each other through the users of a replaced value; reverse post-order makes most of that happen within one
// walk.
constexpr int kMaxRounds = 12;

bool commutes(const Inst* inst) {
  switch (inst->op) {
    case Op::add:
    case Op::mul:
    case Op::addc:
    case Op::addc_carry:
    case Op::mulhi_u:
    case Op::mulhi_s:
    case Op::mul_wide_u:
    case Op::mul_wide_s:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::smin:
    case Op::smax:
    case Op::umin:
    case Op::umax:
      return true;
    case Op::icmp:
      return inst->attr <= static_cast<uint32_t>(ICmp::ne);
    default:
      return false;
  }
}

void swap_operands(Inst* inst) {
  std::swap(inst->operands[0], inst->operands[1]);
}

// Loads whose mask is empty, and elements of them, are 0.
Inst* simplify_empty_load(Rewriter& r, Inst* inst) {
  const Inst* load = inst->op == Op::extract ? inst->operands[0] : inst;
  if ((load->op != Op::load && load->op != Op::load_edges) || !load->operands[0]->is_const(0)) return nullptr;
  return inst->type == kV32 && !inst->users.empty() ? r.constant(kV32, 0) : nullptr;
}

Inst* simplify(Rewriter& r, Inst* inst) {
  if (Inst* zero = simplify_empty_load(r, inst)) return zero;
  if (!is_pure(inst->op) || inst->op == Op::const_) return nullptr;
  if (const std::optional<uint64_t> value = fold_to_constant(*inst)) return r.constant(inst->type, *value);
  if (inst->op == Op::phi) {
    Inst* only = fold_to_existing(*inst);
    return only;
  }
  if (Inst* existing = fold_to_existing(*inst)) return existing;
  if (commutes(inst) && inst->operands[0]->is_const() && !inst->operands[1]->is_const()) swap_operands(inst);
  if (Inst* result = simplify_convert(r, inst)) return result;
  if (Inst* result = simplify_bitwise(r, inst)) return result;
  if (Inst* result = simplify_select(r, inst)) return result;
  return simplify_arithmetic(r, inst);
}

}  // namespace

PassResult peephole(Function& function, const PassContext&) {
  bool changed = false;
  Rewriter rewriter(function);
  for (int round = 0; round < kMaxRounds; ++round) {
    if (!rewriter.run([&](Inst* inst) { return simplify(rewriter, inst); })) break;
    function.sweep();
    changed = true;
  }
  return {.changed = changed};
}

}  // namespace wavejit::ir::passes
