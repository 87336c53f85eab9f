// Binary64 arithmetic.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/kernels_f64.cpp"
#include <algorithm>
#include <bit>
#include <cfloat>

#include "hwy/foreach_target.h"
// After foreach_target.
#include "frontend/interp/rows-inl.h"
#include "frontend/interp/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace {

template <class D>
HWY_INLINE auto is_nan(D d, hn::Vec<D> v) {
  return hn::Gt(hn::And(v, hn::Set(d, 0x7fffffffffffffffull)), hn::Set(d, 0x7ff0000000000000ull));
}
// As for binary32 (kernels_f32.cpp).
template <bool is_max>
void extremum2(Lanes& k) {
  const bool flush = !k.before_gfx9 && (k.mode & 1u << mode::kDenormF16F64Shift) == 0;
  const hn::ScalableTag<double> df;
  WAVEJIT_LANES_LOOP(uint64_t) {
    const auto operand = [&](const uint32_t* rows) HWY_ATTR {
      const auto v = load64(d, rows + i);
      if (!flush) return v;
      const auto tiny = hn::Eq(hn::And(v, hn::Set(d, 0x7ff0000000000000ull)), hn::Zero(d));
      return hn::IfThenElse(tiny, hn::And(v, hn::Set(d, 0x8000000000000000ull)), v);
    };
    const auto a = operand(k.src[0]);
    const auto b = operand(k.src[1]);
    const auto fa = hn::BitCast(df, a);
    const auto fb = hn::BitCast(df, b);
    const auto a_wins = hn::RebindMask(d, is_max ? hn::Gt(fa, fb) : hn::Lt(fa, fb));
    auto y = hn::IfThenElse(a_wins, a, b);
    y = hn::IfThenElse(hn::RebindMask(d, hn::Eq(fa, fb)), is_max ? hn::And(a, b) : hn::Or(a, b), y);
    const auto nan_a = is_nan(d, a);
    const auto nan_b = is_nan(d, b);
    y = hn::IfThenElse(nan_b, a, hn::IfThenElse(nan_a, b, y));
    const auto quiet = hn::Set(d, 0x0008000000000000ull);
    if ((k.mode & mode::kIeee) != 0) {
      const auto signalling_a = hn::And(nan_a, hn::Eq(hn::And(a, quiet), hn::Zero(d)));
      const auto signalling_b = hn::And(nan_b, hn::Eq(hn::And(b, quiet), hn::Zero(d)));
      y = hn::IfThenElse(signalling_a, a, hn::IfThenElse(signalling_b, b, y));
    }
    store64(hn::IfThenElse(is_nan(d, y), hn::Or(y, quiet), y), d, k.dst + i);
  }
}

template <class D>
HWY_INLINE hn::Vec<D> fract(D d, hn::Vec<D> x) {
  const auto y = hn::Sub(x, hn::Floor(x));
  const auto top = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x3fefffffffffffffull));
  return hn::IfThenElse(hn::Gt(y, top), top, y);
}

uint64_t bits_of(const uint32_t* rows, size_t l) {
  return static_cast<uint64_t>(rows[l + kWaveSize]) << 32 | rows[l];
}
void set_bits(uint32_t* rows, size_t l, uint64_t v) {
  rows[l] = static_cast<uint32_t>(v);
  rows[l + kWaveSize] = static_cast<uint32_t>(v >> 32);
}

// As m * 2^e with m in [1, 2), times two powers of two, so that only the last product can round or become a denormal,
// which the next one might flush. Beyond +-1100 results stay the same.
double ldexp64(double x, int n) {
  if ((std::bit_cast<uint64_t>(x) & 0x7ff0000000000000) == 0) {  // denormals, if they are not flushed here
    x *= 0x1p54;
    n -= 54;
  }
  const auto bits = std::bit_cast<uint64_t>(x);
  const int field = static_cast<int>(bits >> 52 & 2047);
  if (field == 0 || field == 2047) return x * 2.0;  // zero, infinity, NaN
  const int exponent = std::clamp(field - 1023 + n, -1100, 1100), first = exponent / 2;
  const auto power = [](int e) { return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52); };
  const double fraction = std::bit_cast<double>((bits & 0x800fffffffffffff) | uint64_t{1023} << 52);
  return fraction * power(first) * power(exponent - first);
}

