// SOP1, SOP2 and SOPK arithmetic and logic.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

// --- 64-bit logic: on masks or on numbers
// ---------------------------------------------------------------------------------

// Exec, VCC, or a pair that a compare made: do the operation on masks.
bool on_masks(Context& c) {
  unsigned masks = 0, numbers = 0;
  for (unsigned i = 0; i < c.inst->num_operands; ++i) {
    const Operand& operand = c.inst->operands[i];
    if (Context::is_mask_register(operand)) return true;
    if (operand.is_src && operand.kind == OperandKind::sgpr) ++(c.ssa.is_mask(operand.reg) ? masks : numbers);
  }
  return (numbers == 0 && masks != 0) || c.result_is_mask;
}

using Binary = Inst* (*)(Context&, Inst*, Inst*);
using Unary = Inst* (*)(Context&, Inst*);

Inst* bit_and(Context& c, Inst* x, Inst* y) {
  return c.b.op(Op::and_, {x, y});
}
Inst* bit_or(Context& c, Inst* x, Inst* y) {
  return c.b.op(Op::or_, {x, y});
}
Inst* bit_xor(Context& c, Inst* x, Inst* y) {
  return c.b.op(Op::xor_, {x, y});
}
Inst* bit_andn2(Context& c, Inst* x, Inst* y) {
  return c.b.op(Op::andn, {x, y});
}
Inst* bit_andn1(Context& c, Inst* x, Inst* y) {
  return c.b.op(Op::andn, {y, x});
}
Inst* bit_not(Context& c, Inst* x) {
  return c.b.op(Op::not_, {x});
}
Inst* bit_orn2(Context& c, Inst* x, Inst* y) {
  return bit_or(c, x, bit_not(c, y));
}
Inst* bit_orn1(Context& c, Inst* x, Inst* y) {
  return bit_or(c, bit_not(c, x), y);
}
Inst* bit_nand(Context& c, Inst* x, Inst* y) {
  return bit_not(c, bit_and(c, x, y));
}
Inst* bit_nor(Context& c, Inst* x, Inst* y) {
  return bit_not(c, bit_or(c, x, y));
}
Inst* bit_xnor(Context& c, Inst* x, Inst* y) {
  return bit_not(c, bit_xor(c, x, y));
}

void scc_any(Context& c, Inst* value) {
  if (value->type.is_mask())
    c.set_scc(c.b.op(Op::mask_any, {value}));
  else
    c.set_scc_nonzero(value);
}

void set64(Context& c, Inst* value) {
  if (value->type.is_mask())
    c.set_smask(Slot::sdst, value);
  else
    c.set_s64(Slot::sdst, value);
}

Inst* get64(Context& c, Slot slot, bool mask) {
  return mask ? c.smask(slot) : c.s64(slot);
}

template <Binary F>
void logic32(Context& c) {
  Inst* x = c.s32(Slot::src0);
  Inst* result = F(c, x, c.s32(Slot::src1));
  c.set_s32(Slot::sdst, result);
  c.set_scc_nonzero(result);
}

template <Binary F>
void logic64(Context& c) {
  const bool mask = on_masks(c);
  Inst* x = get64(c, Slot::src0, mask);
  Inst* result = F(c, x, get64(c, Slot::src1, mask));
  set64(c, result);
  scc_any(c, result);
}

// sdst = EXEC; EXEC = F(src0, EXEC); SCC = EXEC != 0.
template <Binary F>
void saveexec(Context& c) {
  Inst* old = c.exec();
  Inst* result = F(c, c.smask(Slot::src0), old);
  c.set_smask(Slot::sdst, old);
  c.ssa.write_mask(sreg::kExecLo, result);
  scc_any(c, result);
}

template <Binary F>
void wrexec(Context& c) {
  Inst* result = F(c, c.smask(Slot::src0), c.exec());
  c.ssa.write_mask(sreg::kExecLo, result);
  c.set_smask(Slot::sdst, result);
  scc_any(c, result);
}

