// f32 transcendentals: the step sequences of internal/semantics/transcendental.h; f16 forms on top of them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/kernels_transcendental.cpp"
#include <cfloat>

#include "hwy/foreach_target.h"
// After foreach_target.
#include "frontend/interp/rows-inl.h"
#include "frontend/interp/scalar_math.h"
#include "internal/semantics/transcendental.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace {

namespace tr = wavejit::transcendental;

// All of these run to nearest-even with denormals flushed by the host (Env::trans).
template <class D>
HWY_INLINE hn::Vec<D> quiet(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(d, hn::Or(hn::BitCast(du, x), hn::Set(du, 0x00400000u)));
}

template <class D>
HWY_INLINE hn::Vec<D> rcp(D d, hn::Vec<D> x) {
  return hn::Div(hn::Set(d, 1.0f), x);
}

template <class D>
HWY_INLINE hn::Vec<D> rsq(D d, hn::Vec<D> x) {
  return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(x));
}

template <class D>
HWY_INLINE hn::Vec<D> exp2(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const auto n = hn::Round(x);
  const auto f = hn::Sub(x, n);
  auto p = hn::Set(d, tr::kExp2[5]);
  for (int i = 4; i >= 0; --i) p = hn::MulAdd(p, f, hn::Set(d, tr::kExp2[i]));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  auto y = hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::ConvertTo(di, n))));
  y = hn::IfThenElse(hn::Ge(x, hn::Set(d, tr::kExpOverflow)), hn::Inf(d), y);
  y = hn::IfThenElse(hn::Lt(x, hn::Set(d, tr::kExpUnderflow)), hn::Zero(d), y);
  return hn::IfThenElse(hn::IsNaN(x), quiet(d, x), y);
}

template <class D>
HWY_INLINE hn::Vec<D> log2(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(di, x);
  const auto e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, static_cast<int32_t>(tr::kLogSqrtHalfBits))));
  const auto m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e)));
  const auto t = hn::Sub(m, hn::Set(d, 1.0f));
  auto q = hn::Set(d, tr::kLog2[9]);
  for (int i = 8; i >= 0; --i) q = hn::MulAdd(q, t, hn::Set(d, tr::kLog2[i]));
  q = hn::MulAdd(q, t, hn::Set(d, tr::kLog2E_lo));
  const auto l = hn::MulAdd(t, hn::Set(d, tr::kLog2E_hi), hn::Mul(t, q));
  auto y = hn::Add(hn::ConvertTo(d, e), l);
  const auto zero = hn::Zero(d);
  const auto default_nan = hn::BitCast(d, hn::Set(du, 0xffc00000u));
  y = hn::IfThenElse(hn::Eq(x, hn::Inf(d)), x, y);
  y = hn::IfThenElse(hn::Lt(x, zero), default_nan, y);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(hn::Inf(d)), y);
  return hn::IfThenElse(hn::IsNaN(x), quiet(d, x), y);
}

template <bool cosine, class D>
HWY_INLINE hn::Vec<D> sin_cos(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const auto k = hn::Round(hn::Add(x, x));
  const auto y = hn::MulAdd(k, hn::Set(d, -0.5f), x);
  const auto z = cosine ? hn::Sub(hn::Set(d, 0.25f), hn::Abs(y)) : y;
  const auto u = hn::Mul(z, z);
  auto s = hn::Set(d, tr::kSin[4]);
  for (int i = 3; i >= 0; --i) s = hn::MulAdd(s, u, hn::Set(d, tr::kSin[i]));
  const auto r = hn::Mul(z, s);
  const auto in_range = hn::Le(hn::Abs(x), hn::Set(d, tr::kTrigRange));
  const auto odd = hn::ShiftLeft<31>(hn::BitCast(du, hn::ConvertTo(di, hn::IfThenElseZero(in_range, k))));
  auto result = hn::BitCast(d, hn::Xor(hn::BitCast(du, r), odd));
  result = hn::IfThenElse(in_range, result, cosine ? hn::Set(d, 1.0f) : hn::Zero(d));
  result = hn::IfThenElse(hn::Eq(hn::Abs(x), hn::Inf(d)), hn::BitCast(d, hn::Set(du, 0xffc00000u)), result);
  return hn::IfThenElse(hn::IsNaN(x), quiet(d, x), result);
}

