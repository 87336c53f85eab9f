// Which exceptions floating-point instructions raise, one lane at a time, for waves that record them in TRAPSTS
// (docs/design/frontend.md, "Exceptions"). Interpreter and translated code both use it and bring a lane's operands
// behind all modifiers: what rounds where is what docs/isa-decisions.md says of the instructions, and what IEEE 754 and
// the host say of the operations, whose flags are in the same places as those of TRAPSTS.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "internal/semantics/rounding.h"
#include "internal/wave_state.h"

namespace wavejit::exceptions {

// Bits of TRAPSTS.EXCP (Vega ISA manual, "TRAPSTS register fields").
inline constexpr uint32_t kInvalid = 1, kInputDenormal = 2, kDivideByZero = 4, kOverflow = 8, kUnderflow = 16,
                          kInexact = 32, kIntegerDivideByZero = 64;
inline constexpr uint32_t kAll = 127;
// MODE.EXCP_EN: the same bits from here on.
inline constexpr unsigned kEnableShift = 12;

// In WaveState::mode: the wave records exceptions. No bit of the processor's register, where 22 is reserved: it is part
// of MODE because translated code is specialised on that, and no instruction reads or writes it.
inline constexpr uint32_t kRecords = 1u << 22;

// What an instruction does, as far as exceptions go.
enum class Kind : uint8_t {
  none,
  add,
  subtract,
  subtract_reverse,
  multiply,
  multiply_legacy,  // 0 times anything is 0
  multiply_add,     // two roundings
  multiply_add_legacy,
  fused,
  fused_scaled,        // v_div_fmas: in lanes of VCC times a power of two in front of the rounding, else fused
  select,              // minimum, maximum, median, rounding to integers, parts of a number: only operands matter
  compare_signalling,  // any NaN is invalid
  fraction,
  ldexp,
  to_i32,
  to_u32,
  to_i16,
  to_u16,
  to_i32_floor,
  to_i32_nearest,  // floor(x + 0.5)
  to_snorm16,
  to_unorm16,
  to_f16,
  to_f16_zero,  // two sources, rounded toward zero
  to_f32,
  to_f64,
  from_i32,  // to f32
  from_u32,
  from_i16,  // to f16
  from_u16,
  reciprocal,
  reciprocal_integer,  // v_rcp_iflag: the integer exception, and no other
  reciprocal_root,
  root,
  logarithm,
  exponential,
  sine,
  cosine,
  divide,  // v_div_fixup, source 2 by source 1: invalid, denormal and division by zero
};
enum class Number : uint8_t { f16, f32, f64 };  // of the operands

struct Rule {
  Kind kind = Kind::none;
  Number number = Number::f32;
  uint8_t sources = 0;
  bool pair = false;  // two such operations: halves of registers (f16), or consecutive registers (f32)
  bool hides_inexact = false;

  [[nodiscard]] constexpr uint32_t pack() const {
    return static_cast<uint32_t>(kind) | static_cast<uint32_t>(number) << 8 | uint32_t{sources} << 16 |
           uint32_t{pair} << 24 | uint32_t{hides_inexact} << 25;
  }
  [[nodiscard]] static constexpr Rule unpack(uint32_t bits) {
    return {static_cast<Kind>(bits & 0xff), static_cast<Number>(bits >> 8 & 0xff),
            static_cast<uint8_t>(bits >> 16 & 0xff), (bits >> 24 & 1) != 0, (bits >> 25 & 1) != 0};
  }
};

namespace detail {

using Quad = __float128;  // holds sums and products of f16 exactly, and scaled f64

// --- bits ---

struct Format {
  unsigned mantissa, exponent;  // bits
};
constexpr Format format_of(Number n) {
  return n == Number::f16 ? Format{10, 5} : n == Number::f32 ? Format{23, 8} : Format{52, 11};
}
constexpr uint64_t magnitude(Number n, uint64_t bits) {
  const Format f = format_of(n);
  return bits & ((uint64_t{1} << (f.mantissa + f.exponent)) - 1);
}
constexpr uint64_t infinity(Number n) {
  const Format f = format_of(n);
  return ((uint64_t{1} << f.exponent) - 1) << f.mantissa;
}
constexpr bool is_nan(Number n, uint64_t bits) {
  return magnitude(n, bits) > infinity(n);
}
constexpr bool is_signalling(Number n, uint64_t bits) {
  return is_nan(n, bits) && (bits >> (format_of(n).mantissa - 1) & 1) == 0;
}
constexpr bool is_denormal(Number n, uint64_t bits) {
  const uint64_t m = magnitude(n, bits);
  return m != 0 && m < uint64_t{1} << format_of(n).mantissa;
}

// --- MODE ---

struct Environment {
  uint32_t round = 0;  // MODE's numbering: even, +inf, -inf, zero
  bool keeps_inputs = true, keeps_outputs = true;

