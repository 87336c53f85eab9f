#include "backend-x86/lower/vector/building_blocks.h"

namespace wavejit::backend {

using ir::ICmp;

// Both the register operands; used with the constants of the transcendental sequences.
Vec fma32(Lowering& ctx, const Vec& a, const Vec& b, const Operand_& c) {
  Vec d = ctx.isa->vec();
  if (c.isMem()) {
    ctx.isa->mov(d, a);
    ctx.cc.emit(I::kIdVfmadd213ps, d, b, c);
  } else {
    ctx.isa->mov(d, c);
    ctx.cc.emit(I::kIdVfmadd231ps, d, a, b);
  }
  return d;
}

MaskReg cmp(Lowering& ctx, ICmp p, const Vec& a, const Operand_& b) {
  MaskReg d = ctx.isa->mask();
  ctx.isa->cmp32(d, p, a, b, nullptr);
  return d;
}

MaskReg fcmp(Lowering& ctx, unsigned predicate, const Vec& a, const Operand_& b) {
  MaskReg d = ctx.isa->mask();
  ctx.isa->fcmp32(d, predicate, a, b, nullptr);
  return d;
}

MaskReg either(Lowering& ctx, const MaskReg& a, const MaskReg& b) {
  MaskReg d = ctx.isa->mask();
  ctx.isa->mask_or(d, a, b);
  return d;
}

MaskReg both(Lowering& ctx, const MaskReg& a, const MaskReg& b) {
  MaskReg d = ctx.isa->mask();
  ctx.isa->mask_and(d, a, b);
  return d;
}

Vec popcount32(Lowering& ctx, const Vec& a) {
  static constexpr uint8_t kNibble[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
  Vec table = ctx.isa->vec();
  ctx.isa->mov(table, ctx.isa->full_bytes(kNibble));
  const Mem nibbles = ctx.isa->full32(0x0f0f0f0f);
  const Vec low = ctx.isa->make(I::kIdVpshufb, table, ctx.isa->and_(a, nibbles));
  const Vec high = ctx.isa->make(I::kIdVpshufb, table, ctx.isa->and_(ctx.isa->shr32(a, 4), nibbles));
  const Vec bytes = ctx.isa->make(I::kIdVpaddb, low, high);
  const Vec words = ctx.isa->make(I::kIdVpmaddubsw, bytes, ctx.isa->full32(0x01010101));
  return ctx.isa->make(I::kIdVpmaddwd, words, ctx.isa->full32(0x00010001));
}

// -1 for 0: the ones below the lowest one are all 32.
Vec ctz32(Lowering& ctx, const Vec& a) {
  const Vec below = ctx.isa->andn(a, ctx.isa->make(I::kIdVpaddd, a, ctx.isa->c32(~0u)));
  const MaskReg none = cmp(ctx, ICmp::eq, a, ctx.isa->const32(0));
  return ctx.isa->sel(none, ctx.isa->ones(), popcount32(ctx, below));
}

Vec clz32(Lowering& ctx, const Vec& a) {
  Vec count = ctx.isa->vec();
  ctx.isa->clz32(count, a);
  const MaskReg none = cmp(ctx, ICmp::eq, a, ctx.isa->const32(0));
  return ctx.isa->sel(none, ctx.isa->ones(), count);
}

Vec bitrev32(Lowering& ctx, const Vec& a) {
  static constexpr uint8_t kLow[16] = {0x00, 0x80, 0x40, 0xc0, 0x20, 0xa0, 0x60, 0xe0,
                                       0x10, 0x90, 0x50, 0xd0, 0x30, 0xb0, 0x70, 0xf0};
  static constexpr uint8_t kHigh[16] = {0x00, 0x08, 0x04, 0x0c, 0x02, 0x0a, 0x06, 0x0e,
                                        0x01, 0x09, 0x05, 0x0d, 0x03, 0x0b, 0x07, 0x0f};
  static constexpr uint8_t kSwap[16] = {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};
  Vec low_table = ctx.isa->vec(), high_table = ctx.isa->vec();
  ctx.isa->mov(low_table, ctx.isa->full_bytes(kLow));
  ctx.isa->mov(high_table, ctx.isa->full_bytes(kHigh));
  const Mem nibbles = ctx.isa->full32(0x0f0f0f0f);
  const Vec low = ctx.isa->make(I::kIdVpshufb, low_table, ctx.isa->and_(a, nibbles));
  const Vec high = ctx.isa->make(I::kIdVpshufb, high_table, ctx.isa->and_(ctx.isa->shr32(a, 4), nibbles));
  return ctx.isa->make(I::kIdVpshufb, ctx.isa->or_(low, high), ctx.isa->full_bytes(kSwap));
}

// v_perm_b32 (Vega ISA manual, "V_PERM_B32").
Vec perm32(Lowering& ctx, const Vec& a, const Vec& b, const Vec& selectors) {
  static constexpr uint8_t kOwnDword[16] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  static constexpr uint8_t kOddToLow[16] = {1, 3, 128, 128, 5, 7, 128, 128, 9, 11, 128, 128, 13, 15, 128, 128};
  static constexpr uint8_t kOddToHigh[16] = {128, 128, 1, 3, 128, 128, 5, 7, 128, 128, 9, 11, 128, 128, 13, 15};
  // Bytes 0 or 1 -> 0 or 0xff.
  const auto spread = [&](const Vec& x) { return ctx.isa->make(I::kIdVpsubd, ctx.isa->shl32(x, 8), x); };
  const auto bit = [&](const Vec& x, unsigned n) {
    const Vec shifted = n > 0 ? ctx.isa->shr32(x, n) : x;
    return ctx.isa->and_(shifted, ctx.isa->full32(0x01010101));
  };
  const auto pick = [&](const Vec& which, const Vec& one, const Vec& zero) {
    Vec d = ctx.isa->vec();
    ctx.isa->bit_select(d, which, one, zero);
    return d;
  };
  const Vec s = ctx.isa->make(I::kIdVpminub, selectors, ctx.isa->full32(0x0d0d0d0d));  // 13 and above: 0xff
  const Vec index = ctx.isa->or_(ctx.isa->and_(s, ctx.isa->full32(0x03030303)), ctx.isa->full_bytes(kOwnDword));
  const Vec from_a = ctx.isa->make(I::kIdVpshufb, a, index);
  const Vec from_b = ctx.isa->make(I::kIdVpshufb, b, index);
  const Vec plain = pick(spread(bit(s, 2)), from_a, from_b);
  // 8..11: signs of bytes 1, 3 of b and of a; 12: 0; 13: 0xff.
  const Vec sign_a = spread(bit(a, 7)), sign_b = spread(bit(b, 7));
  const Vec signs = ctx.isa->or_(ctx.isa->make(I::kIdVpshufb, sign_b, ctx.isa->full_bytes(kOddToLow)),
                                 ctx.isa->make(I::kIdVpshufb, sign_a, ctx.isa->full_bytes(kOddToHigh)));
  const Vec special = pick(spread(bit(s, 2)), spread(bit(s, 0)), ctx.isa->make(I::kIdVpshufb, signs, index));
  return pick(spread(bit(s, 3)), special, plain);
}

// A full vector of 64-bit constants in memory.
Mem full64(Lowering& ctx, uint64_t bits) {
  uint64_t data[8];
  for (uint64_t& d : data) d = bits;
  return ctx.pool.get(data, ctx.isa->bytes());
}

}  // namespace wavejit::backend
