// Conversions between f32, f64 and 32-bit integers.
#include "backend-x86/lower/vector/convert.h"

#include "backend-x86/lower/vector/building_blocks.h"

namespace wavejit::backend {

namespace {
constexpr unsigned kOrdered = 7, kAtLeast = 0x1d;  // quiet vcmpps predicates
// Toward zero, saturating, NaN -> 0.
Vec f32_to_i32(Lowering& ctx, const Vec& x) {
  const Vec truncated = ctx.isa->make(I::kIdVcvttps2dq, x);  // 0x80000000 when out of range
  const MaskReg large = fcmp(ctx, kAtLeast, x, ctx.isa->cf(2147483648.0f));
  ctx.isa->flip_where(truncated, large);
  Vec d = ctx.isa->vec();
  ctx.isa->zero_unless(d, fcmp(ctx, kOrdered, x, x), truncated);
  return d;
}

}  // namespace

bool emit_convert(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const auto value = [&](unsigned i) { return ctx.v32(inst.operands[i], chunk); };
  const auto done = [&](const Vec& r) {
    ctx.isa->mov(ctx.dst(inst, chunk), r);
    return true;
  };
  switch (inst.op) {
    case Op::cvt_f32_u32:
      ctx.isa->cvt_f32_u32(ctx.dst(inst, chunk), value(0));
      return true;
    case Op::cvt_i32_f32:
      return done(f32_to_i32(ctx, value(0)));
    case Op::cvt_u32_f32: {
      const Vec x = ctx.isa->make(I::kIdVmaxps, value(0), ctx.isa->const32(0));  // NaN: the second operand
      const MaskReg large = fcmp(ctx, kAtLeast, x, ctx.isa->cf(4294967296.0f));
      return done(ctx.isa->sel(large, ctx.isa->ones(), ctx.isa->cvt_u32_f32(x)));
    }
    case Op::cvt_rpi_i32_f32:
      return done(f32_to_i32(ctx, ctx.isa->round_ps(ctx.isa->make(I::kIdVaddps, value(0), ctx.isa->cf(0.5f)), 9)));
    case Op::cvt_flr_i32_f32:
      return done(f32_to_i32(ctx, ctx.isa->round_ps(value(0), 9)));
    case Op::cvt_f64_i32:
      ctx.isa->widen(ctx.dst64(inst, chunk), I::kIdVcvtdq2pd, value(0));
      return true;
    case Op::cvt_f64_u32:
      ctx.isa->cvt_f64_u32(ctx.dst64(inst, chunk), value(0));
      return true;
    case Op::cvt_f64_f32:
      ctx.isa->widen(ctx.dst64(inst, chunk), I::kIdVcvtps2pd, value(0));
      return true;
    case Op::cvt_f32_f64:
      ctx.isa->narrow(ctx.dst(inst, chunk), I::kIdVcvtpd2ps, ctx.v64(inst.operands[0], chunk));
      return true;
    case Op::cvt_i32_f64:
    case Op::cvt_u32_f64: {
      const bool is_signed = inst.op == Op::cvt_i32_f64;
      const Vec64 x = ctx.v64(inst.operands[0], chunk);
      Vec64 limited = ctx.isa->vec64();
      Mask64 large, upper, ordered;
      for (unsigned i = 0; i < 2; ++i) {
        const Vec& p = x.part[i];
        ordered.part[i] = ctx.isa->fcmp64_half(kOrdered, p, p);
        upper.part[i] = ctx.isa->fcmp64_half(kAtLeast, p, ctx.isa->cd(2147483648.0));
        if (is_signed) {
          limited.part[i] = p;
        } else {
          large.part[i] = ctx.isa->fcmp64_half(kAtLeast, p, ctx.isa->cd(4294967296.0));
          const Vec positive = ctx.isa->make(I::kIdVmaxpd, p, ctx.isa->const32(0));
          const Vec reduced = ctx.isa->make(I::kIdVsubpd, positive, ctx.isa->cd(2147483648.0));
          limited.part[i] = ctx.isa->sel64(upper.part[i], reduced, positive);
        }
      }
      Vec r = ctx.isa->vec();
      ctx.isa->narrow(r, I::kIdVcvttpd2dq, limited);
      MaskReg in_upper = ctx.isa->mask(), is_number = ctx.isa->mask();
      ctx.isa->join(in_upper, upper);
      ctx.isa->join(is_number, ordered);
      if (is_signed) {
        r = ctx.isa->sel(in_upper, ctx.isa->const32(0x7fffffff), r);
      } else {
        MaskReg too_large = ctx.isa->mask();
        ctx.isa->join(too_large, large);
        r = ctx.isa->sel(in_upper, ctx.isa->xor_(r, ctx.isa->c32(0x80000000)), r);
        r = ctx.isa->sel(too_large, ctx.isa->ones(), r);
      }
      ctx.isa->zero_unless(ctx.dst(inst, chunk), is_number, r);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
