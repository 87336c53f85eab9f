// v_div_scale, v_div_fmas, v_div_fixup and v_trig_preop_f64, lane by lane
// (docs/isa-decisions.md).
#include "backend-x86/helpers/helpers_float.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "internal/wave_state.h"
#include "ir/function.h"

namespace wavejit::backend {
namespace {

template <typename F>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int kFractionBits = 23, kTop = 255, kFar = 96, kScale = 64, kTiny = 23, kUnderflow = -150;
  static constexpr Bits kNan = 0xffc00000;
};
template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int kFractionBits = 52, kTop = 2047, kFar = 768, kScale = 128, kTiny = 53, kUnderflow = -1075;
  static constexpr Bits kNan = 0xfff8000000000000;
};
struct Half {  // div_fixup works on bits only
  using Bits = uint32_t;
};
template <>
struct Format<Half> {
  using Bits = uint32_t;
  static constexpr int kFractionBits = 10, kTop = 31, kUnderflow = -1000;
  static constexpr Bits kNan = 0xfe00;
};

template <typename F>
typename Format<F>::Bits bits_of(F x) {
  return std::bit_cast<typename Format<F>::Bits>(x);
}
template <typename F>
int biased_exponent(F x) {
  return static_cast<int>(bits_of(x) >> Format<F>::kFractionBits) & Format<F>::kTop;
}
template <typename F>
F power_of_two(int n) {
  return std::bit_cast<F>(static_cast<typename Format<F>::Bits>(n + Format<F>::kTop / 2) << Format<F>::kFractionBits);
}

// |n / d| below the smallest normal number, exactly; both finite and not zero.
template <typename F>
bool quotient_is_denormal(F n, F d) {
  int n_exponent, d_exponent;
  const F n_mantissa = std::frexp(std::fabs(n), &n_exponent), d_mantissa = std::frexp(std::fabs(d), &d_exponent);
  const int difference = n_exponent - d_exponent - (n_mantissa < d_mantissa ? 1 : 0);
  return difference < 1 - Format<F>::kTop / 2;
}

template <typename F>
F div_scale(F s0, F d, F n, bool& vcc) {
  using T = Format<F>;
  const F up = power_of_two<F>(T::kScale), down = power_of_two<F>(-T::kScale);
  vcc = false;
  if (n == 0 || d == 0) return std::bit_cast<F>(T::kNan);
  if (biased_exponent(n) == T::kTop || biased_exponent(d) == T::kTop) return s0;
  if (biased_exponent(n) - biased_exponent(d) >= T::kFar) {
    vcc = true;
    return s0 == d ? s0 * up : s0;
  }
  if (biased_exponent(d) == 0) return s0 * up;
  const bool tiny_quotient = quotient_is_denormal(n, d);
  if (quotient_is_denormal(F{1}, d)) {
    vcc = tiny_quotient;
    return !tiny_quotient || s0 == d ? s0 * down : s0;
  }
  if (tiny_quotient) {
    vcc = true;
    return s0 == n ? s0 * up : s0;
  }
  return biased_exponent(n) <= T::kTiny ? s0 * up : s0;
}

template <typename F>
uint64_t div_scale_rows(const HelperArgs* args) {
  const auto* s0 = static_cast<const F*>(args->in[0]);
  const auto* d = static_cast<const F*>(args->in[1]);
  const auto* n = static_cast<const F*>(args->in[2]);
  auto* out = static_cast<F*>(args->out);
  uint64_t vcc = 0;
  for (unsigned l = 0; l < args->lanes; ++l) {
    bool flag;
    const F scaled = div_scale(s0[l], d[l], n[l], flag);
    if (out != nullptr) out[l] = scaled;
    vcc |= uint64_t{flag} << l;
  }
  return vcc;
}

// (a * b + c) * 2^n rounded once: the sum in a wider type with its lost part folded into the last bit.
float scaled_fma(float a, float b, float c, int n) {
  const double product = static_cast<double>(a) * b, sum = product + c;
  const double c_part = sum - product, lost = (product - (sum - c_part)) + (c - c_part);
  uint64_t bits = bits_of(sum);
  if (std::isfinite(sum) && lost != 0 && bits % 2 == 0) bits += (lost > 0) == (sum > 0) ? 1 : -1;
  return static_cast<float>(std::bit_cast<double>(bits) * power_of_two<double>(n));
}
constexpr unsigned kDenormalsAreZero = 1u << 6, kFlushToZero = 1u << 15;  // of MXCSR
double scaled_fma(double a, double b, double c, int n) {
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return std::fma(a, b, c);
  // The arithmetic of binary128 takes the rounding from MXCSR and nothing else.
  const unsigned mxcsr = _mm_getcsr();
  if ((mxcsr & kDenormalsAreZero) != 0)
    for (double* x : {&a, &b, &c})
      if (biased_exponent(*x) == 0) *x = std::copysign(0.0, *x);
  const __float128 product = static_cast<__float128>(a) * b;
  __float128 sum = product + c;
  const __float128 c_part = sum - product, lost = (product - (sum - c_part)) + (c - c_part);
  unsigned __int128 bits;
  std::memcpy(&bits, &sum, sizeof bits);
  if (lost != 0 && bits % 2 == 0) bits += (lost > 0) == (sum > 0) ? 1 : -1;
  std::memcpy(&sum, &bits, sizeof bits);
  sum *= static_cast<__float128>(power_of_two<double>(n));
  const auto result = static_cast<double>(sum);
  if ((mxcsr & kFlushToZero) == 0 || std::fabs(result) > 0x1p-1022) return result;
  // Tiny is what is below the normal numbers when rounded with more room for the exponent.
  const auto roomy = static_cast<double>(sum * static_cast<__float128>(0x1p300));
  return std::fabs(roomy) < 0x1p-722 ? std::copysign(0.0, result) : result;
}

