// f64 arithmetic.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

template <Op kOp>
void unary(Context& c) {
  c.set_f64(c.fp(kOp, {c.src64(Slot::src0)}, c.env64()));
}
template <Op kOp>
void binary(Context& c) {
  Inst* x = c.src64(Slot::src0);
  c.set_f64(c.fp(kOp, {x, c.src64(Slot::src1)}, c.env64()));
}
template <Op kOp>
void min_max(Context& c) {
  Inst* x = c.src64(Slot::src0);
  const uint32_t env = c.min_max(c.env64());
  c.set_f64(c.fp(kOp, {x, c.src64(Slot::src1)}, env));
}
template <Op kOp>
void with_int(Context& c) {  // second source 32 bits wide
  Inst* x = c.src64(Slot::src0);
  c.set_f64(c.fp(kOp, {x, c.src32(Slot::src1)}, c.env64()));
}
template <Op kOp>
void ternary(Context& c) {
  Inst* x = c.src64(Slot::src0);
  Inst* y = c.src64(Slot::src1);
  c.set_f64(c.fp(kOp, {x, y, c.src64(Slot::src2)}, c.env64()));
}

void v_fmac_f64(Context& c) {
  Inst* x = c.src64(Slot::src0);
  Inst* y = c.src64(Slot::src1);
  c.set_f64(c.fp(Op::fma_f64, {x, y, c.raw64(c.operand(Slot::vdst))}, c.env64()));
}
// GFX6 and GFX7: infinite results become the largest finite value of the same sign.
template <Op kOp>
void clamped(Context& c) {
  Inst* y = c.fp(kOp, {c.src64(Slot::src0)}, c.env64());
  Inst* infinite = c.b.icmp(ICmp::eq, c.and_(y, c.b.v64(0x7fffffffffffffff)), c.b.v64(0x7ff0000000000000));
  c.set_f64(c.b.select(infinite, c.add(y, c.b.v64(~uint64_t{0})), y));
}
void v_frexp_exp_i32_f64(Context& c) {
  c.set_v32(c.fp(Op::ffrexp_exp_f64, {c.src64(Slot::src0)}, c.env64()));
}
void v_div_scale_f64(Context& c) {
  Inst* x = c.src64(Slot::src0);
  Inst* y = c.src64(Slot::src1);
  Inst* z = c.src64(Slot::src2);
  Inst* value = c.fp(Op::div_scale_f64, {x, y, z}, c.env64());
  Inst* flag = c.fp(Op::div_scale_vcc_f64, {x, y, z}, c.env64());
  c.set_f64(value);
  c.set_vmask(Slot::sdst, flag);
}
void v_div_fmas_f64(Context& c) {
  Inst* x = c.src64(Slot::src0);
  Inst* y = c.src64(Slot::src1);
  Inst* z = c.src64(Slot::src2);
  c.set_f64(c.fp(Op::div_fmas_f64, {x, y, z, c.ssa.read_mask(sreg::kVccLo)}, c.env64()));
}

}  // namespace

void add_valu_fp64(HandlerTable& t) {
  t.add(Opcode::v_add_f64, binary<Op::fadd_f64>);
  t.add(Opcode::v_mul_f64, binary<Op::fmul_f64>);
  t.add(Opcode::v_min_f64, min_max<Op::fmin_f64>);
  t.add(Opcode::v_max_f64, min_max<Op::fmax_f64>);
  t.add(Opcode::v_fma_f64, ternary<Op::fma_f64>);
  t.add(Opcode::v_fmac_f64, v_fmac_f64);
  t.add(Opcode::v_rcp_clamp_f64, clamped<Op::frcp_f64>);
  t.add(Opcode::v_rsq_clamp_f64, clamped<Op::frsq_f64>);
  t.add(Opcode::v_rcp_f64, unary<Op::frcp_f64>);
  t.add(Opcode::v_rsq_f64, unary<Op::frsq_f64>);
  t.add(Opcode::v_sqrt_f64, unary<Op::fsqrt_f64>);
  t.add(Opcode::v_trunc_f64, unary<Op::ftrunc_f64>);
  t.add(Opcode::v_ceil_f64, unary<Op::fceil_f64>);
  t.add(Opcode::v_floor_f64, unary<Op::ffloor_f64>);
  t.add(Opcode::v_rndne_f64, unary<Op::frndne_f64>);
  t.add(Opcode::v_fract_f64, unary<Op::ffract_f64>);
  t.add(Opcode::v_ldexp_f64, with_int<Op::fldexp_f64>);
  t.add(Opcode::v_frexp_mant_f64, unary<Op::ffrexp_mant_f64>);
  t.add(Opcode::v_frexp_exp_i32_f64, v_frexp_exp_i32_f64);
  t.add(Opcode::v_trig_preop_f64, with_int<Op::trig_preop_f64>);
  t.add(Opcode::v_div_scale_f64, v_div_scale_f64);
  t.add(Opcode::v_div_fmas_f64, v_div_fmas_f64);
  t.add(Opcode::v_div_fixup_f64, ternary<Op::div_fixup_f64>);
}

}  // namespace wavejit::lift
