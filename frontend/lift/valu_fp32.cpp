// f32 arithmetic. Operations carry MODE's rounding and denormal fields; v_mad/v_mac never see denormals.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

struct Pair {
  Inst *x, *y;
};
Pair two(Context& c) {
  Inst* x = c.src32(Slot::src0);
  return {x, c.src32(Slot::src1)};
}
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
  c.set_f32(c.fp(kOp, {c.src32(Slot::src0)}, c.env32()));
}
template <Op kOp>
void binary(Context& c) {
  const auto [x, y] = two(c);
  c.set_f32(c.fp(kOp, {x, y}, c.env32()));
}
template <Op kOp>
void binary_rev(Context& c) {
  const auto [x, y] = two(c);
  c.set_f32(c.fp(kOp, {y, x}, c.env32()));
}
template <Op kOp>
void ternary(Context& c) {
  const auto [x, y, z] = three(c);
  c.set_f32(c.fp(kOp, {x, y, z}, c.env32()));
}
template <Op kOp>
void min_max(Context& c) {
  const auto [x, y] = two(c);
  const uint32_t env = c.min_max(c.env32());
  c.set_f32(c.fp(kOp, {x, y}, env));
}
template <Op kOp>
void min_max3(Context& c) {
  const auto [x, y, z] = three(c);
  const uint32_t env = c.min_max(c.env32());
  c.set_f32(c.fp(kOp, {c.fp(kOp, {x, y}, env), z}, env));
}

Inst* compare(Context& c, ir::FCmp predicate, Inst* x, Inst* y, uint32_t env) {
  return c.fp(Op::fcmp_f32, {x, y}, env | static_cast<uint32_t>(predicate) << ir::fpenv::kFCmpShift);
}

// Product and sum rounded separately, denormals flushed whatever MODE says.
Inst* unfused(Context& c, Inst* x, Inst* y, Inst* z) {
  const uint32_t env = c.env32_flush();
  return c.fp(Op::fadd_f32, {c.fp(Op::fmul_f32, {x, y}, env), z}, env);
}
// A factor of zero gives +0, even times infinity or NaN.
Inst* legacy_product(Context& c, Inst* x, Inst* y, uint32_t env) {
  Inst* zero = c.v(0);
  Inst* x_zero = compare(c, ir::FCmp::eq, x, zero, env);
  Inst* y_zero = compare(c, ir::FCmp::eq, y, zero, env);
  return c.b.select(c.or_(x_zero, y_zero), zero, c.fp(Op::fmul_f32, {x, y}, env));
}

void v_mad_f32(Context& c) {
  const auto [x, y, z] = three(c);
  c.set_f32(unfused(c, x, y, z));
}
void v_mac_f32(Context& c) {
  const auto [x, y] = two(c);
  c.set_f32(unfused(c, x, y, c.raw32(c.operand(Slot::vdst))));
}
void v_madmk_f32(Context& c) {
  const auto [x, y] = two(c);
  c.set_f32(unfused(c, x, c.raw32(c.operand(Slot::literal)), y));
}
void v_madak_f32(Context& c) {
  const auto [x, y] = two(c);
  c.set_f32(unfused(c, x, y, c.raw32(c.operand(Slot::literal))));
}
void v_fmamk_f32(Context& c) {
  const auto [x, y] = two(c);
  c.set_f32(c.fp(Op::fma_f32, {x, c.raw32(c.operand(Slot::literal)), y}, c.env32()));
}
void v_fmaak_f32(Context& c) {
  const auto [x, y] = two(c);
  c.set_f32(c.fp(Op::fma_f32, {x, y, c.raw32(c.operand(Slot::literal))}, c.env32()));
}
void v_fmac_f32(Context& c) {
  const auto [x, y] = two(c);
  c.set_f32(c.fp(Op::fma_f32, {x, y, c.raw32(c.operand(Slot::vdst))}, c.env32()));
}
void v_mul_legacy_f32(Context& c) {
  const auto [x, y] = two(c);
  c.set_f32(legacy_product(c, x, y, c.env32()));
}
void v_mad_legacy_f32(Context& c) {
  const auto [x, y, z] = three(c);
  const uint32_t env = c.env32_flush();
  c.set_f32(c.fp(Op::fadd_f32, {legacy_product(c, x, y, env), z}, env));
}

void v_mac_legacy_f32(Context& c) {
  const auto [x, y] = two(c);
  const uint32_t env = c.env32_flush();
  c.set_f32(c.fp(Op::fadd_f32, {legacy_product(c, x, y, env), c.raw32(c.operand(Slot::vdst))}, env));
}

// --- GFX6 and GFX7 only

