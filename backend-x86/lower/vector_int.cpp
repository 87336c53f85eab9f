// 32-bit lanes: operations that are one host instruction, selects, and integer operations that take several.
#include <algorithm>

#include "backend-x86/lower/emitter.h"
#include "backend-x86/lower/simple_forms.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;

bool Emitter::is_mergeable(const Inst& inst) {
  if (inst.op == Op::fma_f32) {
    const Inst* old = inst.users.empty() ? nullptr : inst.users[0]->operands.back();
    return inst.operands[2] == old && !old->is_const();
  }
  const SimpleForm* form = find_simple_form(inst);
  return form != nullptr && form->element == 4 && inst.type == ir::kV32 && form->arity == 2;
}

// One instruction per register. `into`: registers to write instead of the instruction's own.
bool Emitter::emit_simple(const Inst& inst, unsigned chunk) {
  const SimpleForm* form = find_simple_form(inst);
  if (form == nullptr) return false;
  const InstId id = options_.tier == Tier::avx512 ? form->avx512 : form->avx2;
  if (id == I::kIdNone) return false;
  const Inst* a = inst.operands[0];
  const Inst* b = form->arity == 2 ? inst.operands[1] : nullptr;
  if (b != nullptr && form->commutes && (a->is_const() || a->op == Op::lane_id)) std::swap(a, b);
  if (inst.type.kind == ir::TypeKind::v64) {
    const auto [d, first, end] = wanted_parts(inst, chunk);
    const Vec64 x = v64(a, chunk);
    for (unsigned part = first; part < end; ++part) {
      if (b != nullptr) {
        cc_.emit(id, d.part[part], x.part[part], v64_operand(b, chunk, part));
      } else {
        cc_.emit(id, d.part[part], x.part[part]);
      }
    }
    return true;
  }
  const Vec d = dst(inst, chunk), x = v32(a, chunk);
  if (b != nullptr) {
    cc_.emit(id, d, x, form->element == 0 ? v32_full(b, chunk) : v32_operand(b, chunk));
  } else {
    cc_.emit(id, d, x);
  }
  return true;
}

// select(mask, op(...), old) as one instruction that leaves the lanes of old (AVX-512).
void Emitter::emit_merged(const Inst& select, unsigned chunk) {
  const Inst& value = *select.operands[1];
  const Inst* old = select.operands[2];
  const MaskReg k = mask(select.operands[0], chunk);
  const Vec d = dst(select, chunk);
  annotate(value);
  if (value.op == Op::fma_f32) {
    const Vec a = v32(value.operands[0], chunk), c = v32(old, chunk);
    const Operand b = v32_operand(value.operands[1], chunk);
    Vec t = d;
    if (d.id() != c.id()) {
      if (d.id() == a.id() || d.id() == b.id()) t = isa_->vec();
      isa_->mov(t, c);
    }
    cc_.setExtraReg(k);
    cc_.emit(I::kIdVfmadd231ps, t, a, b);
    if (t.id() != d.id()) isa_->mov(d, t);
    return;
  }
  const SimpleForm* form = find_simple_form(value);
  const Inst* a = value.operands[0];
  const Inst* b = value.operands[1];
  if (form->commutes && a->is_const()) std::swap(a, b);
  const Vec x = v32(a, chunk);
  const Operand y = v32_operand(b, chunk);
  if (old->is_const(0)) {
    cc_.setExtraReg(k);
    cc_.addInstOptions(asmjit::InstOptions::kX86_ZMask);
    cc_.emit(form->avx512, d, x, y);
    return;
  }
  const Vec kept = v32(old, chunk);
  Vec t = d;
  if (kept.id() != d.id()) {
    if (d.id() == x.id() || d.id() == y.id()) t = isa_->vec();
    isa_->mov(t, kept);
  }
  cc_.setExtraReg(k);
  cc_.emit(form->avx512, t, x, y);
  if (t.id() != d.id()) isa_->mov(d, t);
}

MaskReg Emitter::cmp(ICmp p, const Vec& a, const Operand_& b) {
  MaskReg d = isa_->mask();
  isa_->cmp32(d, p, a, b, nullptr);
  return d;
}

MaskReg Emitter::fcmp(unsigned predicate, const Vec& a, const Operand_& b) {
  MaskReg d = isa_->mask();
  isa_->fcmp32(d, predicate, a, b, nullptr);
  return d;
}

MaskReg Emitter::either(const MaskReg& a, const MaskReg& b) {
  MaskReg d = isa_->mask();
  isa_->mask_or(d, a, b);
  return d;
}

