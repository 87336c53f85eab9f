// 32- and 64-bit integer VALU.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

template <Op kOp>
void unary(Context& c) {
  c.set_v32(c.b.op(kOp, {c.src32(Slot::src0)}));
}
template <Op kOp>
void binary(Context& c) {
  Inst* x = c.src32(Slot::src0);
  c.set_v32(c.b.op(kOp, {x, c.src32(Slot::src1)}));
}
template <Op kOp>
void binary_rev(Context& c) {
  Inst* x = c.src32(Slot::src0);
  c.set_v32(c.b.op(kOp, {c.src32(Slot::src1), x}));
}
template <Op kOp>
void ternary(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  c.set_v32(c.b.op(kOp, {x, y, c.src32(Slot::src2)}));
}
// (a F b) G c
template <Op kFirst, Op kSecond>
void chain(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  c.set_v32(c.b.op(kSecond, {c.b.op(kFirst, {x, y}), c.src32(Slot::src2)}));
}

void v_mov_b32(Context& c) {
  c.set_v32(c.src32(Slot::src0));
}
void v_mov_b64(Context& c) {
  c.set_v64(c.src64(Slot::src0));
}
// The amount has three bits (MI300 ISA, V_LSHL_ADD_U64).
void v_lshl_add_u64(Context& c) {
  Inst* amount = c.b.op(Op::zext64, {c.and_(c.src32(Slot::src1), c.v(7))});
  c.set_v64(c.add(c.b.op(Op::shl, {c.src64(Slot::src0), amount}), c.src64(Slot::src2)));
}
void v_nop(Context&) {}

void v_swap_b32(Context& c) {
  const Operand& x = c.operand(Slot::vdst);
  const Operand& y = c.operand(Slot::src0);
  Inst* mask = c.exec();
  if (c.mode & mode::kGprIdxEn) {  // x is a destination to VGPR indexing, y src0
    const auto relative = [&](const Operand& operand, unsigned position) {
      Inst* index = c.gpr_index(position);
      return Context::RelativeRow{.base = operand.reg, .dwords = 1, .index = index ? index : c.b.i32(0)};
    };
    const Context::RelativeRow rx = relative(x, Context::kDestination), ry = relative(y, Context::kSource0);
    mask = c.and_(mask, c.b.op(Op::splat_mask, {c.and_(c.in_range(rx), c.in_range(ry))}));
    Inst* old_x = c.read_relative(rx, 0);
    Inst* old_y = c.read_relative(ry, 0);
    c.write_relative(rx, 0, old_y, mask);
    c.write_relative(ry, 0, old_x, mask);
    return;
  }
  Inst* old_x = c.raw32(x);
  Inst* old_y = c.raw32(y);
  c.set_row(x, 0, old_y, mask);
  c.set_row(y, 0, old_x, mask);
}

void v_xnor_b32(Context& c) {
  Inst* x = c.src32(Slot::src0);
  c.set_v32(c.b.op(Op::not_, {c.b.op(Op::xor_, {x, c.src32(Slot::src1)})}));
}

void v_ffbh_i32(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* sign = c.b.op(Op::ashr, {x, c.v(31)});
  c.set_v32(c.b.op(Op::clz, {c.b.op(Op::xor_, {x, sign})}));
}

void v_cndmask_b32(Context& c) {
  Inst* if_clear = c.src32(Slot::src0);
  Inst* if_set = c.src32(Slot::src1);
  c.set_v32(c.b.select(c.smask(Slot::src2), if_set, if_clear));
}

// --- add and subtract
// ---------------------------------------------------------------------------------------------------

struct Sources {
  Inst *x, *y;
};
template <bool kReverse>
Sources sources(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  return kReverse ? Sources{y, x} : Sources{x, y};
}

// Unsigned saturation of a sum (to all ones) or difference (to zero), given the carry or borrow.
template <bool kSub>
Inst* saturate_unsigned(Context& c, Inst* value, Inst* carry) {
  return c.b.select(carry, c.like(value, kSub ? 0 : ~uint64_t{0}), value);
}