template <typename F>
uint64_t div_fmas_rows(const HelperArgs* args) {
  using T = Format<F>;
  const auto* a = static_cast<const F*>(args->in[0]);
  const auto* b = static_cast<const F*>(args->in[1]);
  const auto* c = static_cast<const F*>(args->in[2]);
  auto* out = static_cast<F*>(args->out);
  for (unsigned l = 0; l < args->lanes; ++l) {
    if (args->mask >> l & 1) {
      out[l] = scaled_fma(a[l], b[l], c[l], biased_exponent(c[l]) > T::kTop / 2 ? T::kScale : -T::kScale);
    } else {
      out[l] = std::fma(a[l], b[l], c[l]);
    }
  }
  return 0;
}

template <typename F>
uint64_t div_fixup_rows(const HelperArgs* args) {
  using T = Format<F>;
  using Bits = typename T::Bits;
  constexpr Bits kInf = Bits{T::kTop} << T::kFractionBits, kQuiet = Bits{1} << (T::kFractionBits - 1);
  constexpr Bits kSign = (kInf << 1) & ~kInf & ~((Bits{1} << T::kFractionBits) - 1);
  const auto* q = static_cast<const Bits*>(args->in[0]);
  const auto* ds = static_cast<const Bits*>(args->in[1]);
  const auto* ns = static_cast<const Bits*>(args->in[2]);
  auto* out = static_cast<Bits*>(args->out);
  for (unsigned l = 0; l < args->lanes; ++l) {
    const Bits sign = (ds[l] ^ ns[l]) & kSign, d = ds[l] & (kSign - 1), n = ns[l] & (kSign - 1);
    const int difference = static_cast<int>(n >> T::kFractionBits) - static_cast<int>(d >> T::kFractionBits);
    if (n > kInf) {
      out[l] = (ns[l] & (kSign | (kSign - 1))) | kQuiet;
    } else if (d > kInf) {
      out[l] = (ds[l] & (kSign | (kSign - 1))) | kQuiet;
    } else if ((n == 0 && d == 0) || (n == kInf && d == kInf)) {
      out[l] = T::kNan;
    } else if (d == 0 || n == kInf) {
      out[l] = sign | kInf;
    } else if (n == 0 || d == kInf || difference < T::kUnderflow) {
      out[l] = sign;
    } else if (!std::is_same_v<F, Half> && (q[l] & (kSign - 1)) > kInf) {
      out[l] = sign | kInf;  // the division sequence overflowed on the way (docs/isa-decisions.md)
    } else {
      out[l] = sign | (q[l] & (kSign - 1));
    }
  }
  return 0;
}

// The operands of v_div_fmas, of scaled numbers. Out of line, as are the next two, so that no operation moves to where MXCSR is
// another one.
struct LastStep {
  float remainder, reciprocal, quotient;
};
[[gnu::noinline]] LastStep divide_scaled(float d, float n) {
  const auto no_denormal = [](float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x; };
  const float estimate = no_denormal(1.0F / no_denormal(d));
  const float reciprocal = std::fma(std::fma(-d, estimate, 1.0F), estimate, estimate);
  const float first = n * reciprocal;
  const float quotient = std::fma(std::fma(-d, first, n), reciprocal, first);
  return {std::fma(-d, quotient, n), reciprocal, quotient};
}
[[gnu::noinline]] float divide_last(const LastStep& step, bool vcc) {
  float last;
  const HelperArgs args{.in = {&step.remainder, &step.reciprocal, &step.quotient},
                        .out = &last,
                        .mask = vcc ? 1u : 0u,
                        .attr = 0,
                        .lanes = 1};
  div_fmas_rows<float>(&args);
  return last;
}
[[gnu::noinline]] void divide_rows(const float* d, const float* n, float* out, unsigned lanes) {
  for (unsigned l = 0; l < lanes; ++l) out[l] = n[l] / d[l];
}

