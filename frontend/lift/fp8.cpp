// Eight-bit floating point of GFX940 (E4M3 with bias 8, E5M2 with bias 16; 0x80 is NaN, there are no infinities and no
// negative zero).
#include "frontend/lift/fp8.h"

#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

constexpr uint32_t kExact = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;  // to nearest

// Exponent and fraction of the byte are those of an f32 whose exponent is smaller by a constant: one multiplication
// makes up for it, also for denormals.
Inst* byte_to_f32(Context& c, Inst* byte, Fp8 format) {
  const unsigned fraction = fp8_fraction_bits(format);
  const uint32_t scale = (254u - fp8_bias(format)) << 23;
  Inst* magnitude = c.shl(c.and_(byte, c.v(0x7f)), 23 - fraction);
  Inst* value = c.fp(Op::fmul_f32, {magnitude, c.v(scale)}, kExact);
  value = c.or_(value, c.shl(c.and_(byte, c.v(0x80)), 24));
  return c.b.select(c.b.icmp(ICmp::eq, byte, c.v(0x80)), c.v(0x7fc00000), value);
}

// The byte of an f32, to nearest even.
Inst* f32_to_byte(Context& c, Inst* x, Fp8 format) {
  const unsigned fraction = fp8_fraction_bits(format), dropped = 23 - fraction;
  const uint32_t bias = fp8_bias(format);
  Inst* magnitude = c.and_(x, c.v(0x7fffffff));
  // Normal numbers: half of what is dropped, or a little less if that leaves the last bit even, carries into the rest.
  Inst* odd = c.and_(c.lshr(magnitude, dropped), c.v(1));
  Inst* rounded = c.lshr(c.add(c.add(magnitude, c.v((1u << (dropped - 1)) - 1)), odd), dropped);
  Inst* normal = c.b.op(Op::sub, {rounded, c.v((127 - bias) << fraction)});
  // Denormals: in the sum with 2^n the last place is that of the result.
  const uint32_t power = (127 + 23 + 1 - bias - fraction) << 23;
  Inst* sum = c.fp(Op::fadd_f32, {magnitude, c.v(power)}, kExact);
  Inst* denormal = c.b.op(Op::sub, {sum, c.v(power)});
  Inst* is_normal = c.b.icmp(ICmp::uge, magnitude, c.v((128 - bias) << 23));
  Inst* code = c.b.select(is_normal, normal, denormal);
  Inst* is_negative = c.b.icmp(ICmp::ne, c.and_(c.lshr(x, 24), c.v(0x80)), c.v(0));
  Inst* has_sign = c.and_(is_negative, c.b.icmp(ICmp::ne, code, c.v(0)));
  Inst* with_sign = c.or_(code, c.b.select(has_sign, c.v(0x80), c.v(0)));
  return c.b.select(c.b.icmp(ICmp::ugt, code, c.v(0x7f)), c.v(0x80), with_sign);
}

// The operand as SDWA selects it, without other modifiers.
template <Fp8 kFormat>
void to_f32(Context& c) {
  c.set_f32(fp8_to_f32(c, c.src32(Slot::src0), 0, kFormat));
}

template <Fp8 kFormat>
void to_two_f32(Context& c) {
  Inst* word = c.src32(Slot::src0);
  Inst* low = c.modified_f32(fp8_to_f32(c, word, 0, kFormat));
  Inst* high = c.modified_f32(fp8_to_f32(c, word, 1, kFormat));
  c.set_v64(c.b.op(Op::pack64, {low, high}));
}

template <Fp8 kFormat>
void pack(Context& c) {
  Inst* low = f32_to_byte(c, c.src32(Slot::src0), kFormat);
  Inst* pair = c.or_(low, c.shl(f32_to_byte(c, c.src32(Slot::src1), kFormat), 8));
  const unsigned shift = (c.inst->op_sel & 8) != 0 ? 16 : 0;
  c.set_v32(c.b.op(Op::bfi, {c.v(0xffffu << shift), c.shl(pair, shift), c.raw32(c.operand(Slot::vdst))}));
}

// What is added to the fraction wraps (docs/isa-decisions.md).
template <Fp8 kFormat>
void stochastic(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* random = c.lshr(c.src32(Slot::src1), kFormat == Fp8::e4m3 ? 12 : 11);
  Inst* value = c.b.op(Op::bfi, {c.v(0x7fffff), c.add(x, random), x});
  const unsigned shift = 8 * (c.inst->op_sel >> 2 & 3);
  Inst* byte = f32_to_byte(c, value, kFormat);
  c.set_v32(c.b.op(Op::bfi, {c.v(0xffu << shift), c.shl(byte, shift), c.raw32(c.operand(Slot::vdst))}));
}

}  // namespace

Inst* fp8_to_f32(Context& c, Inst* dword, unsigned byte, Fp8 format) {
  return byte_to_f32(c, c.and_(c.lshr(dword, 8 * byte), c.v(0xff)), format);
}

void add_fp8(HandlerTable& t) {
  t.add(Opcode::v_cvt_f32_fp8, to_f32<Fp8::e4m3>);
  t.add(Opcode::v_cvt_f32_bf8, to_f32<Fp8::e5m2>);
  t.add(Opcode::v_cvt_pk_f32_fp8, to_two_f32<Fp8::e4m3>);
  t.add(Opcode::v_cvt_pk_f32_bf8, to_two_f32<Fp8::e5m2>);
  t.add(Opcode::v_cvt_pk_fp8_f32, pack<Fp8::e4m3>);
  t.add(Opcode::v_cvt_pk_bf8_f32, pack<Fp8::e5m2>);
  t.add(Opcode::v_cvt_sr_fp8_f32, stochastic<Fp8::e4m3>);
  t.add(Opcode::v_cvt_sr_bf8_f32, stochastic<Fp8::e5m2>);
}

}  // namespace wavejit::lift