// v_add_co_u32 and relatives: carry out, and carry in for the _c_ forms.
template <bool kSub, bool kReverse, bool kCarryIn>
void add_co(Context& c) {
  const auto [x, y] = sources<kReverse>(c);
  Inst* carry_in = kCarryIn ? c.smask(Slot::src2) : c.b.mask(0);
  Inst* carry = c.b.op(kSub ? Op::subb_borrow : Op::addc_carry, {x, y, carry_in});
  Inst* result =
      kCarryIn ? c.b.op(kSub ? Op::subb : Op::addc, {x, y, carry_in}) : c.b.op(kSub ? Op::sub : Op::add, {x, y});
  if (c.inst->clamp) result = saturate_unsigned<kSub>(c, result, carry);
  c.set_v32(result);
  c.set_vmask(Slot::sdst, carry);
}

template <bool kSub, bool kReverse>
void add_u32(Context& c) {
  const auto [x, y] = sources<kReverse>(c);
  Inst* result = c.b.op(kSub ? Op::sub : Op::add, {x, y});
  if (c.inst->clamp)
    result = saturate_unsigned<kSub>(c, result, c.b.op(kSub ? Op::subb_borrow : Op::addc_carry, {x, y, c.b.mask(0)}));
  c.set_v32(result);
}

// A v64 value saturated to a signed or unsigned 32-bit one.
Inst* saturate_s32(Context& c, Inst* wide) {
  wide = c.b.op(Op::smin, {wide, c.b.v64(0x7fffffff)});
  return c.b.op(Op::lo32, {c.b.op(Op::smax, {wide, c.b.v64(0xffffffff80000000)})});
}
Inst* saturate_u32(Context& c, Inst* wide) {
  return c.b.op(Op::lo32, {c.b.op(Op::umin, {wide, c.b.v64(UINT32_MAX)})});
}

template <bool kSub>
void add_i32(Context& c) {
  const auto [x, y] = sources<false>(c);
  Inst* result = nullptr;
  if (c.inst->clamp)
    result = saturate_s32(c, c.b.op(kSub ? Op::sub : Op::add, {c.b.op(Op::sext64, {x}), c.b.op(Op::sext64, {y})}));
  else
    result = c.b.op(kSub ? Op::sub : Op::add, {x, y});
  c.set_v32(result);
}

// --- multiplication
// -------------------------------------------------------------------------------------------------------

template <bool kSigned>
Inst* low24(Context& c, Inst* x) {
  return kSigned ? c.sext(x, 24) : c.and_(x, c.v(0xffffff));
}
template <bool kSigned>
void mul24(Context& c) {
  const auto [x, y] = sources<false>(c);
  Inst* a = low24<kSigned>(c, x);
  Inst* b = low24<kSigned>(c, y);
  if (c.inst->clamp) {
    Inst* product = c.b.op(kSigned ? Op::mul_wide_s : Op::mul_wide_u, {a, b});
    c.set_v32(kSigned ? saturate_s32(c, product) : saturate_u32(c, product));
    return;
  }
  c.set_v32(c.b.op(Op::mul, {a, b}));
}
template <bool kSigned>
void mul_hi24(Context& c) {
  const auto [x, y] = sources<false>(c);
  c.set_v32(c.b.op(kSigned ? Op::mulhi_s : Op::mulhi_u, {low24<kSigned>(c, x), low24<kSigned>(c, y)}));
}
template <bool kSigned>
void mad24(Context& c) {
  const auto [x, y] = sources<false>(c);
  Inst* z = c.src32(Slot::src2);
  Inst* a = low24<kSigned>(c, x);
  Inst* b = low24<kSigned>(c, y);
  if (c.inst->clamp) {
    Inst* product = c.b.op(kSigned ? Op::mul_wide_s : Op::mul_wide_u, {a, b});
    Inst* sum = c.add(product, c.b.op(kSigned ? Op::sext64 : Op::zext64, {z}));
    c.set_v32(kSigned ? saturate_s32(c, sum) : saturate_u32(c, sum));
    return;
  }
  c.set_v32(c.add(c.b.op(Op::mul, {a, b}), z));
}

