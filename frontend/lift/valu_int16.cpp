// 16-bit integer VALU: operands extended to 32 bits, results cut to 16.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

struct Pair {
  Inst *x, *y;
};
template <bool kSigned>
Inst* source(Context& c, Slot slot) {
  return kSigned ? c.src_i16(slot) : c.src_u16(slot);
}
template <bool kSigned>
Pair two(Context& c) {
  Inst* x = source<kSigned>(c, Slot::src0);
  return {x, source<kSigned>(c, Slot::src1)};
}

// Clamps the exact 32-bit value to the 16-bit range; differences of unsigned numbers are signed here.
template <bool kSigned>
Inst* saturate(Context& c, Inst* value) {
  value = c.b.op(Op::smin, {value, c.v(kSigned ? 0x7fff : 0xffff)});
  return c.b.op(Op::smax, {value, c.v(kSigned ? 0xffff8000 : 0)});
}

template <Op kOp, bool kSigned, bool kReverse>
void add_sub(Context& c) {
  auto [x, y] = two<kSigned>(c);
  Inst* value = kReverse ? c.b.op(kOp, {y, x}) : c.b.op(kOp, {x, y});
  if (c.inst->clamp) value = saturate<kSigned>(c, value);
  c.set_v16(c.zext16(value), kSigned);  // v_add_i16, v_sub_i16
}
template <Op kOp, bool kSigned>
void binary(Context& c) {
  const auto [x, y] = two<kSigned>(c);
  c.set_v16(c.zext16(c.b.op(kOp, {x, y})));
}
void v_mul_lo_u16(Context& c) {
  const auto [x, y] = two<false>(c);
  Inst* product = c.b.op(Op::mul, {x, y});
  c.set_v16(c.inst->clamp ? c.b.op(Op::umin, {product, c.v(0xffff)}) : c.zext16(product));
}
template <Op kOp, bool kSigned>
void shift_rev(Context& c) {
  Inst* amount = c.and_(c.src_u16(Slot::src0), c.v(15));
  c.set_v16(c.zext16(c.b.op(kOp, {source<kSigned>(c, Slot::src1), amount})));
}

template <bool kSigned, bool kKeepsHigh>
void mad(Context& c) {
  const auto [x, y] = two<kSigned>(c);
  Inst* z = source<kSigned>(c, Slot::src2);
  Inst* product = c.b.op(Op::mul, {x, y});
  Inst* value = c.add(product, z);
  if (c.inst->clamp) {
    // The exact value fits 32 bits: unsigned up to 0xffff0000 + ..., so compare unsigned there.
    value = kSigned ? saturate<true>(c, value) : c.b.op(Op::umin, {value, c.v(0xffff)});
  }
  c.set_v16(c.zext16(value), kKeepsHigh);
}

// 16-bit factors, 32-bit sum.
template <bool kSigned>
void mad_32_16(Context& c) {
  const auto [x, y] = two<kSigned>(c);
  Inst* z = c.src32(Slot::src2);
  Inst* product = c.b.op(Op::mul, {x, y});
  Inst* value = c.add(product, z);
  if (c.inst->clamp) {
    if (kSigned) {
      Inst* differs = c.and_(c.b.op(Op::xor_, {product, value}), c.b.op(Op::xor_, {z, value}));
      Inst* limit = c.b.op(Op::xor_, {c.b.op(Op::ashr, {z, c.v(31)}), c.v(0x7fffffff)});
      value = c.b.select(c.b.icmp(ICmp::slt, differs, c.v(0)), limit, value);
    } else {
      value = c.b.select(c.b.op(Op::addc_carry, {product, z, c.b.mask(0)}), c.v(UINT32_MAX), value);
    }
  }
  c.set_v32(value);
}

template <Op kOp, bool kSigned>
void reduce3(Context& c) {
  const auto [x, y] = two<kSigned>(c);
  Inst* z = source<kSigned>(c, Slot::src2);
  c.set_v16(c.zext16(c.b.op(kOp, {c.b.op(kOp, {x, y}), z})), true);
}
template <Op kMin, Op kMax, bool kSigned>
void med3(Context& c) {
  const auto [x, y] = two<kSigned>(c);
  Inst* z = source<kSigned>(c, Slot::src2);
  Inst* low = c.b.op(kMin, {x, y});
  Inst* high = c.b.op(kMax, {x, y});
  c.set_v16(c.zext16(c.b.op(kMax, {low, c.b.op(kMin, {high, z})})), true);
}

// Two signed 16-bit numbers saturated to bytes.
void v_sat_pk_u8_i16(Context& c) {
  Inst* x = c.src32(Slot::src0);
  const auto byte = [&](Inst* value) { return c.b.op(Op::smax, {c.b.op(Op::smin, {value, c.v(255)}), c.v(0)}); };
  Inst* low = byte(c.sext16(x));
  Inst* high = byte(c.b.op(Op::ashr, {x, c.v(16)}));
  c.set_v16(c.or_(low, c.shl(high, 8)));
}

}  // namespace

void add_valu_int16(HandlerTable& t) {
  t.add(Opcode::v_add_u16, add_sub<Op::add, false, false>);
  t.add(Opcode::v_sub_u16, add_sub<Op::sub, false, false>);
  t.add(Opcode::v_subrev_u16, add_sub<Op::sub, false, true>);
  t.add(Opcode::v_add_i16, add_sub<Op::add, true, false>);
  t.add(Opcode::v_sub_i16, add_sub<Op::sub, true, false>);
  t.add(Opcode::v_mul_lo_u16, v_mul_lo_u16);
  t.add(Opcode::v_min_u16, binary<Op::umin, false>);
  t.add(Opcode::v_max_u16, binary<Op::umax, false>);
  t.add(Opcode::v_min_i16, binary<Op::smin, true>);
  t.add(Opcode::v_max_i16, binary<Op::smax, true>);
  t.add(Opcode::v_lshlrev_b16, shift_rev<Op::shl, false>);
  t.add(Opcode::v_lshrrev_b16, shift_rev<Op::lshr, false>);
  t.add(Opcode::v_ashrrev_i16, shift_rev<Op::ashr, true>);
  t.add(Opcode::v_mad_u16, mad<false, true>);
  t.add(Opcode::v_mad_i16, mad<true, true>);
  t.add(Opcode::v_mad_legacy_u16, mad<false, false>);
  t.add(Opcode::v_mad_legacy_i16, mad<true, false>);
  t.add(Opcode::v_mad_u32_u16, mad_32_16<false>);
  t.add(Opcode::v_mad_i32_i16, mad_32_16<true>);
  t.add(Opcode::v_min3_i16, reduce3<Op::smin, true>);
  t.add(Opcode::v_min3_u16, reduce3<Op::umin, false>);
  t.add(Opcode::v_max3_i16, reduce3<Op::smax, true>);
  t.add(Opcode::v_max3_u16, reduce3<Op::umax, false>);
  t.add(Opcode::v_med3_i16, med3<Op::smin, Op::smax, true>);
  t.add(Opcode::v_med3_u16, med3<Op::umin, Op::umax, false>);
  t.add(Opcode::v_sat_pk_u8_i16, v_sat_pk_u8_i16);
}

}  // namespace wavejit::lift
