// The f32 sequences of internal/semantics/transcendental.h, step by step, so that the bits equal the interpreter's.
#include "backend-x86/lower/vector/transcendental.h"

#include <bit>

#include "backend-x86/lower/vector/building_blocks.h"
#include "backend-x86/lower/vector/vector_float16.h"
#include "internal/semantics/transcendental.h"

namespace wavejit::backend {

using ir::ICmp;
namespace t = transcendental;

namespace {
constexpr unsigned kNearest = 8;  // vroundps: to nearest even whatever MXCSR says
constexpr unsigned kLess = 0x11, kNotLess = 0x15, kGreaterEqual = 0x1d, kGreater = 0x1e,
                   kNotEqual = 0x04;  // quiet vcmpps predicates
constexpr uint32_t kDaz = 1u << 6, kFtz = 1u << 15;
// Denormal operands and results are zeros whatever MODE says; MXCSR does it when it is set to.
// Denormals -> zeros unless the current environment does it.
Vec flush_input(Lowering& ctx, const Vec& x) {
  return ctx.env & kDaz ? x : ctx.isa->flush_denormals(x);
}

Vec flush_output(Lowering& ctx, const Vec& x) {
  return ctx.env & kFtz ? x : ctx.isa->flush_denormals(x);
}

// sum = sum * x + c
void fma_step(Lowering& ctx, const Vec& sum, const Vec& x, const Operand_& c) {
  ctx.cc.emit(I::kIdVfmadd213ps, sum, x, c);
}

Vec frcp(Lowering& ctx, const Vec& x) {
  return flush_output(ctx, ctx.isa->make(I::kIdVdivps, ctx.isa->const32(0x3f800000), flush_input(ctx, x)));
}

Vec fsqrt(Lowering& ctx, const Vec& x) {
  return ctx.isa->make(I::kIdVsqrtps, flush_input(ctx, x));
}

Vec frsq(Lowering& ctx, const Vec& x) {
  return ctx.isa->make(I::kIdVdivps, ctx.isa->const32(0x3f800000), fsqrt(ctx, x));
}

Vec fexp(Lowering& ctx, const Vec& x) {
  const Vec n = ctx.isa->round_ps(x, kNearest);
  const Vec f = ctx.isa->make(I::kIdVsubps, x, n);
  Vec p = ctx.isa->const32(std::bit_cast<uint32_t>(t::kExp2[5]));
  for (int i = 4; i >= 0; --i) fma_step(ctx, p, f, ctx.isa->cf(t::kExp2[i]));
  fma_step(ctx, p, f, ctx.isa->cf(1.0f));
  const Vec exponent = ctx.isa->shl32(ctx.isa->make(I::kIdVcvttps2dq, n), 23);
  Vec y = ctx.isa->make(I::kIdVpaddd, p, exponent);  // a NaN x has exponent 0x80000000 << 23 = 0 and keeps the NaN
  y = ctx.isa->sel(fcmp(ctx, kGreaterEqual, x, ctx.isa->cf(t::kExpOverflow)), ctx.isa->c32(0x7f800000), y);
  Vec d = ctx.isa->vec();
  ctx.isa->zero_unless(d, fcmp(ctx, kNotLess, x, ctx.isa->cf(t::kExpUnderflow)), y);
  return d;
}

Vec flog(Lowering& ctx, const Vec& x) {
  const Vec e = ctx.isa->sar32(ctx.isa->make(I::kIdVpsubd, x, ctx.isa->c32(t::kLogSqrtHalfBits)), 23);
  const Vec m = ctx.isa->make(I::kIdVpsubd, x, ctx.isa->shl32(e, 23));
  const Vec u = ctx.isa->make(I::kIdVsubps, m, ctx.isa->cf(1.0f));
  Vec q = ctx.isa->const32(std::bit_cast<uint32_t>(t::kLog2[9]));
  for (int i = 8; i >= 0; --i) fma_step(ctx, q, u, ctx.isa->cf(t::kLog2[i]));
  fma_step(ctx, q, u, ctx.isa->cf(t::kLog2E_lo));
  const Vec r = ctx.isa->make(I::kIdVmulps, u, q);
  ctx.cc.emit(I::kIdVfmadd231ps, r, u, ctx.isa->cf(t::kLog2E_hi));
  const Vec y = ctx.isa->make(I::kIdVaddps, ctx.isa->make(I::kIdVcvtdq2ps, e), r);
  // Everything but positive normal numbers: negative -> NaN, +inf and NaN stay (the addition quiets), zero -> -inf.
  const MaskReg odd =
      cmp(ctx, ICmp::uge, ctx.isa->make(I::kIdVpsubd, x, ctx.isa->c32(0x00800000)), ctx.isa->c32(0x7f000000));
  const Label slow = ctx.cc.new_label(), join = ctx.cc.new_label();
  ctx.cc.j(ctx.isa->test_any({&odd, 1}), slow);
  ctx.cc.bind(join);
  ctx.cold([&] {
    ctx.cc.bind(slow);
    Vec special = ctx.isa->sel(fcmp(ctx, kLess, x, ctx.isa->const32(0)), ctx.isa->c32(0xffc00000), x);
    special = ctx.isa->make(I::kIdVaddps, special, special);
    const MaskReg zero = cmp(ctx, ICmp::ult, ctx.isa->and_(x, ctx.isa->c32(0x7fffffff)), ctx.isa->c32(0x00800000));
    special = ctx.isa->sel(zero, ctx.isa->c32(0xff800000), special);
    ctx.isa->select32(y, odd, special, y);
    ctx.cc.jmp(join);
  });
  return y;
}

Vec fsin(Lowering& ctx, const Vec& x_in, bool cosine) {
  const Vec x = flush_input(ctx, x_in);
  const Vec k = ctx.isa->round_ps(ctx.isa->make(I::kIdVaddps, x, x), kNearest);
  const Vec y = fma32(ctx, k, ctx.isa->const32(0xbf000000), x);
  Vec z = y;
  if (cosine) z = ctx.isa->make(I::kIdVsubps, ctx.isa->const32(0x3e800000), ctx.isa->and_(y, ctx.isa->c32(0x7fffffff)));
  const Vec u = ctx.isa->make(I::kIdVmulps, z, z);
  Vec s = ctx.isa->const32(std::bit_cast<uint32_t>(t::kSin[4]));
  for (int i = 3; i >= 0; --i) fma_step(ctx, s, u, ctx.isa->cf(t::kSin[i]));
  Vec r = ctx.isa->make(I::kIdVmulps, z, s);
  const Vec odd = ctx.isa->shl32(ctx.isa->make(I::kIdVcvttps2dq, k), 31);
  r = flush_output(ctx, ctx.isa->xor_(r, odd));
  const Vec magnitude = ctx.isa->and_(x, ctx.isa->c32(0x7fffffff));
  const MaskReg far = both(ctx, fcmp(ctx, kGreater, magnitude, ctx.isa->cf(t::kTrigRange)),
                           fcmp(ctx, kNotEqual, magnitude, ctx.isa->c32(0x7f800000)));
  return ctx.isa->sel(far, cosine ? ctx.isa->const32(0x3f800000) : ctx.isa->const32(0), r);
}

}  // namespace

bool emit_transcendental(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const auto compute = [&](Op op, const Vec& x) {
    switch (op) {
      case Op::frcp_f32:
      case Op::frcp_f16:
        return frcp(ctx, x);
      case Op::frsq_f32:
      case Op::frsq_f16:
        return frsq(ctx, x);
      case Op::fsqrt_f32:
      case Op::fsqrt_f16:
        return fsqrt(ctx, x);
      case Op::fexp_f32:
      case Op::fexp_f16:
        return fexp(ctx, x);
      case Op::flog_f32:
      case Op::flog_f16:
        return flog(ctx, x);
      case Op::fsin_f32:
      case Op::fsin_f16:
        return fsin(ctx, x, false);
      default:
        return fsin(ctx, x, true);
    }
  };
  switch (inst.op) {
    case Op::fsqrt_f32:
      ctx.cc.emit(I::kIdVsqrtps, ctx.dst(inst, chunk), flush_input(ctx, ctx.v32(inst.operands[0], chunk)));
      return true;
    case Op::frcp_f32:
      // Neither a mantissa nor its reciprocal is denormal.
      if (inst.operands[0]->op == Op::ffrexp_mant_f32) {
        ctx.cc.emit(I::kIdVdivps, ctx.dst(inst, chunk), ctx.isa->const32(0x3f800000), ctx.v32(inst.operands[0], chunk));
        return true;
      }
      [[fallthrough]];
    case Op::frsq_f32:
    case Op::fexp_f32:
    case Op::flog_f32:
    case Op::fsin_f32:
    case Op::fcos_f32:
      ctx.isa->mov(ctx.dst(inst, chunk), compute(inst.op, ctx.v32(inst.operands[0], chunk)));
      return true;
    case Op::frcp_f16:
    case Op::frsq_f16:
    case Op::fsqrt_f16:
    case Op::fexp_f16:
    case Op::flog_f16:
    case Op::fsin_f16:
    case Op::fcos_f16: {
      const uint32_t nearest = inst.attr & ~ir::fpenv::kRoundMask;
      const Vec x = to_f32(ctx, ctx.v32(inst.operands[0], chunk), nearest);
      ctx.isa->mov(ctx.dst(inst, chunk), to_f16(ctx, compute(inst.op, x), nearest));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