void v_mad_u64_u32(Context& c) {
  const auto [x, y] = sources<false>(c);
  Inst* z = c.src64(Slot::src2);
  Inst* product = c.b.op(Op::mul_wide_u, {x, y});
  Inst* sum = c.add(product, z);
  Inst* carry = c.b.op(Op::addc_carry, {product, z, c.b.mask(0)});
  c.set_v64(c.inst->clamp ? saturate_unsigned<false>(c, sum, carry) : sum);
  c.set_vmask(Slot::sdst, carry);
}

void v_mad_i64_i32(Context& c) {
  const auto [x, y] = sources<false>(c);
  Inst* z = c.src64(Slot::src2);
  Inst* product = c.b.op(Op::mul_wide_s, {x, y});
  Inst* sum = c.add(product, z);
  Inst* differs = c.and_(c.b.op(Op::xor_, {product, sum}), c.b.op(Op::xor_, {z, sum}));
  Inst* overflow = c.b.icmp(ICmp::slt, differs, c.b.v64(0));
  if (c.inst->clamp) {
    Inst* limit = c.b.op(Op::xor_, {c.b.op(Op::ashr, {z, c.b.v64(63)}), c.b.v64(0x7fffffffffffffff)});
    sum = c.b.select(overflow, limit, sum);
  }
  c.set_v64(sum);
  c.set_vmask(Slot::sdst, overflow);
}

// --- three sources
// ------------------------------------------------------------------------------------------------------------

template <Op kMin, Op kMax>
void med3(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  Inst* z = c.src32(Slot::src2);
  Inst* low = c.b.op(kMin, {x, y});
  Inst* high = c.b.op(kMax, {x, y});
  c.set_v32(c.b.op(kMax, {low, c.b.op(kMin, {high, z})}));
}

void v_alignbyte_b32(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  Inst* z = c.src32(Slot::src2);
  c.set_v32(c.b.op(Op::alignbit, {x, y, c.shl(z, 3)}));  // the amount counts modulo 32, i.e. 4 bytes
}

template <ir::Helper kHelper>
void helper3(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  Inst* z = c.src32(Slot::src2);
  const bool saturates = c.inst->clamp && kHelper != ir::Helper::lerp_u8;
  Inst* result = c.b.op_typed(Op::helper, ir::kV32, {x, y, saturates ? c.v(0) : z}, static_cast<uint32_t>(kHelper));
  if (saturates) {
    Inst* carry = c.b.op(Op::addc_carry, {result, z, c.b.mask(0)});
    result = saturate_unsigned<false>(c, c.add(result, z), carry);
  }
  c.set_v32(result);
}

// Bytes i to i + 3 of a 64-bit operand, a register.
Inst* window(Context& c, const Operand& operand, unsigned i) {
  Inst* low = c.row_or_half(operand, 0);
  return i == 0 ? low : c.b.op(Op::alignbit, {c.row_or_half(operand, 1), low, c.v(8 * i)});
}

// Four sliding windows of src0 against src1. Sums of 16 bits, one after the other.
template <ir::Helper kSum>
void v_qsad_pk_u16_u8(Context& c) {
  const Operand& addend = c.operand(Slot::src2);
  Inst* reference = c.src32(Slot::src1);
  Inst* result[4];
  for (unsigned i = 0; i < 4; ++i) {
    Inst* pair = c.row_or_half(addend, i / 2);
    Inst* z = i % 2 == 0 ? c.zext16(pair) : c.lshr(pair, 16);
    Inst* x = window(c, c.operand(Slot::src0), i);
    Inst* sum = c.b.op_typed(Op::helper, ir::kV32, {x, reference, z}, static_cast<uint32_t>(kSum));
    result[i] = c.inst->clamp ? c.b.op(Op::umin, {sum, c.v(0xffff)}) : c.zext16(sum);
  }
  const Operand& dst = c.operand(Slot::vdst);
  Inst* mask = c.write_enable();
  for (unsigned i = 0; i < 2; ++i) c.set_row(dst, i, c.or_(result[2 * i], c.shl(result[2 * i + 1], 16)), mask);
}