  [[nodiscard]] uint32_t mxcsr() const { return rounding::mxcsr(round, keeps_inputs, keeps_outputs); }
};
inline Environment environment_of(Number n, uint32_t mode) {
  const bool single = n == Number::f32;
  const uint32_t denormals = mode >> (single ? mode::kDenormF32Shift : mode::kDenormF16F64Shift);
  return {mode >> (single ? mode::kRoundF32Shift : mode::kRoundF16F64Shift) & 3, (denormals & 1) != 0,
          (denormals & 2) != 0};
}
// v_mad_f16 flushes denormals whatever MODE says (so does v_mad_f32, which flags() sees to).
inline Environment environment_of(const Rule& rule, uint32_t mode) {
  Environment e = environment_of(rule.number, mode);
  if (rule.kind == Kind::multiply_add && rule.number == Number::f16) e.keeps_inputs = e.keeps_outputs = false;
  return e;
}

// --- the host's arithmetic, f32 and f64 ---

// The host's arithmetic as C++ has it, in the guest's MXCSR: exact numbers are rounded by round_to() alone, and no
// denormal is taken for 0. Of 128-bit floats, which look at MXCSR, too.
class Neutral {
 public:
  Neutral() {
    const uint32_t wanted = Environment{}.mxcsr();
    asm volatile("stmxcsr %0" : "=m"(saved_) : : "memory");
    asm volatile("ldmxcsr %0" : : "m"(wanted) : "memory");
  }
  ~Neutral() { asm volatile("ldmxcsr %0" : : "m"(saved_) : "memory"); }
  Neutral(const Neutral&) = delete;
  Neutral& operator=(const Neutral&) = delete;