// x * 2^n with one rounding, by MXCSR.
double ldexp_once(double x, int32_t n) {
  const uint64_t magnitude = bits_of(x) << 1 >> 1;
  if (magnitude == 0) return x;
  if (magnitude >= uint64_t{2047} << 52) return x * 1.0;  // quiets
  n = std::clamp(n, -2300, 2300);
  if (magnitude >> 52 == 0) {
    if ((_mm_getcsr() & kDenormalsAreZero) != 0) return std::copysign(0.0, x);
    x *= power_of_two<double>(200);
    n -= 200;
  }
  const int result = biased_exponent(x) + n;
  if (result > 0) {
    for (; n > 1000; n -= 1000) x *= power_of_two<double>(1000);
    for (; n < -1000; n += 1000) x *= power_of_two<double>(-1000);
    return x * power_of_two<double>(n);
  }
  // To the smallest exponent exactly, then one multiplication that rounds.
  for (int down = biased_exponent(x) - 1; down > 0; down -= 1000) x *= power_of_two<double>(-std::min(down, 1000));
  return x * power_of_two<double>(std::max(result - 1, -1000));
}

// The first 1201 bits of the fraction of 2/pi, most significant first (V_TRIG_PREOP_F64).
constexpr uint64_t kTwoOverPi[19] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
                                     0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
                                     0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
                                     0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
                                     0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

uint64_t trig_preop_rows(const HelperArgs* args) {
  const auto* x = static_cast<const double*>(args->in[0]);
  const auto* segment = static_cast<const uint32_t*>(args->in[1]);
  auto* out = static_cast<double*>(args->out);
  for (unsigned l = 0; l < args->lanes; ++l) out[l] = trig_preop(biased_exponent(x[l]), segment[l]);
  return 0;
}

}  // namespace

double trig_preop(int biased_exponent, uint32_t segment) {
  const int first = static_cast<int>(segment & 31) * 53 + std::max(biased_exponent - 1077, 0);
  uint64_t window = 0;
  for (int bit = first; bit < first + 53; ++bit) {
    window = window << 1 | (bit < 1201 ? kTwoOverPi[bit / 64] >> (63 - bit % 64) & 1 : 0);
  }
  return ldexp_once(static_cast<double>(window), -53 - first + (biased_exponent >= 1968 ? 128 : 0));
}

uint64_t divide_f32(const HelperArgs* args) {
  const auto* ds = static_cast<const float*>(args->in[0]);
  const auto* ns = static_cast<const float*>(args->in[1]);
  auto* out = static_cast<float*>(args->out);
  divide_rows(ds, ns, out, args->lanes);
  const unsigned mode = _mm_getcsr();
  unsigned last_mode = mode & ~(kDenormalsAreZero | kFlushToZero);
  if ((args->attr & ir::fpenv::kKeepInputDenorm) == 0) last_mode |= kDenormalsAreZero;
  if ((args->attr & ir::fpenv::kKeepOutputDenorm) == 0) last_mode |= kFlushToZero;
  for (unsigned l = 0; l < args->lanes; ++l) {
    const float d = ds[l], n = ns[l];
    constexpr auto ordinary = [](float x) {
      return ((bits_of(x) & 0x7fffffff) - kOrdinary32.first) < kOrdinary32.size;
    };
    if (ordinary(d) && ordinary(n)) continue;
    _mm_setcsr(kHelperEnv);
    float quotient = 0;
    const auto any_quotient = [](float x) { return x == 0 || biased_exponent(x) == Format<float>::kTop; };
    if (!any_quotient(d) && !any_quotient(n)) {
      bool vcc;
      const float scaled_d = div_scale(d, d, n, vcc), scaled_n = div_scale(n, d, n, vcc);
      _mm_setcsr(mode);
      const LastStep last = divide_scaled(scaled_d, scaled_n);
      _mm_setcsr(last_mode);
      quotient = divide_last(last, vcc);
      _mm_setcsr(kHelperEnv);
    }
    const HelperArgs fixup{.in = {&quotient, &d, &n}, .out = out + l, .mask = 0, .attr = 0, .lanes = 1};
    div_fixup_rows<float>(&fixup);
    _mm_setcsr(mode);
  }
  return 0;
}

HelperFn find_float_helper(ir::Op op) {
  switch (op) {
    case ir::Op::div_scale_f32:
    case ir::Op::div_scale_vcc_f32:
      return div_scale_rows<float>;
    case ir::Op::div_scale_f64:
    case ir::Op::div_scale_vcc_f64:
      return div_scale_rows<double>;
    case ir::Op::div_fmas_f32:
      return div_fmas_rows<float>;
    case ir::Op::div_fmas_f64:
      return div_fmas_rows<double>;
    case ir::Op::div_fixup_f32:
      return div_fixup_rows<float>;
    case ir::Op::div_fixup_f64:
      return div_fixup_rows<double>;
    case ir::Op::div_fixup_f16:
      return div_fixup_rows<Half>;
    case ir::Op::trig_preop_f64:
      return trig_preop_rows;
    default:
      return nullptr;
  }
}

}  // namespace wavejit::backend