void v_mqsad_u32_u8(Context& c) {
  const Operand& addend = c.operand(Slot::src2);
  Inst* reference = c.src32(Slot::src1);
  Inst* result[4];
  for (unsigned i = 0; i < 4; ++i) {
    Inst* x = window(c, c.operand(Slot::src0), i);
    Inst* z = c.row_or_half(addend, i);
    const auto sum_with = [&](Inst* start) {
      return c.b.op_typed(Op::helper, ir::kV32, {x, reference, start}, static_cast<uint32_t>(ir::Helper::msad_u8));
    };
    if (c.inst->clamp) {
      Inst* sum = sum_with(c.v(0));
      result[i] = saturate_unsigned<false>(c, c.add(sum, z), c.b.op(Op::addc_carry, {sum, z, c.b.mask(0)}));
    } else {
      result[i] = sum_with(z);
    }
  }
  const Operand& dst = c.operand(Slot::vdst);
  Inst* mask = c.write_enable();
  for (unsigned i = 0; i < 4; ++i) c.set_row(dst, i, result[i], mask);
}

void v_screen_partition_4se_b32(Context& c) {
  c.set_v32(c.b.op_typed(Op::helper, ir::kV32, {c.src32(Slot::src0)},
                         static_cast<uint32_t>(ir::Helper::screen_partition_4se)));
}

void v_sad_u32(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  Inst* z = c.src32(Slot::src2);
  Inst* distance = c.b.op(Op::sub, {c.b.op(Op::umax, {x, y}), c.b.op(Op::umin, {x, y})});
  Inst* sum = c.add(distance, z);
  if (c.inst->clamp) sum = saturate_unsigned<false>(c, sum, c.b.op(Op::addc_carry, {distance, z, c.b.mask(0)}));
  c.set_v32(sum);
}

// --- counting, masks, 64-bit shifts
// ----------------------------------------------------------------------------------------------

void v_bcnt_u32_b32(Context& c) {
  Inst* x = c.b.op(Op::popcount, {c.src32(Slot::src0)});
  c.set_v32(c.add(x, c.src32(Slot::src1)));
}

// src1 + the number of bits of src0 at positions below the lane; the low form counts lanes 0..31, the high form 32..63.
template <bool kHigh>
void mbcnt(Context& c) {
  const Operand& bits = c.operand(Slot::src0);
  Inst* count = nullptr;
  if (bits.kind == OperandKind::vgpr || bits.kind == OperandKind::agpr) {
    Inst* lane = c.b.op(Op::lane_id, {});
    Inst* position = kHigh ? c.b.op(Op::sub, {lane, c.v(32)}) : lane;
    Inst* below = c.b.op(Op::sub, {c.b.op(Op::shl, {c.v(1), position}), c.v(1)});
    Inst* lower_half = c.b.icmp(ICmp::ult, lane, c.v(32));
    below = kHigh ? c.b.select(lower_half, c.v(0), below) : c.b.select(lower_half, below, c.v(UINT32_MAX));
    count = c.b.op(Op::popcount, {c.and_(c.src32(Slot::src0), below)});
  } else {
    Inst* half = c.s32(bits);
    Inst* zero = c.b.i32(0);
    Inst* number = kHigh ? c.b.op(Op::pack64, {zero, half}) : c.b.op(Op::pack64, {half, zero});
    count = c.b.op(Op::mbcnt, {c.b.op(Op::i64_to_mask, {number})});
  }
  c.set_v32(c.add(count, c.src32(Slot::src1)));
}

void v_bfm_b32(Context& c) {
  Inst* width = c.src32(Slot::src0);
  Inst* offset = c.src32(Slot::src1);
  Inst* ones = c.b.op(Op::sub, {c.b.op(Op::shl, {c.v(1), width}), c.v(1)});
  c.set_v32(c.b.op(Op::shl, {ones, offset}));
}

template <Op kOp, Slot kValue = Slot::src1, Slot kAmount = Slot::src0>
void shift64(Context& c) {
  Inst* amount = c.b.op(Op::zext64, {c.src32(kAmount)});
  c.set_v64(c.b.op(kOp, {c.src64(kValue), amount}));
}

