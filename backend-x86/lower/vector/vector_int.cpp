#include "backend-x86/lower/vector/vector_int.h"

#include <algorithm>

#include "backend-x86/lower/plans/ternary_logic.h"
#include "backend-x86/lower/vector/building_blocks.h"
#include "backend-x86/lower/vector/masks.h"
#include "backend-x86/lower/vector/simple_forms.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;

bool emit_ternary(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const auto found = ctx.ternaries->trees.find(inst.id);
  if (found == ctx.ternaries->trees.end()) return false;
  const auto& [a, b, c] = found->second.operands;
  const uint8_t table = found->second.table;
  ctx.take_over(inst, a, chunk);
  // d is the first operand as well. It takes the place of the one it shares registers with, if there is one.
  const auto emit = [&](const Vec& d, const Vec& x, const Vec& y, const Operand& z) {
    if (d.id() == x.id()) return ctx.isa->ternary_logic(d, y, z, table);
    if (d.id() == y.id() || (z.isReg() && d.id() == z.id())) {
      const Vec t = ctx.isa->vec();
      ctx.isa->mov(t, x);
      ctx.isa->ternary_logic(t, y, z, table);
      return ctx.isa->mov(d, t);
    }
    ctx.isa->mov(d, x);
    ctx.isa->ternary_logic(d, y, z, table);
  };
  if (inst.type == ir::kV32) {
    emit(ctx.dst(inst, chunk), ctx.v32(a, chunk), ctx.v32(b, chunk), ctx.v32_operand(c, chunk));
    return true;
  }
  const Vec64 d = ctx.dst64(inst, chunk), x = ctx.v64(a, chunk), y = ctx.v64(b, chunk);
  for (unsigned i = 0; i < 2; ++i) {
    const Operand z = c->is_const() && c->imm != 0 ? Operand(full64(ctx, c->imm)) : Operand(ctx.v64(c, chunk).part[i]);
    emit(d.part[i], x.part[i], y.part[i], z);
  }
  return true;
}

// One instruction per register. `into`: registers to write instead of the instruction's own.
bool emit_simple(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const SimpleForm* form = find_simple_form(inst);
  if (form == nullptr) return false;
  const InstId id = ctx.options.tier == Tier::avx512 ? form->avx512 : form->avx2;
  if (id == I::kIdNone) return false;
  const Inst* a = inst.operands[0];
  const Inst* b = form->arity == 2 ? inst.operands[1] : nullptr;
  if (b != nullptr && form->commutes && (a->is_const() || a->op == Op::lane_id)) std::swap(a, b);
  if (inst.type.kind == ir::TypeKind::v64) {
    const auto [d, first, end] = ctx.wanted_parts(inst, chunk);
    const Vec64 x = ctx.v64(a, chunk);
    for (unsigned part = first; part < end; ++part) {
      if (b != nullptr) {
        ctx.cc.emit(id, d.part[part], x.part[part], ctx.v64_operand(b, chunk, part));
      } else {
        ctx.cc.emit(id, d.part[part], x.part[part]);
      }
    }
    return true;
  }
  const Vec d = ctx.dst(inst, chunk), x = ctx.v32(a, chunk);
  if (b != nullptr) {
    ctx.cc.emit(id, d, x, form->element == 0 ? ctx.v32_full(b, chunk) : ctx.v32_operand(b, chunk));
  } else {
    ctx.cc.emit(id, d, x);
  }
  return true;
}