 private:
  uint32_t saved_ = 0;
};

template <typename F>
struct Host {
  uint32_t saved = 0;
  explicit Host(const Environment& e) {
    const uint32_t wanted = e.mxcsr();
    asm volatile("stmxcsr %0" : "=m"(saved));
    asm volatile("ldmxcsr %0" : : "m"(wanted));
  }
  [[nodiscard]] uint32_t flags() const {
    uint32_t now;
    asm volatile("stmxcsr %0" : "=m"(now));
    asm volatile("ldmxcsr %0" : : "m"(saved));
    return now & 0x3f;
  }
};
#define WAVEJIT_HOST(name, instruction)                       \
  inline float name(float a, float b) {                       \
    asm volatile(instruction "ss %1, %0" : "+x"(a) : "x"(b)); \
    return a;                                                 \
  }                                                           \
  inline double name(double a, double b) {                    \
    asm volatile(instruction "sd %1, %0" : "+x"(a) : "x"(b)); \
    return a;                                                 \
  }
WAVEJIT_HOST(host_add, "add")
WAVEJIT_HOST(host_sub, "sub")
WAVEJIT_HOST(host_mul, "mul")
WAVEJIT_HOST(host_div, "div")
WAVEJIT_HOST(host_sqrt, "sqrt")  // of the second operand
#undef WAVEJIT_HOST
inline void host_fma(float a, float b, float c) {
  asm volatile("vfmadd213ss %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
}
inline void host_fma(double a, double b, double c) {
  asm volatile("vfmadd213sd %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
}
inline void host_narrow(double a) {
  float result = 0;
  asm volatile("cvtsd2ss %1, %0" : "+x"(result) : "x"(a));
}

// --- rounding of exact values ---

using QuadBits = unsigned __int128;
inline Quad power(int n) {  // of 2
  return std::bit_cast<Quad>(static_cast<QuadBits>(n + 16383) << 112);
}
inline int exponent_of(Quad x) {  // x is positive and normal
  return static_cast<int>(static_cast<uint64_t>(std::bit_cast<QuadBits>(x) >> 112)) - 16383;
}

// A positive number in whole units, below 2^64 of them.
struct Units {
  Quad count;
  bool exact;
};
inline Units in_units(Quad m, int exponent_of_unit, bool negative, uint32_t round) {
  const Quad scaled = m / power(exponent_of_unit);
  const auto whole = static_cast<uint64_t>(scaled);
  const Quad rest = scaled - static_cast<Quad>(whole);
  const bool up = round == 0   ? rest > 0.5 || (rest == 0.5 && (whole & 1) != 0)
                  : round == 1 ? rest != 0 && !negative
                  : round == 2 ? rest != 0 && negative
                               : false;
  return {static_cast<Quad>(whole + up), rest == 0};
}

// To `precision` bits with exponents from `lowest` on and below 2^(highest + 1). Whether a result is tiny is seen after
// rounding it as if exponents had no limit, as on the host, but of f16 after rounding it to f16.
struct Rounded {
  Quad value;
  uint32_t flags;
};
inline Rounded round_to(Quad x, int precision, int lowest, int highest, const Environment& e) {
  const bool negative = x < 0;
  const Quad m = negative ? -x : x;
  if (m == 0) return {x, 0};
  const bool to_infinity = e.round == 0 || (e.round == 1 && !negative) || (e.round == 2 && negative);
  const Quad most =
      to_infinity ? std::bit_cast<Quad>(QuadBits{0x7fff} << 112) : power(highest + 1) - power(highest + 1 - precision);
  if (m > power(highest + 4)) return {negative ? -most : most, kOverflow | kInexact};
  const int exponent = exponent_of(m), unit = std::max(exponent, lowest) - precision + 1;
  const Units rounded = in_units(m, unit, negative, e.round);
  const Quad result = rounded.count * power(unit);
  if (result >= power(highest + 1)) return {negative ? -most : most, kOverflow | kInexact};
  bool tiny = result < power(lowest);
  if (precision > 11 && exponent < lowest) {
    const int own = exponent - precision + 1;
    tiny = in_units(m, own, negative, e.round).count * power(own) < power(lowest);
  }
  uint32_t flags = rounded.exact ? 0 : kInexact;
  if (tiny && (!rounded.exact || !e.keeps_outputs)) flags |= kUnderflow | kInexact;
  const Quad kept = tiny && !e.keeps_outputs ? Quad{0} : result;
  return {negative ? -kept : kept, flags};
}
inline Rounded round_f16(Quad x, const Environment& e) {
  if (x != x || x - x != 0) return {x, 0};
  return round_to(x, 11, -14, 15, e);
}
inline Rounded round_f64(Quad x, const Environment& e) {
  if (x != x || x - x != 0) return {x, 0};
  return round_to(x, 53, -1022, 1023, e);
}

inline double half_to_double(uint64_t bits) {
  const auto m = static_cast<unsigned>(bits & 0x7fff);
  double value = 0;
  if (m > 0x7c00) {
    value = std::bit_cast<double>(uint64_t{0x7ff8000000000000});
  } else if (m == 0x7c00) {
    value = std::bit_cast<double>(uint64_t{0x7ff0000000000000});
  } else {
    value = m < 0x400 ? std::ldexp(static_cast<double>(m), -24)
                      : std::ldexp(static_cast<double>((m & 0x3ff) | 0x400), static_cast<int>(m >> 10) - 25);
  }
  return (bits >> 15 & 1) != 0 ? -value : value;
}

// --- operations ---

// One element: the bits of up to three sources.
class Element {
 public:
  Element(const Rule& rule, uint32_t mode, const uint64_t* bits)
      : rule_(rule), mode_(mode), bits_(bits), e_(environment_of(rule, mode)) {}

  [[nodiscard]] uint32_t raised() const {
    switch (rule_.kind) {
      case Kind::none:
        return 0;
      case Kind::select:
        return operands(rule_.sources);
      case Kind::compare_signalling:
        return nan(0) || nan(1) ? kInvalid : operands(2);
      case Kind::reciprocal_integer:
        return is_zero(0, transcendental()) ? kIntegerDivideByZero : 0;
      case Kind::from_i32:
        return inexact_from(static_cast<int32_t>(bits_[0]));
      case Kind::from_u32:
        return inexact_from(static_cast<uint32_t>(bits_[0]));
      case Kind::from_i16:
        return round_f16(static_cast<double>(static_cast<int16_t>(bits_[0])), environment_of(Number::f16, mode_)).flags;
      case Kind::from_u16:
        return round_f16(static_cast<double>(static_cast<uint16_t>(bits_[0])), environment_of(Number::f16, mode_))
            .flags;
      case Kind::to_f16:
        return to_f16(0, environment_of(Number::f16, mode_).round, environment_of(Number::f16, mode_).keeps_outputs);
      case Kind::to_f16_zero:
        return to_f16(0, 3, true) | to_f16(1, 3, true);
      case Kind::to_f32:
      case Kind::to_f64:
        if (rule_.number != Number::f64) return operands(1);
        return narrow();
      case Kind::ldexp:
        return ldexp();
      case Kind::to_i32:
      case Kind::to_u32:
      case Kind::to_i16:
      case Kind::to_u16:
      case Kind::to_i32_floor:
      case Kind::to_i32_nearest:
        return to_integer();
      case Kind::reciprocal:
      case Kind::reciprocal_root:
      case Kind::root:
      case Kind::logarithm:
      case Kind::exponential:
      case Kind::sine:
      case Kind::cosine:
        return unary_function();
      case Kind::to_snorm16:
      case Kind::to_unorm16:
        return to_normalised();
      case Kind::fused_scaled:
        return fused_scaled();
      case Kind::divide:
        return division();
      default:
        break;
    }
    switch (rule_.number) {
      case Number::f16:
        return half();
      case Number::f32:
        return host<float>();
      case Number::f64:
        return host<double>();
    }
    return 0;
  }

 private:
  [[nodiscard]] bool nan(unsigned i) const { return is_nan(rule_.number, bits_[i]); }
  [[nodiscard]] bool is_infinite(unsigned i) const {
    return magnitude(rule_.number, bits_[i]) == infinity(rule_.number);
  }
  [[nodiscard]] bool is_zero(unsigned i, const Environment& e) const {
    return magnitude(rule_.number, bits_[i]) == 0 || (!e.keeps_inputs && is_denormal(rule_.number, bits_[i]));
  }
  [[nodiscard]] bool is_negative(unsigned i) const {
    const Format f = format_of(rule_.number);
    return (bits_[i] >> (f.mantissa + f.exponent) & 1) != 0;
  }
  // As numbers, denormals flushed if they are not kept. NaNs are quiet.
  [[nodiscard]] double value(unsigned i, const Environment& e) const {
    double v = 0;
    if (nan(i)) return std::bit_cast<double>(uint64_t{0x7ff8000000000000});
    if (is_zero(i, e)) return is_negative(i) ? -0.0 : 0.0;
    if (rule_.number == Number::f16) v = half_to_double(bits_[i]);
    if (rule_.number == Number::f32) v = std::bit_cast<float>(static_cast<uint32_t>(bits_[i]));
    if (rule_.number == Number::f64) v = std::bit_cast<double>(bits_[i]);
    return v;
  }

  // Signalling NaNs are invalid; denormals that are kept raise the exception of their own, unless there is a NaN.
  [[nodiscard]] uint32_t operands(unsigned count, const Environment& e) const {
    bool any_nan = false, denormal = false;
    for (unsigned i = 0; i < count; ++i) {
      if (is_signalling(rule_.number, bits_[i])) return kInvalid;
      any_nan |= nan(i);
      denormal |= e.keeps_inputs && is_denormal(rule_.number, bits_[i]);
    }
    return denormal && !any_nan ? kInputDenormal : 0;
  }
  [[nodiscard]] uint32_t operands(unsigned count) const { return operands(count, e_); }

  // f32 transcendentals neither take nor return denormals, and all round to nearest.
  [[nodiscard]] Environment transcendental() const {
    if (rule_.number == Number::f32) return {0, false, false};
    return {0, e_.keeps_inputs, e_.keeps_outputs};
  }

  [[nodiscard]] uint32_t inexact_from(int64_t integer) const {
    // 24 significant bits fit.
    const uint64_t m = integer < 0 ? 0 - static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
    return m != 0 && std::bit_width(m) - std::countr_zero(m) > 24 ? kInexact : 0;
  }

  [[nodiscard]] uint32_t to_f16(unsigned i, uint32_t round, bool keeps_outputs) const {
    if (is_signalling(rule_.number, bits_[i])) return kInvalid;
    if (nan(i) || is_infinite(i)) return 0;
    const uint32_t denormal = e_.keeps_inputs && is_denormal(rule_.number, bits_[i]) ? kInputDenormal : 0;
    return denormal | round_f16(value(i, e_), {round, e_.keeps_inputs, keeps_outputs}).flags;
  }

  // f64 to f32, in the environment of f32.
  [[nodiscard]] uint32_t narrow() const {
    const double x = std::bit_cast<double>(bits_[0]);
    const Host<double> host(environment_of(Number::f32, mode_));
    host_narrow(x);
    return host.flags();
  }

  [[nodiscard]] uint32_t ldexp() const {
    const uint32_t flags = operands(1);
    if (nan(0) || is_infinite(0) || is_zero(0, e_)) return flags;
    const auto wide = static_cast<int32_t>(bits_[1]);
    const int n = rule_.number == Number::f16 ? static_cast<int16_t>(bits_[1]) : wide;
    const int limited = n > 3000 ? 3000 : n < -3000 ? -3000 : n;
    const Quad x = value(0, e_) * power(limited);
    const Rounded r = rule_.number == Number::f16   ? round_f16(x, e_)
                      : rule_.number == Number::f32 ? round_to(x, 24, -126, 127, e_)
                                                    : round_f64(x, e_);
    return flags | r.flags;
  }

  [[nodiscard]] uint32_t to_integer() const {
    if (nan(0)) return kInvalid;
    const uint32_t flags = operands(1);
    const double x = value(0, e_);
    double whole = std::trunc(x);
    if (rule_.kind == Kind::to_i32_floor) whole = std::floor(x);
    if (rule_.kind == Kind::to_i32_nearest) whole = std::floor(x + 0.5);
    double low = -0x1p31, high = 0x1p31;
    if (rule_.kind == Kind::to_u32) low = 0, high = 0x1p32;
    if (rule_.kind == Kind::to_i16) low = -0x1p15, high = 0x1p15;
    if (rule_.kind == Kind::to_u16) low = 0, high = 0x1p16;
    if (whole < low || whole >= high) return kInvalid;
    return flags | (std::trunc(x) != x && !rule_.hides_inexact ? kInexact : 0);
  }

  // f16, clamped: beyond the range is invalid, as of other conversions.
  [[nodiscard]] uint32_t to_normalised() const {
    if (nan(0)) return kInvalid;
    const bool is_signed = rule_.kind == Kind::to_snorm16;
    const double x = value(0, e_);
    if (x > 1 || x < (is_signed ? -1 : 0)) return kInvalid;
    const double scaled = x * (is_signed ? 32767 : 65535);  // exact
    return operands(1) | (std::trunc(scaled) != scaled ? kInexact : 0);
  }

  // The sum in 113 bits, where the last one says that more are missing; then the scale, exact, and one rounding.
  [[nodiscard]] uint32_t fused_scaled() const {
    const uint32_t flags = operands(3);
    if (flags == kInvalid || nan(0) || nan(1) || nan(2)) return flags;
    const Quad product = static_cast<Quad>(value(0, e_)) * value(1, e_), addend = value(2, e_);
    Quad sum = product + addend;
    if (sum != sum) return kInvalid;
    if (sum - sum != 0) return flags;
    const Quad part = sum - product, missing = (product - (sum - part)) + (addend - part);
    if (missing != 0) {
      auto bits = std::bit_cast<QuadBits>(sum);
      if ((bits & 1) == 0) bits += (missing < 0) == (sum < 0) ? 1 : -QuadBits{1};
      sum = std::bit_cast<Quad>(bits);
    }
    const bool is_f32 = rule_.number == Number::f32;
    const Format f = format_of(rule_.number);
    const bool large = magnitude(rule_.number, bits_[2]) >> (f.mantissa + f.exponent - 1) != 0;  // 2.0 and more
    const int up = is_f32 ? 64 : 128;
    const Quad scaled = sum * power(large ? up : -up);
    return flags | (is_f32 ? round_to(scaled, 24, -126, 127, e_) : round_f64(scaled, e_)).flags;
  }

  // "Generates invalid, denorm and divide by zero exceptions caused by the division" (Vega manual), of operands as they
  // are: a denormal that MODE flushes is no zero.
  [[nodiscard]] uint32_t division() const {
    const unsigned d = 1, n = 2;
    if (is_signalling(rule_.number, bits_[d]) || is_signalling(rule_.number, bits_[n])) return kInvalid;
    if (nan(d) || nan(n)) return 0;
    const auto zero = [&](unsigned i) { return magnitude(rule_.number, bits_[i]) == 0; };
    if ((zero(d) && zero(n)) || (is_infinite(d) && is_infinite(n))) return kInvalid;
    if (zero(d) && !is_infinite(n)) return kDivideByZero;
    const bool denormal = is_denormal(rule_.number, bits_[d]) || is_denormal(rule_.number, bits_[n]);
    return denormal && e_.keeps_inputs ? kInputDenormal : 0;
  }

  // The true value decides: no document says what of a transcendental unit's results is exact.
  [[nodiscard]] uint32_t unary_function() const {
    const Environment e = transcendental();
    if (is_signalling(rule_.number, bits_[0])) return kInvalid;
    if (nan(0)) return 0;
    const bool zero = is_zero(0, e), negative = is_negative(0), infinite = is_infinite(0);
    const uint32_t flags = operands(1, e);
    const double x = value(0, e);
    switch (rule_.kind) {
      case Kind::reciprocal:
        if (zero) return kDivideByZero;
        if (infinite) return 0;
        return flags | quotient(1, x, e);
      case Kind::reciprocal_root: {
        if (zero) return kDivideByZero;
        if (negative) return kInvalid;
        int exponent = 0;
        return infinite || (std::frexp(x, &exponent) == 0.5 && exponent % 2 != 0) ? flags : flags | kInexact;
      }
      case Kind::root: {
        if (zero || (infinite && !negative)) return flags;
        if (negative) return kInvalid;
        const double r = std::sqrt(x);
        const double kept = rule_.number == Number::f32 ? static_cast<float>(r) : r;
        return static_cast<Quad>(kept) * kept == x ? flags : flags | kInexact;
      }
      case Kind::logarithm: {
        if (zero) return kDivideByZero;
        if (negative) return kInvalid;
        int exponent = 0;
        return infinite || std::frexp(x, &exponent) == 0.5 ? flags : flags | kInexact;
      }
      case Kind::exponential: {
        if (infinite) return 0;
        const double highest = rule_.number == Number::f16 ? 16 : 128,
                     lowest = rule_.number == Number::f16 ? -14 : -126;
        if (x >= highest) return flags | kOverflow | kInexact;
        const bool exact = std::trunc(x) == x && (x >= lowest || (e.keeps_outputs && x >= lowest - 10));
        if (exact) return flags;
        return flags | kInexact | (x < lowest ? kUnderflow : 0);
      }
      default: {  // sine and cosine of x turns
        if (infinite) return kInvalid;
        if (std::trunc(4 * x) == 4 * x) return flags;
        // The sine of so small a number of turns is 2 pi times that, of which 162 / 2^24 is the last denormal one of f16.
        const bool tiny = rule_.kind == Kind::sine && rule_.number == Number::f16 && std::fabs(x) < 163 * 0x1p-24;
        return flags | kInexact | (tiny ? kUnderflow : 0);
      }
    }
  }

  [[nodiscard]] uint32_t quotient(double n, double d, const Environment& e) const {
    if (rule_.number == Number::f16) return round_f16(static_cast<Quad>(n) / d, e).flags;
    if (rule_.number == Number::f32) {
      const auto a = static_cast<float>(n), b = static_cast<float>(d);
      const Host<float> host(e);
      host_div(a, b);
      return host.flags() & ~kInputDenormal;
    }
    const Host<double> host(e);
    host_div(n, d);
    return host.flags() & ~kInputDenormal;
  }

  // f16: what is exact in Quad, rounded.
  [[nodiscard]] uint32_t half() const {
    const unsigned count = rule_.sources;
    if (rule_.kind == Kind::multiply_add) return half_multiply_add();
    bool any_nan = false;
    for (unsigned i = 0; i < count; ++i) any_nan |= nan(i);
    const uint32_t flags = operands(count);
    if (flags == kInvalid || any_nan) return flags;
    const Quad a = value(0, e_), b = count > 1 ? value(1, e_) : 0, c = count > 2 ? value(2, e_) : 0;
    const auto result = [&](Quad x) { return x != x ? kInvalid : flags | round_f16(x, e_).flags; };
    switch (rule_.kind) {
      case Kind::add:
        return result(a + b);
      case Kind::subtract:
        return result(a - b);
      case Kind::subtract_reverse:
        return result(b - a);
      case Kind::multiply:
        return result(a * b);
      case Kind::fused:
        return result(a * b + c);
      case Kind::fraction:
        return is_infinite(0) ? kInvalid : result(a - std::floor(static_cast<double>(a)));
      default:
        return 0;
    }
  }
  // Two operations, each with its own NaNs.
  [[nodiscard]] uint32_t half_multiply_add() const {
    const bool signalling = is_signalling(Number::f16, bits_[2]);
    const Quad a = value(0, e_), b = value(1, e_), c = value(2, e_);
    Rounded product{a * b, operands(2)};
    if (!nan(0) && !nan(1))
      product = product.value == product.value ? round_f16(product.value, e_) : Rounded{product.value, kInvalid};
    if (signalling) return product.flags | kInvalid;
    if (product.value != product.value || nan(2)) return product.flags;
    const Quad sum = product.value + c;
    return product.flags | (sum != sum ? kInvalid : round_f16(sum, e_).flags);
  }

  template <typename F>
  [[nodiscard]] uint32_t host() const {
    const auto number = [&](unsigned i) {
      if constexpr (sizeof(F) == 4)
        return std::bit_cast<float>(static_cast<uint32_t>(bits_[i]));
      else
        return std::bit_cast<double>(bits_[i]);
    };
    const F a = number(0), b = number(1), c = number(2);
    // v_mad_f32 and its like flush every operand and result.
    const Environment flushed{e_.round, false, false};
    const bool zero_factor = is_zero(0, e_) || is_zero(1, e_);
    switch (rule_.kind) {
      case Kind::multiply_legacy:
        if (zero_factor) return 0;
        break;
      case Kind::multiply_add:
      case Kind::multiply_add_legacy: {
        const Environment& e = flushed;
        const bool legacy_zero =
            rule_.kind == Kind::multiply_add_legacy && (is_zero(0, flushed) || is_zero(1, flushed));
        const Host<F> host(e);
        host_add(legacy_zero ? F{0} : host_mul(a, b), c);
        return host.flags();
      }
      case Kind::fraction:
        if (is_infinite(0)) return kInvalid;
        if (nan(0)) return operands(1);
        {
          const F x = is_zero(0, e_) ? F{0} : a;
          const F whole = std::floor(x);
          const Host<F> host(e_);
          host_sub(x, whole);
          return host.flags();
        }
      default:
        break;
    }
    const Host<F> host(e_);
    switch (rule_.kind) {
      case Kind::add:
        host_add(a, b);
        break;
      case Kind::subtract:
        host_sub(a, b);
        break;
      case Kind::subtract_reverse:
        host_sub(b, a);
        break;
      case Kind::multiply:
      case Kind::multiply_legacy:
        host_mul(a, b);
        break;
      case Kind::fused:
        host_fma(a, b, c);
        break;
      default:
        break;
    }
    return host.flags();
  }

  const Rule& rule_;
  const uint32_t mode_;
  const uint64_t* bits_;
  const Environment e_;
};

}  // namespace detail

// What the active lanes raise: `low` and `high` are rows of the sources' registers, `high` null for 32-bit ones; `vcc`
// is VCC, which fused_scaled looks at.
inline uint32_t raised(const Rule& rule, uint32_t mode, uint64_t lanes, const uint32_t* const (&low)[3],
                       const uint32_t* const (&high)[3], uint64_t vcc) {
  const detail::Neutral neutral;
  Rule unscaled = rule;
  if (rule.kind == Kind::fused_scaled) unscaled.kind = Kind::fused;
  uint32_t flags = 0;
  const unsigned elements = rule.pair ? 2 : 1;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(lanes));
    for (unsigned e = 0; e < elements; ++e) {
      uint64_t bits[3] = {};
      for (unsigned i = 0; i < rule.sources && i < 3; ++i) {
        if (rule.pair && rule.number == Number::f16) {
          bits[i] = low[i][l] >> (16 * e) & 0xffff;
        } else if (rule.pair) {
          bits[i] = e == 0 ? low[i][l] : high[i][l];
        } else {
          bits[i] = low[i][l];
          if (high[i] != nullptr) bits[i] |= uint64_t{high[i][l]} << 32;
          if (rule.number == Number::f16) bits[i] &= 0xffff;
        }
      }
      flags |= detail::Element((vcc >> l & 1) != 0 ? rule : unscaled, mode, bits).raised();
    }
  }
  return flags;
}

}  // namespace wavejit::exceptions
