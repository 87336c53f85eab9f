// 64-bit lanes: integer operations and moves between 32 and 64 bits.
#include <bit>

#include "backend-x86/lower/emitter.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;

bool Emitter::emit_int64(const Inst& inst, unsigned chunk) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const auto value = [&](unsigned i) { return v64(inst.operands[i], chunk); };

  if (inst.type == ir::kMask && !inst.operands.empty() && operand(0)->type == ir::kV64) {
    if (inst.op != Op::addc_carry && inst.op != Op::subb_borrow) return false;
    const Vec64 a = value(0), b = value(1);
    const MaskReg carry = mask(operand(2), chunk);
    MaskReg wrapped = isa_->mask(), edge = isa_->mask();
    if (inst.op == Op::addc_carry) {
      Vec64 sum = isa_->vec64();
      for (unsigned i = 0; i < 2; ++i) cc_.emit(I::kIdVpaddq, sum.part[i], a.part[i], b.part[i]);
      const Vec ones = isa_->ones();
      isa_->cmp64(wrapped, ICmp::ult, sum, a, nullptr);
      isa_->cmp64(edge, ICmp::eq, sum, {ones, ones}, &carry);
    } else {
      isa_->cmp64(wrapped, ICmp::ult, a, b, nullptr);
      isa_->cmp64(edge, ICmp::eq, a, b, &carry);
    }
    isa_->mask_or(dst_mask(inst, chunk), wrapped, edge);
    return true;
  }
  if (inst.type != ir::kV64) return false;

  const auto each = [&](auto&& emit) {
    const auto [d, first, end] = wanted_parts(inst, chunk);
    for (unsigned i = first; i < end; ++i) emit(d.part[i], i);
    return true;
  };
  // Operand modulo 64, one half.
  const auto modulo = [&](unsigned op, unsigned part) {
    if (operand(op)->is_const()) return isa_->const64(operand(op)->imm & 63);
    return isa_->and_(value(op).part[part], full64(63));
  };
  const auto halves = [&](auto&& function) {  // of 32-bit lanes
    Vec lo = isa_->vec(), hi = isa_->vec();
    isa_->lo32(lo, value(0));
    isa_->hi32(hi, value(0));
    return function(lo, hi);
  };

  switch (inst.op) {
    case Op::splat64: {
      const Vec64 d = dst64(inst, chunk);
      isa_->splat64(d.part[0], gp(operand(0)));
      isa_->mov(d.part[1], d.part[0]);
      return true;
    }
    case Op::pack64:
      if (is_half_wanted(inst, chunk)) {
        const Vec lo = v32(operand(0), chunk), hi = v32(operand(1), chunk);
        return each([&](const Vec& d, unsigned i) { isa_->pack64_half(d, i, lo, hi); });
      }
      isa_->pack64(dst64(inst, chunk), v32(operand(0), chunk), v32(operand(1), chunk));
      return true;
    case Op::zext64:
    case Op::sext64: {
      const bool with_sign = inst.op == Op::sext64;
      const Vec a = v32(operand(0), chunk);
      if (is_half_wanted(inst, chunk))
        return each([&](const Vec& d, unsigned i) { isa_->extend64_half(d, i, with_sign, a); });
      with_sign ? isa_->sext64(dst64(inst, chunk), a) : isa_->zext64(dst64(inst, chunk), a);
      return true;
    }
    case Op::select: {
      const Mask64 c = isa_->split(condition_mask(operand(0), chunk));
      const Vec64 a = value(1), b = value(2);
      return each([&](const Vec& d, unsigned i) { isa_->select64_half(d, c.part[i], a.part[i], b.part[i]); });
    }
    case Op::extract:
      return each([&](const Vec& d, unsigned i) {
        isa_->mov(d, reg(operand(0), static_cast<unsigned>(inst.imm), chunk, i).as<Vec>());
      });
    case Op::andn:
      return each([&](const Vec& d, unsigned i) { cc_.emit(isa_->f.andn, d, value(1).part[i], value(0).part[i]); });
    case Op::not_:
      return each([&](const Vec& d, unsigned i) { cc_.emit(isa_->f.xor_, d, value(0).part[i], isa_->full32(~0u)); });
    case Op::mul: {
      const Inst* factor = operand(1);
      const uint64_t power = factor->is_const() ? factor->imm - 1 : 0;
      if (std::has_single_bit(power))
        return each([&](const Vec& d, unsigned i) {
          const Vec a = value(0).part[i];
          cc_.emit(I::kIdVpaddq, d, isa_->shl64(a, static_cast<unsigned>(std::countr_zero(power))), a);
        });
      const bool is_short = factor->op == Op::zext64 || (factor->is_const() && factor->imm >> 32 == 0);
      return each([&](const Vec& d, unsigned i) {
        const Vec a = value(0).part[i], b = value(1).part[i];
        is_short ? isa_->mul64_short(d, a, b) : isa_->mul64(d, a, b);
      });
    }
    case Op::udiv64:
      emit_udiv64(inst, chunk);
      return true;
    case Op::smin:
    case Op::smax:
    case Op::umin:
    case Op::umax:
      return each([&](const Vec& d, unsigned i) { isa_->minmax64(d, inst.op, value(0).part[i], value(1).part[i]); });
    case Op::sabs:
      return each([&](const Vec& d, unsigned i) { isa_->abs64(d, value(0).part[i]); });
    case Op::mul_wide_u:
    case Op::mul_wide_s: {
      // The multiplication reads the low dword of each qword.
      const InstId id = inst.op == Op::mul_wide_u ? I::kIdVpmuludq : I::kIdVpmuldq;
      Vec64 a = isa_->vec64(), b = isa_->vec64();
      isa_->zext64(a, v32(operand(0), chunk));
      isa_->zext64(b, v32(operand(1), chunk));
      return each([&](const Vec& d, unsigned i) { cc_.emit(id, d, a.part[i], b.part[i]); });
    }
    case Op::addc:
    case Op::subb: {
      const bool add = inst.op == Op::addc;
      const Vec carry32 = isa_->mask_vec(mask(operand(2), chunk));
      Vec64 carry = isa_->vec64();
      isa_->sext64(carry, carry32);  // -1 where set
      const Vec64 a = value(0), b = value(1);
      return each([&](const Vec& d, unsigned i) {
        const Vec sum = isa_->make(add ? I::kIdVpaddq : I::kIdVpsubq, a.part[i], b.part[i]);
        cc_.emit(add ? I::kIdVpsubq : I::kIdVpaddq, d, sum, carry.part[i]);
      });
    }
    case Op::shl:
    case Op::lshr:
    case Op::ashr: {
      const Vec64 a = value(0);
      if (operand(1)->is_const() && inst.op != Op::ashr) {
        const unsigned n = operand(1)->imm & 63;
        const InstId id = inst.op == Op::shl ? I::kIdVpsllq : I::kIdVpsrlq;
        return each([&](const Vec& d, unsigned i) { cc_.emit(id, d, a.part[i], imm(n)); });
      }
      return each([&](const Vec& d, unsigned i) {
        const Vec n = modulo(1, i);
        if (inst.op == Op::ashr) {
          isa_->sar64v(d, a.part[i], n);
        } else {
          cc_.emit(inst.op == Op::shl ? I::kIdVpsllvq : I::kIdVpsrlvq, d, a.part[i], n);
        }
      });
    }
    case Op::popcount:
      return halves([&](const Vec& lo, const Vec& hi) {
        isa_->zext64(dst64(inst, chunk), isa_->make(I::kIdVpaddd, popcount32(lo), popcount32(hi)));
        return true;
      });
    case Op::ctz:
    case Op::clz:
      return halves([&](const Vec& lo, const Vec& hi) {
        const bool trailing = inst.op == Op::ctz;
        const Vec near = trailing ? lo : hi, far = trailing ? hi : lo;
        const Vec n = trailing ? ctz32(near) : clz32(near), f = trailing ? ctz32(far) : clz32(far);
        const MaskReg near_none = cmp(ICmp::eq, near, isa_->const32(0));
        const MaskReg far_some = cmp(ICmp::ne, far, isa_->const32(0));
        const Vec far_count = isa_->sel(far_some, isa_->make(I::kIdVpaddd, f, isa_->c32(32)), isa_->ones());
        isa_->sext64(dst64(inst, chunk), isa_->sel(near_none, far_count, n));  // -1 stays -1
        return true;
      });
    case Op::bitrev:
      return halves([&](const Vec& lo, const Vec& hi) {
        const Vec low = bitrev32(hi), high = bitrev32(lo);
        isa_->pack64(dst64(inst, chunk), low, high);
        return true;
      });
    case Op::bfe_u: {
      const Vec64 a = value(0);
      return each([&](const Vec& d, unsigned i) {
        const Vec shifted = isa_->make(I::kIdVpsrlvq, a.part[i], modulo(1, i));
        const Vec bound = isa_->make(I::kIdVpsllvq, isa_->const64(1), modulo(2, i));
        cc_.emit(isa_->f.and_, d, shifted, isa_->make(I::kIdVpaddq, bound, isa_->ones()));
      });
    }
    case Op::bfe_s: {
      const Vec64 a = value(0);
      return each([&](const Vec& d, unsigned i) {
        Vec shifted = isa_->vec();
        isa_->sar64v(shifted, a.part[i], modulo(1, i));
        // (x ^ s) - s with s the sign bit of the field; width 0 gives s = 0 and an empty field.
        const Vec bound = isa_->make(I::kIdVpsllvq, isa_->const64(1), modulo(2, i));
        const Vec field = isa_->and_(shifted, isa_->make(I::kIdVpaddq, bound, isa_->ones()));
        const Vec sign = isa_->shr64(bound, 1);
        cc_.emit(I::kIdVpsubq, d, isa_->xor_(field, sign), sign);
      });
    }
    case Op::bfi: {
      const Vec64 s = value(0), a = value(1), b = value(2);
      return each([&](const Vec& d, unsigned i) { isa_->bit_select(d, s.part[i], a.part[i], b.part[i]); });
    }
    default:
      return false;
  }
}