namespace {

// select(mask, op(...), old) as one instruction that leaves the lanes of old (AVX-512).
void emit_merged(Lowering& ctx, const Inst& select, unsigned chunk) {
  const Inst& value = *select.operands[1];
  const Inst* old = select.operands[2];
  const MaskReg k = ctx.mask(select.operands[0], chunk);
  const Vec d = ctx.dst(select, chunk);
  ctx.annotate(value);
  if (value.op == Op::fma_f32) {
    const Vec a = ctx.v32(value.operands[0], chunk), c = ctx.v32(old, chunk);
    const Operand b = ctx.v32_operand(value.operands[1], chunk);
    Vec t = d;
    if (d.id() != c.id()) {
      if (d.id() == a.id() || d.id() == b.id()) t = ctx.isa->vec();
      ctx.isa->mov(t, c);
    }
    ctx.cc.setExtraReg(k);
    ctx.cc.emit(I::kIdVfmadd231ps, t, a, b);
    if (t.id() != d.id()) ctx.isa->mov(d, t);
    return;
  }
  const SimpleForm* form = find_simple_form(value);
  const Inst* a = value.operands[0];
  const Inst* b = value.operands[1];
  if (form->commutes && a->is_const()) std::swap(a, b);
  const Vec x = ctx.v32(a, chunk);
  const Operand y = ctx.v32_operand(b, chunk);
  if (old->is_const(0)) {
    ctx.cc.setExtraReg(k);
    ctx.cc.addInstOptions(asmjit::InstOptions::kX86_ZMask);
    ctx.cc.emit(form->avx512, d, x, y);
    return;
  }
  const Vec kept = ctx.v32(old, chunk);
  Vec t = d;
  if (kept.id() != d.id()) {
    if (d.id() == x.id() || d.id() == y.id()) t = ctx.isa->vec();
    ctx.isa->mov(t, kept);
  }
  ctx.cc.setExtraReg(k);
  ctx.cc.emit(form->avx512, t, x, y);
  if (t.id() != d.id()) ctx.isa->mov(d, t);
}

Vec mul_high(Lowering& ctx, const Vec& a, const Vec& b, bool is_signed) {
  const InstId id = is_signed ? I::kIdVpmuldq : I::kIdVpmuludq;
  const Vec even = ctx.isa->make(id, a, b);
  const Vec odd = ctx.isa->make(id, ctx.isa->shr64(a, 32), ctx.isa->shr64(b, 32));
  uint32_t high[16];
  for (unsigned i = 0; i < 16; ++i) high[i] = i & 1 ? ~0u : 0;
  return ctx.isa->or_(ctx.isa->shr64(even, 32), ctx.isa->and_(odd, ctx.pool.get(high, ctx.isa->bytes())));
}

// v_perm_b32 with constant selectors: two shuffles.
bool emit_const_perm(Lowering& ctx, const Inst& inst, unsigned chunk) {
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
    r = ctx.isa->or_(ctx.isa->make(I::kIdVpshufb, ctx.v32(inst.operands[0], chunk), ctx.isa->full_bytes(from_a)),
                     ctx.isa->make(I::kIdVpshufb, ctx.v32(inst.operands[1], chunk), ctx.isa->full_bytes(from_b)));
  } else if (uses_a) {
    r = ctx.isa->make(I::kIdVpshufb, ctx.v32(inst.operands[0], chunk), ctx.isa->full_bytes(from_a));
  } else if (uses_b) {
    r = ctx.isa->make(I::kIdVpshufb, ctx.v32(inst.operands[1], chunk), ctx.isa->full_bytes(from_b));
  } else {
    ctx.isa->set_const32(ctx.dst(inst, chunk), ones);
    return true;
  }
  if (ones != 0) r = ctx.isa->or_(r, ctx.isa->c32(ones));
  ctx.isa->mov(ctx.dst(inst, chunk), r);
  return true;
}

}  // namespace

