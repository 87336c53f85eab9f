// Conversions between number formats.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

// 32-bit source to f32 or integer.
template <Op kOp>
void to_f32(Context& c) {
  c.set_f32(c.fp(kOp, {c.src32(Slot::src0)}, c.env32()));
}
template <Op kOp>
void f32_to_int(Context& c) {
  c.set_v32(c.fp(kOp, {c.src32(Slot::src0)}, c.env32()));
}
template <Op kOp>
void to_f64(Context& c) {
  c.set_f64(c.fp(kOp, {c.src32(Slot::src0)}, c.env64()));
}
template <Op kOp>
void f64_to_int(Context& c) {
  c.set_v32(c.fp(kOp, {c.src64(Slot::src0)}, c.env64()));
}
void v_cvt_f64_f32(Context& c) {
  c.set_f64(c.fp(Op::cvt_f64_f32, {c.src32(Slot::src0)}, c.env32()));
}
void v_cvt_f32_f64(Context& c) {
  c.set_f32(c.fp(Op::cvt_f32_f64, {c.src64(Slot::src0)}, c.env32()));
}
void v_cvt_f32_f16(Context& c) {
  c.set_f32(c.fp(Op::cvt_f32_f16, {c.src32(Slot::src0)}, c.env16()));
}
void v_cvt_f16_f32(Context& c) {
  c.set_f16(c.fp(Op::cvt_f16_f32, {c.src32(Slot::src0)}, c.env_f32_to_f16()));
}

template <Op kOp>
void int16_to_f16(Context& c) {
  c.set_f16(c.fp(kOp, {c.src32(Slot::src0)}, c.env16()));
}
template <Op kOp>
void f16_to_int16(Context& c) {
  c.set_v16(c.fp(kOp, {c.src32(Slot::src0)}, c.env16()));
}

template <unsigned kByte>
void ubyte(Context& c) {
  Inst* byte = c.b.op(Op::bfe_u, {c.src32(Slot::src0), c.v(8 * kByte), c.v(8)});
  c.set_f32(c.fp(Op::cvt_f32_u32, {byte}, c.env32()));
}

// A signed 4-bit number in sixteenths.
void v_cvt_off_f32_i4(Context& c) {
  Inst* number = c.sext(c.src32(Slot::src0), 4);
  c.set_f32(c.fp(Op::fmul_f32, {c.fp(Op::cvt_f32_i32, {number}, c.env32()), c.v(0x3d800000)}, c.env32()));
}

void v_cvt_pkrtz_f16_f32(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* packed = c.fp(Op::cvt_pkrtz_f16_f32, {x, c.src32(Slot::src1)}, c.env16());
  if (c.inst->clamp) {
    Inst* low = c.fp(Op::fclamp_f16, {packed}, c.env16());
    Inst* high = c.fp(Op::fclamp_f16, {c.lshr(packed, 16)}, c.env16());
    packed = c.or_(low, c.shl(high, 16));
  }
  c.set_v32(packed);
}

constexpr uint32_t kNearest = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;

// x scaled to a normalised 16-bit integer; NaN gives 0.
template <bool kSigned>
Inst* normalise(Context& c, Inst* x) {
  Inst* low = c.fp(Op::fmax_f32, {x, c.v(kSigned ? 0xbf800000 : 0)}, kNearest);
  Inst* clamped = c.fp(Op::fmin_f32, {low, c.v(0x3f800000)}, kNearest);
  Inst* scaled = c.fp(Op::fmul_f32, {clamped, c.v(kSigned ? 0x46fffe00 : 0x477fff00)}, kNearest);
  Inst* rounded = c.fp(Op::frndne_f32, {scaled}, kNearest);
  Inst* number = c.fp(kSigned ? Op::cvt_i32_f32 : Op::cvt_u32_f32, {rounded}, kNearest);
  Inst* ordered = c.fp(Op::fcmp_f32, {x, x}, kNearest | static_cast<uint32_t>(ir::FCmp::o) << ir::fpenv::kFCmpShift);
  return c.b.select(ordered, c.zext16(number), c.v(0));
}
template <bool kSigned, bool kHalf>
void pknorm(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  if (kHalf) {
    x = c.fp(Op::cvt_f32_f16, {x}, c.env16());
    y = c.fp(Op::cvt_f32_f16, {y}, c.env16());
  }
  Inst* low = normalise<kSigned>(c, x);
  c.set_v32(c.or_(low, c.shl(normalise<kSigned>(c, y), 16)));
}
template <bool kSigned>
void norm16(Context& c) {
  c.set_v16(normalise<kSigned>(c, c.fp(Op::cvt_f32_f16, {c.src32(Slot::src0)}, c.env16())));
}

