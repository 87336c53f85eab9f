// VOP3P: packed 16-bit and 32-bit pairs, mixed precision, dot products.
#include "frontend/lift/packed.h"

#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

constexpr Slot kSources[3] = {Slot::src0, Slot::src1, Slot::src2};

// --- two halves in one register
// ---------------------------------------------------------------------------------------------

// Source `i` with the halves op_sel and op_sel_hi name. Negation only for floating point.
Inst* packed(Context& c, unsigned i, bool negates) {
  Inst* raw = c.raw32(c.operand(kSources[i]));
  if (c.inst->is_dpp && i == 0) raw = c.src32(Slot::src0);
  const bool low = c.inst->op_sel >> i & 1, high = c.inst->op_sel_hi >> i & 1;
  Inst* value = raw;
  if (c.inst->format != isa::Format::vop3p) return raw;
  if (!low && !high)
    value = c.or_(c.zext16(raw), c.shl(raw, 16));
  else if (low && high)
    value = c.or_(c.lshr(raw, 16), c.and_(raw, c.v(0xffff0000)));
  else if (low && !high)
    value = c.b.op(Op::alignbit, {raw, raw, c.v(16)});
  if (negates) {
    const uint32_t sign = (c.inst->neg_lo >> i & 1 ? 0x8000u : 0) | (c.inst->neg_hi >> i & 1 ? 0x80000000u : 0);
    if (sign) value = c.b.op(Op::xor_, {value, c.v(sign)});
  }
  return value;
}

Inst* join(Context& c, Inst* low, Inst* high) {
  return c.or_(c.zext16(low), c.shl(high, 16));
}

template <Op kOp>
void pk_f16(Context& c) {
  Inst* const a = packed(c, 0, true);
  Inst* const b = packed(c, 1, true);
  const auto half = [&](unsigned shift) {
    Inst* value = c.fp(kOp, {c.lshr(a, shift), c.lshr(b, shift)}, c.env16());
    return c.inst->clamp ? c.fp(Op::fclamp_f16, {value}, c.env16()) : value;
  };
  Inst* low = half(0);
  c.set_v32(join(c, low, half(16)));
}

void v_pk_fma_f16(Context& c) {
  Inst* sources[3] = {};
  for (unsigned i = 0; i < 3; ++i) sources[i] = packed(c, i, true);
  Inst* sum = c.fp(Op::pk_fma_f16, {sources[0], sources[1], sources[2]}, c.env16());
  if (!c.inst->clamp) return c.set_v32(sum);
  Inst* low = c.fp(Op::fclamp_f16, {sum}, c.env16());
  c.set_v32(join(c, low, c.fp(Op::fclamp_f16, {c.lshr(sum, 16)}, c.env16())));
}

void v_pk_fmac_f16(Context& c) {
  c.set_v32(
      c.fp(Op::pk_fma_f16, {c.src32(Slot::src0), c.src32(Slot::src1), c.raw32(c.operand(Slot::vdst))}, c.env16()));
}

Inst* extend_half(Context& c, Inst* value, bool high, bool is_signed) {
  if (high) return c.b.op(is_signed ? Op::ashr : Op::lshr, {value, c.v(16)});
  return is_signed ? c.sext16(value) : c.zext16(value);
}

template <bool kSigned>
Inst* saturate16(Context& c, Inst* value) {
  value = c.b.op(Op::smin, {value, c.v(kSigned ? 0x7fff : 0xffff)});
  return c.b.op(Op::smax, {value, c.v(kSigned ? 0xffff8000 : 0)});
}

// Add and subtract; saturating ones go through 32 bits.
template <Op kPacked, Op kWide, bool kSigned>
void pk_add(Context& c) {
  Inst* x = packed(c, 0, false);
  Inst* y = packed(c, 1, false);
  if (!c.inst->clamp) {
    c.set_v32(c.b.op(kPacked, {x, y}));
    return;
  }
  const auto half = [&](bool high) {
    return saturate16<kSigned>(c, c.b.op(kWide, {extend_half(c, x, high, kSigned), extend_half(c, y, high, kSigned)}));
  };
  Inst* low = half(false);
  c.set_v32(join(c, low, half(true)));
}

template <bool kSigned>
void pk_mad(Context& c) {
  Inst* x = packed(c, 0, false);
  Inst* y = packed(c, 1, false);
  Inst* z = packed(c, 2, false);
  if (!c.inst->clamp) {
    c.set_v32(c.b.op(Op::pk_add, {c.b.op(Op::pk_mul, {x, y}), z}));
    return;
  }
  const auto half = [&](bool high) {
    Inst* product = c.b.op(Op::mul, {extend_half(c, x, high, kSigned), extend_half(c, y, high, kSigned)});
    Inst* sum = c.add(product, extend_half(c, z, high, kSigned));
    return kSigned ? saturate16<true>(c, sum) : c.b.op(Op::umin, {sum, c.v(0xffff)});
  };
  Inst* low = half(false);
  c.set_v32(join(c, low, half(true)));
}

