#include "backend-x86/lower/vector/vector_int64.h"

#include <bit>

#include "backend-x86/lower/plans/idle_halves.h"
#include "backend-x86/lower/stack_rows.h"
#include "backend-x86/lower/vector/building_blocks.h"
#include "backend-x86/lower/vector/masks.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;

namespace {

// Quotients of ordinary numbers; those of 0, which are no quotients, out of line.
void emit_udiv64(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const Vec64 a = ctx.v64(inst.operands[0], chunk), b = ctx.v64(inst.operands[1], chunk), d = ctx.dst64(inst, chunk);
  Mask64 none;
  Vec64 divisor;
  for (unsigned i = 0; i < 2; ++i) {
    none.part[i] = ctx.isa->cmp64_half(ICmp::eq, b.part[i], ctx.isa->const64(0));
    divisor.part[i] = ctx.isa->sel64(none.part[i], ctx.isa->const64(1), b.part[i]);
  }
  MaskReg some = ctx.isa->mask();
  ctx.isa->join(some, none);
  Vec64 quotient = ctx.isa->vec64();
  if (!(ctx.isa->udiv64(quotient.part[0], a.part[0], divisor.part[0]) &&
        ctx.isa->udiv64(quotient.part[1], a.part[1], divisor.part[1]))) {
    const unsigned bytes = 2 * ctx.isa->bytes();
    const Mem numerators = ctx.scratch_row(ctx.rows->data, bytes),
              divisors = ctx.scratch_row(ctx.rows->compared, bytes),
              quotients = ctx.scratch_row(ctx.rows->results, bytes);
    ctx.isa->store_row64(numerators, a);
    ctx.isa->store_row64(divisors, divisor);
    for (unsigned lane = 0; lane < ctx.isa->lanes; ++lane) {
      const auto at = [&](const Mem& row) {
        Mem m = row.cloneAdjusted(8 * lane);
        m.setSize(8);
        return m;
      };
      const Gp high = ctx.cc.new_gp64(), low = ctx.cc.new_gp64();
      ctx.cc.xor_(high.r32(), high.r32());
      ctx.cc.mov(low, at(numerators));
      ctx.cc.div(high, low, at(divisors));
      ctx.cc.mov(at(quotients), low);
    }
    ctx.isa->load_row64(quotient, quotients);
  }
  const Label special = ctx.cc.new_label(), done = ctx.cc.new_label();
  ctx.cc.j(ctx.isa->test_any({&some, 1}), special);
  for (unsigned i = 0; i < 2; ++i) ctx.isa->mov(d.part[i], quotient.part[i]);
  ctx.cc.bind(done);
  ctx.cold([&] {
    ctx.cc.bind(special);
    for (unsigned i = 0; i < 2; ++i) {
      const Vec low = ctx.isa->and_(a.part[i], full64(ctx, 0xffffffff));
      const MaskReg even = ctx.isa->cmp64_half(ICmp::eq, low, ctx.isa->const64(0));
      const Vec more = ctx.isa->sel64(even, ctx.isa->const64(2), ctx.isa->const64(1));
      const Vec rest = ctx.isa->make(I::kIdVpsubq, a.part[i], ctx.isa->shr64(a.part[i], 32));
      const Vec whole = ctx.isa->make(I::kIdVpaddq, rest, more);
      ctx.isa->select64_half(d.part[i], none.part[i], whole, quotient.part[i]);
    }
    ctx.cc.jmp(done);
  });
}

}  // namespace

