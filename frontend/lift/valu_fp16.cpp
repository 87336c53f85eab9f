// f16 arithmetic. Values sit in the low half; results have a zero upper half unless the instruction keeps the
// destination's.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

struct Triple {
  Inst *x, *y, *z;
};
Triple three(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  return {x, y, c.src32(Slot::src2)};
}

template <Op kOp>
void unary(Context& c) {
  c.set_f16(c.fp(kOp, {c.src32(Slot::src0)}, c.env16()));
}
template <Op kOp>
void binary(Context& c) {
  Inst* x = c.src32(Slot::src0);
  c.set_f16(c.fp(kOp, {x, c.src32(Slot::src1)}, c.env16()));
}
template <Op kOp>
void min_max(Context& c) {
  Inst* x = c.src32(Slot::src0);
  const uint32_t env = c.min_max(c.env16());
  c.set_f16(c.fp(kOp, {x, c.src32(Slot::src1)}, env));
}
template <Op kOp>
void binary_rev(Context& c) {
  Inst* x = c.src32(Slot::src0);
  c.set_f16(c.fp(kOp, {c.src32(Slot::src1), x}, c.env16()));
}
template <Op kOp, bool kKeepsHigh>
void ternary(Context& c) {
  const auto [x, y, z] = three(c);
  c.set_f16(c.fp(kOp, {x, y, z}, c.env16()), kKeepsHigh);
}
template <Op kOp>
void ternary_reduce(Context& c) {
  const auto [x, y, z] = three(c);
  c.set_f16(c.fp(kOp, {c.fp(kOp, {x, y}, c.env16()), z}, c.env16()), true);
}

Inst* unfused(Context& c, Inst* x, Inst* y, Inst* z) {
  const uint32_t env = c.env16_flush();
  return c.fp(Op::fadd_f16, {c.fp(Op::fmul_f16, {x, y}, env), z}, env);
}
template <bool kKeepsHigh>
void v_mad_f16(Context& c) {
  const auto [x, y, z] = three(c);
  c.set_f16(unfused(c, x, y, z), kKeepsHigh);
}
void v_mac_f16(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  c.set_f16(unfused(c, x, y, c.raw32(c.operand(Slot::vdst))), true);
}
void v_madmk_f16(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  c.set_f16(unfused(c, x, c.raw32(c.operand(Slot::literal)), y), true);
}
void v_madak_f16(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  c.set_f16(unfused(c, x, y, c.raw32(c.operand(Slot::literal))), true);
}

void v_med3_f16(Context& c) {
  const auto [x, y, z] = three(c);
  const uint32_t env = c.env16();
  const auto max = [&](Inst* a, Inst* b) { return c.fp(Op::fmax_f16, {a, b}, env); };
  const auto min = [&](Inst* a, Inst* b) { return c.fp(Op::fmin_f16, {a, b}, env); };
  const auto compare = [&](ir::FCmp predicate, Inst* a, Inst* b) {
    return c.fp(Op::fcmp_f16, {a, b}, env | static_cast<uint32_t>(predicate) << ir::fpenv::kFCmpShift);
  };
  Inst* max3 = max(max(x, y), z);
  Inst* median = c.b.select(compare(ir::FCmp::eq, max3, y), max(x, z), max(x, y));
  median = c.b.select(compare(ir::FCmp::eq, max3, x), max(y, z), median);
  Inst* nan = c.or_(compare(ir::FCmp::u, x, y), compare(ir::FCmp::u, z, z));
  c.set_f16(c.b.select(nan, min(min(x, y), z), median), true);
}

void v_frexp_exp_i16_f16(Context& c) {
  c.set_v16(c.zext16(c.fp(Op::ffrexp_exp_f16, {c.src32(Slot::src0)}, c.env16())));
}

void v_pack_b32_f16(Context& c) {
  Inst* low = c.zext16(c.src32(Slot::src0));
  c.set_v32(c.or_(low, c.shl(c.src32(Slot::src1), 16)));
}

}  // namespace

void add_valu_fp16(HandlerTable& t) {
  t.add(Opcode::v_add_f16, binary<Op::fadd_f16>);
  t.add(Opcode::v_sub_f16, binary<Op::fsub_f16>);
  t.add(Opcode::v_subrev_f16, binary_rev<Op::fsub_f16>);
  t.add(Opcode::v_mul_f16, binary<Op::fmul_f16>);
  t.add(Opcode::v_min_f16, min_max<Op::fmin_f16>);
  t.add(Opcode::v_max_f16, min_max<Op::fmax_f16>);
  t.add(Opcode::v_mac_f16, v_mac_f16);
  t.add(Opcode::v_madmk_f16, v_madmk_f16);
  t.add(Opcode::v_madak_f16, v_madak_f16);
  t.add(Opcode::v_mad_f16, v_mad_f16<true>);
  t.add(Opcode::v_mad_legacy_f16, v_mad_f16<false>);
  t.add(Opcode::v_fma_f16, ternary<Op::fma_f16, true>);
  t.add(Opcode::v_fma_legacy_f16, ternary<Op::fma_f16, false>);
  t.add(Opcode::v_div_fixup_f16, ternary<Op::div_fixup_f16, true>);
  t.add(Opcode::v_div_fixup_legacy_f16, ternary<Op::div_fixup_f16, false>);
  t.add(Opcode::v_min3_f16, ternary_reduce<Op::fmin_f16>);
  t.add(Opcode::v_max3_f16, ternary_reduce<Op::fmax_f16>);
  t.add(Opcode::v_med3_f16, v_med3_f16);
  t.add(Opcode::v_rcp_f16, unary<Op::frcp_f16>);
  t.add(Opcode::v_rsq_f16, unary<Op::frsq_f16>);
  t.add(Opcode::v_sqrt_f16, unary<Op::fsqrt_f16>);
  t.add(Opcode::v_exp_f16, unary<Op::fexp_f16>);
  t.add(Opcode::v_log_f16, unary<Op::flog_f16>);
  t.add(Opcode::v_sin_f16, unary<Op::fsin_f16>);
  t.add(Opcode::v_cos_f16, unary<Op::fcos_f16>);
  t.add(Opcode::v_trunc_f16, unary<Op::ftrunc_f16>);
  t.add(Opcode::v_ceil_f16, unary<Op::fceil_f16>);
  t.add(Opcode::v_floor_f16, unary<Op::ffloor_f16>);
  t.add(Opcode::v_rndne_f16, unary<Op::frndne_f16>);
  t.add(Opcode::v_fract_f16, unary<Op::ffract_f16>);
  t.add(Opcode::v_ldexp_f16, binary<Op::fldexp_f16>);
  t.add(Opcode::v_frexp_mant_f16, unary<Op::ffrexp_mant_f16>);
  t.add(Opcode::v_frexp_exp_i16_f16, v_frexp_exp_i16_f16);
  t.add(Opcode::v_pack_b32_f16, v_pack_b32_f16);
}

}  // namespace wavejit::lift