void v_pk_mul_lo_u16(Context& c) {
  Inst* x = packed(c, 0, false);
  Inst* y = packed(c, 1, false);
  if (!c.inst->clamp) {
    c.set_v32(c.b.op(Op::pk_mul, {x, y}));
    return;
  }
  const auto half = [&](bool high) {
    Inst* product = c.b.op(Op::mul, {extend_half(c, x, high, false), extend_half(c, y, high, false)});
    return c.b.op(Op::umin, {product, c.v(0xffff)});
  };
  Inst* low = half(false);
  c.set_v32(join(c, low, half(true)));
}

template <Op kOp>
void pk_int(Context& c) {
  Inst* x = packed(c, 0, false);
  c.set_v32(c.b.op(kOp, {x, packed(c, 1, false)}));
}
template <Op kOp>
void pk_shift(Context& c) {  // the amount is source 0
  Inst* amount = packed(c, 0, false);
  c.set_v32(c.b.op(kOp, {packed(c, 1, false), amount}));
}

// --- two f32 in a register pair (GFX90A)
// -----------------------------------------------------------------------------------------

Inst* scalar_dword(Context& c, const Operand& operand, bool upper) {
  if (operand.kind == OperandKind::sgpr) return c.b.op(Op::splat, {c.ssa.read32(operand.reg + upper)});
  return c.b.op(Op::splat, {c.b.op(upper ? Op::hi32 : Op::lo32, {c.s64(operand)})});
}

// The dword of source `i` that goes into the low or high result.
Inst* pair_half(Context& c, unsigned i, bool high, bool negates) {
  const Operand& operand = c.operand(kSources[i]);
  const bool upper = (high ? c.inst->op_sel_hi : c.inst->op_sel) >> i & 1;
  Inst* value = nullptr;
  if (operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr)
    value = c.row(operand, upper);
  else
    value = scalar_dword(c, operand, upper);
  const unsigned negated = (high ? c.inst->neg_hi : c.inst->neg_lo) >> i & 1;
  return negates && negated ? c.b.op(Op::xor_, {value, c.v(0x80000000)}) : value;
}

void set_pair(Context& c, Inst* low, Inst* high) {
  const Operand& dst = c.operand(Slot::vdst);
  Inst* mask = c.exec();
  c.set_row(dst, 0, low, mask);
  c.set_row(dst, 1, high, mask);
}

template <Op kOp, unsigned kCount>
void pk_f32(Context& c) {
  const auto half = [&](bool high) {
    Inst* x = pair_half(c, 0, high, true);
    Inst* y = pair_half(c, 1, high, true);
    Inst* value =
        kCount == 3 ? c.fp(kOp, {x, y, pair_half(c, 2, high, true)}, c.env32()) : c.fp(kOp, {x, y}, c.env32());
    return c.inst->clamp ? c.fp(Op::fclamp_f32, {value}, c.env32()) : value;
  };
  Inst* low = half(false);
  set_pair(c, low, half(true));
}

// Low result from source 0, high result from source 1; op_sel picks the dword of each.
void v_pk_mov_b32(Context& c) {
  const auto dword = [&](unsigned i) {
    const Operand& operand = c.operand(kSources[i]);
    const bool upper = c.inst->op_sel >> i & 1;
    if (operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr) return c.row(operand, upper);
    return scalar_dword(c, operand, upper);
  };
  Inst* low = dword(0);
  set_pair(c, low, dword(1));
}

// --- mixed precision
// ------------------------------------------------------------------------------------------------------------------

bool is_fused_mix(Opcode opcode) {
  return opcode == Opcode::v_fma_mix_f32 || opcode == Opcode::v_fma_mixlo_f16 || opcode == Opcode::v_fma_mixhi_f16;
}

// f32, or the f16 half that op_sel names when the op_sel_hi bit is set; neg_hi is abs here. v_mad_mix flushes halves
// whatever MODE says.
Inst* mix_source(Context& c, unsigned i) {
  const Operand& operand = c.operand(kSources[i]);
  Inst* value = c.raw32(operand);
  if (c.inst->op_sel_hi >> i & 1) {
    if (c.inst->op_sel >> i & 1) value = c.lshr(value, 16);
    value = c.fp(Op::cvt_f32_f16, {value}, is_fused_mix(c.opcode()) ? c.env16() : c.env16_flush());
  }
  if (c.inst->neg_hi >> i & 1) value = c.and_(value, c.v(0x7fffffff));
  if (c.inst->neg_lo >> i & 1) value = c.b.op(Op::xor_, {value, c.v(0x80000000)});
  return value;
}