void ldexp_kernel(Lanes& k) {
  for (size_t l = 0; l < kWaveSize; ++l) {
    const int n = std::clamp(s32(k.src[1][l]), -4000, 4000);
    set_bits(k.dst, l, std::bit_cast<uint64_t>(ldexp64(std::bit_cast<double>(bits_of(k.src[0], l)), n)));
  }
}

void frexp_mantissa(Lanes& k) {
  for (size_t l = 0; l < kWaveSize; ++l) {
    const uint64_t v = bits_of(k.src[0], l);
    const uint64_t magnitude = v & 0x7fffffffffffffffull;
    uint64_t y = v;
    if (magnitude > 0x7ff0000000000000ull) {
      y |= 0x0008000000000000ull;
    } else if (magnitude != 0 && magnitude != 0x7ff0000000000000ull) {
      uint64_t fraction = magnitude;
      if (magnitude < 0x0010000000000000ull) fraction = magnitude << (std::countl_zero(magnitude) - 11);
      y = (v & 0x8000000000000000ull) | 0x3fe0000000000000ull | (fraction & 0x000fffffffffffffull);
    }
    set_bits(k.dst, l, y);
  }
}

void frexp_exponent(Lanes& k) {
  for (size_t l = 0; l < kWaveSize; ++l) {
    const uint64_t magnitude = bits_of(k.src[0], l) & 0x7fffffffffffffffull;
    int e = 0;
    if (magnitude != 0 && magnitude < 0x7ff0000000000000ull)
      e = magnitude < 0x0010000000000000ull ? -1010 - std::countl_zero(magnitude)
                                            : static_cast<int>(magnitude >> 52) - 1022;
    k.dst[l] = static_cast<uint32_t>(e);
  }
}

// GFX6 and GFX7 "clamp": infinite results become the largest finite value of the same sign.
template <class D>
HWY_INLINE hn::Vec<D> finite(D d, hn::Vec<D> x) {
  return hn::IfThenElse(hn::Eq(hn::Abs(x), hn::Inf(d)), hn::CopySign(hn::Set(d, DBL_MAX), x), x);
}

void do_register(Registry& r) {
  constexpr Env kD = Env::f64;
  WAVEJIT_BINARY64(v_add_f64, double, kD, hn::Add(a, b));
  WAVEJIT_BINARY64(v_mul_f64, double, kD, hn::Mul(a, b));
  WAVEJIT_TERNARY64(v_fma_f64, double, kD, hn::MulAdd(a, b, c));
  WAVEJIT_TERNARY64(v_fmac_f64, double, kD, hn::MulAdd(a, b, c));
  r.kernel(Opcode::v_min_f64, extremum2<false>, Env::rn);
  r.kernel(Opcode::v_max_f64, extremum2<true>, Env::rn);
  WAVEJIT_UNARY64(v_floor_f64, double, kD, hn::Floor(a));
  WAVEJIT_UNARY64(v_ceil_f64, double, kD, hn::Ceil(a));
  WAVEJIT_UNARY64(v_trunc_f64, double, kD, hn::Trunc(a));
  WAVEJIT_UNARY64(v_rndne_f64, double, kD, hn::Round(a));
  WAVEJIT_UNARY64(v_fract_f64, double, kD, fract(d, a));
  r.kernel(Opcode::v_ldexp_f64, ldexp_kernel, kD);
  r.kernel(Opcode::v_frexp_mant_f64, frexp_mantissa);
  r.kernel(Opcode::v_frexp_exp_i32_f64, frexp_exponent);
  WAVEJIT_UNARY64(v_rcp_clamp_f64, double, Env::rn64, finite(d, hn::Div(hn::Set(d, 1.0), a)));
  WAVEJIT_UNARY64(v_rsq_clamp_f64, double, Env::rn64, finite(d, hn::Div(hn::Set(d, 1.0), hn::Sqrt(a))));
  WAVEJIT_UNARY64(v_rcp_f64, double, Env::rn64, hn::Div(hn::Set(d, 1.0), a));
  WAVEJIT_UNARY64(v_rsq_f64, double, Env::rn64, hn::Div(hn::Set(d, 1.0), hn::Sqrt(a)));
  WAVEJIT_UNARY64(v_sqrt_f64, double, Env::rn64, hn::Sqrt(a));
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
void register_valu_f64(Registry& r) {
  WAVEJIT_INTERP_DISPATCH(do_register)(r);
}
}  // namespace wavejit::interp
#endif