void v_mullit_f32(Context& c) {
  const auto [x, y, z] = three(c);
  const uint32_t env = c.env32();
  c.set_f32(c.b.select(compare(c, ir::FCmp::gt, z, c.v(0), env), legacy_product(c, x, y, env), c.v(0xff7fffff)));
}
// The second source where the comparison fails. Denormals are seen as they are.
template <ir::FCmp kPredicate>
void min_max_legacy(Context& c) {
  const auto [x, y] = two(c);
  const uint32_t env = c.env32() | ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
  c.set_f32(c.b.select(compare(c, kPredicate, x, y, env), x, y));
}
Inst* is_infinite(Context& c, Inst* x) {
  return c.b.icmp(ICmp::eq, c.and_(x, c.v(0x7fffffff)), c.v(0x7f800000));
}
// Infinite results become the largest finite value of the same sign.
template <Op kOp>
void clamped(Context& c) {
  Inst* y = c.fp(kOp, {c.src32(Slot::src0)}, c.env32());
  c.set_f32(c.b.select(is_infinite(c, y), c.add(y, c.v(~0u)), y));
}
void v_log_clamp_f32(Context& c) {
  Inst* y = c.fp(Op::flog_f32, {c.src32(Slot::src0)}, c.env32());
  c.set_f32(c.b.select(c.b.icmp(ICmp::eq, y, c.v(0xff800000)), c.v(0xff7fffff), y));
}
// Infinite results become zero of the same sign.
template <Op kOp>
void legacy_zero(Context& c) {
  Inst* y = c.fp(kOp, {c.src32(Slot::src0)}, c.env32());
  c.set_f32(c.b.select(is_infinite(c, y), c.and_(y, c.v(0x80000000)), y));
}

// A NaN operand: min3. Else the median by comparing with the maximum (docs/isa-decisions.md).
void v_med3_f32(Context& c) {
  const auto [x, y, z] = three(c);
  const uint32_t env = c.min_max(c.env32());
  const auto max = [&](Inst* a, Inst* b) { return c.fp(Op::fmax_f32, {a, b}, env); };
  const auto min = [&](Inst* a, Inst* b) { return c.fp(Op::fmin_f32, {a, b}, env); };
  Inst* max3 = max(max(x, y), z);
  Inst* median = c.b.select(compare(c, ir::FCmp::eq, max3, y, env), max(x, z), max(x, y));
  median = c.b.select(compare(c, ir::FCmp::eq, max3, x, env), max(y, z), median);
  Inst* nan = c.or_(compare(c, ir::FCmp::u, x, y, env), compare(c, ir::FCmp::u, z, z, env));
  c.set_f32(c.b.select(nan, min(min(x, y), z), median));
}

void v_frexp_exp_i32_f32(Context& c) {
  c.set_v32(c.fp(Op::ffrexp_exp_f32, {c.src32(Slot::src0)}, c.env32()));
}

// --- division
// ------------------------------------------------------------------------------------------------------------

void v_div_scale_f32(Context& c) {
  const auto [x, y, z] = three(c);
  Inst* value = c.fp(Op::div_scale_f32, {x, y, z}, c.env32());
  Inst* flag = c.fp(Op::div_scale_vcc_f32, {x, y, z}, c.env32());
  c.set_f32(value);
  c.set_vmask(Slot::sdst, flag);
}
void v_div_fmas_f32(Context& c) {
  const auto [x, y, z] = three(c);
  c.set_f32(c.fp(Op::div_fmas_f32, {x, y, z, c.ssa.read_mask(sreg::kVccLo)}, c.env32()));
}

// The face of a cube map: the axis of the largest magnitude, z before y before x.
enum class Cube { id, sc, tc, ma };

template <Cube kWhat>
void v_cube(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  Inst* z = c.src32(Slot::src2);
  const auto compare = [&](ir::FCmp predicate, Inst* a, Inst* b) {
    return c.fp(Op::fcmp_f32, {a, b}, c.env32() | static_cast<uint32_t>(predicate) << ir::fpenv::kFCmpShift);
  };
  const auto magnitude = [&](Inst* a) { return c.and_(a, c.v(0x7fffffff)); };
  const auto minus = [&](Inst* a) { return c.b.op(Op::xor_, {a, c.v(0x80000000)}); };
  const auto negative = [&](Inst* a) { return compare(ir::FCmp::lt, a, c.v(0)); };
  Inst* ax = magnitude(x);
  Inst* ay = magnitude(y);
  Inst* az = magnitude(z);
  Inst* is_z = c.and_(compare(ir::FCmp::ge, az, ax), compare(ir::FCmp::ge, az, ay));
  Inst* is_y = compare(ir::FCmp::ge, ay, ax);
  const auto choose = [&](Inst* for_z, Inst* for_y, Inst* for_x) {
    return c.b.select(is_z, for_z, c.b.select(is_y, for_y, for_x));
  };
  const auto face = [&](Inst* axis, uint32_t if_negative, uint32_t otherwise) {
    return c.b.select(negative(axis), c.v(if_negative), c.v(otherwise));
  };
  switch (kWhat) {
    case Cube::id:
      return c.set_f32(
          choose(face(z, 0x40a00000, 0x40800000), face(y, 0x40400000, 0x40000000), face(x, 0x3f800000, 0)));
    case Cube::sc:
      return c.set_f32(choose(c.b.select(negative(z), minus(x), x), x, c.b.select(negative(x), z, minus(z))));
    case Cube::tc:
      return c.set_f32(choose(minus(y), c.b.select(negative(y), minus(z), z), minus(y)));
    case Cube::ma:
      return c.set_f32(c.fp(Op::fmul_f32, {choose(z, y, x), c.v(0x40000000)}, c.env32()));
  }
}

}  // namespace

