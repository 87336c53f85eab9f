// The f32 sequences of internal/semantics/transcendental.h, step by step, so that the bits equal the interpreter's.
#include "internal/semantics/transcendental.h"

#include <bit>

#include "backend-x86/lower/emitter.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;
namespace t = transcendental;

namespace {
constexpr unsigned kNearest = 8;  // vroundps: to nearest even whatever MXCSR says
constexpr unsigned kLess = 0x11, kNotLess = 0x15, kGreaterEqual = 0x1d, kGreater = 0x1e,
                   kNotEqual = 0x04;  // quiet vcmpps predicates
constexpr uint32_t kDaz = 1u << 6, kFtz = 1u << 15;
}  // namespace

// Denormal operands and results are zeros whatever MODE says; MXCSR does it when it is set to.
Vec Emitter::flush_input(const Vec& x) {
  return env_ & kDaz ? x : isa_->flush_denormals(x);
}
Vec Emitter::flush_output(const Vec& x) {
  return env_ & kFtz ? x : isa_->flush_denormals(x);
}

void Emitter::fma_step(const Vec& sum, const Vec& x, const Operand_& c) {
  cc_.emit(I::kIdVfmadd213ps, sum, x, c);
}

Vec Emitter::frcp(const Vec& x) {
  return flush_output(isa_->make(I::kIdVdivps, isa_->const32(0x3f800000), flush_input(x)));
}

Vec Emitter::fsqrt(const Vec& x) {
  return isa_->make(I::kIdVsqrtps, flush_input(x));
}

Vec Emitter::frsq(const Vec& x) {
  return isa_->make(I::kIdVdivps, isa_->const32(0x3f800000), fsqrt(x));
}

Vec Emitter::fexp(const Vec& x) {
  const Vec n = isa_->round_ps(x, kNearest);
  const Vec f = isa_->make(I::kIdVsubps, x, n);
  Vec p = isa_->const32(std::bit_cast<uint32_t>(t::kExp2[5]));
  for (int i = 4; i >= 0; --i) fma_step(p, f, isa_->cf(t::kExp2[i]));
  fma_step(p, f, isa_->cf(1.0f));
  const Vec exponent = isa_->shl32(isa_->make(I::kIdVcvttps2dq, n), 23);
  Vec y = isa_->make(I::kIdVpaddd, p, exponent);  // a NaN x has exponent 0x80000000 << 23 = 0 and keeps the NaN
  y = isa_->sel(fcmp(kGreaterEqual, x, isa_->cf(t::kExpOverflow)), isa_->c32(0x7f800000), y);
  Vec d = isa_->vec();
  isa_->zero_unless(d, fcmp(kNotLess, x, isa_->cf(t::kExpUnderflow)), y);
  return d;
}

Vec Emitter::flog(const Vec& x) {
  const Vec e = isa_->sar32(isa_->make(I::kIdVpsubd, x, isa_->c32(t::kLogSqrtHalfBits)), 23);
  const Vec m = isa_->make(I::kIdVpsubd, x, isa_->shl32(e, 23));
  const Vec u = isa_->make(I::kIdVsubps, m, isa_->cf(1.0f));
  Vec q = isa_->const32(std::bit_cast<uint32_t>(t::kLog2[9]));
  for (int i = 8; i >= 0; --i) fma_step(q, u, isa_->cf(t::kLog2[i]));
  fma_step(q, u, isa_->cf(t::kLog2E_lo));
  const Vec r = isa_->make(I::kIdVmulps, u, q);
  cc_.emit(I::kIdVfmadd231ps, r, u, isa_->cf(t::kLog2E_hi));
  const Vec y = isa_->make(I::kIdVaddps, isa_->make(I::kIdVcvtdq2ps, e), r);
  // Everything but positive normal numbers: negative -> NaN, +inf and NaN stay (the addition quiets), zero -> -inf.
  const MaskReg odd = cmp(ICmp::uge, isa_->make(I::kIdVpsubd, x, isa_->c32(0x00800000)), isa_->c32(0x7f000000));
  const Label slow = cc_.new_label(), join = cc_.new_label();
  cc_.j(isa_->test_any({&odd, 1}), slow);
  cc_.bind(join);
  cold([&] {
    cc_.bind(slow);
    Vec special = isa_->sel(fcmp(kLess, x, isa_->const32(0)), isa_->c32(0xffc00000), x);
    special = isa_->make(I::kIdVaddps, special, special);
    const MaskReg zero = cmp(ICmp::ult, isa_->and_(x, isa_->c32(0x7fffffff)), isa_->c32(0x00800000));
    special = isa_->sel(zero, isa_->c32(0xff800000), special);
    isa_->select32(y, odd, special, y);
    cc_.jmp(join);
  });
  return y;
}