template <bool kSigned>
void cvt_pk_16_32(Context& c) {
  const auto [x, y] = sources<false>(c);
  const auto narrow = [&](Inst* value) {
    if (!kSigned) return c.b.op(Op::umin, {value, c.v(0xffff)});
    value = c.b.op(Op::smax, {c.b.op(Op::smin, {value, c.v(0x7fff)}), c.v(0xffff8000)});
    return c.zext16(value);
  };
  Inst* low = narrow(x);
  c.set_v32(c.or_(low, c.shl(narrow(y), 16)));
}

}  // namespace

void add_valu_int(HandlerTable& t) {
  t.add(Opcode::v_nop, v_nop);
  t.add(Opcode::v_mov_b32, v_mov_b32);
  t.add(Opcode::v_mov_b64, v_mov_b64);
  t.add(Opcode::v_lshl_add_u64, v_lshl_add_u64);
  t.add(Opcode::v_accvgpr_read_b32, v_mov_b32);
  t.add(Opcode::v_accvgpr_write_b32, v_mov_b32);
  t.add(Opcode::v_accvgpr_mov_b32, v_mov_b32);
  t.add(Opcode::v_swap_b32, v_swap_b32);
  t.add(Opcode::v_cndmask_b32, v_cndmask_b32);
  t.add(Opcode::v_not_b32, unary<Op::not_>);
  t.add(Opcode::v_bfrev_b32, unary<Op::bitrev>);
  t.add(Opcode::v_ffbh_u32, unary<Op::clz>);
  t.add(Opcode::v_ffbl_b32, unary<Op::ctz>);
  t.add(Opcode::v_ffbh_i32, v_ffbh_i32);
  t.add(Opcode::v_and_b32, binary<Op::and_>);
  t.add(Opcode::v_or_b32, binary<Op::or_>);
  t.add(Opcode::v_xor_b32, binary<Op::xor_>);
  t.add(Opcode::v_xnor_b32, v_xnor_b32);
  t.add(Opcode::v_lshl_b32, binary<Op::shl>);
  t.add(Opcode::v_lshr_b32, binary<Op::lshr>);
  t.add(Opcode::v_ashr_i32, binary<Op::ashr>);
  t.add(Opcode::v_lshlrev_b32, binary_rev<Op::shl>);
  t.add(Opcode::v_lshrrev_b32, binary_rev<Op::lshr>);
  t.add(Opcode::v_ashrrev_i32, binary_rev<Op::ashr>);
  t.add(Opcode::v_min_i32, binary<Op::smin>);
  t.add(Opcode::v_max_i32, binary<Op::smax>);
  t.add(Opcode::v_min_u32, binary<Op::umin>);
  t.add(Opcode::v_max_u32, binary<Op::umax>);
  t.add(Opcode::v_add_co_u32, add_co<false, false, false>);
  t.add(Opcode::v_sub_co_u32, add_co<true, false, false>);
  t.add(Opcode::v_subrev_co_u32, add_co<true, true, false>);
  t.add(Opcode::v_addc_co_u32, add_co<false, false, true>);
  t.add(Opcode::v_subb_co_u32, add_co<true, false, true>);
  t.add(Opcode::v_subbrev_co_u32, add_co<true, true, true>);
  t.add(Opcode::v_add_u32, add_u32<false, false>);
  t.add(Opcode::v_sub_u32, add_u32<true, false>);
  t.add(Opcode::v_subrev_u32, add_u32<true, true>);
  t.add(Opcode::v_add_i32, add_i32<false>);
  t.add(Opcode::v_sub_i32, add_i32<true>);
  t.add(Opcode::v_mul_i32_i24, mul24<true>);
  t.add(Opcode::v_mul_u32_u24, mul24<false>);
  t.add(Opcode::v_mul_hi_i32_i24, mul_hi24<true>);
  t.add(Opcode::v_mul_hi_u32_u24, mul_hi24<false>);
  t.add(Opcode::v_mad_i32_i24, mad24<true>);
  t.add(Opcode::v_mad_u32_u24, mad24<false>);
  t.add(Opcode::v_mul_lo_u32, binary<Op::mul>);
  t.add(Opcode::v_mul_lo_i32, binary<Op::mul>);
  t.add(Opcode::v_mul_hi_u32, binary<Op::mulhi_u>);
  t.add(Opcode::v_mul_hi_i32, binary<Op::mulhi_s>);
  t.add(Opcode::v_mad_u64_u32, v_mad_u64_u32);
  t.add(Opcode::v_mad_i64_i32, v_mad_i64_i32);
  t.add(Opcode::v_bfe_u32, ternary<Op::bfe_u>);
  t.add(Opcode::v_bfe_i32, ternary<Op::bfe_s>);
  t.add(Opcode::v_bfi_b32, ternary<Op::bfi>);
  t.add(Opcode::v_alignbit_b32, ternary<Op::alignbit>);
  t.add(Opcode::v_alignbyte_b32, v_alignbyte_b32);
  t.add(Opcode::v_perm_b32, ternary<Op::perm>);
  t.add(Opcode::v_min3_i32, chain<Op::smin, Op::smin>);
  t.add(Opcode::v_min3_u32, chain<Op::umin, Op::umin>);
  t.add(Opcode::v_max3_i32, chain<Op::smax, Op::smax>);
  t.add(Opcode::v_max3_u32, chain<Op::umax, Op::umax>);
  t.add(Opcode::v_med3_i32, med3<Op::smin, Op::smax>);
  t.add(Opcode::v_med3_u32, med3<Op::umin, Op::umax>);
  t.add(Opcode::v_lshl_add_u32, chain<Op::shl, Op::add>);
  t.add(Opcode::v_add_lshl_u32, chain<Op::add, Op::shl>);
  t.add(Opcode::v_add3_u32, chain<Op::add, Op::add>);
  t.add(Opcode::v_lshl_or_b32, chain<Op::shl, Op::or_>);
  t.add(Opcode::v_and_or_b32, chain<Op::and_, Op::or_>);
  t.add(Opcode::v_or3_b32, chain<Op::or_, Op::or_>);
  t.add(Opcode::v_xad_u32, chain<Op::xor_, Op::add>);
  t.add(Opcode::v_lerp_u8, helper3<ir::Helper::lerp_u8>);
  t.add(Opcode::v_sad_u8, helper3<ir::Helper::sad_u8>);
  t.add(Opcode::v_sad_hi_u8, helper3<ir::Helper::sad_hi_u8>);
  t.add(Opcode::v_sad_u16, helper3<ir::Helper::sad_u16>);
  t.add(Opcode::v_msad_u8, helper3<ir::Helper::msad_u8>);
  t.add(Opcode::v_sad_u32, v_sad_u32);
  t.add(Opcode::v_qsad_pk_u16_u8, v_qsad_pk_u16_u8<ir::Helper::sad_u8>);
  t.add(Opcode::v_mqsad_pk_u16_u8, v_qsad_pk_u16_u8<ir::Helper::msad_u8>);
  t.add(Opcode::v_mqsad_u32_u8, v_mqsad_u32_u8);
  t.add(Opcode::v_screen_partition_4se_b32, v_screen_partition_4se_b32);
  t.add(Opcode::v_bcnt_u32_b32, v_bcnt_u32_b32);
  t.add(Opcode::v_mbcnt_lo_u32_b32, mbcnt<false>);
  t.add(Opcode::v_mbcnt_hi_u32_b32, mbcnt<true>);
  t.add(Opcode::v_bfm_b32, v_bfm_b32);
  t.add(Opcode::v_lshl_b64, shift64<Op::shl, Slot::src0, Slot::src1>);
  t.add(Opcode::v_lshr_b64, shift64<Op::lshr, Slot::src0, Slot::src1>);
  t.add(Opcode::v_ashr_i64, shift64<Op::ashr, Slot::src0, Slot::src1>);
  t.add(Opcode::v_lshlrev_b64, shift64<Op::shl>);
  t.add(Opcode::v_lshrrev_b64, shift64<Op::lshr>);
  t.add(Opcode::v_ashrrev_i64, shift64<Op::ashr>);
  t.add(Opcode::v_cvt_pk_u16_u32, cvt_pk_16_32<false>);
  t.add(Opcode::v_cvt_pk_i16_i32, cvt_pk_16_32<true>);
}

}  // namespace wavejit::lift
