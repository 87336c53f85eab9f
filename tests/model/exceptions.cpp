// Written from AMD's ISA manuals, IEEE 754 and docs/isa-decisions.md ("exceptions").
#include "tests/model/exceptions.h"

#include <algorithm>
#include <initializer_list>

#include "tests/model/operations.h"

namespace wavejit::model {
namespace {

template <unsigned kBits>
const Env& env(const Lane& l) {
  if constexpr (kBits == 16) return l.f16;
  if constexpr (kBits == 32) return l.f32;
  return l.f64;
}

// ---- IEEE 754 ----

// Bits that hold any sum of a product and a number of the format: from twice the least exponent to twice the greatest.
mpfr_prec_t exact_precision(const Format& f) {
  return 4 * (f.bias() + static_cast<mpfr_prec_t>(f.fraction)) + 64;
}

// Of rounding an exact number (or one whose last bit stands for all that is missing) to the format.
unsigned of_rounding(const Env& e, mpfr_ptr x) {
  if (mpfr_regular_p(x) == 0) return 0;
  const Format& f = e.format;
  const mpfr_rnd_t round = direction(e.round);
  Number rounded(f.precision()), units(mpfr_get_prec(x)), whole(mpfr_get_prec(x));
  mpfr_set(rounded, x, round);
  if (mpfr_get_exp(rounded) > f.bias() + 1) return kOverflow | kInexact;
  const mpfr_exp_t least_normal = 2 - f.bias();
  const bool normal = mpfr_get_exp(x) >= least_normal;
  if (normal) return mpfr_cmp(rounded, x) != 0 ? kInexact : 0;
  // Below, numbers are multiples of the least denormal one.
  mpfr_mul_2si(units, x, f.bias() - 1 + static_cast<long>(f.fraction), MPFR_RNDN);
  mpfr_rint(whole, units, round);
  const bool inexact = mpfr_cmp(whole, units) != 0;
  // Tiny is what is denormal after rounding: as if the exponent had no limit, but of binary16 in its own denormals.
  const bool tiny = f.bits == 16 ? mpfr_cmpabs_ui(whole, f.min_normal()) < 0 : mpfr_get_exp(rounded) < least_normal;
  if (!tiny) return inexact ? kInexact : 0;
  return inexact || e.flush_out ? kUnderflow | kInexact : 0;
}

// MPFR's rounding toward zero: what is missing goes into a bit behind the last one.
void keep_missing(mpfr_ptr x, int ternary) {
  if (ternary == 0 || mpfr_regular_p(x) == 0) return;
  const mpfr_prec_t precision = mpfr_get_prec(x);
  Number bit(2);
  mpfr_set_si_2exp(bit, mpfr_signbit(x) != 0 ? -1 : 1, mpfr_get_exp(x) - precision - 1, MPFR_RNDN);
  mpfr_prec_round(x, precision + 1, MPFR_RNDN);
  mpfr_add(x, x, bit, MPFR_RNDZ);
}

// Signalling NaNs are invalid; a denormal that is not flushed says so, unless an operand is a NaN.
unsigned of_operands(const Env& e, std::initializer_list<uint64_t> operands) {
  bool nan = false, denormal = false;
  for (const uint64_t x : operands) {
    if (e.format.is_signalling(x)) return kInvalid;
    nan = nan || e.format.is_nan(x);
    denormal = denormal || (!e.flush_in && e.format.is_denormal(x));
  }
  return denormal && !nan ? kInputDenormal : 0;
}

// An operation: `compute` makes the result of up to three operands, exact or as keep_missing() leaves it. MPFR says what
// is no number or an infinity of finite operands; that is all such an operation raises.
template <typename Compute>
unsigned of_operation(const Env& in, const Env& out, std::initializer_list<uint64_t> operands, Compute compute) {
  const unsigned flags = of_operands(in, operands);
  if ((flags & kInvalid) != 0) return kInvalid;
  if (std::any_of(operands.begin(), operands.end(), [&](uint64_t x) { return in.format.is_nan(x); })) return 0;
  static thread_local Number a(53), b(53), c(53);
  mpfr_ptr numbers[] = {a, b, c};
  unsigned i = 0;
  for (const uint64_t x : operands) load(numbers[i++], in.format, in.input(x));
  Number result(exact_precision(in.format));
  mpfr_clear_flags();
  compute(result, numbers);
  if (mpfr_nanflag_p() != 0) return kInvalid;
  if (mpfr_divby0_p() != 0) return kDivideByZero;
  return flags | of_rounding(out, result);
}

unsigned of_sum(const Env& e, uint64_t a, uint64_t b) {
  return of_operation(e, e, {a, b}, [](mpfr_ptr r, mpfr_ptr* x) { mpfr_add(r, x[0], x[1], MPFR_RNDZ); });
}
unsigned of_product(const Env& e, uint64_t a, uint64_t b) {
  return of_operation(e, e, {a, b}, [](mpfr_ptr r, mpfr_ptr* x) { mpfr_mul(r, x[0], x[1], MPFR_RNDZ); });
}
// (a * b + c) * 2^scale
unsigned of_fused(const Env& e, uint64_t a, uint64_t b, uint64_t c, long scale = 0) {
  return of_operation(e, e, {a, b, c}, [scale](mpfr_ptr r, mpfr_ptr* x) {
    mpfr_fma(r, x[0], x[1], x[2], MPFR_RNDZ);
    mpfr_mul_2si(r, r, scale, MPFR_RNDZ);
  });
}
// Two operations.
unsigned of_mad(const Env& e, uint64_t a, uint64_t b, uint64_t c) {
  return of_product(e, a, b) | of_sum(e, mul(e, a, b), c);
}

// ---- Instructions ----

template <unsigned kBits>
unsigned sum(const Lane& l, Source s) {
  return of_sum(env<kBits>(l), low(s[0]), low(s[1]));
}
template <unsigned kBits>
unsigned difference(const Lane& l, Source s) {
  return of_sum(env<kBits>(l), low(s[0]), low(s[1]) ^ env<kBits>(l).format.sign());
}
template <unsigned kBits>
unsigned reverse_difference(const Lane& l, Source s) {
  return of_sum(env<kBits>(l), low(s[1]), low(s[0]) ^ env<kBits>(l).format.sign());
}
template <unsigned kBits>
unsigned product(const Lane& l, Source s) {
  return of_product(env<kBits>(l), low(s[0]), low(s[1]));
}
template <unsigned kBits>
unsigned fused(const Lane& l, Source s) {
  return of_fused(env<kBits>(l), low(s[0]), low(s[1]), low(s[2]));
}
template <unsigned kBits>
unsigned scaled_fused(const Lane& l, Source s) {
  const Env& e = env<kBits>(l);
  const long up = kBits == 32 ? 64 : 128;
  const bool large = e.format.exponent_field(low(s[2])) > e.format.bias();
  return of_fused(e, low(s[0]), low(s[1]), low(s[2]), !l.carry_in ? 0 : large ? up : -up);
}
// Flush everything.
template <unsigned kBits>
unsigned multiply_add(const Lane& l, Source s) {
  return of_mad(flushing(env<kBits>(l)), low(s[0]), low(s[1]), low(s[2]));
}
// Zero times anything is zero: nothing is multiplied.
bool has_zero(const Env& e, Source s) {
  return e.format.is_zero(e.input(low(s[0]))) || e.format.is_zero(e.input(low(s[1])));
}
unsigned product_legacy(const Lane& l, Source s) {
  return has_zero(l.f32, s) ? 0 : of_product(l.f32, low(s[0]), low(s[1]));
}
unsigned mad_legacy(const Lane& l, Source s) {
  const Env e = flushing(l.f32);
  return has_zero(e, s) ? of_sum(e, 0, low(s[2])) : of_mad(e, low(s[0]), low(s[1]), low(s[2]));
}

// Instructions whose result is an operand, or exact.
template <unsigned kBits, unsigned kCount>
unsigned select(const Lane& l, Source s) {
  const Env& e = env<kBits>(l);
  if constexpr (kCount == 1) return of_operands(e, {low(s[0])});
  if constexpr (kCount == 2) return of_operands(e, {low(s[0]), low(s[1])});
  return of_operands(e, {low(s[0]), low(s[1]), low(s[2])});
}
// `clamp` of GFX9: a NaN of any kind is invalid.
template <unsigned kBits, bool kSignals>
unsigned compare(const Lane& l, Source s) {
  const Format& f = env<kBits>(l).format;
  const bool signals = kSignals || (l.clamp && !l.before_gfx9());
  if (signals && (f.is_nan(low(s[0])) || f.is_nan(low(s[1])))) return kInvalid;
  return select<kBits, 2>(l, s);
}

template <unsigned kBits>
unsigned fraction(const Lane& l, Source s) {
  const Env& e = env<kBits>(l);
  return of_operation(e, e, {low(s[0])}, [](mpfr_ptr r, mpfr_ptr* x) {
    Number whole(53);
    mpfr_floor(whole, x[0]);
    mpfr_sub(r, x[0], whole, MPFR_RNDZ);
  });
}
template <unsigned kBits>
unsigned scaled(const Lane& l, Source s) {
  const Env& e = env<kBits>(l);
  const long n = kBits == 16 ? static_cast<int16_t>(low(s[1])) : static_cast<int32_t>(low(s[1]));
  return of_operation(e, e, {low(s[0])}, [n](mpfr_ptr r, mpfr_ptr* x) {
    mpfr_mul_2si(r, x[0], std::clamp(n, -10000l, 10000l), MPFR_RNDZ);
  });
}

// ---- Conversions ----

// NaNs and what is beyond the type are invalid; what is no integer is inexact, which from GFX9 on is said if `clamp` is
// set (Vega to MI300 manuals: "INEXACT exceptions are enabled for this conversion iff CLAMP == 1").
template <unsigned kFrom, unsigned kTo, bool kSigned>
unsigned to_integer(const Lane& l, Source s, Integral how, bool always_inexact) {
  const Env& e = env<kFrom>(l);
  const uint64_t x = low(s[0]);
  if (e.format.is_nan(x) || e.format.is_inf(x)) return kInvalid;
  Number value(53), whole(64), most(64), least(64);
  load(value, e.format, e.input(x));
  if (how == Integral::floor)
    mpfr_floor(whole, value);
  else
    mpfr_trunc(whole, value);
  mpfr_set_si(least, kSigned ? -(int64_t{1} << (kTo - 1)) : 0, MPFR_RNDN);
  mpfr_set_si(most, (int64_t{1} << (kSigned ? kTo - 1 : kTo)) - 1, MPFR_RNDN);
  if (mpfr_less_p(whole, least) != 0 || mpfr_greater_p(whole, most) != 0) return kInvalid;
  const bool says_inexact = always_inexact || l.clamp || l.before_gfx9();
  return of_operands(e, {x}) | (says_inexact && mpfr_integer_p(value) == 0 ? kInexact : 0);
}
template <unsigned kFrom, unsigned kTo, bool kSigned>
unsigned truncated(const Lane& l, Source s) {
  return to_integer<kFrom, kTo, kSigned>(l, s, Integral::trunc, false);
}
unsigned floor_i32(const Lane& l, Source s) {
  return to_integer<32, 32, true>(l, s, Integral::floor, true);
}
// floor(x + 0.5)
unsigned nearest_i32(const Lane& l, Source s) {
  if (!kF32.is_finite(low(s[0]))) return kInvalid;
  const Bits sum = add(l.f32, low(s[0]), 0x3f000000);
  const unsigned range = to_integer<32, 32, true>(l, &sum, Integral::floor, true) & kInvalid;
  if (range != 0) return range;
  Number value(24);
  load(value, kF32, l.f32.input(low(s[0])));
  return of_operands(l.f32, {low(s[0])}) | (mpfr_integer_p(value) == 0 ? kInexact : 0);
}
// Clamped to [-1, 1] or [0, 1], times 32767 or 65535. Beyond the range is invalid, as of other conversions.
template <bool kSigned>
unsigned normalised(const Lane& l, Source s) {
  const uint64_t x = low(s[0]);
  const Env& e = l.f16;
  if (kF16.is_nan(x) || kF16.is_inf(x)) return kInvalid;
  Number value(11), product(64);
  load(value, kF16, e.input(x));
  if (mpfr_cmp_si(value, 1) > 0 || mpfr_cmp_si(value, kSigned ? -1 : 0) < 0) return kInvalid;
  mpfr_mul_si(product, value, kSigned ? 32767 : 65535, MPFR_RNDN);
  return of_operands(e, {x}) | (mpfr_integer_p(product) == 0 ? kInexact : 0);
}
unsigned of_integer(const Env& e, int64_t value) {
  Number x(64);
  mpfr_set_si(x, value, MPFR_RNDN);
  return of_rounding(e, x);
}
unsigned f32_from_i32(const Lane& l, Source s) {
  return of_integer(l.f32, static_cast<int32_t>(low(s[0])));
}
unsigned f32_from_u32(const Lane& l, Source s) {
  return of_integer(l.f32, static_cast<int64_t>(low(s[0])));
}
unsigned f16_from_i16(const Lane& l, Source s) {
  return of_integer(l.f16, static_cast<int16_t>(low(s[0])));
}
unsigned f16_from_u16(const Lane& l, Source s) {
  return of_integer(l.f16, static_cast<int64_t>(low(s[0])));
}
unsigned of_conversion(const Env& in, const Env& out, Bits x) {
  return of_operation(in, out, {low(x)}, [](mpfr_ptr r, mpfr_ptr* a) { mpfr_set(r, a[0], MPFR_RNDZ); });
}
unsigned f16_from_f32(const Lane& l, Source s) {
  return of_conversion(l.f32, l.f16, s[0]);
}
unsigned f16_pair_toward_zero(const Lane& l, Source s) {
  Env out = exact(kF16);
  out.round = Round::zero;
  return of_conversion(l.f32, out, s[0]) | of_conversion(l.f32, out, s[1]);
}
// In the environment of binary32, which says what becomes of a binary64's denormals, too.
unsigned f32_from_f64(const Lane& l, Source s) {
  Env in = exact(kF64);
  in.flush_in = l.f32.flush_in;
  return of_conversion(in, l.f32, s[0]);
}

// ---- Division ----

// "Generates invalid, denorm and divide by zero exceptions caused by the division" (Vega to MI300 manuals). Operands are
// what they are: a denormal divisor is no zero.
template <unsigned kBits>
unsigned div_fixup(const Lane& l, Source s) {
  Env e = env<kBits>(l);
  const bool says_denormal = !e.flush_in;
  e.flush_in = false;
  const unsigned flags =
      of_operation(e, e, {low(s[2]), low(s[1])}, [](mpfr_ptr r, mpfr_ptr* x) { mpfr_div(r, x[0], x[1], MPFR_RNDZ); });
  return flags & (kInvalid | kDivideByZero | (says_denormal ? kInputDenormal : 0));
}

// ---- Functions: what is true of the exact value, rounded to nearest ----

int compute(Function function, mpfr_ptr r, mpfr_ptr x) {
  switch (function) {
    case Function::rcp:
      return mpfr_ui_div(r, 1, x, MPFR_RNDZ);
    case Function::sqrt:
      return mpfr_sqrt(r, x, MPFR_RNDZ);
    case Function::rsq:
      return mpfr_rec_sqrt(r, x, MPFR_RNDZ);
    case Function::exp2:
      return mpfr_exp2(r, x, MPFR_RNDZ);
    case Function::log2:
      return mpfr_log2(r, x, MPFR_RNDZ);
    case Function::sin:
      return mpfr_sinu(r, x, 1, MPFR_RNDZ);
    default:
      return mpfr_cosu(r, x, 1, MPFR_RNDZ);
  }
}
template <unsigned kBits, Function kFunction>
unsigned function(const Lane& l, Source s) {
  // Those of binary32 know no denormals.
  Env e = kBits == 32 ? flushing(l.f32) : env<kBits>(l);
  e.round = Round::nearest;
  return of_operation(e, e, {low(s[0])}, [](mpfr_ptr r, mpfr_ptr* x) {
    mpfr_set_prec(r, 200);
    // 2^x of a large x is beyond even MPFR's exponents.
    if (kFunction == Function::exp2 && mpfr_inf_p(x[0]) == 0 && mpfr_cmpabs_ui(x[0], 5000) > 0)
      mpfr_set_si(x[0], mpfr_signbit(x[0]) != 0 ? -5001 : 5001, MPFR_RNDN);
    keep_missing(r, compute(kFunction, r, x[0]));
  });
}
unsigned reciprocal_of_integer(const Lane& l, Source s) {
  return kF32.is_zero(flushing(l.f32).input(low(s[0]))) ? kIntegerDivideByZero : 0;
}

// ---- Both halves, or both registers ----

template <unsigned kBits, Raises kRaises>
unsigned both(const Lane& l, Source s) {
  const Bits mask = (Bits{1} << kBits) - 1;
  unsigned flags = 0;
  for (unsigned half = 0; half < 2; ++half) {
    const Bits part[] = {s[0] >> kBits * half & mask, s[1] >> kBits * half & mask, s[2] >> kBits * half & mask};
    flags |= kRaises(l, part);
  }
  return flags;
}

struct Row {
  std::string_view name;
  Raises raises;
};
#define ALL_SIZES(name, ...)                                        \
  {name "_f16", __VA_ARGS__<16>}, {name "_f32", __VA_ARGS__<32>}, { \
    name "_f64", __VA_ARGS__<64>                                    \
  }
#define OPERANDS(name, count)                                           \
  {name "_f16", select<16, count>}, {name "_f32", select<32, count>}, { \
    name "_f64", select<64, count>                                      \
  }
#define FUNCTION(name, what)                                                                          \
  {name "_f16", function<16, Function::what>}, {name "_f32", function<32, Function::what>},           \
      {name "_f64", function<64, Function::what>}, {name "_clamp_f32", function<32, Function::what>}, \
      {name "_clamp_f64", function<64, Function::what>}, {                                            \
    name "_legacy_f32", function<32, Function::what>                                                  \
  }
// clang-format off
constexpr Row kRows[] = {
    ALL_SIZES("v_add", sum),
    ALL_SIZES("v_sub", difference),
    ALL_SIZES("v_subrev", reverse_difference),
    ALL_SIZES("v_mul", product),
    ALL_SIZES("v_fma", fused),
    ALL_SIZES("v_fmac", fused),
    ALL_SIZES("v_fmamk", fused),
    ALL_SIZES("v_fmaak", fused),
    {"v_fma_legacy_f16", fused<16>},
    ALL_SIZES("v_div_fmas", scaled_fused),
    ALL_SIZES("v_div_fixup", div_fixup),
    {"v_div_fixup_legacy_f16", div_fixup<16>},
    ALL_SIZES("v_mad", multiply_add),
    ALL_SIZES("v_mac", multiply_add),
    ALL_SIZES("v_madmk", multiply_add),
    ALL_SIZES("v_madak", multiply_add),
    {"v_mad_legacy_f16", multiply_add<16>},
    {"v_mul_legacy_f32", product_legacy},
    {"v_mad_legacy_f32", mad_legacy},
    {"v_mac_legacy_f32", mad_legacy},
    // Of the operation of binary32.
    {"v_mad_mix_f32", multiply_add<32>},
    {"v_mad_mixlo_f16", multiply_add<32>},
    {"v_mad_mixhi_f16", multiply_add<32>},
    {"v_fma_mix_f32", fused<32>},
    {"v_fma_mixlo_f16", fused<32>},
    {"v_fma_mixhi_f16", fused<32>},
    OPERANDS("v_min", 2),
    OPERANDS("v_max", 2),
    OPERANDS("v_min3", 3),
    OPERANDS("v_max3", 3),
    OPERANDS("v_med3", 3),
    {"v_min_legacy_f32", select<32, 2>},
    {"v_max_legacy_f32", select<32, 2>},
    OPERANDS("v_floor", 1),
    OPERANDS("v_ceil", 1),
    OPERANDS("v_trunc", 1),
    OPERANDS("v_rndne", 1),
    OPERANDS("v_frexp_mant", 1),
    {"v_frexp_exp_i16_f16", select<16, 1>},
    {"v_frexp_exp_i32_f32", select<32, 1>},
    {"v_frexp_exp_i32_f64", select<64, 1>},
    ALL_SIZES("v_fract", fraction),
    ALL_SIZES("v_ldexp", scaled),
    FUNCTION("v_rcp", rcp),
    FUNCTION("v_rsq", rsq),
    FUNCTION("v_sqrt", sqrt),
    FUNCTION("v_exp", exp2),
    FUNCTION("v_log", log2),
    FUNCTION("v_sin", sin),
    FUNCTION("v_cos", cos),
    {"v_rcp_iflag_f32", reciprocal_of_integer},
    {"v_cvt_i32_f32", truncated<32, 32, true>},
    {"v_cvt_u32_f32", truncated<32, 32, false>},
    {"v_cvt_i32_f64", truncated<64, 32, true>},
    {"v_cvt_u32_f64", truncated<64, 32, false>},
    {"v_cvt_i16_f16", truncated<16, 16, true>},
    {"v_cvt_u16_f16", truncated<16, 16, false>},
    {"v_cvt_flr_i32_f32", floor_i32},
    {"v_cvt_rpi_i32_f32", nearest_i32},
    {"v_cvt_norm_i16_f16", normalised<true>},
    {"v_cvt_norm_u16_f16", normalised<false>},
    {"v_cvt_f32_i32", f32_from_i32},
    {"v_cvt_f32_u32", f32_from_u32},
    {"v_cvt_f16_i16", f16_from_i16},
    {"v_cvt_f16_u16", f16_from_u16},
    {"v_cvt_f16_f32", f16_from_f32},
    {"v_cvt_pkrtz_f16_f32", f16_pair_toward_zero},
    {"v_cvt_f32_f16", select<16, 1>},
    {"v_cvt_f64_f32", select<32, 1>},
    {"v_cvt_f32_f64", f32_from_f64},
    {"v_pk_add_f16", both<16, sum<16>>},
    {"v_pk_mul_f16", both<16, product<16>>},
    {"v_pk_fma_f16", both<16, fused<16>>},
    {"v_pk_fmac_f16", both<16, fused<16>>},
    {"v_pk_min_f16", both<16, select<16, 2>>},
    {"v_pk_max_f16", both<16, select<16, 2>>},
    {"v_pk_add_f32", both<32, sum<32>>},
    {"v_pk_mul_f32", both<32, product<32>>},
    {"v_pk_fma_f32", both<32, fused<32>>},
};
// clang-format on

}  // namespace

Raises exceptions_of(std::string_view opcode) {
  if (opcode.starts_with("v_cmp_class") || opcode.starts_with("v_cmpx_class")) return nullptr;
  if (opcode.starts_with("v_cmp")) {
    const bool signals = opcode.starts_with("v_cmps");
    if (opcode.ends_with("_f16")) return signals ? compare<16, true> : compare<16, false>;
    if (opcode.ends_with("_f32")) return signals ? compare<32, true> : compare<32, false>;
    if (opcode.ends_with("_f64")) return signals ? compare<64, true> : compare<64, false>;
    return nullptr;
  }
  for (const Row& row : kRows)
    if (row.name == opcode) return row.raises;
  return nullptr;
}

const char* exception_name(unsigned bit) {
  switch (bit) {
    case kInvalid:
      return "invalid";
    case kInputDenormal:
      return "input denormal";
    case kDivideByZero:
      return "division by zero";
    case kOverflow:
      return "overflow";
    case kUnderflow:
      return "underflow";
    case kInexact:
      return "inexact";
    default:
      return "integer division by zero";
  }
}

}  // namespace wavejit::model