void s_mov_b64(Context& c) {
  set64(c, get64(c, Slot::src0, on_masks(c)));
}
void s_not_b64(Context& c) {
  Inst* result = bit_not(c, get64(c, Slot::src0, on_masks(c)));
  set64(c, result);
  scc_any(c, result);
}
void s_cmov_b64(Context& c) {
  const bool mask = on_masks(c);
  Inst* x = get64(c, Slot::src0, mask);
  set64(c, c.b.select(c.ssa.read_scc(), x, get64(c, Slot::sdst, mask)));
}
void s_cselect_b64(Context& c) {
  const bool mask = on_masks(c);
  Inst* x = get64(c, Slot::src0, mask);
  Inst* y = get64(c, Slot::src1, mask);
  set64(c, c.b.select(c.ssa.read_scc(), x, y));
}

// --- 32-bit and 64-bit numbers
// ----------------------------------------------------------------------------------------------

template <Unary F, bool kScc>
void unary32(Context& c) {
  Inst* result = F(c, c.s32(Slot::src0));
  c.set_s32(Slot::sdst, result);
  if (kScc) c.set_scc_nonzero(result);
}
// 64-bit source, 32-bit result.
template <Unary F, bool kScc>
void unary64_32(Context& c) {
  Inst* result = c.b.op(Op::lo32, {F(c, c.s64(Slot::src0))});
  c.set_s32(Slot::sdst, result);
  if (kScc) c.set_scc_nonzero(result);
}
template <Unary F, bool kScc>
void unary64(Context& c) {
  Inst* result = F(c, c.s64(Slot::src0));
  c.set_s64(Slot::sdst, result);
  if (kScc) c.set_scc_nonzero(result);
}
template <Op kOp>
Inst* un(Context& c, Inst* x) {
  return c.b.op(kOp, {x});
}
template <Op kOp>
Inst* un_not(Context& c, Inst* x) {
  return c.b.op(kOp, {bit_not(c, x)});
}
Inst* flbit_signed(Context& c, Inst* x) {
  Inst* sign = c.b.op(Op::ashr, {x, c.like(x, x->type.bits() - 1)});
  return c.b.op(Op::clz, {bit_xor(c, x, sign)});
}
template <unsigned kBits>
Inst* sign_extend(Context& c, Inst* x) {
  return c.sext(x, kBits);
}
// One bit per quad, at the quad's lowest position.
Inst* quads(Context& c, Inst* x) {
  x = bit_or(c, x, c.lshr(x, 1));
  x = bit_or(c, x, c.lshr(x, 2));
  return bit_and(c, x, c.like(x, 0x1111111111111111));
}
Inst* wqm(Context& c, Inst* x) {
  Inst* low = quads(c, x);
  return c.b.op(Op::mul, {low, c.like(low, 15)});
}
Inst* quadmask(Context& c, Inst* x) {
  x = quads(c, x);
  static constexpr std::pair<unsigned, uint64_t> kSteps[] = {
      {3, 0x0303030303030303}, {6, 0x000f000f000f000f}, {12, 0x000000ff000000ff}, {24, 0xffff}};
  for (const auto& [shift, mask] : kSteps) x = bit_and(c, bit_or(c, x, c.lshr(x, shift)), c.like(x, mask));
  return x;
}

void s_bitreplicate(Context& c) {
  Inst* x = c.b.op(Op::zext64, {c.s32(Slot::src0)});
  static constexpr std::pair<unsigned, uint64_t> kSteps[] = {{16, 0x0000ffff0000ffff},
                                                             {8, 0x00ff00ff00ff00ff},
                                                             {4, 0x0f0f0f0f0f0f0f0f},
                                                             {2, 0x3333333333333333},
                                                             {1, 0x5555555555555555}};
  for (const auto& [shift, mask] : kSteps) x = bit_and(c, bit_or(c, x, c.shl(x, shift)), c.like(x, mask));
  c.set_s64(Slot::sdst, bit_or(c, x, c.shl(x, 1)));
}

template <bool kSet, bool kWide>
void bitset(Context& c) {
  Inst* bit = c.s32(Slot::src0);
  Inst* old = kWide ? c.s64(Slot::sdst) : c.s32(Slot::sdst);
  if (kWide) bit = c.b.op(Op::zext64, {bit});
  Inst* one = c.b.op(Op::shl, {c.like(old, 1), bit});
  Inst* result = kSet ? bit_or(c, old, one) : bit_andn2(c, old, one);
  if (kWide)
    c.set_s64(Slot::sdst, result);
  else
    c.set_s32(Slot::sdst, result);
}

