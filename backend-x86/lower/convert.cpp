// Conversions between f32, f64 and 32-bit integers.
#include "backend-x86/lower/emitter.h"

namespace wavejit::backend {

using asmjit::imm;

namespace {
constexpr unsigned kOrdered = 7, kAtLeast = 0x1d;  // quiet vcmpps predicates
}  // namespace

// Toward zero, saturating, NaN -> 0.
Vec Emitter::f32_to_i32(const Vec& x) {
  const Vec truncated = isa_->make(I::kIdVcvttps2dq, x);  // 0x80000000 when out of range
  const MaskReg large = fcmp(kAtLeast, x, isa_->cf(2147483648.0f));
  isa_->flip_where(truncated, large);
  Vec d = isa_->vec();
  isa_->zero_unless(d, fcmp(kOrdered, x, x), truncated);
  return d;
}

bool Emitter::emit_convert(const Inst& inst, unsigned chunk) {
  const auto value = [&](unsigned i) { return v32(inst.operands[i], chunk); };
  const auto done = [&](const Vec& r) {
    isa_->mov(dst(inst, chunk), r);
    return true;
  };
  switch (inst.op) {
    case Op::cvt_f32_u32:
      isa_->cvt_f32_u32(dst(inst, chunk), value(0));
      return true;
    case Op::cvt_i32_f32:
      return done(f32_to_i32(value(0)));
    case Op::cvt_u32_f32: {
      const Vec x = isa_->make(I::kIdVmaxps, value(0), isa_->const32(0));  // NaN: the second operand
      const MaskReg large = fcmp(kAtLeast, x, isa_->cf(4294967296.0f));
      return done(isa_->sel(large, isa_->ones(), isa_->cvt_u32_f32(x)));
    }
    case Op::cvt_rpi_i32_f32:
      return done(f32_to_i32(isa_->round_ps(isa_->make(I::kIdVaddps, value(0), isa_->cf(0.5f)), 9)));
    case Op::cvt_flr_i32_f32:
      return done(f32_to_i32(isa_->round_ps(value(0), 9)));
    case Op::cvt_f64_i32:
      isa_->widen(dst64(inst, chunk), I::kIdVcvtdq2pd, value(0));
      return true;
    case Op::cvt_f64_u32:
      isa_->cvt_f64_u32(dst64(inst, chunk), value(0));
      return true;
    case Op::cvt_f64_f32:
      isa_->widen(dst64(inst, chunk), I::kIdVcvtps2pd, value(0));
      return true;
    case Op::cvt_f32_f64:
      isa_->narrow(dst(inst, chunk), I::kIdVcvtpd2ps, v64(inst.operands[0], chunk));
      return true;
    case Op::cvt_i32_f64:
    case Op::cvt_u32_f64: {
      const bool is_signed = inst.op == Op::cvt_i32_f64;
      const Vec64 x = v64(inst.operands[0], chunk);
      Vec64 limited = isa_->vec64();
      Mask64 large, upper, ordered;
      for (unsigned i = 0; i < 2; ++i) {
        const Vec& p = x.part[i];
        ordered.part[i] = fcmp64h(kOrdered, p, p);
        upper.part[i] = fcmp64h(kAtLeast, p, isa_->cd(2147483648.0));
        if (is_signed) {
          limited.part[i] = p;
        } else {
          large.part[i] = fcmp64h(kAtLeast, p, isa_->cd(4294967296.0));
          const Vec positive = isa_->make(I::kIdVmaxpd, p, isa_->const32(0));
          const Vec reduced = isa_->make(I::kIdVsubpd, positive, isa_->cd(2147483648.0));
          limited.part[i] = isa_->sel64(upper.part[i], reduced, positive);
        }
      }
      Vec r = isa_->vec();
      isa_->narrow(r, I::kIdVcvttpd2dq, limited);
      MaskReg in_upper = isa_->mask(), is_number = isa_->mask();
      isa_->join(in_upper, upper);
      isa_->join(is_number, ordered);
      if (is_signed) {
        r = isa_->sel(in_upper, isa_->const32(0x7fffffff), r);
      } else {
        MaskReg too_large = isa_->mask();
        isa_->join(too_large, large);
        r = isa_->sel(in_upper, isa_->xor_(r, isa_->c32(0x80000000)), r);
        r = isa_->sel(too_large, isa_->ones(), r);
      }
      isa_->zero_unless(dst(inst, chunk), is_number, r);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