// GFX6 and GFX7: infinite results become the largest finite value ("clamp") or zero ("legacy"), of the same sign.
template <class D>
HWY_INLINE auto is_infinite(D d, hn::Vec<D> x) {
  return hn::Eq(hn::Abs(x), hn::Inf(d));
}
template <class D>
HWY_INLINE hn::Vec<D> finite(D d, hn::Vec<D> x) {
  return hn::IfThenElse(is_infinite(d, x), hn::CopySign(hn::Set(d, FLT_MAX), x), x);
}
template <class D>
HWY_INLINE hn::Vec<D> zero_for_infinity(D d, hn::Vec<D> x) {
  return hn::IfThenElse(is_infinite(d, x), hn::CopySign(hn::Zero(d), x), x);
}
template <class D>
HWY_INLINE hn::Vec<D> log_clamp(D d, hn::Vec<D> x) {
  const auto y = log2(d, x);
  return hn::IfThenElse(hn::Eq(y, hn::Neg(hn::Inf(d))), hn::Neg(hn::Set(d, FLT_MAX)), y);
}

// f16: to f32, the f32 sequence, round to nearest-even; MODE's f16 denormal fields apply.
constexpr uint32_t nearest(uint32_t mode) {
  return mode & ~(3u << mode::kRoundF16F64Shift);
}
#define WAVEJIT_TRANS_F16(op, ...)                                            \
  r.kernel(                                                                   \
      Opcode::op,                                                             \
      [](Lanes& k) HWY_ATTR {                                                 \
        const hn::ScalableTag<float> d;                                       \
        const hn::ScalableTag<uint32_t> du;                                   \
        for (size_t i = 0; i < kWaveSize; i += hn::Lanes(d)) {                \
          const auto a = f16_operand(du, load(du, k.src[0] + i), k.mode);     \
          store(f16_result(du, __VA_ARGS__, nearest(k.mode)), du, k.dst + i); \
        }                                                                     \
      },                                                                      \
      Env::trans, kResult16)

void do_register(Registry& r) {
  constexpr Env kT = Env::trans;
  WAVEJIT_UNARY(v_rcp_f32, float, kT, rcp(d, a));
  WAVEJIT_UNARY(v_rcp_iflag_f32, float, kT, rcp(d, a));
  WAVEJIT_UNARY(v_rsq_f32, float, kT, rsq(d, a));
  WAVEJIT_UNARY(v_sqrt_f32, float, kT, hn::Sqrt(a));
  WAVEJIT_UNARY(v_exp_f32, float, kT, exp2(d, a));
  WAVEJIT_UNARY(v_exp_legacy_f32, float, kT, exp2(d, a));
  WAVEJIT_UNARY(v_log_f32, float, kT, log2(d, a));
  WAVEJIT_UNARY(v_log_legacy_f32, float, kT, log2(d, a));
  WAVEJIT_UNARY(v_sin_f32, float, kT, sin_cos<false>(d, a));
  WAVEJIT_UNARY(v_cos_f32, float, kT, sin_cos<true>(d, a));
  WAVEJIT_UNARY(v_rcp_clamp_f32, float, kT, finite(d, rcp(d, a)));
  WAVEJIT_UNARY(v_rcp_legacy_f32, float, kT, zero_for_infinity(d, rcp(d, a)));
  WAVEJIT_UNARY(v_rsq_clamp_f32, float, kT, finite(d, rsq(d, a)));
  WAVEJIT_UNARY(v_rsq_legacy_f32, float, kT, zero_for_infinity(d, rsq(d, a)));
  WAVEJIT_UNARY(v_log_clamp_f32, float, kT, log_clamp(d, a));
  WAVEJIT_TRANS_F16(v_rcp_f16, rcp(d, a));
  WAVEJIT_TRANS_F16(v_rsq_f16, rsq(d, a));
  WAVEJIT_TRANS_F16(v_sqrt_f16, hn::Sqrt(a));
  WAVEJIT_TRANS_F16(v_exp_f16, exp2(d, a));
  WAVEJIT_TRANS_F16(v_log_f16, log2(d, a));
  WAVEJIT_TRANS_F16(v_sin_f16, sin_cos<false>(d, a));
  WAVEJIT_TRANS_F16(v_cos_f16, sin_cos<true>(d, a));
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
void register_transcendental(Registry& r) {
  WAVEJIT_INTERP_DISPATCH(do_register)(r);
}
}  // namespace wavejit::interp
#endif