// Quotients of ordinary numbers; those of 0, which are no quotients, out of line.
void Emitter::emit_udiv64(const Inst& inst, unsigned chunk) {
  const Vec64 a = v64(inst.operands[0], chunk), b = v64(inst.operands[1], chunk), d = dst64(inst, chunk);
  Mask64 none;
  Vec64 divisor;
  for (unsigned i = 0; i < 2; ++i) {
    none.part[i] = isa_->cmp64_half(ICmp::eq, b.part[i], isa_->const64(0));
    divisor.part[i] = isa_->sel64(none.part[i], isa_->const64(1), b.part[i]);
  }
  MaskReg some = isa_->mask();
  isa_->join(some, none);
  Vec64 quotient = isa_->vec64();
  if (!(isa_->udiv64(quotient.part[0], a.part[0], divisor.part[0]) &&
        isa_->udiv64(quotient.part[1], a.part[1], divisor.part[1]))) {
    const unsigned bytes = 2 * isa_->bytes();
    const Mem numerators = scratch_row(data_row_, bytes), divisors = scratch_row(compare_row_, bytes),
              quotients = scratch_row(result_row_, bytes);
    isa_->store_row64(numerators, a);
    isa_->store_row64(divisors, divisor);
    for (unsigned lane = 0; lane < isa_->lanes; ++lane) {
      const auto at = [&](const Mem& row) {
        Mem m = row.cloneAdjusted(8 * lane);
        m.setSize(8);
        return m;
      };
      const Gp high = cc_.new_gp64(), low = cc_.new_gp64();
      cc_.xor_(high.r32(), high.r32());
      cc_.mov(low, at(numerators));
      cc_.div(high, low, at(divisors));
      cc_.mov(at(quotients), low);
    }
    isa_->load_row64(quotient, quotients);
  }
  const Label special = cc_.new_label(), done = cc_.new_label();
  cc_.j(isa_->test_any({&some, 1}), special);
  for (unsigned i = 0; i < 2; ++i) isa_->mov(d.part[i], quotient.part[i]);
  cc_.bind(done);
  cold([&] {
    cc_.bind(special);
    for (unsigned i = 0; i < 2; ++i) {
      const Vec low = isa_->and_(a.part[i], full64(0xffffffff));
      const MaskReg even = isa_->cmp64_half(ICmp::eq, low, isa_->const64(0));
      const Vec more = isa_->sel64(even, isa_->const64(2), isa_->const64(1));
      const Vec rest = isa_->make(I::kIdVpsubq, a.part[i], isa_->shr64(a.part[i], 32));
      const Vec whole = isa_->make(I::kIdVpaddq, rest, more);
      isa_->select64_half(d.part[i], none.part[i], whole, quotient.part[i]);
    }
    cc_.jmp(done);
  });
}

// A full vector of 64-bit constants in memory.
Mem Emitter::full64(uint64_t bits) {
  uint64_t data[8];
  for (uint64_t& d : data) d = bits;
  return pool_.get(data, isa_->bytes());
}

}  // namespace wavejit::backend
