#include "float_model.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "internal/semantics/transcendental.h"

namespace wavejit::backend {
namespace {

using ir::Op;
namespace fpenv = ir::fpenv;
namespace tr = transcendental;

// Host MXCSR for the attribute of an operation, for the time of a scope.
class Environment {
 public:
  explicit Environment(uint32_t attr) : saved_(_mm_getcsr()) {
    static constexpr uint32_t kRounding[4] = {0, 2, 1, 3};
    uint32_t value = 0x1f80 | kRounding[attr & 3] << 13;
    if (!(attr & fpenv::kKeepInputDenorm)) value |= 0x40;
    if (!(attr & fpenv::kKeepOutputDenorm)) value |= 0x8000;
    _mm_setcsr(value);
  }
  ~Environment() { _mm_setcsr(saved_); }

 private:
  uint32_t saved_;
};
constexpr uint32_t kKeep = fpenv::kKeepInputDenorm | fpenv::kKeepOutputDenorm;

float f(uint64_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}
double d(uint64_t bits) {
  return std::bit_cast<double>(bits);
}
uint64_t u(float x) {
  return std::bit_cast<uint32_t>(x);
}
uint64_t u(double x) {
  return std::bit_cast<uint64_t>(x);
}

template <typename F>
struct Bits;
template <>
struct Bits<float> {
  using type = uint32_t;
  static constexpr uint32_t sign = 0x80000000, inf = 0x7f800000, quiet = 0x00400000, normal = 0x00800000;
};
template <>
struct Bits<double> {
  using type = uint64_t;
  static constexpr uint64_t sign = 1ull << 63, inf = 0x7ff0000000000000, quiet = 1ull << 51,
                            normal = 0x0010000000000000;
};
struct H {};  // f16, in bits
template <>
struct Bits<H> {
  using type = uint32_t;
  static constexpr uint32_t sign = 0x8000, inf = 0x7c00, quiet = 0x0200, normal = 0x0400;
};

template <typename F>
uint64_t flush(uint64_t bits) {
  using B = Bits<F>;
  const uint64_t magnitude = bits & (B::sign - 1);
  return magnitude < B::normal ? bits & B::sign : bits & (B::sign | (B::sign - 1));
}
template <typename F>
uint64_t flush_if(uint64_t bits, bool wanted) {
  return wanted ? flush<F>(bits) : bits & (Bits<F>::sign | (Bits<F>::sign - 1));
}
template <typename F>
bool is_nan(uint64_t bits) {
  return (bits & (Bits<F>::sign - 1)) > Bits<F>::inf;
}
template <typename F>
bool is_snan(uint64_t bits) {
  return is_nan<F>(bits) && !(bits & Bits<F>::quiet);
}

// Order of non-NaN bit patterns with -0 < +0.
template <typename F>
int64_t order(uint64_t bits) {
  const auto magnitude = static_cast<int64_t>(bits & (Bits<F>::sign - 1));
  return bits & Bits<F>::sign ? -magnitude - 1 : magnitude;
}

template <typename F>
uint64_t min_max(uint32_t attr, uint64_t a, uint64_t b, bool max) {
  const bool flushes = !(attr & fpenv::kKeepInputDenorm);
  a = flush_if<F>(a, flushes);
  b = flush_if<F>(b, flushes);
  if ((attr & fpenv::kIeee) && (is_snan<F>(a) || is_snan<F>(b))) return (is_snan<F>(a) ? a : b) | Bits<F>::quiet;
  if (is_nan<F>(a) && is_nan<F>(b)) return a | Bits<F>::quiet;
  if (is_nan<F>(a)) return b;
  if (is_nan<F>(b)) return a;
  return (order<F>(a) < order<F>(b)) != max ? a : b;
}

template <typename F>
bool class_of(uint64_t bits, uint64_t wanted) {
  const bool negative = bits & Bits<F>::sign;
  const uint64_t magnitude = bits & (Bits<F>::sign - 1);
  unsigned bit;
  if (magnitude > Bits<F>::inf) {
    bit = magnitude & Bits<F>::quiet ? 1 : 0;
  } else if (magnitude == Bits<F>::inf) {
    bit = negative ? 2 : 9;
  } else if (magnitude >= Bits<F>::normal) {
    bit = negative ? 3 : 8;
  } else if (magnitude != 0) {
    bit = negative ? 4 : 7;
  } else {
    bit = negative ? 5 : 6;
  }
  return wanted >> bit & 1;
}

template <typename F>
bool compare(uint32_t attr, F a, F b) {
  const unsigned p = attr >> fpenv::kFCmpShift & 15;
  const unsigned relation = a < b ? 1 : a == b ? 2 : a > b ? 4 : 8;
  return p & relation;
}

// --- f16 ---
double half_value(uint32_t h) {
  const int exponent = static_cast<int>(h >> 10 & 31);
  const double fraction = h & 0x3ff;
  double x;
  if (exponent == 31) {
    x = fraction != 0 ? std::nan("") : INFINITY;
  } else if (exponent == 0) {
    x = std::ldexp(fraction, -24);
  } else {
    x = std::ldexp(1024 + fraction, exponent - 25);
  }
  return h & 0x8000 ? -x : x;
}

// Rounds an exact value; software, so that the host's conversions are checked too.
uint32_t half_bits(__float128 x, uint32_t attr, bool negative_zero) {
  if (x != x) return 0x7e00;
  const bool negative = x < 0 || (x == 0 && negative_zero);
  const uint32_t sign = negative ? 0x8000 : 0;
  __float128 m = x < 0 ? -x : x;
  if (m > static_cast<__float128>(1e300)) return sign | 0x7c00;
  if (m == 0) return sign;
  int exponent = 0;  // m = significand * 2^exponent, significand in [1024, 2048) or exponent -24
  while (m >= 2048) m /= 2, ++exponent;
  while (m < 1024 && exponent > -24) m *= 2, --exponent;
  while (exponent < -24) m /= 2, ++exponent;
  auto integer = static_cast<uint32_t>(m);
  const __float128 rest = m - integer;
  bool up = false;
  switch (attr & fpenv::kRoundMask) {
    case 0:
      up = rest * 2 > 1 || (rest * 2 == 1 && integer % 2 == 1);
      break;
    case 1:
      up = rest > 0 && !negative;
      break;
    case 2:
      up = rest > 0 && negative;
      break;
    default:
      break;
  }
  integer += up;
  if (integer == 2048) integer = 1024, ++exponent;
  uint32_t h;
  if (integer < 1024) {
    h = integer;
  } else if (exponent + 25 >= 31) {
    const unsigned r = attr & fpenv::kRoundMask;
    const bool to_inf = r == 0 || (r == 1 && !negative) || (r == 2 && negative);
    h = to_inf && !(attr & fpenv::kFp16Ovfl) ? 0x7c00 : 0x7bff;
  } else {
    h = static_cast<uint32_t>(exponent + 25) << 10 | (integer - 1024);
  }
  if (!(attr & fpenv::kKeepOutputDenorm) && h < 0x400) h = 0;
  return sign | h;
}

uint64_t half_result(double x, uint32_t attr) {
  return half_bits(x, attr, std::signbit(x));
}

// Sign of an exact zero sum.
bool zero_sum_negative(double a, double b, uint32_t attr) {
  if (a == 0 && b == 0 && std::signbit(a) == std::signbit(b)) return std::signbit(a);
  return (attr & fpenv::kRoundMask) == 2;
}

// --- transcendental sequences, step by step as in transcendental.h; run with denormals kept and to nearest ---
float flush_float(float x) {
  return f(flush<float>(u(x)));
}
float rcp(float x) {
  return flush_float(1.0f / flush_float(x));
}
float root(float x) {
  return std::sqrt(flush_float(x));
}
float rsq(float x) {
  return 1.0f / root(x);
}
float exp2_steps(float x_in) {
  const float x = flush_float(x_in);
  if (std::isnan(x)) return x + x;
  if (x >= tr::kExpOverflow) return INFINITY;
  if (x < tr::kExpUnderflow) return 0;
  const float n = std::rint(x), r = x - n;
  float p = tr::kExp2[5];
  for (int i = 4; i >= 0; --i) p = std::fma(p, r, tr::kExp2[i]);
  p = std::fma(p, r, 1.0f);
  return f(static_cast<uint32_t>(u(p)) + (static_cast<uint32_t>(static_cast<int>(n)) << 23));
}
float log2_steps(float x_in) {
  const float x = flush_float(x_in);
  if (std::isnan(x)) return x + x;
  if (x == 0) return -INFINITY;
  if (x < 0) return NAN;
  if (std::isinf(x)) return x;
  const auto bits = static_cast<uint32_t>(u(x));
  const int e = static_cast<int>(bits - tr::kLogSqrtHalfBits) >> 23;
  const float t = f(bits - (static_cast<uint32_t>(e) << 23)) - 1.0f;
  float q = tr::kLog2[9];
  for (int i = 8; i >= 0; --i) q = std::fma(q, t, tr::kLog2[i]);
  q = std::fma(q, t, tr::kLog2E_lo);
  const float r = t * q;
  return static_cast<float>(e) + std::fma(t, tr::kLog2E_hi, r);
}
float sin_steps(float x_in, bool cosine) {
  const float x = flush_float(x_in);
  if (std::isnan(x)) return x + x;
  if (std::isinf(x)) return NAN;
  if (std::fabs(x) > tr::kTrigRange) return cosine ? 1.0f : 0.0f;
  const float k = std::rint(x + x), y = std::fma(k, -0.5f, x);
  const float z = cosine ? 0.25f - std::fabs(y) : y;
  const float v = z * z;
  float s = tr::kSin[4];
  for (int i = 3; i >= 0; --i) s = std::fma(s, v, tr::kSin[i]);
  float r = z * s;
  if (static_cast<int>(k) & 1) r = -r;
  return flush_float(r);
}
std::optional<float> transcendental_steps(Op op, float x) {
  const Environment environment(kKeep);
  switch (op) {
    case Op::frcp_f32:
    case Op::frcp_f16:
      return rcp(x);
    case Op::frsq_f32:
    case Op::frsq_f16:
      return rsq(x);
    case Op::fsqrt_f32:
    case Op::fsqrt_f16:
      return root(x);
    case Op::fexp_f32:
    case Op::fexp_f16:
      return exp2_steps(x);
    case Op::flog_f32:
    case Op::flog_f16:
      return log2_steps(x);
    case Op::fsin_f32:
    case Op::fsin_f16:
      return sin_steps(x, false);
    case Op::fcos_f32:
    case Op::fcos_f16:
      return sin_steps(x, true);
    default:
      return std::nullopt;
  }
}

template <typename I, typename F>
I saturate(F x) {
  if (std::isnan(x)) return 0;
  const double t = std::trunc(static_cast<double>(x));
  if (t <= static_cast<double>(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
  if (t >= static_cast<double>(std::numeric_limits<I>::max())) return std::numeric_limits<I>::max();
  return static_cast<I>(t);
}

template <typename F>
F round_integral(Op op, F x) {
  switch (op) {
    case Op::ftrunc_f32:
    case Op::ftrunc_f64:
    case Op::ftrunc_f16:
      return std::trunc(x);
    case Op::fceil_f32:
    case Op::fceil_f64:
    case Op::fceil_f16:
      return std::ceil(x);
    case Op::ffloor_f32:
    case Op::ffloor_f64:
    case Op::ffloor_f16:
      return std::floor(x);
    default: {
      const Environment nearest(kKeep);
      return std::nearbyint(x);
    }
  }
}

std::optional<uint64_t> half_model(const ir::Inst& inst, std::span<const uint64_t> args) {
  const uint32_t attr = inst.attr;
  const auto h = [&](unsigned i) { return flush_if<H>(args[i] & 0xffff, !(attr & fpenv::kKeepInputDenorm)); };
  const auto x = [&](unsigned i) { return half_value(static_cast<uint32_t>(h(i))); };
  const uint32_t nearest = attr & ~fpenv::kRoundMask;
  if (const auto y = args.empty() ? std::nullopt : transcendental_steps(inst.op, 0); y && inst.op >= Op::frcp_f16) {
    return half_result(*transcendental_steps(inst.op, static_cast<float>(x(0))), nearest);
  }
  const auto exact = [&](double value) { return half_result(value, kKeep); };
  switch (inst.op) {
    case Op::fadd_f16:
    case Op::fsub_f16: {
      const double a = x(0), b = inst.op == Op::fadd_f16 ? x(1) : -x(1);
      return half_bits(static_cast<__float128>(a) + b, attr, zero_sum_negative(a, b, attr));
    }
    case Op::fmul_f16:
      return half_bits(static_cast<__float128>(x(0)) * x(1), attr, std::signbit(x(0)) != std::signbit(x(1)));
    case Op::pk_fma_f16:
    case Op::fma_f16: {
      const auto sum = [&](unsigned shift) {
        const auto part = [&](unsigned i) {
          const uint64_t bits = args[i] >> shift & 0xffff;
          return half_value(static_cast<uint32_t>(flush_if<H>(bits, !(attr & fpenv::kKeepInputDenorm))));
        };
        const double p = part(0) * part(1), c = part(2);  // the product is exact
        return uint64_t{half_bits(static_cast<__float128>(p) + c, attr, zero_sum_negative(p, c, attr))};
      };
      return inst.op == Op::fma_f16 ? sum(0) : sum(0) | sum(16) << 16;
    }
    case Op::fmin_f16:
      return min_max<H>(attr, args[0] & 0xffff, args[1] & 0xffff, false);
    case Op::fmax_f16:
      return min_max<H>(attr, args[0] & 0xffff, args[1] & 0xffff, true);
    case Op::fclamp_f16: {
      if (is_nan<H>(h(0))) return attr & fpenv::kDx10Clamp ? 0 : h(0) | 0x200;
      return exact(std::min(std::max(x(0), 0.0) + 0.0, 1.0));
    }
    case Op::fcanon_f16:
      return half_result(x(0), attr);
    case Op::fcmp_f16:
      return compare(attr, x(0), x(1));
    case Op::fclass_f16:
      return class_of<H>(args[0] & 0xffff, args[1]);
    case Op::ftrunc_f16:
    case Op::fceil_f16:
    case Op::ffloor_f16:
    case Op::frndne_f16:
      return exact(round_integral(inst.op, x(0)));
    case Op::ffract_f16: {
      if (!std::isfinite(x(0))) return 0x7e00;
      const double part = x(0) - std::floor(x(0));
      return std::min<uint64_t>(half_bits(part, attr, (attr & fpenv::kRoundMask) == 2 && part == 0), 0xffff) == 0x3c00
                 ? 0x3bff
                 : half_bits(part, attr, (attr & fpenv::kRoundMask) == 2 && part == 0);
    }
    case Op::fldexp_f16: {
      const int n = std::clamp<int>(static_cast<int16_t>(args[1]), -100, 100);
      return half_bits(static_cast<__float128>(x(0)) * std::ldexp(1.0, n), attr, std::signbit(x(0)));
    }
    case Op::ffrexp_mant_f16: {
      int e;
      const double v = half_value(args[0] & 0xffff);
      return exact(std::isfinite(v) && v != 0 ? std::frexp(v, &e) : v);
    }
    case Op::ffrexp_exp_f16: {
      int e = 0;
      const double v = half_value(args[0] & 0xffff);
      if (std::isfinite(v) && v != 0) std::frexp(v, &e);
      return static_cast<uint16_t>(e);
    }
    case Op::cvt_f32_f16:
      return u(static_cast<float>(x(0)));
    case Op::cvt_f16_i16:
      return half_result(static_cast<int16_t>(args[0]), attr);
    case Op::cvt_f16_u16:
      return half_result(static_cast<uint16_t>(args[0]), attr);
    case Op::cvt_i16_f16:
      return static_cast<uint16_t>(saturate<int16_t>(x(0)));
    case Op::cvt_u16_f16:
      return saturate<uint16_t>(x(0));
    default:
      return std::nullopt;
  }
}

template <typename F>
uint64_t fract(F x, uint64_t below_one) {
  if (!std::isfinite(x)) return u(static_cast<F>(NAN));
  const F part = x - std::floor(x);
  return u(part) > below_one && part >= 1 ? below_one : u(part);
}

template <typename F>
uint64_t clamp(uint32_t attr, uint64_t bits) {
  if (is_nan<F>(bits)) return attr & fpenv::kDx10Clamp ? 0 : bits | Bits<F>::quiet;
  const uint64_t x = flush_if<F>(bits, !(attr & fpenv::kKeepInputDenorm));
  if (x & Bits<F>::sign) return 0;
  return std::min(x, u(F{1}));
}

}  // namespace

bool is_nan_result(const ir::Inst& inst, uint64_t bits) {
  if (inst.type == ir::kV64) return is_nan<double>(bits);
  const std::string_view name = ir::op_info(inst.op).name;
  if (name.find("cvt_f16_") == 0 || (name.ends_with("_f16") && name.find("cvt_") != 0)) return is_nan<H>(bits);
  return is_nan<float>(bits);
}

std::optional<uint64_t> float_model(const ir::Inst& inst, std::span<const uint64_t> args) {
  const uint32_t attr = inst.attr;
  if (const auto y = half_model(inst, args)) return y;
  if (inst.type == ir::kV32 && inst.op >= Op::frcp_f32 && inst.op <= Op::fcos_f32) {
    if (const auto y = transcendental_steps(inst.op, f(args[0]))) return u(*y);
  }
  const Environment environment(attr);
  volatile float a = args.empty() ? 0 : f(args[0]), b = args.size() > 1 ? f(args[1]) : 0,
                 c = args.size() > 2 ? f(args[2]) : 0;
  volatile double da = args.empty() ? 0 : d(args[0]), db = args.size() > 1 ? d(args[1]) : 0,
                  dc = args.size() > 2 ? d(args[2]) : 0;
  switch (inst.op) {
    case Op::fadd_f32:
      return u(a + b);
    case Op::fsub_f32:
      return u(a - b);
    case Op::fmul_f32:
      return u(a * b);
    case Op::fma_f32:
      return u(_mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c))));
    case Op::fmin_f32:
      return min_max<float>(attr, args[0], args[1], false);
    case Op::fmax_f32:
      return min_max<float>(attr, args[0], args[1], true);
    case Op::fclamp_f32:
      return clamp<float>(attr, args[0]);
    case Op::fcanon_f32:
    case Op::fcanon_f64: {
      const bool flushes = (attr & kKeep) != kKeep;
      return inst.type == ir::kV64
                 ? (is_nan<double>(args[0]) ? args[0] | Bits<double>::quiet : flush_if<double>(args[0], flushes))
                 : (is_nan<float>(args[0]) ? args[0] | Bits<float>::quiet : flush_if<float>(args[0], flushes));
    }
    case Op::fcmp_f32:
      return compare<float>(attr, a, b);
    case Op::fclass_f32:
      return class_of<float>(args[0], args[1]);
    case Op::fadd_f64:
      return u(da + db);
    case Op::fsub_f64:
      return u(da - db);
    case Op::fmul_f64:
      return u(da * db);
    case Op::fma_f64:
      return u(_mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(da), _mm_set_sd(db), _mm_set_sd(dc))));
    case Op::fmin_f64:
      return min_max<double>(attr, args[0], args[1], false);
    case Op::fmax_f64:
      return min_max<double>(attr, args[0], args[1], true);
    case Op::fclamp_f64:
      return clamp<double>(attr, args[0]);
    case Op::fcmp_f64:
      return compare<double>(attr, da, db);
    case Op::fclass_f64:
      return class_of<double>(args[0], args[1]);
    case Op::ftrunc_f32:
    case Op::fceil_f32:
    case Op::ffloor_f32:
    case Op::frndne_f32: {
      const float x = f(flush_if<float>(args[0], !(attr & fpenv::kKeepInputDenorm)));
      const Environment keep(kKeep);
      return u(round_integral(inst.op, x));
    }
    case Op::ftrunc_f64:
    case Op::fceil_f64:
    case Op::ffloor_f64:
    case Op::frndne_f64: {
      const double x = d(flush_if<double>(args[0], !(attr & fpenv::kKeepInputDenorm)));
      const Environment keep(kKeep);
      return u(round_integral(inst.op, x));
    }
    case Op::ffract_f32: {
      const float x = f(flush_if<float>(args[0], !(attr & fpenv::kKeepInputDenorm)));
      return fract<float>(x, 0x3f7fffff);
    }
    case Op::ffract_f64: {
      const double x = d(flush_if<double>(args[0], !(attr & fpenv::kKeepInputDenorm)));
      return fract<double>(x, 0x3fefffffffffffff);
    }
    case Op::fldexp_f32: {
      const float x = f(flush_if<float>(args[0], !(attr & fpenv::kKeepInputDenorm)));
      const int n = std::clamp(static_cast<int>(static_cast<int32_t>(args[1])), -400, 400);
      volatile double scaled;
      {
        const Environment exact(kKeep);
        scaled = static_cast<double>(x) * std::ldexp(1.0, n);
      }
      return u(static_cast<float>(scaled));
    }
    case Op::ffrexp_mant_f32: {
      const Environment keep(kKeep);
      int e;
      return u(std::isfinite(a) ? std::frexp(a, &e) : a + a);
    }
    case Op::ffrexp_exp_f32: {
      const Environment keep(kKeep);
      int e = 0;
      if (std::isfinite(a) && a != 0) std::frexp(a, &e);
      return static_cast<uint32_t>(e);
    }
    case Op::ffrexp_mant_f64: {
      const Environment keep(kKeep);
      int e;
      return u(std::isfinite(da) ? std::frexp(da, &e) : da + da);
    }
    case Op::ffrexp_exp_f64: {
      const Environment keep(kKeep);
      int e = 0;
      if (std::isfinite(da) && da != 0) std::frexp(da, &e);
      return static_cast<uint32_t>(e);
    }
    case Op::frcp_f64: {
      const Environment nearest(attr & ~fpenv::kRoundMask);
      return u(1.0 / da);
    }
    case Op::fsqrt_f64: {
      const Environment nearest(attr & ~fpenv::kRoundMask);
      return u(_mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(da))));
    }
    case Op::frsq_f64: {
      const Environment nearest(attr & ~fpenv::kRoundMask);
      volatile double s = _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(da)));
      return u(1.0 / s);
    }
    case Op::cvt_f32_i32:
      return u(static_cast<float>(static_cast<int32_t>(args[0])));
    case Op::cvt_f32_u32: {
      volatile uint64_t wide = args[0] & 0xffffffff;
      return u(static_cast<float>(static_cast<int64_t>(wide)));
    }
    case Op::cvt_i32_f32:
      return static_cast<uint32_t>(saturate<int32_t>(static_cast<float>(a)));
    case Op::cvt_u32_f32:
      return saturate<uint32_t>(static_cast<float>(a));
    case Op::cvt_rpi_i32_f32: {
      volatile float sum = a + 0.5f;  // before the environment changes
      const Environment keep(kKeep);
      return static_cast<uint32_t>(saturate<int32_t>(std::floor(sum)));
    }
    case Op::cvt_flr_i32_f32: {
      const float x = f(flush_if<float>(args[0], !(attr & fpenv::kKeepInputDenorm)));
      const Environment keep(kKeep);
      return static_cast<uint32_t>(saturate<int32_t>(std::floor(x)));
    }
    case Op::cvt_f64_i32:
      return u(static_cast<double>(static_cast<int32_t>(args[0])));
    case Op::cvt_f64_u32:
      return u(static_cast<double>(static_cast<uint32_t>(args[0])));
    case Op::cvt_i32_f64:
      return static_cast<uint32_t>(saturate<int32_t>(static_cast<double>(da)));
    case Op::cvt_u32_f64:
      return saturate<uint32_t>(static_cast<double>(da));
    case Op::cvt_f64_f32:
      return u(static_cast<double>(a));
    case Op::cvt_f32_f64:
      return u(static_cast<float>(da));
    case Op::cvt_f16_f32: {
      const Environment keep(kKeep);
      const bool flushed = (attr & fpenv::kKeepInputDenorm) == 0 && std::fpclassify(a) == FP_SUBNORMAL;
      return half_bits(flushed ? 0.0 : static_cast<double>(a), attr, std::signbit(a));
    }
    case Op::cvt_pkrtz_f16_f32: {
      const Environment keep(kKeep);
      return half_bits(static_cast<double>(a), kKeep | 3, std::signbit(a)) |
             half_bits(static_cast<double>(b), kKeep | 3, std::signbit(b)) << 16;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace wavejit::backend