Vec Emitter::fsin(const Vec& x_in, bool cosine) {
  const Vec x = flush_input(x_in);
  const Vec k = isa_->round_ps(isa_->make(I::kIdVaddps, x, x), kNearest);
  const Vec y = fma32(k, isa_->const32(0xbf000000), x);
  Vec z = y;
  if (cosine) z = isa_->make(I::kIdVsubps, isa_->const32(0x3e800000), isa_->and_(y, isa_->c32(0x7fffffff)));
  const Vec u = isa_->make(I::kIdVmulps, z, z);
  Vec s = isa_->const32(std::bit_cast<uint32_t>(t::kSin[4]));
  for (int i = 3; i >= 0; --i) fma_step(s, u, isa_->cf(t::kSin[i]));
  Vec r = isa_->make(I::kIdVmulps, z, s);
  const Vec odd = isa_->shl32(isa_->make(I::kIdVcvttps2dq, k), 31);
  r = flush_output(isa_->xor_(r, odd));
  const Vec magnitude = isa_->and_(x, isa_->c32(0x7fffffff));
  const MaskReg far =
      both(fcmp(kGreater, magnitude, isa_->cf(t::kTrigRange)), fcmp(kNotEqual, magnitude, isa_->c32(0x7f800000)));
  return isa_->sel(far, cosine ? isa_->const32(0x3f800000) : isa_->const32(0), r);
}

bool Emitter::emit_transcendental(const Inst& inst, unsigned chunk) {
  const auto compute = [&](Op op, const Vec& x) {
    switch (op) {
      case Op::frcp_f32:
      case Op::frcp_f16:
        return frcp(x);
      case Op::frsq_f32:
      case Op::frsq_f16:
        return frsq(x);
      case Op::fsqrt_f32:
      case Op::fsqrt_f16:
        return fsqrt(x);
      case Op::fexp_f32:
      case Op::fexp_f16:
        return fexp(x);
      case Op::flog_f32:
      case Op::flog_f16:
        return flog(x);
      case Op::fsin_f32:
      case Op::fsin_f16:
        return fsin(x, false);
      default:
        return fsin(x, true);
    }
  };
  switch (inst.op) {
    case Op::fsqrt_f32:
      cc_.emit(I::kIdVsqrtps, dst(inst, chunk), flush_input(v32(inst.operands[0], chunk)));
      return true;
    case Op::frcp_f32:
    case Op::frsq_f32:
    case Op::fexp_f32:
    case Op::flog_f32:
    case Op::fsin_f32:
    case Op::fcos_f32:
      isa_->mov(dst(inst, chunk), compute(inst.op, v32(inst.operands[0], chunk)));
      return true;
    case Op::frcp_f16:
    case Op::frsq_f16:
    case Op::fsqrt_f16:
    case Op::fexp_f16:
    case Op::flog_f16:
    case Op::fsin_f16:
    case Op::fcos_f16: {
      const uint32_t nearest = inst.attr & ~ir::fpenv::kRoundMask;
      const Vec x = to_f32(v32(inst.operands[0], chunk), nearest);
      isa_->mov(dst(inst, chunk), to_f16(compute(inst.op, x), nearest));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