template <bool kFused>
Inst* mix(Context& c) {
  Inst* x = mix_source(c, 0);
  Inst* y = mix_source(c, 1);
  Inst* z = mix_source(c, 2);
  if (kFused) return c.fp(Op::fma_f32, {x, y, z}, c.env32());
  const uint32_t env = c.env32_flush();
  return c.fp(Op::fadd_f32, {c.fp(Op::fmul_f32, {x, y}, env), z}, env);
}
template <bool kFused>
void mix_f32(Context& c) {
  c.set_f32(mix<kFused>(c));
}
// The f32 result is no operand: a denormal one that MODE keeps is not flushed by the conversion, whatever MODE says of
// operands. v_mad_mix flushes the half.
template <bool kFused>
uint32_t env_of_mix_to_f16(const Context& c) {
  using namespace ir::fpenv;
  if (!kFused) return c.env16_flush();
  return c.env_f32_to_f16() | ((c.env32() & kKeepOutputDenorm) != 0 ? kKeepInputDenorm : 0);
}
template <bool kFused, bool kHigh>
void mix_f16(Context& c) {
  Inst* value = c.fp(Op::cvt_f16_f32, {mix<kFused>(c)}, env_of_mix_to_f16<kFused>(c));
  if (c.inst->clamp) value = c.fp(Op::fclamp_f16, {value}, c.env16());
  Inst* old = c.raw32(c.operand(Slot::vdst));
  c.set_v32(kHigh ? c.b.op(Op::bfi, {c.v(0xffff), old, c.shl(value, 16)}) : c.b.op(Op::bfi, {c.v(0xffff), value, old}));
}

// --- dot products
// ------------------------------------------------------------------------------------------------------------------------

// Two fused steps, low halves first, each rounded to nearest even, without denormals (docs/isa-decisions.md).
Inst* dot2_f32(Context& c, Inst* x, Inst* y, Inst* z) {
  const uint32_t halves = c.family == isa::Family::gfx90a ? 0 : ir::fpenv::kKeepInputDenorm;
  const uint32_t env = c.env32_flush() & ~ir::fpenv::kRoundMask;
  for (const unsigned shift : {0u, 16u}) {
    Inst* a = c.fp(Op::cvt_f32_f16, {c.lshr(x, shift)}, halves | ir::fpenv::kKeepOutputDenorm);
    Inst* b = c.fp(Op::cvt_f32_f16, {c.lshr(y, shift)}, halves | ir::fpenv::kKeepOutputDenorm);
    z = c.fp(Op::fma_f32, {a, b, z}, env);
  }
  return z;
}
void v_dot2_f32_f16(Context& c) {
  Inst* x = packed(c, 0, true);
  Inst* y = packed(c, 1, true);
  const Operand& addend = c.operand(Slot::src2);
  Inst* z = c.raw32(addend);
  if (c.inst->neg_lo & 4) z = c.b.op(Op::xor_, {z, c.v(0x80000000)});
  c.set_f32(dot2_f32(c, x, y, z));
}
void v_dot2c_f32_f16(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  c.set_f32(dot2_f32(c, x, y, c.raw32(c.operand(Slot::vdst))));
}

// Sum of products of kBits-wide fields plus the addend; `clamp` saturates the exact sum.
template <unsigned kBits, bool kSigned>
Inst* dot_int(Context& c, Inst* x, Inst* y, Inst* z) {
  const bool wide = c.inst->clamp;
  Inst* sum = wide ? c.b.op(kSigned ? Op::sext64 : Op::zext64, {z}) : z;
  for (unsigned bit = 0; bit < 32; bit += kBits) {
    const auto field = [&](Inst* value) {
      return c.b.op(kSigned ? Op::bfe_s : Op::bfe_u, {value, c.v(bit), c.v(kBits)});
    };
    Inst* a = field(x);
    Inst* b = field(y);
    sum = c.add(sum, wide ? c.b.op(kSigned ? Op::mul_wide_s : Op::mul_wide_u, {a, b}) : c.b.op(Op::mul, {a, b}));
  }
  if (!wide) return sum;
  if (kSigned) {
    sum = c.b.op(Op::smin, {sum, c.b.v64(0x7fffffff)});
    sum = c.b.op(Op::smax, {sum, c.b.v64(0xffffffff80000000)});
  } else {
    sum = c.b.op(Op::umin, {sum, c.b.v64(UINT32_MAX)});
  }
  return c.b.op(Op::lo32, {sum});
}
template <unsigned kBits, bool kSigned>
void dot(Context& c) {
  // op_sel exists for 16-bit halves only.
  Inst* x = kBits == 16 ? packed(c, 0, false) : c.raw32(c.operand(Slot::src0));
  Inst* y = kBits == 16 ? packed(c, 1, false) : c.raw32(c.operand(Slot::src1));
  c.set_v32(dot_int<kBits, kSigned>(c, x, y, c.raw32(c.operand(Slot::src2))));
}
template <unsigned kBits>
void dotc(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  c.set_v32(dot_int<kBits, true>(c, x, y, c.raw32(c.operand(Slot::vdst))));
}

}  // namespace