void add_valu_fp32(HandlerTable& t) {
  t.add(Opcode::v_cubeid_f32, v_cube<Cube::id>);
  t.add(Opcode::v_cubesc_f32, v_cube<Cube::sc>);
  t.add(Opcode::v_cubetc_f32, v_cube<Cube::tc>);
  t.add(Opcode::v_cubema_f32, v_cube<Cube::ma>);
  t.add(Opcode::v_add_f32, binary<Op::fadd_f32>);
  t.add(Opcode::v_sub_f32, binary<Op::fsub_f32>);
  t.add(Opcode::v_subrev_f32, binary_rev<Op::fsub_f32>);
  t.add(Opcode::v_mul_f32, binary<Op::fmul_f32>);
  t.add(Opcode::v_min_f32, min_max<Op::fmin_f32>);
  t.add(Opcode::v_max_f32, min_max<Op::fmax_f32>);
  t.add(Opcode::v_fma_f32, ternary<Op::fma_f32>);
  t.add(Opcode::v_fmac_f32, v_fmac_f32);
  t.add(Opcode::v_fmamk_f32, v_fmamk_f32);
  t.add(Opcode::v_fmaak_f32, v_fmaak_f32);
  t.add(Opcode::v_mad_f32, v_mad_f32);
  t.add(Opcode::v_mac_f32, v_mac_f32);
  t.add(Opcode::v_madmk_f32, v_madmk_f32);
  t.add(Opcode::v_madak_f32, v_madak_f32);
  t.add(Opcode::v_mul_legacy_f32, v_mul_legacy_f32);
  t.add(Opcode::v_mad_legacy_f32, v_mad_legacy_f32);
  t.add(Opcode::v_mac_legacy_f32, v_mac_legacy_f32);
  t.add(Opcode::v_mullit_f32, v_mullit_f32);
  t.add(Opcode::v_min_legacy_f32, min_max_legacy<ir::FCmp::lt>);
  t.add(Opcode::v_max_legacy_f32, min_max_legacy<ir::FCmp::ge>);
  t.add(Opcode::v_rcp_clamp_f32, clamped<Op::frcp_f32>);
  t.add(Opcode::v_rsq_clamp_f32, clamped<Op::frsq_f32>);
  t.add(Opcode::v_log_clamp_f32, v_log_clamp_f32);
  t.add(Opcode::v_rcp_legacy_f32, legacy_zero<Op::frcp_f32>);
  t.add(Opcode::v_rsq_legacy_f32, legacy_zero<Op::frsq_f32>);
  t.add(Opcode::v_min3_f32, min_max3<Op::fmin_f32>);
  t.add(Opcode::v_max3_f32, min_max3<Op::fmax_f32>);
  t.add(Opcode::v_med3_f32, v_med3_f32);
  t.add(Opcode::v_rcp_f32, unary<Op::frcp_f32>);
  t.add(Opcode::v_rcp_iflag_f32, unary<Op::frcp_f32>);
  t.add(Opcode::v_rsq_f32, unary<Op::frsq_f32>);
  t.add(Opcode::v_sqrt_f32, unary<Op::fsqrt_f32>);
  t.add(Opcode::v_exp_f32, unary<Op::fexp_f32>);
  t.add(Opcode::v_log_f32, unary<Op::flog_f32>);
  t.add(Opcode::v_exp_legacy_f32, unary<Op::fexp_f32>);
  t.add(Opcode::v_log_legacy_f32, unary<Op::flog_f32>);
  t.add(Opcode::v_sin_f32, unary<Op::fsin_f32>);
  t.add(Opcode::v_cos_f32, unary<Op::fcos_f32>);
  t.add(Opcode::v_trunc_f32, unary<Op::ftrunc_f32>);
  t.add(Opcode::v_ceil_f32, unary<Op::fceil_f32>);
  t.add(Opcode::v_floor_f32, unary<Op::ffloor_f32>);
  t.add(Opcode::v_rndne_f32, unary<Op::frndne_f32>);
  t.add(Opcode::v_fract_f32, unary<Op::ffract_f32>);
  t.add(Opcode::v_ldexp_f32, binary<Op::fldexp_f32>);
  t.add(Opcode::v_frexp_mant_f32, unary<Op::ffrexp_mant_f32>);
  t.add(Opcode::v_frexp_exp_i32_f32, v_frexp_exp_i32_f32);
  t.add(Opcode::v_div_scale_f32, v_div_scale_f32);
  t.add(Opcode::v_div_fmas_f32, v_div_fmas_f32);
  t.add(Opcode::v_div_fixup_f32, ternary<Op::div_fixup_f32>);
}

}  // namespace wavejit::lift