void s_mov_b32(Context& c) {
  c.set_s32(Slot::sdst, c.s32(Slot::src0));
}
void s_cmov_b32(Context& c) {
  Inst* x = c.s32(Slot::src0);
  c.set_s32(Slot::sdst, c.b.select(c.ssa.read_scc(), x, c.s32(Slot::sdst)));
}
void s_cselect_b32(Context& c) {
  Inst* x = c.s32(Slot::src0);
  Inst* y = c.s32(Slot::src1);
  c.set_s32(Slot::sdst, c.b.select(c.ssa.read_scc(), x, y));
}
void s_getpc_b64(Context& c) {
  c.set_s64(Slot::sdst, c.b.i64(c.inst->next_pc()));
}

// --- arithmetic with carry or overflow
// -----------------------------------------------------------------------------------------

template <Op kOp, Op kCarry>
void add_unsigned(Context& c) {
  Inst* x = c.s32(Slot::src0);
  Inst* y = c.s32(Slot::src1);
  Inst* result = c.b.op(kOp, {x, y});
  Inst* carry = c.b.op(kCarry, {x, y, c.b.i1(false)});
  c.set_s32(Slot::sdst, result);
  c.set_scc(carry);
}
template <Op kOp, Op kCarry>
void add_with_carry(Context& c) {
  Inst* x = c.s32(Slot::src0);
  Inst* y = c.s32(Slot::src1);
  Inst* carry_in = c.ssa.read_scc();
  Inst* result = c.b.op(kOp, {x, y, carry_in});
  Inst* carry = c.b.op(kCarry, {x, y, carry_in});
  c.set_s32(Slot::sdst, result);
  c.set_scc(carry);
}
// SCC = signed overflow.
void add_signed(Context& c, Inst* x, Inst* y) {
  Inst* result = c.b.op(Op::add, {x, y});
  Inst* overflow = bit_and(c, bit_xor(c, x, result), bit_xor(c, y, result));
  c.set_s32(Slot::sdst, result);
  c.set_scc(c.b.icmp(ICmp::slt, overflow, c.b.i32(0)));
}
void s_add_i32(Context& c) {
  Inst* x = c.s32(Slot::src0);
  add_signed(c, x, c.s32(Slot::src1));
}
void s_addk_i32(Context& c) {
  add_signed(c, c.s32(Slot::sdst), c.b.i32(static_cast<uint32_t>(static_cast<int16_t>(c.simm16()))));
}
void s_sub_i32(Context& c) {
  Inst* x = c.s32(Slot::src0);
  Inst* y = c.s32(Slot::src1);
  Inst* result = c.b.op(Op::sub, {x, y});
  Inst* overflow = bit_and(c, bit_xor(c, x, y), bit_xor(c, x, result));
  c.set_s32(Slot::sdst, result);
  c.set_scc(c.b.icmp(ICmp::slt, overflow, c.b.i32(0)));
}

// SCC = source 0 was taken.
template <Op kOp, ICmp kTaken>
void min_max(Context& c) {
  Inst* x = c.s32(Slot::src0);
  Inst* y = c.s32(Slot::src1);
  Inst* result = c.b.op(kOp, {x, y});
  c.set_scc(c.b.icmp(kTaken, x, y));
  c.set_s32(Slot::sdst, result);
}

template <Op kOp>
void shift32(Context& c) {
  Inst* x = c.s32(Slot::src0);
  Inst* result = c.b.op(kOp, {x, c.s32(Slot::src1)});
  c.set_s32(Slot::sdst, result);
  c.set_scc_nonzero(result);
}
template <Op kOp>
void shift64(Context& c) {
  Inst* x = c.s64(Slot::src0);
  Inst* result = c.b.op(kOp, {x, c.b.op(Op::zext64, {c.s32(Slot::src1)})});
  c.set_s64(Slot::sdst, result);
  c.set_scc_nonzero(result);
}
template <Op kOp>
void binary32(Context& c) {  // SCC unchanged
  Inst* x = c.s32(Slot::src0);
  c.set_s32(Slot::sdst, c.b.op(kOp, {x, c.s32(Slot::src1)}));
}