void insert_u8_of_f32(Context& c, Inst* rest) {
  Inst* x = c.src32(Slot::src0);
  Inst* byte = c.src32(Slot::src1);
  Inst* number = c.fp(Op::cvt_u32_f32, {c.fp(Op::frndne_f32, {x}, c.env32())}, c.env32());
  number = c.b.op(Op::umin, {number, c.v(255)});
  Inst* shift = c.and_(c.shl(byte, 3), c.v(24));
  Inst* field = c.b.op(Op::shl, {c.v(255), shift});
  c.set_v32(c.b.op(Op::bfi, {field, c.b.op(Op::shl, {number, shift}), rest}));
}

void v_cvt_pk_u8_f32(Context& c) {
  insert_u8_of_f32(c, c.src32(Slot::src2));
}
// Of the destination the other bytes stay.
void v_cvt_pkaccum_u8_f32(Context& c) {
  insert_u8_of_f32(c, c.raw32(c.operand(Slot::vdst)));
}

}  // namespace

void add_convert(HandlerTable& t) {
  t.add(Opcode::v_cvt_f32_i32, to_f32<Op::cvt_f32_i32>);
  t.add(Opcode::v_cvt_f32_u32, to_f32<Op::cvt_f32_u32>);
  t.add(Opcode::v_cvt_i32_f32, f32_to_int<Op::cvt_i32_f32>);
  t.add(Opcode::v_cvt_u32_f32, f32_to_int<Op::cvt_u32_f32>);
  t.add(Opcode::v_cvt_rpi_i32_f32, f32_to_int<Op::cvt_rpi_i32_f32>);
  t.add(Opcode::v_cvt_flr_i32_f32, f32_to_int<Op::cvt_flr_i32_f32>);
  t.add(Opcode::v_cvt_f64_i32, to_f64<Op::cvt_f64_i32>);
  t.add(Opcode::v_cvt_f64_u32, to_f64<Op::cvt_f64_u32>);
  t.add(Opcode::v_cvt_i32_f64, f64_to_int<Op::cvt_i32_f64>);
  t.add(Opcode::v_cvt_u32_f64, f64_to_int<Op::cvt_u32_f64>);
  t.add(Opcode::v_cvt_f64_f32, v_cvt_f64_f32);
  t.add(Opcode::v_cvt_f32_f64, v_cvt_f32_f64);
  t.add(Opcode::v_cvt_f32_f16, v_cvt_f32_f16);
  t.add(Opcode::v_cvt_f16_f32, v_cvt_f16_f32);
  t.add(Opcode::v_cvt_f16_i16, int16_to_f16<Op::cvt_f16_i16>);
  t.add(Opcode::v_cvt_f16_u16, int16_to_f16<Op::cvt_f16_u16>);
  t.add(Opcode::v_cvt_i16_f16, f16_to_int16<Op::cvt_i16_f16>);
  t.add(Opcode::v_cvt_u16_f16, f16_to_int16<Op::cvt_u16_f16>);
  t.add(Opcode::v_cvt_f32_ubyte0, ubyte<0>);
  t.add(Opcode::v_cvt_f32_ubyte1, ubyte<1>);
  t.add(Opcode::v_cvt_f32_ubyte2, ubyte<2>);
  t.add(Opcode::v_cvt_f32_ubyte3, ubyte<3>);
  t.add(Opcode::v_cvt_off_f32_i4, v_cvt_off_f32_i4);
  t.add(Opcode::v_cvt_pkrtz_f16_f32, v_cvt_pkrtz_f16_f32);
  t.add(Opcode::v_cvt_pknorm_i16_f32, pknorm<true, false>);
  t.add(Opcode::v_cvt_pknorm_u16_f32, pknorm<false, false>);
  t.add(Opcode::v_cvt_pknorm_i16_f16, pknorm<true, true>);
  t.add(Opcode::v_cvt_pknorm_u16_f16, pknorm<false, true>);
  t.add(Opcode::v_cvt_norm_i16_f16, norm16<true>);
  t.add(Opcode::v_cvt_norm_u16_f16, norm16<false>);
  t.add(Opcode::v_cvt_pk_u8_f32, v_cvt_pk_u8_f32);
  t.add(Opcode::v_cvt_pkaccum_u8_f32, v_cvt_pkaccum_u8_f32);
}

}  // namespace wavejit::lift