bool emit_int32(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const auto value = [&](unsigned i) { return ctx.v32(inst.operands[i], chunk); };
  const auto done = [&](const Vec& r) {
    ctx.isa->mov(ctx.dst(inst, chunk), r);
    return true;
  };
  // Operand modulo 32.
  const auto modulo = [&](unsigned i) { return ctx.isa->and_(value(i), ctx.isa->c32(31)); };

  if (inst.type == ir::kMask && operand(0)->type == ir::kV32) {
    // Carries; the comparisons are in masks.cpp.
    if (inst.op == Op::addc_carry) {
      const Vec a = value(0), sum = ctx.isa->make(I::kIdVpaddd, a, ctx.v32_operand(operand(1), chunk));
      if (operand(2)->is_const(0)) {
        ctx.isa->cmp32(ctx.dst_mask(inst, chunk), ICmp::ult, sum, a, nullptr);
        return true;
      }
      const MaskReg carry = ctx.mask(operand(2), chunk);
      const MaskReg wrapped = cmp(ctx, ICmp::ult, sum, a);
      MaskReg full = ctx.isa->mask();
      ctx.isa->cmp32(full, ICmp::eq, sum, ctx.isa->ones(), &carry);
      ctx.isa->mask_or(ctx.dst_mask(inst, chunk), wrapped, full);
      return true;
    }
    if (inst.op == Op::subb_borrow) {
      const Vec a = value(0);
      const Operand b = ctx.v32_operand(operand(1), chunk);
      if (operand(2)->is_const(0)) {
        ctx.isa->cmp32(ctx.dst_mask(inst, chunk), ICmp::ult, a, b, nullptr);
        return true;
      }
      const MaskReg borrow = ctx.mask(operand(2), chunk);
      const MaskReg less = cmp(ctx, ICmp::ult, a, b);
      MaskReg equal = ctx.isa->mask();
      ctx.isa->cmp32(equal, ICmp::eq, a, b, &borrow);
      ctx.isa->mask_or(ctx.dst_mask(inst, chunk), less, equal);
      return true;
    }
    return false;
  }
  if (inst.type == ir::kV32 && inst.op == Op::lo32)
    return ctx.isa->lo32(ctx.dst(inst, chunk), ctx.v64(operand(0), chunk)), true;
  if (inst.type == ir::kV32 && inst.op == Op::hi32)
    return ctx.isa->hi32(ctx.dst(inst, chunk), ctx.v64(operand(0), chunk)), true;
  if (inst.type == ir::kV32 && inst.op == Op::splat)
    return ctx.isa->splat32(ctx.dst(inst, chunk), ctx.gp(operand(0))), true;
  if (inst.op == Op::tuple && inst.type.kind == ir::TypeKind::v32) {
    for (unsigned e = 0; e < inst.operands.size(); ++e) ctx.isa->mov(ctx.dst(inst, chunk, e), value(e));
    return true;
  }
  if (inst.type != ir::kV32) return false;

  switch (inst.op) {
    case Op::select: {
      if (ctx.is_fused(operand(1))) {
        emit_merged(ctx, inst, chunk);
        return true;
      }
      const MaskReg c = condition_mask(ctx, operand(0), chunk);
      if (operand(2)->is_const(0)) {
        ctx.isa->zero_unless(ctx.dst(inst, chunk), c, value(1));
      } else {
        ctx.isa->select32(ctx.dst(inst, chunk), c, ctx.v32_operand(operand(1), chunk), value(2));
      }
      return true;
    }
    case Op::extract:
      return done(ctx.reg(operand(0), static_cast<unsigned>(inst.imm), chunk, 0).as<Vec>());
    case Op::andn:
      // The complemented operand comes first on the host.
      if (operand(1)->is_const()) {
        ctx.cc.emit(ctx.isa->f.and_, ctx.dst(inst, chunk), value(0),
                    ctx.isa->c32(~static_cast<uint32_t>(operand(1)->imm)));
      } else {
        ctx.cc.emit(ctx.isa->f.andn, ctx.dst(inst, chunk), value(1), ctx.v32_operand(operand(0), chunk));
      }
      return true;
    case Op::not_:
      ctx.cc.emit(ctx.isa->f.xor_, ctx.dst(inst, chunk), value(0), ctx.isa->c32(~0u));
      return true;
    case Op::addc:
    case Op::subb: {
      const bool add = inst.op == Op::addc;
      const Vec sum = ctx.isa->make(add ? I::kIdVpaddd : I::kIdVpsubd, value(0), ctx.v32_operand(operand(1), chunk));
      if (operand(2)->is_const(0)) return done(sum);
      // A set lane of the mask is -1.
      ctx.cc.emit(add ? I::kIdVpsubd : I::kIdVpaddd, ctx.dst(inst, chunk), sum,
                  ctx.isa->mask_vec(ctx.mask(operand(2), chunk)));
      return true;
    }
    case Op::mulhi_u:
      return done(mul_high(ctx, value(0), value(1), false));
    case Op::mulhi_s:
      return done(mul_high(ctx, value(0), value(1), true));
    case Op::shl:
    case Op::lshr:
    case Op::ashr: {
      const bool left = inst.op == Op::shl, arithmetic = inst.op == Op::ashr;
      if (operand(1)->is_const()) {
        ctx.cc.emit(left         ? I::kIdVpslld
                    : arithmetic ? I::kIdVpsrad
                                 : I::kIdVpsrld,
                    ctx.dst(inst, chunk), value(0), imm(operand(1)->imm & 31));
      } else {
        const InstId id = left ? I::kIdVpsllvd : arithmetic ? I::kIdVpsravd : I::kIdVpsrlvd;
        ctx.cc.emit(id, ctx.dst(inst, chunk), value(0), modulo(1));
      }
      return true;
    }
    case Op::popcount:
      return done(popcount32(ctx, value(0)));
    case Op::ctz:
      return done(ctz32(ctx, value(0)));
    case Op::clz:
      return done(clz32(ctx, value(0)));
    case Op::bitrev:
      return done(bitrev32(ctx, value(0)));
    case Op::bfe_u: {
      if (operand(1)->is_const() && operand(2)->is_const()) {
        const unsigned offset = operand(1)->imm & 31, width = operand(2)->imm & 31;
        const Vec shifted = offset != 0 ? ctx.isa->shr32(value(0), offset) : value(0);
        ctx.cc.emit(ctx.isa->f.and_, ctx.dst(inst, chunk), shifted, ctx.isa->c32((1u << width) - 1));
        return true;
      }
      const Vec shifted = ctx.isa->make(I::kIdVpsrlvd, value(0), modulo(1));
      const Vec bound = ctx.isa->make(I::kIdVpsllvd, ctx.isa->const32(1), modulo(2));
      ctx.cc.emit(ctx.isa->f.and_, ctx.dst(inst, chunk), shifted,
                  ctx.isa->make(I::kIdVpaddd, bound, ctx.isa->c32(~0u)));
      return true;
    }
    case Op::bfe_s: {
      if (operand(1)->is_const() && operand(2)->is_const()) {
        const unsigned offset = operand(1)->imm & 31, width = operand(2)->imm & 31;
        if (width == 0) return done(ctx.isa->const32(0));
        const Vec shifted = offset != 0 ? ctx.isa->sar32(value(0), offset) : value(0);
        return done(ctx.isa->sar32(ctx.isa->shl32(shifted, 32 - width), 32 - width));
      }
      // Shifts by 32 (width 0) give 0 on the host.
      const Vec shifted = ctx.isa->make(I::kIdVpsravd, value(0), modulo(1));
      const Vec up = ctx.isa->make(I::kIdVpsubd, ctx.isa->const32(32), modulo(2));
      const Vec top = ctx.isa->make(I::kIdVpsllvd, shifted, up);
      ctx.cc.emit(I::kIdVpsravd, ctx.dst(inst, chunk), top, up);
      return true;
    }
    case Op::bfi:
      ctx.isa->bit_select(ctx.dst(inst, chunk), value(0), value(1), value(2));
      return true;
    case Op::alignbit: {
      if (operand(0) == operand(1)) {
        if (operand(2)->is_const())
          return ctx.isa->rotate_right(ctx.dst(inst, chunk), value(0), operand(2)->imm & 31), true;
        if (ctx.isa->rotate_right(ctx.dst(inst, chunk), value(0), value(2))) return true;
      }
      if (operand(2)->is_const()) {
        const unsigned n = operand(2)->imm & 31;
        if (n == 0) return done(value(1));
        return done(ctx.isa->or_(ctx.isa->shr32(value(1), n), ctx.isa->shl32(value(0), 32 - n)));
      }
      const Vec n = modulo(2);
      const Vec low = ctx.isa->make(I::kIdVpsrlvd, value(1), n);
      const Vec high = ctx.isa->make(I::kIdVpsllvd, value(0), ctx.isa->make(I::kIdVpsubd, ctx.isa->const32(32), n));
      ctx.cc.emit(ctx.isa->f.or_, ctx.dst(inst, chunk), low, high);
      return true;
    }
    case Op::perm:
      if (emit_const_perm(ctx, inst, chunk)) return true;
      return done(perm32(ctx, value(0), value(1), value(2)));
    case Op::pk_shl:
    case Op::pk_lshr:
    case Op::pk_ashr: {
      if (const Inst* count = inst.operands[1]; count->is_const() && (count->imm >> 16 & 15) == (count->imm & 15)) {
        const InstId shift = inst.op == Op::pk_shl    ? I::kIdVpsllw
                             : inst.op == Op::pk_lshr ? I::kIdVpsrlw
                                                      : I::kIdVpsraw;
        ctx.cc.emit(shift, ctx.dst(inst, chunk), value(0), asmjit::imm(count->imm & 15));
        return true;
      }
      // No 16-bit variable shifts on AVX2: each half in a dword, then joined.
      const Vec a = value(0), n = ctx.isa->and_(value(1), ctx.isa->full32(0x000f000f));
      const Vec n_low = ctx.isa->and_(n, ctx.isa->full32(0xffff)), n_high = ctx.isa->shr32(n, 16);
      Vec low, high;
      if (inst.op == Op::pk_shl) {
        low = ctx.isa->make(I::kIdVpsllvd, a, n_low);
        high = ctx.isa->make(I::kIdVpsllvd, ctx.isa->and_(a, ctx.isa->full32(0xffff0000)), n_high);
      } else if (inst.op == Op::pk_lshr) {
        low = ctx.isa->make(I::kIdVpsrlvd, ctx.isa->and_(a, ctx.isa->full32(0xffff)), n_low);
        high = ctx.isa->make(I::kIdVpsrlvd, a, n_high);
      } else {
        low = ctx.isa->make(I::kIdVpsravd, ctx.isa->sar32(ctx.isa->shl32(a, 16), 16), n_low);
        high = ctx.isa->make(I::kIdVpsravd, a, n_high);
      }
      ctx.cc.emit(ctx.isa->f.or_, ctx.dst(inst, chunk), ctx.isa->and_(low, ctx.isa->full32(0xffff)),
                  ctx.isa->and_(high, ctx.isa->full32(0xffff0000)));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