void s_absdiff_i32(Context& c) {
  Inst* x = c.s32(Slot::src0);
  Inst* result = c.b.op(Op::sabs, {c.b.op(Op::sub, {x, c.s32(Slot::src1)})});
  c.set_s32(Slot::sdst, result);
  c.set_scc_nonzero(result);
}

template <unsigned kShift>
void lshl_add(Context& c) {
  Inst* x = c.b.op(Op::zext64, {c.s32(Slot::src0)});
  Inst* y = c.b.op(Op::zext64, {c.s32(Slot::src1)});
  Inst* sum = c.add(c.shl(x, kShift), y);
  c.set_s32(Slot::sdst, c.b.op(Op::lo32, {sum}));
  c.set_scc(c.b.icmp(ICmp::ugt, sum, c.b.i64(UINT32_MAX)));
}

template <bool kLowHigh, bool kHighHigh>
void pack(Context& c) {
  Inst* x = c.s32(Slot::src0);
  Inst* y = c.s32(Slot::src1);
  Inst* low = kHighHigh ? c.lshr(x, 16) : c.zext16(x);
  Inst* high = kLowHigh || kHighHigh ? c.and_(y, c.b.i32(0xffff0000)) : c.shl(y, 16);
  c.set_s32(Slot::sdst, c.or_(low, high));
}

// --- bit fields: src1[4:0] (64-bit: [5:0]) offset, src1[22:16] width
// --------------------------------------------------------------

template <bool kSigned, bool kWide>
void bfe(Context& c) {
  Inst* x = kWide ? c.s64(Slot::src0) : c.s32(Slot::src0);
  Inst* field = c.s32(Slot::src1);
  const unsigned bits = x->type.bits();
  Inst* width = c.and_(c.lshr(field, 16), c.b.i32(127));
  Inst* offset = c.and_(field, c.b.i32(bits - 1));
  if (kWide) {
    width = c.b.op(Op::zext64, {width});
    offset = c.b.op(Op::zext64, {offset});
  }
  // Shift down, then cut to the width; at a width of `bits` or more nothing is cut.
  Inst* shifted = c.b.op(kSigned ? Op::ashr : Op::lshr, {x, offset});
  Inst* unused = c.b.op(Op::sub, {c.like(x, bits), width});  // mod bits: 0 for a width of `bits`
  Inst* cut = c.b.op(kSigned ? Op::ashr : Op::lshr, {c.b.op(Op::shl, {shifted, unused}), unused});
  Inst* result = c.b.select(c.b.icmp(ICmp::uge, width, c.like(x, bits)), shifted, cut);
  result = c.b.select(c.b.icmp(ICmp::eq, width, c.like(x, 0)), c.like(x, 0), result);
  if (kWide)
    c.set_s64(Slot::sdst, result);
  else
    c.set_s32(Slot::sdst, result);
  c.set_scc_nonzero(result);
}

template <bool kWide>
void bfm(Context& c) {
  Inst* width = c.s32(Slot::src0);
  Inst* offset = c.s32(Slot::src1);
  if (kWide) {
    width = c.b.op(Op::zext64, {width});
    offset = c.b.op(Op::zext64, {offset});
  }
  Inst* one = c.like(width, 1);
  Inst* result = c.b.op(Op::shl, {c.b.op(Op::sub, {c.b.op(Op::shl, {one, width}), one}), offset});
  if (kWide)
    c.set_s64(Slot::sdst, result);
  else
    c.set_s32(Slot::sdst, result);
}

// --- SOPK
// ---------------------------------------------------------------------------------------------------------------------------

Inst* signed_imm(Context& c) {
  return c.b.i32(static_cast<uint32_t>(static_cast<int16_t>(c.simm16())));
}

void s_movk_i32(Context& c) {
  c.set_s32(Slot::sdst, signed_imm(c));
}
void s_cmovk_i32(Context& c) {
  c.set_s32(Slot::sdst, c.b.select(c.ssa.read_scc(), signed_imm(c), c.s32(Slot::sdst)));
}
void s_mulk_i32(Context& c) {
  c.set_s32(Slot::sdst, c.b.op(Op::mul, {c.s32(Slot::sdst), signed_imm(c)}));
}

}  // namespace