Inst* packed_source(Context& c, unsigned i) {
  return packed(c, i, true);
}
Inst* pair_source(Context& c, unsigned i, bool high) {
  return pair_half(c, i, high, true);
}
Inst* mixed_source(Context& c, unsigned i) {
  return mix_source(c, i);
}

void add_packed(HandlerTable& t) {
  t.add(Opcode::v_pk_fma_f16, v_pk_fma_f16);
  t.add(Opcode::v_pk_add_f16, pk_f16<Op::fadd_f16>);
  t.add(Opcode::v_pk_mul_f16, pk_f16<Op::fmul_f16>);
  t.add(Opcode::v_pk_min_f16, pk_f16<Op::fmin_f16>);
  t.add(Opcode::v_pk_max_f16, pk_f16<Op::fmax_f16>);
  t.add(Opcode::v_pk_fmac_f16, v_pk_fmac_f16);
  t.add(Opcode::v_pk_add_u16, pk_add<Op::pk_add, Op::add, false>);
  t.add(Opcode::v_pk_add_i16, pk_add<Op::pk_add, Op::add, true>);
  t.add(Opcode::v_pk_sub_u16, pk_add<Op::pk_sub, Op::sub, false>);
  t.add(Opcode::v_pk_sub_i16, pk_add<Op::pk_sub, Op::sub, true>);
  t.add(Opcode::v_pk_mul_lo_u16, v_pk_mul_lo_u16);
  t.add(Opcode::v_pk_mad_u16, pk_mad<false>);
  t.add(Opcode::v_pk_mad_i16, pk_mad<true>);
  t.add(Opcode::v_pk_min_i16, pk_int<Op::pk_smin>);
  t.add(Opcode::v_pk_max_i16, pk_int<Op::pk_smax>);
  t.add(Opcode::v_pk_min_u16, pk_int<Op::pk_umin>);
  t.add(Opcode::v_pk_max_u16, pk_int<Op::pk_umax>);
  t.add(Opcode::v_pk_lshlrev_b16, pk_shift<Op::pk_shl>);
  t.add(Opcode::v_pk_lshrrev_b16, pk_shift<Op::pk_lshr>);
  t.add(Opcode::v_pk_ashrrev_i16, pk_shift<Op::pk_ashr>);
  t.add(Opcode::v_pk_fma_f32, pk_f32<Op::fma_f32, 3>);
  t.add(Opcode::v_pk_mul_f32, pk_f32<Op::fmul_f32, 2>);
  t.add(Opcode::v_pk_add_f32, pk_f32<Op::fadd_f32, 2>);
  t.add(Opcode::v_pk_mov_b32, v_pk_mov_b32);
  t.add(Opcode::v_mad_mix_f32, mix_f32<false>);
  t.add(Opcode::v_fma_mix_f32, mix_f32<true>);
  t.add(Opcode::v_mad_mixlo_f16, mix_f16<false, false>);
  t.add(Opcode::v_fma_mixlo_f16, mix_f16<true, false>);
  t.add(Opcode::v_mad_mixhi_f16, mix_f16<false, true>);
  t.add(Opcode::v_fma_mixhi_f16, mix_f16<true, true>);
  t.add(Opcode::v_dot2_f32_f16, v_dot2_f32_f16);
  t.add(Opcode::v_dot2c_f32_f16, v_dot2c_f32_f16);
  t.add(Opcode::v_dot2_i32_i16, dot<16, true>);
  t.add(Opcode::v_dot2_u32_u16, dot<16, false>);
  t.add(Opcode::v_dot4_i32_i8, dot<8, true>);
  t.add(Opcode::v_dot4_u32_u8, dot<8, false>);
  t.add(Opcode::v_dot8_i32_i4, dot<4, true>);
  t.add(Opcode::v_dot8_u32_u4, dot<4, false>);
  t.add(Opcode::v_dot2c_i32_i16, dotc<16>);
  t.add(Opcode::v_dot4c_i32_i8, dotc<8>);
  t.add(Opcode::v_dot8c_i32_i4, dotc<4>);
}

}  // namespace wavejit::lift