bool emit_int64(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const auto value = [&](unsigned i) { return ctx.v64(inst.operands[i], chunk); };

  if (inst.type == ir::kMask && !inst.operands.empty() && operand(0)->type == ir::kV64) {
    if (inst.op != Op::addc_carry && inst.op != Op::subb_borrow) return false;
    const Vec64 a = value(0), b = value(1);
    const MaskReg carry = ctx.mask(operand(2), chunk);
    MaskReg wrapped = ctx.isa->mask(), edge = ctx.isa->mask();
    if (inst.op == Op::addc_carry) {
      Vec64 sum = ctx.isa->vec64();
      for (unsigned i = 0; i < 2; ++i) ctx.cc.emit(I::kIdVpaddq, sum.part[i], a.part[i], b.part[i]);
      const Vec ones = ctx.isa->ones();
      ctx.isa->cmp64(wrapped, ICmp::ult, sum, a, nullptr);
      ctx.isa->cmp64(edge, ICmp::eq, sum, {ones, ones}, &carry);
    } else {
      ctx.isa->cmp64(wrapped, ICmp::ult, a, b, nullptr);
      ctx.isa->cmp64(edge, ICmp::eq, a, b, &carry);
    }
    ctx.isa->mask_or(ctx.dst_mask(inst, chunk), wrapped, edge);
    return true;
  }
  if (inst.type != ir::kV64) return false;

  const auto each = [&](auto&& emit) {
    const auto [d, first, end] = ctx.wanted_parts(inst, chunk);
    for (unsigned i = first; i < end; ++i) emit(d.part[i], i);
    return true;
  };
  // Operand modulo 64, one half.
  const auto modulo = [&](unsigned op, unsigned part) {
    if (operand(op)->is_const()) return ctx.isa->const64(operand(op)->imm & 63);
    return ctx.isa->and_(value(op).part[part], full64(ctx, 63));
  };
  const auto halves = [&](auto&& function) {  // of 32-bit lanes
    Vec lo = ctx.isa->vec(), hi = ctx.isa->vec();
    ctx.isa->lo32(lo, value(0));
    ctx.isa->hi32(hi, value(0));
    return function(lo, hi);
  };

  switch (inst.op) {
    case Op::splat64: {
      const Vec64 d = ctx.dst64(inst, chunk);
      ctx.isa->splat64(d.part[0], ctx.gp(operand(0)));
      ctx.isa->mov(d.part[1], d.part[0]);
      return true;
    }
    case Op::pack64:
      if (ctx.idle->is_half_wanted(inst, chunk)) {
        const Vec lo = ctx.v32(operand(0), chunk), hi = ctx.v32(operand(1), chunk);
        return each([&](const Vec& d, unsigned i) { ctx.isa->pack64_half(d, i, lo, hi); });
      }
      ctx.isa->pack64(ctx.dst64(inst, chunk), ctx.v32(operand(0), chunk), ctx.v32(operand(1), chunk));
      return true;
    case Op::zext64:
    case Op::sext64: {
      const bool with_sign = inst.op == Op::sext64;
      const Vec a = ctx.v32(operand(0), chunk);
      if (ctx.idle->is_half_wanted(inst, chunk))
        return each([&](const Vec& d, unsigned i) { ctx.isa->extend64_half(d, i, with_sign, a); });
      with_sign ? ctx.isa->sext64(ctx.dst64(inst, chunk), a) : ctx.isa->zext64(ctx.dst64(inst, chunk), a);
      return true;
    }
    case Op::select: {
      const Mask64 c = ctx.isa->split(condition_mask(ctx, operand(0), chunk));
      const Vec64 a = value(1), b = value(2);
      return each([&](const Vec& d, unsigned i) { ctx.isa->select64_half(d, c.part[i], a.part[i], b.part[i]); });
    }
    case Op::extract:
      return each([&](const Vec& d, unsigned i) {
        ctx.isa->mov(d, ctx.reg(operand(0), static_cast<unsigned>(inst.imm), chunk, i).as<Vec>());
      });
    case Op::andn:
      return each(
          [&](const Vec& d, unsigned i) { ctx.cc.emit(ctx.isa->f.andn, d, value(1).part[i], value(0).part[i]); });
    case Op::not_:
      return each(
          [&](const Vec& d, unsigned i) { ctx.cc.emit(ctx.isa->f.xor_, d, value(0).part[i], ctx.isa->full32(~0u)); });
    case Op::mul: {
      const Inst* factor = operand(1);
      const uint64_t power = factor->is_const() ? factor->imm - 1 : 0;
      if (std::has_single_bit(power))
        return each([&](const Vec& d, unsigned i) {
          const Vec a = value(0).part[i];
          ctx.cc.emit(I::kIdVpaddq, d, ctx.isa->shl64(a, static_cast<unsigned>(std::countr_zero(power))), a);
        });
      const bool is_short = factor->op == Op::zext64 || (factor->is_const() && factor->imm >> 32 == 0);
      return each([&](const Vec& d, unsigned i) {
        const Vec a = value(0).part[i], b = value(1).part[i];
        is_short ? ctx.isa->mul64_short(d, a, b) : ctx.isa->mul64(d, a, b);
      });
    }
    case Op::udiv64:
      emit_udiv64(ctx, inst, chunk);
      return true;
    case Op::smin:
    case Op::smax:
    case Op::umin:
    case Op::umax:
      return each([&](const Vec& d, unsigned i) { ctx.isa->minmax64(d, inst.op, value(0).part[i], value(1).part[i]); });
    case Op::sabs:
      return each([&](const Vec& d, unsigned i) { ctx.isa->abs64(d, value(0).part[i]); });
    case Op::mul_wide_u:
    case Op::mul_wide_s: {
      // The multiplication reads the low dword of each qword.
      const InstId id = inst.op == Op::mul_wide_u ? I::kIdVpmuludq : I::kIdVpmuldq;
      Vec64 a = ctx.isa->vec64(), b = ctx.isa->vec64();
      ctx.isa->zext64(a, ctx.v32(operand(0), chunk));
      ctx.isa->zext64(b, ctx.v32(operand(1), chunk));
      return each([&](const Vec& d, unsigned i) { ctx.cc.emit(id, d, a.part[i], b.part[i]); });
    }
    case Op::addc:
    case Op::subb: {
      const bool add = inst.op == Op::addc;
      const Vec carry32 = ctx.isa->mask_vec(ctx.mask(operand(2), chunk));
      Vec64 carry = ctx.isa->vec64();
      ctx.isa->sext64(carry, carry32);  // -1 where set
      const Vec64 a = value(0), b = value(1);
      return each([&](const Vec& d, unsigned i) {
        const Vec sum = ctx.isa->make(add ? I::kIdVpaddq : I::kIdVpsubq, a.part[i], b.part[i]);
        ctx.cc.emit(add ? I::kIdVpsubq : I::kIdVpaddq, d, sum, carry.part[i]);
      });
    }
    case Op::shl:
    case Op::lshr:
    case Op::ashr: {
      const Vec64 a = value(0);
      if (operand(1)->is_const() && inst.op != Op::ashr) {
        const unsigned n = operand(1)->imm & 63;
        const InstId id = inst.op == Op::shl ? I::kIdVpsllq : I::kIdVpsrlq;
        return each([&](const Vec& d, unsigned i) { ctx.cc.emit(id, d, a.part[i], imm(n)); });
      }
      return each([&](const Vec& d, unsigned i) {
        const Vec n = modulo(1, i);
        if (inst.op == Op::ashr) {
          ctx.isa->sar64v(d, a.part[i], n);
        } else {
          ctx.cc.emit(inst.op == Op::shl ? I::kIdVpsllvq : I::kIdVpsrlvq, d, a.part[i], n);
        }
      });
    }
    case Op::popcount:
      return halves([&](const Vec& lo, const Vec& hi) {
        ctx.isa->zext64(ctx.dst64(inst, chunk), ctx.isa->make(I::kIdVpaddd, popcount32(ctx, lo), popcount32(ctx, hi)));
        return true;
      });
    case Op::ctz:
    case Op::clz:
      return halves([&](const Vec& lo, const Vec& hi) {
        const bool trailing = inst.op == Op::ctz;
        const Vec near = trailing ? lo : hi, far = trailing ? hi : lo;
        const Vec n = trailing ? ctz32(ctx, near) : clz32(ctx, near), f = trailing ? ctz32(ctx, far) : clz32(ctx, far);
        const MaskReg near_none = cmp(ctx, ICmp::eq, near, ctx.isa->const32(0));
        const MaskReg far_some = cmp(ctx, ICmp::ne, far, ctx.isa->const32(0));
        const Vec far_count = ctx.isa->sel(far_some, ctx.isa->make(I::kIdVpaddd, f, ctx.isa->c32(32)), ctx.isa->ones());
        ctx.isa->sext64(ctx.dst64(inst, chunk), ctx.isa->sel(near_none, far_count, n));  // -1 stays -1
        return true;
      });
    case Op::bitrev:
      return halves([&](const Vec& lo, const Vec& hi) {
        const Vec low = bitrev32(ctx, hi), high = bitrev32(ctx, lo);
        ctx.isa->pack64(ctx.dst64(inst, chunk), low, high);
        return true;
      });
    case Op::bfe_u: {
      const Vec64 a = value(0);
      return each([&](const Vec& d, unsigned i) {
        const Vec shifted = ctx.isa->make(I::kIdVpsrlvq, a.part[i], modulo(1, i));
        const Vec bound = ctx.isa->make(I::kIdVpsllvq, ctx.isa->const64(1), modulo(2, i));
        ctx.cc.emit(ctx.isa->f.and_, d, shifted, ctx.isa->make(I::kIdVpaddq, bound, ctx.isa->ones()));
      });
    }
    case Op::bfe_s: {
      const Vec64 a = value(0);
      return each([&](const Vec& d, unsigned i) {
        Vec shifted = ctx.isa->vec();
        ctx.isa->sar64v(shifted, a.part[i], modulo(1, i));
        // (x ^ s) - s with s the sign bit of the field; width 0 gives s = 0 and an empty field.
        const Vec bound = ctx.isa->make(I::kIdVpsllvq, ctx.isa->const64(1), modulo(2, i));
        const Vec field = ctx.isa->and_(shifted, ctx.isa->make(I::kIdVpaddq, bound, ctx.isa->ones()));
        const Vec sign = ctx.isa->shr64(bound, 1);
        ctx.cc.emit(I::kIdVpsubq, d, ctx.isa->xor_(field, sign), sign);
      });
    }
    case Op::bfi: {
      const Vec64 s = value(0), a = value(1), b = value(2);
      return each([&](const Vec& d, unsigned i) { ctx.isa->bit_select(d, s.part[i], a.part[i], b.part[i]); });
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