MaskReg Emitter::both(const MaskReg& a, const MaskReg& b) {
  MaskReg d = isa_->mask();
  isa_->mask_and(d, a, b);
  return d;
}

Vec Emitter::popcount32(const Vec& a) {
  static constexpr uint8_t kNibble[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
  Vec table = isa_->vec();
  isa_->mov(table, isa_->full_bytes(kNibble));
  const Mem nibbles = isa_->full32(0x0f0f0f0f);
  const Vec low = isa_->make(I::kIdVpshufb, table, isa_->and_(a, nibbles));
  const Vec high = isa_->make(I::kIdVpshufb, table, isa_->and_(isa_->shr32(a, 4), nibbles));
  const Vec bytes = isa_->make(I::kIdVpaddb, low, high);
  const Vec words = isa_->make(I::kIdVpmaddubsw, bytes, isa_->full32(0x01010101));
  return isa_->make(I::kIdVpmaddwd, words, isa_->full32(0x00010001));
}

// -1 for 0: the ones below the lowest one are all 32.
Vec Emitter::ctz32(const Vec& a) {
  const Vec below = isa_->andn(a, isa_->make(I::kIdVpaddd, a, isa_->c32(~0u)));
  const MaskReg none = cmp(ICmp::eq, a, isa_->const32(0));
  return isa_->sel(none, isa_->ones(), popcount32(below));
}

Vec Emitter::clz32(const Vec& a) {
  Vec count = isa_->vec();
  isa_->clz32(count, a);
  const MaskReg none = cmp(ICmp::eq, a, isa_->const32(0));
  return isa_->sel(none, isa_->ones(), count);
}

Vec Emitter::bitrev32(const Vec& a) {
  static constexpr uint8_t kLow[16] = {0x00, 0x80, 0x40, 0xc0, 0x20, 0xa0, 0x60, 0xe0,
                                       0x10, 0x90, 0x50, 0xd0, 0x30, 0xb0, 0x70, 0xf0};
  static constexpr uint8_t kHigh[16] = {0x00, 0x08, 0x04, 0x0c, 0x02, 0x0a, 0x06, 0x0e,
                                        0x01, 0x09, 0x05, 0x0d, 0x03, 0x0b, 0x07, 0x0f};
  static constexpr uint8_t kSwap[16] = {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};
  Vec low_table = isa_->vec(), high_table = isa_->vec();
  isa_->mov(low_table, isa_->full_bytes(kLow));
  isa_->mov(high_table, isa_->full_bytes(kHigh));
  const Mem nibbles = isa_->full32(0x0f0f0f0f);
  const Vec low = isa_->make(I::kIdVpshufb, low_table, isa_->and_(a, nibbles));
  const Vec high = isa_->make(I::kIdVpshufb, high_table, isa_->and_(isa_->shr32(a, 4), nibbles));
  return isa_->make(I::kIdVpshufb, isa_->or_(low, high), isa_->full_bytes(kSwap));
}

Vec Emitter::mul_high(const Vec& a, const Vec& b, bool is_signed) {
  const InstId id = is_signed ? I::kIdVpmuldq : I::kIdVpmuludq;
  const Vec even = isa_->make(id, a, b);
  const Vec odd = isa_->make(id, isa_->shr64(a, 32), isa_->shr64(b, 32));
  uint32_t high[16];
  for (unsigned i = 0; i < 16; ++i) high[i] = i & 1 ? ~0u : 0;
  return isa_->or_(isa_->shr64(even, 32), isa_->and_(odd, pool_.get(high, isa_->bytes())));
}

// v_perm_b32 (Vega ISA manual, "V_PERM_B32").
Vec Emitter::perm32(const Vec& a, const Vec& b, const Vec& selectors) {
  static constexpr uint8_t kOwnDword[16] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  static constexpr uint8_t kOddToLow[16] = {1, 3, 128, 128, 5, 7, 128, 128, 9, 11, 128, 128, 13, 15, 128, 128};
  static constexpr uint8_t kOddToHigh[16] = {128, 128, 1, 3, 128, 128, 5, 7, 128, 128, 9, 11, 128, 128, 13, 15};
  // Bytes 0 or 1 -> 0 or 0xff.
  const auto spread = [&](const Vec& x) { return isa_->make(I::kIdVpsubd, isa_->shl32(x, 8), x); };
  const auto bit = [&](const Vec& x, unsigned n) {
    const Vec shifted = n > 0 ? isa_->shr32(x, n) : x;
    return isa_->and_(shifted, isa_->full32(0x01010101));
  };
  const auto pick = [&](const Vec& which, const Vec& one, const Vec& zero) {
    Vec d = isa_->vec();
    isa_->bit_select(d, which, one, zero);
    return d;
  };
  const Vec s = isa_->make(I::kIdVpminub, selectors, isa_->full32(0x0d0d0d0d));  // 13 and above: 0xff
  const Vec index = isa_->or_(isa_->and_(s, isa_->full32(0x03030303)), isa_->full_bytes(kOwnDword));
  const Vec from_a = isa_->make(I::kIdVpshufb, a, index);
  const Vec from_b = isa_->make(I::kIdVpshufb, b, index);
  const Vec plain = pick(spread(bit(s, 2)), from_a, from_b);
  // 8..11: signs of bytes 1, 3 of b and of a; 12: 0; 13: 0xff.
  const Vec sign_a = spread(bit(a, 7)), sign_b = spread(bit(b, 7));
  const Vec signs = isa_->or_(isa_->make(I::kIdVpshufb, sign_b, isa_->full_bytes(kOddToLow)),
                              isa_->make(I::kIdVpshufb, sign_a, isa_->full_bytes(kOddToHigh)));
  const Vec special = pick(spread(bit(s, 2)), spread(bit(s, 0)), isa_->make(I::kIdVpshufb, signs, index));
  return pick(spread(bit(s, 3)), special, plain);
}

// v_perm_b32 with constant selectors: two shuffles.
bool Emitter::emit_const_perm(const Inst& inst, unsigned chunk) {
  if (!inst.operands[2]->is_const()) return false;
  uint8_t from_a[16], from_b[16];
  uint32_t ones = 0;
  bool uses_a = false, uses_b = false;
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned selector = inst.operands[2]->imm >> (8 * (i % 4)) & 0xff;
    if (selector >= 8 && selector < 12) return false;
    const unsigned own = i / 4 * 4;
    from_b[i] = static_cast<uint8_t>(selector < 4 ? own + selector : 128);
    from_a[i] = static_cast<uint8_t>(selector >= 4 && selector < 8 ? own + selector - 4 : 128);
    uses_b |= selector < 4;
    uses_a |= selector >= 4 && selector < 8;
    if (selector >= 13) ones |= 0xffu << (8 * (i % 4));
  }
  Vec r;
  if (uses_a && uses_b) {
    r = isa_->or_(isa_->make(I::kIdVpshufb, v32(inst.operands[0], chunk), isa_->full_bytes(from_a)),
                  isa_->make(I::kIdVpshufb, v32(inst.operands[1], chunk), isa_->full_bytes(from_b)));
  } else if (uses_a) {
    r = isa_->make(I::kIdVpshufb, v32(inst.operands[0], chunk), isa_->full_bytes(from_a));
  } else if (uses_b) {
    r = isa_->make(I::kIdVpshufb, v32(inst.operands[1], chunk), isa_->full_bytes(from_b));
  } else {
    isa_->set_const32(dst(inst, chunk), ones);
    return true;
  }
  if (ones != 0) r = isa_->or_(r, isa_->c32(ones));
  isa_->mov(dst(inst, chunk), r);
  return true;
}

