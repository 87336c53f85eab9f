// Exact arithmetic of binary16, binary32 and binary64 under GCN's MODE, on MPFR. Numbers are passed as bits; every
// operation computes with the precision of its result and an unbounded exponent, and one function makes denormals and
// infinities of it. Nothing here is shared with the engines, and no result comes from the host's floating point.
#pragma once

#include <mpfr.h>

#include <cstdint>

namespace wavejit::model {

enum class Round : uint8_t { nearest, up, down, zero };  // MODE.fp_round (Vega ISA manual, "MODE register")

struct Format {
  unsigned bits, fraction;
  [[nodiscard]] constexpr unsigned exponent_bits() const { return bits - 1 - fraction; }
  [[nodiscard]] constexpr int bias() const { return (1 << (exponent_bits() - 1)) - 1; }
  [[nodiscard]] constexpr uint64_t sign() const { return uint64_t{1} << (bits - 1); }
  [[nodiscard]] constexpr uint64_t mask() const { return sign() | (sign() - 1); }
  [[nodiscard]] constexpr uint64_t inf() const { return ((uint64_t{1} << exponent_bits()) - 1) << fraction; }
  [[nodiscard]] constexpr uint64_t quiet_bit() const { return uint64_t{1} << (fraction - 1); }
  [[nodiscard]] constexpr uint64_t nan() const { return inf() | quiet_bit(); }
  [[nodiscard]] constexpr uint64_t max_finite() const { return inf() - 1; }
  [[nodiscard]] constexpr uint64_t one() const { return static_cast<uint64_t>(bias()) << fraction; }
  [[nodiscard]] constexpr uint64_t min_normal() const { return uint64_t{1} << fraction; }
  [[nodiscard]] constexpr int precision() const { return static_cast<int>(fraction) + 1; }

  [[nodiscard]] constexpr uint64_t magnitude(uint64_t x) const { return x & (sign() - 1); }
  [[nodiscard]] constexpr bool negative(uint64_t x) const { return (x & sign()) != 0; }
  [[nodiscard]] constexpr bool is_nan(uint64_t x) const { return magnitude(x) > inf(); }
  [[nodiscard]] constexpr bool is_signalling(uint64_t x) const { return is_nan(x) && (x & quiet_bit()) == 0; }
  [[nodiscard]] constexpr bool is_inf(uint64_t x) const { return magnitude(x) == inf(); }
  [[nodiscard]] constexpr bool is_zero(uint64_t x) const { return magnitude(x) == 0; }
  [[nodiscard]] constexpr bool is_finite(uint64_t x) const { return magnitude(x) < inf(); }
  [[nodiscard]] constexpr bool is_denormal(uint64_t x) const {
    return magnitude(x) != 0 && magnitude(x) < min_normal();
  }
  [[nodiscard]] constexpr uint64_t flush(uint64_t x) const { return is_denormal(x) ? x & sign() : x; }
  [[nodiscard]] constexpr int exponent_field(uint64_t x) const { return static_cast<int>(magnitude(x) >> fraction); }
};

inline constexpr Format kF16{16, 10}, kF32{32, 23}, kF64{64, 52};

// A number of MPFR.
class Number {
 public:
  explicit Number(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  operator mpfr_ptr() { return value_; }

 private:
  mpfr_t value_;
};

[[nodiscard]] mpfr_rnd_t direction(Round round);
// Any number of the formats, of which the widest have 53 bits.
void load(mpfr_ptr to, const Format& format, uint64_t x);

// Rounding and denormals of one type.
struct Env {
  Format format;
  Round round = Round::nearest;
  bool flush_in = false, flush_out = false;
  bool ieee = false, dx10_clamp = false;

  [[nodiscard]] uint64_t input(uint64_t x) const { return flush_in ? format.flush(x) : x; }
};

// The environment of a type from MODE.
[[nodiscard]] Env env_of(const Format& format, uint32_t mode);
// Of binary32 with denormals always flushed: v_mad_f32 and the transcendental instructions.
[[nodiscard]] Env flushing(const Env& env);
// Nothing flushed, to nearest: conversions that MODE does not reach.
[[nodiscard]] Env exact(const Format& format);

[[nodiscard]] uint64_t add(const Env& env, uint64_t a, uint64_t b);
[[nodiscard]] uint64_t mul(const Env& env, uint64_t a, uint64_t b);
// a * b + c, rounded once, times 2^scale.
[[nodiscard]] uint64_t fma(const Env& env, uint64_t a, uint64_t b, uint64_t c, long scale = 0);
[[nodiscard]] uint64_t ldexp(const Env& env, uint64_t a, long n);
[[nodiscard]] uint64_t convert(const Env& from, const Env& to, uint64_t x);
[[nodiscard]] uint64_t from_int(const Env& env, int64_t value);

// Comparison of numbers that are no NaNs.
[[nodiscard]] bool less(const Format& format, uint64_t a, uint64_t b);
[[nodiscard]] bool equal(const Format& format, uint64_t a, uint64_t b);

enum class Integral : uint8_t { floor, ceil, trunc, rndne };
[[nodiscard]] uint64_t to_integral(const Format& format, uint64_t x, Integral how);
// Saturating, NaN gives 0; the low `bits` bits.
[[nodiscard]] uint64_t to_int(const Format& format, uint64_t x, unsigned bits, bool is_signed,
                              Integral how = Integral::trunc);

// v_min, v_max: a number wins over a NaN; IEEE and a signalling NaN give a quiet NaN; -0 < +0.
[[nodiscard]] uint64_t minimum(const Env& env, uint64_t a, uint64_t b, bool is_max, bool flush);

[[nodiscard]] uint64_t fract(const Env& env, uint64_t a);
[[nodiscard]] uint64_t frexp_mant(const Format& format, uint64_t a);
[[nodiscard]] int frexp_exp(const Format& format, uint64_t a);
// Whether |1 / d|, |n / d| are below the least normal number (of finite numbers that are not zero).
[[nodiscard]] bool quotient_is_denormal(const Format& format, uint64_t n, uint64_t d);
// v_trig_preop_f64: 53 bits of 2 / pi.
[[nodiscard]] uint64_t trig_preop(const Env& env, uint64_t a, unsigned segment);

// Functions whose results the documents bound only: the least and the greatest number that are within the bound (in
// units of the last place of the true value, or absolute). Denormals are flushed as `env` says.
enum class Function : uint8_t { rcp, sqrt, rsq, exp2, log2, sin, cos };
struct Interval {
  uint64_t low, high;
};
[[nodiscard]] Interval approximate(const Env& env, Function function, uint64_t x, double max_ulp, double max_absolute);
// How far a result is from the true value: in units of the last place of the true value, and absolute. Both are 0
// where the result is not a rounded number (zeros, infinities, NaNs, results that are flushed).
struct Distance {
  double ulp = 0, absolute = 0;
};
[[nodiscard]] Distance distance(const Env& env, Function function, uint64_t x, uint64_t result);

}  // namespace wavejit::model