void add_salu(HandlerTable& t) {
  t.add(Opcode::s_mov_b32, s_mov_b32);
  t.add(Opcode::s_mov_b64, s_mov_b64);
  t.add(Opcode::s_cmov_b32, s_cmov_b32);
  t.add(Opcode::s_cmov_b64, s_cmov_b64);
  t.add(Opcode::s_not_b32, unary32<bit_not, true>);
  t.add(Opcode::s_not_b64, s_not_b64);
  t.add(Opcode::s_wqm_b32, unary32<wqm, true>);
  t.add(Opcode::s_wqm_b64, unary64<wqm, true>);
  t.add(Opcode::s_quadmask_b32, unary32<quadmask, true>);
  t.add(Opcode::s_quadmask_b64, unary64<quadmask, true>);
  t.add(Opcode::s_brev_b32, unary32<un<Op::bitrev>, false>);
  t.add(Opcode::s_brev_b64, unary64<un<Op::bitrev>, false>);
  t.add(Opcode::s_bcnt0_i32_b32, unary32<un_not<Op::popcount>, true>);
  t.add(Opcode::s_bcnt0_i32_b64, unary64_32<un_not<Op::popcount>, true>);
  t.add(Opcode::s_bcnt1_i32_b32, unary32<un<Op::popcount>, true>);
  t.add(Opcode::s_bcnt1_i32_b64, unary64_32<un<Op::popcount>, true>);
  t.add(Opcode::s_ff0_i32_b32, unary32<un_not<Op::ctz>, false>);
  t.add(Opcode::s_ff0_i32_b64, unary64_32<un_not<Op::ctz>, false>);
  t.add(Opcode::s_ff1_i32_b32, unary32<un<Op::ctz>, false>);
  t.add(Opcode::s_ff1_i32_b64, unary64_32<un<Op::ctz>, false>);
  t.add(Opcode::s_flbit_i32_b32, unary32<un<Op::clz>, false>);
  t.add(Opcode::s_flbit_i32_b64, unary64_32<un<Op::clz>, false>);
  t.add(Opcode::s_flbit_i32, unary32<flbit_signed, false>);
  t.add(Opcode::s_flbit_i32_i64, unary64_32<flbit_signed, false>);
  t.add(Opcode::s_sext_i32_i8, unary32<sign_extend<8>, false>);
  t.add(Opcode::s_sext_i32_i16, unary32<sign_extend<16>, false>);
  t.add(Opcode::s_bitset0_b32, bitset<false, false>);
  t.add(Opcode::s_bitset0_b64, bitset<false, true>);
  t.add(Opcode::s_bitset1_b32, bitset<true, false>);
  t.add(Opcode::s_bitset1_b64, bitset<true, true>);
  t.add(Opcode::s_getpc_b64, s_getpc_b64);
  t.add(Opcode::s_abs_i32, unary32<un<Op::sabs>, true>);
  t.add(Opcode::s_bitreplicate_b64_b32, s_bitreplicate);
  t.add(Opcode::s_and_b32, logic32<bit_and>);
  t.add(Opcode::s_and_b64, logic64<bit_and>);
  t.add(Opcode::s_or_b32, logic32<bit_or>);
  t.add(Opcode::s_or_b64, logic64<bit_or>);
  t.add(Opcode::s_xor_b32, logic32<bit_xor>);
  t.add(Opcode::s_xor_b64, logic64<bit_xor>);
  t.add(Opcode::s_andn2_b32, logic32<bit_andn2>);
  t.add(Opcode::s_andn2_b64, logic64<bit_andn2>);
  t.add(Opcode::s_orn2_b32, logic32<bit_orn2>);
  t.add(Opcode::s_orn2_b64, logic64<bit_orn2>);
  t.add(Opcode::s_nand_b32, logic32<bit_nand>);
  t.add(Opcode::s_nand_b64, logic64<bit_nand>);
  t.add(Opcode::s_nor_b32, logic32<bit_nor>);
  t.add(Opcode::s_nor_b64, logic64<bit_nor>);
  t.add(Opcode::s_xnor_b32, logic32<bit_xnor>);
  t.add(Opcode::s_xnor_b64, logic64<bit_xnor>);
  t.add(Opcode::s_and_saveexec_b64, saveexec<bit_and>);
  t.add(Opcode::s_or_saveexec_b64, saveexec<bit_or>);
  t.add(Opcode::s_xor_saveexec_b64, saveexec<bit_xor>);
  t.add(Opcode::s_andn2_saveexec_b64, saveexec<bit_andn2>);
  t.add(Opcode::s_orn2_saveexec_b64, saveexec<bit_orn2>);
  t.add(Opcode::s_nand_saveexec_b64, saveexec<bit_nand>);
  t.add(Opcode::s_nor_saveexec_b64, saveexec<bit_nor>);
  t.add(Opcode::s_xnor_saveexec_b64, saveexec<bit_xnor>);
  t.add(Opcode::s_andn1_saveexec_b64, saveexec<bit_andn1>);
  t.add(Opcode::s_orn1_saveexec_b64, saveexec<bit_orn1>);
  t.add(Opcode::s_andn1_wrexec_b64, wrexec<bit_andn1>);
  t.add(Opcode::s_andn2_wrexec_b64, wrexec<bit_andn2>);
  t.add(Opcode::s_add_u32, add_unsigned<Op::add, Op::addc_carry>);
  t.add(Opcode::s_sub_u32, add_unsigned<Op::sub, Op::subb_borrow>);
  t.add(Opcode::s_addc_u32, add_with_carry<Op::addc, Op::addc_carry>);
  t.add(Opcode::s_subb_u32, add_with_carry<Op::subb, Op::subb_borrow>);
  t.add(Opcode::s_add_i32, s_add_i32);
  t.add(Opcode::s_sub_i32, s_sub_i32);
  t.add(Opcode::s_addk_i32, s_addk_i32);
  t.add(Opcode::s_min_i32, min_max<Op::smin, ICmp::slt>);
  t.add(Opcode::s_min_u32, min_max<Op::umin, ICmp::ult>);
  t.add(Opcode::s_max_i32, min_max<Op::smax, ICmp::sgt>);
  t.add(Opcode::s_max_u32, min_max<Op::umax, ICmp::ugt>);
  t.add(Opcode::s_cselect_b32, s_cselect_b32);
  t.add(Opcode::s_cselect_b64, s_cselect_b64);
  t.add(Opcode::s_lshl_b32, shift32<Op::shl>);
  t.add(Opcode::s_lshl_b64, shift64<Op::shl>);
  t.add(Opcode::s_lshr_b32, shift32<Op::lshr>);
  t.add(Opcode::s_lshr_b64, shift64<Op::lshr>);
  t.add(Opcode::s_ashr_i32, shift32<Op::ashr>);
  t.add(Opcode::s_ashr_i64, shift64<Op::ashr>);
  t.add(Opcode::s_bfm_b32, bfm<false>);
  t.add(Opcode::s_bfm_b64, bfm<true>);
  t.add(Opcode::s_mul_i32, binary32<Op::mul>);
  t.add(Opcode::s_mul_hi_u32, binary32<Op::mulhi_u>);
  t.add(Opcode::s_mul_hi_i32, binary32<Op::mulhi_s>);
  t.add(Opcode::s_bfe_u32, bfe<false, false>);
  t.add(Opcode::s_bfe_u64, bfe<false, true>);
  t.add(Opcode::s_bfe_i32, bfe<true, false>);
  t.add(Opcode::s_bfe_i64, bfe<true, true>);
  t.add(Opcode::s_absdiff_i32, s_absdiff_i32);
  t.add(Opcode::s_lshl1_add_u32, lshl_add<1>);
  t.add(Opcode::s_lshl2_add_u32, lshl_add<2>);
  t.add(Opcode::s_lshl3_add_u32, lshl_add<3>);
  t.add(Opcode::s_lshl4_add_u32, lshl_add<4>);
  t.add(Opcode::s_pack_ll_b32_b16, pack<false, false>);
  t.add(Opcode::s_pack_lh_b32_b16, pack<true, false>);
  t.add(Opcode::s_pack_hh_b32_b16, pack<false, true>);
  t.add(Opcode::s_movk_i32, s_movk_i32);
  t.add(Opcode::s_cmovk_i32, s_cmovk_i32);
  t.add(Opcode::s_mulk_i32, s_mulk_i32);
}

}  // namespace wavejit::lift