bool Emitter::emit_int32(const Inst& inst, unsigned chunk) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const auto value = [&](unsigned i) { return v32(inst.operands[i], chunk); };
  const auto done = [&](const Vec& r) {
    isa_->mov(dst(inst, chunk), r);
    return true;
  };
  // Operand modulo 32.
  const auto modulo = [&](unsigned i) { return isa_->and_(value(i), isa_->c32(31)); };

  if (inst.type == ir::kMask && operand(0)->type == ir::kV32) {
    // Carries; the comparisons are in masks.cpp.
    if (inst.op == Op::addc_carry) {
      const Vec a = value(0), sum = isa_->make(I::kIdVpaddd, a, v32_operand(operand(1), chunk));
      if (operand(2)->is_const(0)) {
        isa_->cmp32(dst_mask(inst, chunk), ICmp::ult, sum, a, nullptr);
        return true;
      }
      const MaskReg carry = mask(operand(2), chunk);
      const MaskReg wrapped = cmp(ICmp::ult, sum, a);
      MaskReg full = isa_->mask();
      isa_->cmp32(full, ICmp::eq, sum, isa_->ones(), &carry);
      isa_->mask_or(dst_mask(inst, chunk), wrapped, full);
      return true;
    }
    if (inst.op == Op::subb_borrow) {
      const Vec a = value(0);
      const Operand b = v32_operand(operand(1), chunk);
      if (operand(2)->is_const(0)) {
        isa_->cmp32(dst_mask(inst, chunk), ICmp::ult, a, b, nullptr);
        return true;
      }
      const MaskReg borrow = mask(operand(2), chunk);
      const MaskReg less = cmp(ICmp::ult, a, b);
      MaskReg equal = isa_->mask();
      isa_->cmp32(equal, ICmp::eq, a, b, &borrow);
      isa_->mask_or(dst_mask(inst, chunk), less, equal);
      return true;
    }
    return false;
  }
  if (inst.type == ir::kV32 && inst.op == Op::lo32) return isa_->lo32(dst(inst, chunk), v64(operand(0), chunk)), true;
  if (inst.type == ir::kV32 && inst.op == Op::hi32) return isa_->hi32(dst(inst, chunk), v64(operand(0), chunk)), true;
  if (inst.type == ir::kV32 && inst.op == Op::splat) return isa_->splat32(dst(inst, chunk), gp(operand(0))), true;
  if (inst.op == Op::tuple && inst.type.kind == ir::TypeKind::v32) {
    for (unsigned e = 0; e < inst.operands.size(); ++e) isa_->mov(dst(inst, chunk, e), value(e));
    return true;
  }
  if (inst.type != ir::kV32) return false;

  switch (inst.op) {
    case Op::select: {
      if (is_fused(operand(1))) {
        emit_merged(inst, chunk);
        return true;
      }
      const MaskReg c = condition_mask(operand(0), chunk);
      if (operand(2)->is_const(0)) {
        isa_->zero_unless(dst(inst, chunk), c, value(1));
      } else {
        isa_->select32(dst(inst, chunk), c, v32_operand(operand(1), chunk), value(2));
      }
      return true;
    }
    case Op::extract:
      return done(reg(operand(0), static_cast<unsigned>(inst.imm), chunk, 0).as<Vec>());
    case Op::andn:
      // The complemented operand comes first on the host.
      if (operand(1)->is_const()) {
        cc_.emit(isa_->f.and_, dst(inst, chunk), value(0), isa_->c32(~static_cast<uint32_t>(operand(1)->imm)));
      } else {
        cc_.emit(isa_->f.andn, dst(inst, chunk), value(1), v32_operand(operand(0), chunk));
      }
      return true;
    case Op::not_:
      cc_.emit(isa_->f.xor_, dst(inst, chunk), value(0), isa_->c32(~0u));
      return true;
    case Op::addc:
    case Op::subb: {
      const bool add = inst.op == Op::addc;
      const Vec sum = isa_->make(add ? I::kIdVpaddd : I::kIdVpsubd, value(0), v32_operand(operand(1), chunk));
      if (operand(2)->is_const(0)) return done(sum);
      // A set lane of the mask is -1.
      cc_.emit(add ? I::kIdVpsubd : I::kIdVpaddd, dst(inst, chunk), sum, isa_->mask_vec(mask(operand(2), chunk)));
      return true;
    }
    case Op::mulhi_u:
      return done(mul_high(value(0), value(1), false));
    case Op::mulhi_s:
      return done(mul_high(value(0), value(1), true));
    case Op::shl:
    case Op::lshr:
    case Op::ashr: {
      const bool left = inst.op == Op::shl, arithmetic = inst.op == Op::ashr;
      if (operand(1)->is_const()) {
        cc_.emit(left         ? I::kIdVpslld
                 : arithmetic ? I::kIdVpsrad
                              : I::kIdVpsrld,
                 dst(inst, chunk), value(0), imm(operand(1)->imm & 31));
      } else {
        const InstId id = left ? I::kIdVpsllvd : arithmetic ? I::kIdVpsravd : I::kIdVpsrlvd;
        cc_.emit(id, dst(inst, chunk), value(0), modulo(1));
      }
      return true;
    }
    case Op::popcount:
      return done(popcount32(value(0)));
    case Op::ctz:
      return done(ctz32(value(0)));
    case Op::clz:
      return done(clz32(value(0)));
    case Op::bitrev:
      return done(bitrev32(value(0)));
    case Op::bfe_u: {
      if (operand(1)->is_const() && operand(2)->is_const()) {
        const unsigned offset = operand(1)->imm & 31, width = operand(2)->imm & 31;
        const Vec shifted = offset != 0 ? isa_->shr32(value(0), offset) : value(0);
        cc_.emit(isa_->f.and_, dst(inst, chunk), shifted, isa_->c32((1u << width) - 1));
        return true;
      }
      const Vec shifted = isa_->make(I::kIdVpsrlvd, value(0), modulo(1));
      const Vec bound = isa_->make(I::kIdVpsllvd, isa_->const32(1), modulo(2));
      cc_.emit(isa_->f.and_, dst(inst, chunk), shifted, isa_->make(I::kIdVpaddd, bound, isa_->c32(~0u)));
      return true;
    }
    case Op::bfe_s: {
      if (operand(1)->is_const() && operand(2)->is_const()) {
        const unsigned offset = operand(1)->imm & 31, width = operand(2)->imm & 31;
        if (width == 0) return done(isa_->const32(0));
        const Vec shifted = offset != 0 ? isa_->sar32(value(0), offset) : value(0);
        return done(isa_->sar32(isa_->shl32(shifted, 32 - width), 32 - width));
      }
      // Shifts by 32 (width 0) give 0 on the host.
      const Vec shifted = isa_->make(I::kIdVpsravd, value(0), modulo(1));
      const Vec up = isa_->make(I::kIdVpsubd, isa_->const32(32), modulo(2));
      const Vec top = isa_->make(I::kIdVpsllvd, shifted, up);
      cc_.emit(I::kIdVpsravd, dst(inst, chunk), top, up);
      return true;
    }
    case Op::bfi:
      isa_->bit_select(dst(inst, chunk), value(0), value(1), value(2));
      return true;
    case Op::alignbit: {
      if (operand(0) == operand(1)) {
        if (operand(2)->is_const()) return isa_->rotate_right(dst(inst, chunk), value(0), operand(2)->imm & 31), true;
        if (isa_->rotate_right(dst(inst, chunk), value(0), value(2))) return true;
      }
      if (operand(2)->is_const()) {
        const unsigned n = operand(2)->imm & 31;
        if (n == 0) return done(value(1));
        return done(isa_->or_(isa_->shr32(value(1), n), isa_->shl32(value(0), 32 - n)));
      }
      const Vec n = modulo(2);
      const Vec low = isa_->make(I::kIdVpsrlvd, value(1), n);
      const Vec high = isa_->make(I::kIdVpsllvd, value(0), isa_->make(I::kIdVpsubd, isa_->const32(32), n));
      cc_.emit(isa_->f.or_, dst(inst, chunk), low, high);
      return true;
    }
    case Op::perm:
      if (emit_const_perm(inst, chunk)) return true;
      return done(perm32(value(0), value(1), value(2)));
    case Op::pk_shl:
    case Op::pk_lshr:
    case Op::pk_ashr: {
      if (const Inst* count = inst.operands[1]; count->is_const() && (count->imm >> 16 & 15) == (count->imm & 15)) {
        const InstId shift = inst.op == Op::pk_shl    ? I::kIdVpsllw
                             : inst.op == Op::pk_lshr ? I::kIdVpsrlw
                                                      : I::kIdVpsraw;
        cc_.emit(shift, dst(inst, chunk), value(0), asmjit::imm(count->imm & 15));
        return true;
      }
      // No 16-bit variable shifts on AVX2: each half in a dword, then joined.
      const Vec a = value(0), n = isa_->and_(value(1), isa_->full32(0x000f000f));
      const Vec n_low = isa_->and_(n, isa_->full32(0xffff)), n_high = isa_->shr32(n, 16);
      Vec low, high;
      if (inst.op == Op::pk_shl) {
        low = isa_->make(I::kIdVpsllvd, a, n_low);
        high = isa_->make(I::kIdVpsllvd, isa_->and_(a, isa_->full32(0xffff0000)), n_high);
      } else if (inst.op == Op::pk_lshr) {
        low = isa_->make(I::kIdVpsrlvd, isa_->and_(a, isa_->full32(0xffff)), n_low);
        high = isa_->make(I::kIdVpsrlvd, a, n_high);
      } else {
        low = isa_->make(I::kIdVpsravd, isa_->sar32(isa_->shl32(a, 16), 16), n_low);
        high = isa_->make(I::kIdVpsravd, a, n_high);
      }
      cc_.emit(isa_->f.or_, dst(inst, chunk), isa_->and_(low, isa_->full32(0xffff)),
               isa_->and_(high, isa_->full32(0xffff0000)));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
