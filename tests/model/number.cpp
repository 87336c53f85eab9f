#include "tests/model/number.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

namespace wavejit::model {
namespace {

// binary64 holds every number of the formats; these only move bits.
double widen(const Format& f, uint64_t x) {
  if (f.bits == 64) return std::bit_cast<double>(x);
  const uint64_t sign = f.negative(x) ? kF64.sign() : 0;
  uint64_t magnitude = f.magnitude(x);
  if (magnitude >= f.inf())
    return std::bit_cast<double>(sign | kF64.inf() | (magnitude - f.inf()) << (52 - f.fraction));
  if (magnitude == 0) return std::bit_cast<double>(sign);
  int exponent = f.exponent_field(x);
  uint64_t fraction = magnitude & (f.min_normal() - 1);
  if (exponent == 0) {
    exponent = 1;
    while ((fraction & f.min_normal()) == 0) fraction <<= 1, --exponent;
    fraction &= f.min_normal() - 1;
  }
  return std::bit_cast<double>(sign | static_cast<uint64_t>(exponent - f.bias() + 1023) << 52 |
                               fraction << (52 - f.fraction));
}

uint64_t narrow(const Format& f, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  if (f.bits == 64) return bits;
  const uint64_t sign = kF64.negative(bits) ? f.sign() : 0;
  if (kF64.is_nan(bits)) return sign | f.nan();
  if (kF64.is_inf(bits)) return sign | f.inf();
  if (kF64.is_zero(bits)) return sign;
  const int exponent = kF64.exponent_field(bits) - 1023 + f.bias();
  const uint64_t fraction = (bits & (kF64.min_normal() - 1)) >> (52 - f.fraction);
  if (exponent > 0) return sign | static_cast<uint64_t>(exponent) << f.fraction | fraction;
  return sign | (fraction | f.min_normal()) >> (1 - exponent);
}

// The bits of a number that was rounded to the precision of the format with an unbounded exponent; `ternary` is the
// direction of that rounding. Denormal results become zeros if the environment flushes them, denormal being what is
// smaller than the least normal number after that rounding, as on x86; for binary16 after rounding to its denormals.
uint64_t store(const Env& env, mpfr_ptr value, int ternary, mpfr_rnd_t round) {
  const Format& f = env.format;
  if (mpfr_nan_p(value)) return f.nan();
  const uint64_t sign = mpfr_signbit(value) ? f.sign() : 0;
  if (mpfr_zero_p(value)) return sign;
  if (mpfr_inf_p(value)) return sign | f.inf();
  if (mpfr_get_exp(value) > f.bias() + 1) {
    const bool to_inf = round == MPFR_RNDN || (round == MPFR_RNDU && sign == 0) || (round == MPFR_RNDD && sign != 0);
    return sign | (to_inf ? f.inf() : f.max_finite());
  }
  const mpfr_exp_t least_normal = 2 - f.bias();
  if (mpfr_get_exp(value) < least_normal) {
    if (env.flush_out && f.bits != 16) return sign;
    const mpfr_exp_t least = least_normal - static_cast<int>(f.fraction);  // of the least denormal, d
    if (mpfr_get_exp(value) < least) {
      // mpfr_subnormalize wants numbers of at least d. Below, [d/2, d) is nearer to d but for d/2 itself, which goes to
      // the even zero; whether it was d/2 exactly the direction of the first rounding tells.
      bool up = (round == MPFR_RNDU && sign == 0) || (round == MPFR_RNDD && sign != 0);
      if (round == MPFR_RNDN && mpfr_get_exp(value) == least - 1) {
        Number half(2);
        mpfr_set_ui_2exp(half, 1, least - 2, MPFR_RNDN);
        const int compared = mpfr_cmpabs(value, half);
        const bool rounded_down = sign != 0 ? ternary > 0 : ternary < 0;
        up = compared > 0 || (compared == 0 && rounded_down);
      }
      return up && !env.flush_out ? sign | 1 : sign;
    }
    static const mpfr_exp_t unbounded = mpfr_get_emin();
    mpfr_set_emin(least);
    mpfr_subnormalize(value, ternary, round);
    mpfr_set_emin(unbounded);
  }
  const uint64_t result = narrow(f, mpfr_get_d(value, MPFR_RNDN));
  return env.flush_out ? f.flush(result) : result;
}

struct Operands {
  Number a{53}, b{53}, c{53}, f16{11}, f32{24}, f64{53};
  mpfr_ptr result(const Format& f) { return f.bits == 16 ? f16 : f.bits == 32 ? f32 : f64; }
};
Operands& operands() {
  static thread_local Operands all;
  return all;
}

}  // namespace

mpfr_rnd_t direction(Round round) {
  switch (round) {
    case Round::nearest:
      return MPFR_RNDN;
    case Round::up:
      return MPFR_RNDU;
    case Round::down:
      return MPFR_RNDD;
    default:
      return MPFR_RNDZ;
  }
}

void load(mpfr_ptr to, const Format& f, uint64_t x) {
  mpfr_set_d(to, widen(f, x), MPFR_RNDN);
}

Env env_of(const Format& format, uint32_t mode) {
  const unsigned round = format.bits == 32 ? mode & 3 : mode >> 2 & 3;
  const unsigned denormals = format.bits == 32 ? mode >> 4 & 3 : mode >> 6 & 3;
  return {.format = format,
          .round = static_cast<Round>(round),
          .flush_in = (denormals & 1) == 0,
          .flush_out = (denormals & 2) == 0,
          .ieee = (mode >> 9 & 1) != 0,
          .dx10_clamp = (mode >> 8 & 1) != 0};
}

Env flushing(const Env& env) {
  Env result = env;
  result.flush_in = result.flush_out = true;
  return result;
}

Env exact(const Format& format) {
  return {.format = format};
}

uint64_t add(const Env& env, uint64_t a, uint64_t b) {
  Operands& o = operands();
  load(o.a, env.format, env.input(a));
  load(o.b, env.format, env.input(b));
  const mpfr_rnd_t round = direction(env.round);
  mpfr_ptr r = o.result(env.format);
  const int ternary = mpfr_add(r, o.a, o.b, round);
  return store(env, r, ternary, round);
}

uint64_t mul(const Env& env, uint64_t a, uint64_t b) {
  Operands& o = operands();
  load(o.a, env.format, env.input(a));
  load(o.b, env.format, env.input(b));
  const mpfr_rnd_t round = direction(env.round);
  mpfr_ptr r = o.result(env.format);
  const int ternary = mpfr_mul(r, o.a, o.b, round);
  return store(env, r, ternary, round);
}

uint64_t fma(const Env& env, uint64_t a, uint64_t b, uint64_t c, long scale) {
  Operands& o = operands();
  load(o.a, env.format, env.input(a));
  load(o.b, env.format, env.input(b));
  load(o.c, env.format, env.input(c));
  const mpfr_rnd_t round = direction(env.round);
  mpfr_ptr r = o.result(env.format);
  const int ternary = mpfr_fma(r, o.a, o.b, o.c, round);
  mpfr_mul_2si(r, r, scale, round);
  return store(env, r, ternary, round);
}

uint64_t ldexp(const Env& env, uint64_t a, long n) {
  Operands& o = operands();
  const mpfr_rnd_t round = direction(env.round);
  mpfr_ptr r = o.result(env.format);
  load(r, env.format, env.input(a));
  mpfr_mul_2si(r, r, n, round);
  return store(env, r, 0, round);
}

uint64_t convert(const Env& from, const Env& to, uint64_t x) {
  Operands& o = operands();
  load(o.a, from.format, from.input(x));
  const mpfr_rnd_t round = direction(to.round);
  mpfr_ptr r = o.result(to.format);
  const int ternary = mpfr_set(r, o.a, round);
  return store(to, r, ternary, round);
}

uint64_t from_int(const Env& env, int64_t value) {
  Operands& o = operands();
  const mpfr_rnd_t round = direction(env.round);
  mpfr_ptr r = o.result(env.format);
  const int ternary = mpfr_set_si(r, value, round);
  return store(env, r, ternary, round);
}

bool less(const Format& format, uint64_t a, uint64_t b) {
  const auto key = [&](uint64_t x) {
    const auto magnitude = static_cast<int64_t>(format.magnitude(x));
    return format.negative(x) ? -magnitude : magnitude;
  };
  return key(a) < key(b);
}

bool equal(const Format& format, uint64_t a, uint64_t b) {
  return a == b || (format.is_zero(a) && format.is_zero(b));
}

uint64_t to_integral(const Format& format, uint64_t x, Integral how) {
  Operands& o = operands();
  load(o.a, format, x);
  mpfr_ptr r = o.result(format);
  switch (how) {
    case Integral::floor:
      mpfr_floor(r, o.a);
      break;
    case Integral::ceil:
      mpfr_ceil(r, o.a);
      break;
    case Integral::trunc:
      mpfr_trunc(r, o.a);
      break;
    case Integral::rndne:
      mpfr_roundeven(r, o.a);
      break;
  }
  return store(exact(format), r, 0, MPFR_RNDN);
}

uint64_t to_int(const Format& format, uint64_t x, unsigned bits, bool is_signed, Integral how) {
  if (format.is_nan(x)) return 0;
  const int64_t least = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t most = (int64_t{1} << (bits - (is_signed ? 1 : 0))) - 1;
  Operands& o = operands();
  load(o.a, format, to_integral(format, x, how));
  const int64_t value = mpfr_cmp_si(o.a, least) < 0  ? least
                        : mpfr_cmp_si(o.a, most) > 0 ? most
                                                     : mpfr_get_si(o.a, MPFR_RNDZ);
  return static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
}

uint64_t minimum(const Env& env, uint64_t a, uint64_t b, bool is_max, bool flush) {
  const Format& f = env.format;
  if (flush) a = env.input(a), b = env.input(b);
  if (env.ieee && (f.is_signalling(a) || f.is_signalling(b))) return f.nan();
  if (f.is_nan(a)) return f.is_nan(b) ? f.nan() : b;
  if (f.is_nan(b)) return a;
  if (f.is_zero(a) && f.is_zero(b)) return is_max ? a & b : a | b;
  if (is_max) return less(f, a, b) ? b : a;
  return less(f, b, a) ? b : a;
}

uint64_t fract(const Env& env, uint64_t a) {
  const Format& f = env.format;
  a = env.input(a);
  if (!f.is_finite(a)) return f.nan();
  const uint64_t result = add(env, a, to_integral(f, a, Integral::floor) ^ f.sign());
  return less(f, result, f.one()) ? result : f.one() - 1;
}

uint64_t frexp_mant(const Format& format, uint64_t a) {
  if (format.is_nan(a)) return format.nan();
  if (format.is_inf(a) || format.is_zero(a)) return a;
  Operands& o = operands();
  mpfr_ptr r = o.result(format);
  load(r, format, a);
  mpfr_set_exp(r, 0);
  return store(exact(format), r, 0, MPFR_RNDN);
}

int frexp_exp(const Format& format, uint64_t a) {
  if (!format.is_finite(a) || format.is_zero(a)) return 0;
  Operands& o = operands();
  load(o.a, format, a);
  return static_cast<int>(mpfr_get_exp(o.a));
}

bool quotient_is_denormal(const Format& format, uint64_t n, uint64_t d) {
  // |n| < |d| * least normal number, all exact.
  Operands& o = operands();
  load(o.a, format, format.magnitude(n));
  load(o.b, format, format.magnitude(d));
  mpfr_mul_2si(o.b, o.b, 1 - format.bias(), MPFR_RNDN);
  return mpfr_less_p(o.a, o.b) != 0;
}

uint64_t trig_preop(const Env& env, uint64_t a, unsigned segment) {
  constexpr mpfr_prec_t kBits = 1201;  // of 2 / pi behind the point
  struct TwoOverPi : Number {
    TwoOverPi() : Number(kBits) {
      Number pi(kBits + 64);
      mpfr_const_pi(pi, MPFR_RNDN);
      mpfr_ui_div(*this, 2, pi, MPFR_RNDZ);
      Number scaled(kBits);
      mpfr_mul_2si(scaled, *this, kBits, MPFR_RNDN);
      mpfr_trunc(scaled, scaled);
      mpfr_mul_2si(*this, scaled, -kBits, MPFR_RNDN);
    }
  };
  static TwoOverPi two_over_pi;
  const int exponent = kF64.exponent_field(a);
  const int shift = static_cast<int>(segment) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
  // 53 bits from position `shift` on.
  Number bits(kBits + 8), above(kBits + 8);
  mpfr_mul_2si(bits, two_over_pi, shift, MPFR_RNDN);
  mpfr_trunc(above, bits);
  mpfr_sub(bits, bits, above, MPFR_RNDN);
  mpfr_mul_2si(bits, bits, 53, MPFR_RNDN);
  mpfr_trunc(bits, bits);
  mpfr_mul_2si(bits, bits, -53 - shift + (exponent >= 1968 ? 128 : 0), MPFR_RNDN);
  Operands& o = operands();
  const mpfr_rnd_t round = direction(env.round);
  const int ternary = mpfr_set(o.f64, bits, round);
  return store(env, o.f64, ternary, round);
}

namespace {

// The result where it is no rounded number.
std::optional<uint64_t> special_result(const Format& f, Function function, uint64_t x) {
  if (f.is_nan(x)) return f.nan();
  const bool is_negative = f.negative(x) && !f.is_zero(x);
  const uint64_t sign = x & f.sign();
  switch (function) {
    case Function::rcp:
      if (f.is_zero(x)) return sign | f.inf();
      if (f.is_inf(x)) return sign;
      break;
    case Function::sqrt:
      if (is_negative) return f.nan();
      if (f.is_zero(x) || f.is_inf(x)) return x;
      break;
    case Function::rsq:
      if (is_negative) return f.nan();
      if (f.is_zero(x)) return sign | f.inf();
      if (f.is_inf(x)) return 0;
      break;
    case Function::exp2:
      if (f.is_inf(x)) return is_negative ? 0 : x;
      if (f.is_zero(x)) return f.one();
      break;
    case Function::log2:
      if (is_negative) return f.nan();
      if (f.is_zero(x)) return f.sign() | f.inf();
      if (f.is_inf(x)) return x;
      break;
    case Function::sin:
    case Function::cos: {
      if (f.is_inf(x)) return f.nan();
      // Arguments are revolutions; beyond +-256 the results are those of 0 (Vega ISA manual, V_SIN_F32).
      const uint64_t most = static_cast<uint64_t>(f.bias() + 8) << f.fraction;
      if (f.magnitude(x) > most) return function == Function::sin ? 0 : f.one();
      break;
    }
  }
  return std::nullopt;
}

// The function of the number that `value` holds, to 100 bits.
void apply(mpfr_ptr value, Function function) {
  switch (function) {
    case Function::rcp:
      mpfr_ui_div(value, 1, value, MPFR_RNDN);
      break;
    case Function::sqrt:
      mpfr_sqrt(value, value, MPFR_RNDN);
      break;
    case Function::rsq:
      mpfr_rec_sqrt(value, value, MPFR_RNDN);
      break;
    case Function::exp2:
      mpfr_exp2(value, value, MPFR_RNDN);
      break;
    case Function::log2:
      mpfr_log2(value, value, MPFR_RNDN);
      break;
    case Function::sin:
      mpfr_sinu(value, value, 1, MPFR_RNDN);
      break;
    case Function::cos:
      mpfr_cosu(value, value, 1, MPFR_RNDN);
      break;
  }
}

// The exponent of the last place of `value`.
long last_place(const Format& f, mpfr_ptr value) {
  const long last = mpfr_get_exp(value) - f.precision(), least = 1 - f.bias() - static_cast<long>(f.fraction);
  return std::max(last, least);
}

}  // namespace

Interval approximate(const Env& env, Function function, uint64_t x, double max_ulp, double max_absolute) {
  const Format& f = env.format;
  x = env.input(x);
  const auto both = [](uint64_t value) { return Interval{value, value}; };
  if (const auto special = special_result(f, function, x)) return both(*special);
  static thread_local Number value(100), bound(100), end(100);
  load(value, f, x);
  apply(value, function);
  if (mpfr_inf_p(value)) return both((mpfr_signbit(value) ? f.sign() : 0) | f.inf());
  if (mpfr_zero_p(value) && max_ulp != 0) return both(0);
  if (max_ulp != 0) {
    // A unit in the last place of the true value, a little more for the error of MPFR's 100 bits.
    mpfr_set_d(bound, max_ulp * (1 + 0x1p-30), MPFR_RNDU);
    mpfr_mul_2si(bound, bound, last_place(f, value), MPFR_RNDU);
  } else {
    mpfr_set_d(bound, max_absolute, MPFR_RNDU);
  }
  Operands& o = operands();
  mpfr_ptr r = o.result(f);
  Env nearest = env;
  Interval result{};
  // The ends are rounded inwards, but where that is beyond the largest number, infinity is within the bound, too.
  mpfr_sub(end, value, bound, MPFR_RNDN);
  int ternary = mpfr_set(r, end, MPFR_RNDU);
  nearest.round = Round::up;
  result.low = store(nearest, r, ternary, MPFR_RNDU);
  mpfr_add(end, value, bound, MPFR_RNDN);
  ternary = mpfr_set(r, end, MPFR_RNDD);
  result.high = store(nearest, r, ternary, MPFR_RNDD);
  if (f.magnitude(result.high) == f.max_finite()) result.high = (result.high & f.sign()) | f.inf();
  if (f.magnitude(result.low) == f.max_finite() && f.negative(result.low)) result.low = f.sign() | f.inf();
  return result;
}

Distance distance(const Env& env, Function function, uint64_t x, uint64_t result) {
  const Format& f = env.format;
  x = env.input(x);
  if (special_result(f, function, x) || !f.is_finite(result) || f.is_zero(result)) return {};
  static thread_local Number value(100), got(100);
  load(value, f, x);
  apply(value, function);
  if (mpfr_zero_p(value) || mpfr_get_exp(value) > f.bias() + 1) return {};
  load(got, f, result);
  mpfr_sub(got, got, value, MPFR_RNDN);
  Distance d;
  d.absolute = std::fabs(mpfr_get_d(got, MPFR_RNDN));
  mpfr_mul_2si(got, got, -last_place(f, value), MPFR_RNDN);
  d.ulp = std::fabs(mpfr_get_d(got, MPFR_RNDN));
  return d;
}

}  // namespace wavejit::model
