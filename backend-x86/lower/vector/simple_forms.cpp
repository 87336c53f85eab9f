#include "backend-x86/lower/vector/simple_forms.h"

#include <array>

namespace wavejit::backend {
namespace {

using ir::Op;

constexpr bool kCommutes = true, kKeepsOrder = false;

// 32-bit lanes.
constexpr SimpleForm kForms32[] = {
    {Op::add, I::kIdVpaddd, I::kIdVpaddd, 4, 2, kCommutes},
    {Op::sub, I::kIdVpsubd, I::kIdVpsubd, 4, 2, kKeepsOrder},
    {Op::mul, I::kIdVpmulld, I::kIdVpmulld, 4, 2, kCommutes},
    {Op::and_, I::kIdVpand, I::kIdVpandd, 4, 2, kCommutes},
    {Op::or_, I::kIdVpor, I::kIdVpord, 4, 2, kCommutes},
    {Op::xor_, I::kIdVpxor, I::kIdVpxord, 4, 2, kCommutes},
    {Op::smin, I::kIdVpminsd, I::kIdVpminsd, 4, 2, kCommutes},
    {Op::smax, I::kIdVpmaxsd, I::kIdVpmaxsd, 4, 2, kCommutes},
    {Op::umin, I::kIdVpminud, I::kIdVpminud, 4, 2, kCommutes},
    {Op::umax, I::kIdVpmaxud, I::kIdVpmaxud, 4, 2, kCommutes},
    {Op::sabs, I::kIdVpabsd, I::kIdVpabsd, 4, 1, kKeepsOrder},
    {Op::pk_add, I::kIdVpaddw, I::kIdVpaddw, 0, 2, kCommutes},
    {Op::pk_sub, I::kIdVpsubw, I::kIdVpsubw, 0, 2, kKeepsOrder},
    {Op::pk_mul, I::kIdVpmullw, I::kIdVpmullw, 0, 2, kCommutes},
    {Op::pk_smin, I::kIdVpminsw, I::kIdVpminsw, 0, 2, kCommutes},
    {Op::pk_smax, I::kIdVpmaxsw, I::kIdVpmaxsw, 0, 2, kCommutes},
    {Op::pk_umin, I::kIdVpminuw, I::kIdVpminuw, 0, 2, kCommutes},
    {Op::pk_umax, I::kIdVpmaxuw, I::kIdVpmaxuw, 0, 2, kCommutes},
    {Op::fadd_f32, I::kIdVaddps, I::kIdVaddps, 4, 2, kCommutes},
    {Op::fsub_f32, I::kIdVsubps, I::kIdVsubps, 4, 2, kKeepsOrder},
    {Op::fmul_f32, I::kIdVmulps, I::kIdVmulps, 4, 2, kCommutes},
    {Op::cvt_f32_i32, I::kIdVcvtdq2ps, I::kIdVcvtdq2ps, 4, 1, kKeepsOrder},
};

// 64-bit lanes.
constexpr SimpleForm kForms64[] = {
    {Op::add, I::kIdVpaddq, I::kIdVpaddq, 8, 2, kCommutes},
    {Op::sub, I::kIdVpsubq, I::kIdVpsubq, 8, 2, kKeepsOrder},
    {Op::and_, I::kIdVpand, I::kIdVpandq, 8, 2, kCommutes},
    {Op::or_, I::kIdVpor, I::kIdVporq, 8, 2, kCommutes},
    {Op::xor_, I::kIdVpxor, I::kIdVpxorq, 8, 2, kCommutes},
    {Op::smin, I::kIdNone, I::kIdVpminsq, 8, 2, kCommutes},
    {Op::smax, I::kIdNone, I::kIdVpmaxsq, 8, 2, kCommutes},
    {Op::umin, I::kIdNone, I::kIdVpminuq, 8, 2, kCommutes},
    {Op::umax, I::kIdNone, I::kIdVpmaxuq, 8, 2, kCommutes},
    {Op::sabs, I::kIdNone, I::kIdVpabsq, 8, 1, kKeepsOrder},
    {Op::mul, I::kIdNone, I::kIdVpmullq, 8, 2, kCommutes},
    {Op::fadd_f64, I::kIdVaddpd, I::kIdVaddpd, 8, 2, kCommutes},
    {Op::fsub_f64, I::kIdVsubpd, I::kIdVsubpd, 8, 2, kKeepsOrder},
    {Op::fmul_f64, I::kIdVmulpd, I::kIdVmulpd, 8, 2, kCommutes},
    {Op::fsqrt_f64, I::kIdVsqrtpd, I::kIdVsqrtpd, 8, 1, kKeepsOrder},
};

template <size_t N>
constexpr std::array<const SimpleForm*, ir::kNumOps> index_by_op(const SimpleForm (&forms)[N]) {
  std::array<const SimpleForm*, ir::kNumOps> index{};
  for (const SimpleForm& form : forms) index[static_cast<unsigned>(form.op)] = &form;
  return index;
}
constexpr auto kIndex32 = index_by_op(kForms32);
constexpr auto kIndex64 = index_by_op(kForms64);

}  // namespace

const SimpleForm* find_simple_form(const ir::Inst& inst) {
  if (inst.type == ir::kV32) return kIndex32[static_cast<unsigned>(inst.op)];
  if (inst.type == ir::kV64) return kIndex64[static_cast<unsigned>(inst.op)];
  return nullptr;
}

bool is_mergeable(const ir::Inst& inst) {
  if (inst.op == ir::Op::fma_f32) {
    const ir::Inst* old = inst.users.empty() ? nullptr : inst.users[0]->operands.back();
    return inst.operands[2] == old && !old->is_const();
  }
  const SimpleForm* form = find_simple_form(inst);
  return form != nullptr && form->element == 4 && inst.type == ir::kV32 && form->arity == 2;
}

}  // namespace wavejit::backend
