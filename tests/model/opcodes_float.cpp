// Floating-point instructions.
#include <algorithm>

#include "tests/model/operations.h"

namespace wavejit::model {
namespace {

int64_t signed32(Bits value) {
  return static_cast<int32_t>(low(value));
}
int64_t signed16(Bits value) {
  return static_cast<int16_t>(low(value));
}

template <unsigned kBits>
const Env& env(const Lane& l) {
  if constexpr (kBits == 16) return l.f16;
  if constexpr (kBits == 32) return l.f32;
  return l.f64;
}

// ---- Arithmetic ----

uint64_t negated(const Env& e, uint64_t x) {
  return x ^ e.format.sign();
}
template <unsigned kBits>
Bits sum(Lane& l, Source s) {
  return add(env<kBits>(l), low(s[0]), low(s[1]));
}
template <unsigned kBits>
Bits difference(Lane& l, Source s) {
  return add(env<kBits>(l), low(s[0]), negated(env<kBits>(l), low(s[1])));
}
template <unsigned kBits>
Bits reverse_difference(Lane& l, Source s) {
  return add(env<kBits>(l), low(s[1]), negated(env<kBits>(l), low(s[0])));
}
template <unsigned kBits>
Bits product(Lane& l, Source s) {
  return mul(env<kBits>(l), low(s[0]), low(s[1]));
}
template <unsigned kBits>
Bits fused(Lane& l, Source s) {
  return fma(env<kBits>(l), low(s[0]), low(s[1]), low(s[2]));
}
// Both flush whatever MODE says.
Bits mad_f32(Lane& l, Source s) {
  return mad(flushing(l.f32), low(s[0]), low(s[1]), low(s[2]));
}
Bits mad_f16(Lane& l, Source s) {
  return mad(flushing(l.f16), low(s[0]), low(s[1]), low(s[2]));
}
// DX9 rules: zero times anything is +0.
uint64_t product_legacy(const Env& e, uint64_t a, uint64_t b) {
  if (e.format.is_zero(e.input(a)) || e.format.is_zero(e.input(b))) return 0;
  return mul(e, a, b);
}
Bits mul_legacy(Lane& l, Source s) {
  return product_legacy(l.f32, low(s[0]), low(s[1]));
}
Bits mad_legacy(Lane& l, Source s) {
  const Env e = flushing(l.f32);
  return add(e, product_legacy(e, low(s[0]), low(s[1])), low(s[2]));
}
Bits mullit(Lane& l, Source s) {
  const uint64_t c = l.f32.input(low(s[2]));
  if (kF32.is_nan(c) || !less(kF32, 0, c)) return kF32.max_finite() | kF32.sign();
  return product_legacy(l.f32, low(s[0]), low(s[1]));
}

// ---- Minimum, maximum, median ----

// Processors before GFX9 do not flush operands.
template <unsigned kBits, bool kIsMax>
Bits extremum(Lane& l, Source s) {
  return minimum(env<kBits>(l), low(s[0]), low(s[1]), kIsMax, !l.before_gfx9());
}
uint64_t extremum3(const Lane& l, const Env& e, Source s, bool is_max) {
  const bool flush = !l.before_gfx9();
  return minimum(e, minimum(e, low(s[0]), low(s[1]), is_max, flush), low(s[2]), is_max, flush);
}
template <unsigned kBits, bool kIsMax>
Bits extremum3(Lane& l, Source s) {
  return extremum3(l, env<kBits>(l), s, kIsMax);
}
template <unsigned kBits>
Bits median(Lane& l, Source s) {
  const Env& e = env<kBits>(l);
  const Format& f = e.format;
  uint64_t a = low(s[0]), b = low(s[1]), c = low(s[2]);
  if (f.is_nan(a) || f.is_nan(b) || f.is_nan(c)) return extremum3(l, e, s, false);
  const bool flush = !l.before_gfx9();
  const uint64_t largest = extremum3(l, e, s, true);
  if (flush) a = e.input(a), b = e.input(b), c = e.input(c);
  if (equal(f, largest, a)) return minimum(e, b, c, true, flush);
  if (equal(f, largest, b)) return minimum(e, a, c, true, flush);
  return minimum(e, a, b, true, flush);
}
// The second source where a NaN makes the comparison fail; bits are copied.
template <bool kIsMax>
Bits extremum_legacy(Lane&, Source s) {
  const uint64_t a = low(s[0]), b = low(s[1]);
  if (kF32.is_nan(a) || kF32.is_nan(b)) return b;
  return (kIsMax ? !less(kF32, a, b) : less(kF32, a, b)) ? a : b;
}

// ---- Rounding, parts ----

template <unsigned kBits, Integral kHow>
Bits integral(Lane& l, Source s) {
  return to_integral(env<kBits>(l).format, env<kBits>(l).input(low(s[0])), kHow);
}
template <unsigned kBits>
Bits fraction(Lane& l, Source s) {
  return fract(env<kBits>(l), low(s[0]));
}
template <unsigned kBits>
Bits mantissa(Lane& l, Source s) {
  return frexp_mant(env<kBits>(l).format, low(s[0]));
}
template <unsigned kBits>
Bits exponent(Lane& l, Source s) {
  return static_cast<uint64_t>(frexp_exp(env<kBits>(l).format, low(s[0]))) & (kBits == 16 ? 0xffff : 0xffffffff);
}
template <unsigned kBits>
Bits scaled(Lane& l, Source s) {
  return ldexp(env<kBits>(l), low(s[0]), kBits == 16 ? signed16(s[1]) : signed32(s[1]));
}

// ---- Conversions ----

template <unsigned kFrom, unsigned kTo, bool kSigned, Integral kHow = Integral::trunc>
Bits float_to_int(Lane& l, Source s) {
  return to_int(env<kFrom>(l).format, low(s[0]), kTo, kSigned, kHow);
}
Bits flr(Lane& l, Source s) {
  return to_int(kF32, l.f32.input(low(s[0])), 32, true, Integral::floor);
}
Bits rpi(Lane& l, Source s) {
  return to_int(kF32, add(l.f32, low(s[0]), 0x3f000000), 32, true, Integral::floor);
}
template <unsigned kTo>
Bits from_i32(Lane& l, Source s) {
  return from_int(env<kTo>(l), signed32(s[0]));
}
template <unsigned kTo>
Bits from_u32(Lane& l, Source s) {
  return from_int(env<kTo>(l), static_cast<int64_t>(low(s[0])));
}
Bits f16_from_i16(Lane& l, Source s) {
  return from_int(l.f16, signed16(s[0]));
}
Bits f16_from_u16(Lane& l, Source s) {
  return from_int(l.f16, static_cast<int64_t>(low(s[0])));
}
template <unsigned kByte>
Bits from_byte(Lane& l, Source s) {
  return from_int(l.f32, static_cast<int64_t>(low(s[0]) >> 8 * kByte & 255));
}
Bits off_i4(Lane&, Source s) {
  const auto value = static_cast<int64_t>(low(s[0]) & 15);
  return ldexp(exact(kF32), from_int(exact(kF32), value >= 8 ? value - 16 : value), -4);
}
Bits f16_from_f32(Lane& l, Source s) {
  return convert(l.f32, l.f16, low(s[0]));
}
Bits f32_from_f16(Lane& l, Source s) {
  return convert(l.f16, exact(kF32), low(s[0]));
}
Bits f32_from_f64(Lane& l, Source s) {
  return convert(exact(kF64), l.f32, low(s[0]));
}
Bits f64_from_f32(Lane& l, Source s) {
  return convert(l.f32, exact(kF64), low(s[0]));
}
// The product with 32767 or 65535 is rounded to binary32, then to an integer, both to nearest-even.
uint64_t norm(uint64_t a, bool is_signed) {
  if (kF32.is_nan(a) || (kF32.negative(a) && !is_signed)) return 0;
  if (!less(kF32, kF32.magnitude(a), kF32.one())) a = kF32.one() | (a & kF32.sign());
  const uint64_t scale = from_int(exact(kF32), is_signed ? 32767 : 65535);
  return to_int(kF32, mul(exact(kF32), a, scale), 32, true, Integral::rndne) & 0xffff;
}
template <bool kSigned>
Bits pknorm_f32(Lane&, Source s) {
  return norm(low(s[0]), kSigned) | norm(low(s[1]), kSigned) << 16;
}
uint64_t as_f32(const Lane& l, Bits half) {
  return convert(l.f16, exact(kF32), low(half));
}
template <bool kSigned>
Bits pknorm_f16(Lane& l, Source s) {
  return norm(as_f32(l, s[0]), kSigned) | norm(as_f32(l, s[1]), kSigned) << 16;
}
template <bool kSigned>
Bits norm_f16(Lane& l, Source s) {
  return norm(as_f32(l, s[0]), kSigned);
}
Bits pkrtz(Lane&, Source s) {
  Env to = exact(kF16);
  to.round = Round::zero;
  return convert(exact(kF32), to, low(s[0])) | convert(exact(kF32), to, low(s[1])) << 16;
}
Bits pk_u8(Lane&, Source s) {
  const unsigned at = 8 * (low(s[1]) & 3);
  return (low(s[2]) & ~(uint64_t{255} << at)) | to_int(kF32, low(s[0]), 8, false, Integral::rndne) << at;
}
Bits pack_f16(Lane&, Source s) {
  return low(s[0]) | low(s[1]) << 16;
}

// ---- Division ----

template <unsigned kBits>
Bits div_fixup(Lane& l, Source s) {
  const Format& f = env<kBits>(l).format;
  const uint64_t quotient = low(s[0]), d = low(s[1]), n = low(s[2]);
  const uint64_t sign = (d ^ n) & f.sign();
  if (f.is_nan(n) || f.is_nan(d) || (f.is_zero(d) && f.is_zero(n)) || (f.is_inf(d) && f.is_inf(n))) return f.nan();
  if (f.is_zero(d) || f.is_inf(n)) return sign | f.inf();
  if (f.is_inf(d) || f.is_zero(n)) return sign;
  if (kBits != 16 && f.exponent_field(n) - f.exponent_field(d) < (kBits == 32 ? -150 : -1075)) return sign;
  if (f.is_nan(quotient)) return kBits != 16 ? sign | f.inf() : f.nan();
  return f.magnitude(quotient) | sign;
}

// docs/isa-decisions.md has the steps. On bits, as if denormals were enabled, to nearest.
template <unsigned kBits>
Bits div_scale(Lane& l, Source s) {
  const Format& f = env<kBits>(l).format;
  const Env e = exact(f);
  const int up = kBits == 32 ? 64 : 128;
  const uint64_t value = low(s[0]), d = low(s[1]), n = low(s[2]);
  const auto scale = [&](int by) { return ldexp(e, value, by); };
  if (f.is_zero(n) || f.is_zero(d)) return f.nan();
  if (!f.is_finite(n) || !f.is_finite(d)) return value;
  const auto is = [&](uint64_t other) { return !f.is_nan(value) && equal(f, value, other); };
  if (f.exponent_field(n) - f.exponent_field(d) >= (kBits == 32 ? 96 : 768)) {
    l.carry_out = true;
    return is(d) ? scale(up) : value;
  }
  if (f.is_denormal(d)) return scale(up);
  const bool reciprocal_is_denormal = quotient_is_denormal(f, f.one(), d), quotient = quotient_is_denormal(f, n, d);
  if (reciprocal_is_denormal && quotient) {
    l.carry_out = true;
    return is(d) ? scale(-up) : value;
  }
  if (reciprocal_is_denormal) return scale(-up);
  if (quotient) {
    l.carry_out = true;
    return is(n) ? scale(up) : value;
  }
  if (f.exponent_field(n) <= (kBits == 32 ? 23 : 53)) return scale(up);
  return value;
}
template <unsigned kBits>
Bits div_fmas(Lane& l, Source s) {
  const Env& e = env<kBits>(l);
  const int up = kBits == 32 ? 64 : 128;
  const bool large = e.format.exponent_field(low(s[2])) > e.format.bias();
  return fma(e, low(s[0]), low(s[1]), low(s[2]), !l.carry_in ? 0 : large ? up : -up);
}
Bits preop(Lane&, Source s) {
  return trig_preop(exact(kF64), low(s[0]), static_cast<unsigned>(low(s[1]) & 31));
}

// ---- Cubes (GCN3 ISA manual, V_CUBEID_F32 and following): major axis, face, coordinates on it ----

struct Cube {
  unsigned major;  // 0 x, 1 y, 2 z
  bool negative;
};
Cube cube(const Lane& l, Source s) {
  const uint64_t x = l.f32.input(low(s[0])), y = l.f32.input(low(s[1])), z = l.f32.input(low(s[2]));
  const auto at_least = [](uint64_t a, uint64_t b) {
    a = kF32.magnitude(a), b = kF32.magnitude(b);
    return !kF32.is_nan(a) && !kF32.is_nan(b) && !less(kF32, a, b);
  };
  const unsigned major = at_least(z, x) && at_least(z, y) ? 2 : at_least(y, x) ? 1 : 0;
  const uint64_t value = major == 2 ? z : major == 1 ? y : x;
  return {major, !kF32.is_nan(value) && less(kF32, value, 0)};
}
// A coordinate as it is, or with the other sign: bits.
Bits coordinate(Bits value, bool negated) {
  return value ^ (negated ? kF32.sign() : 0);
}
Bits cube_id(Lane& l, Source s) {
  const Cube c = cube(l, s);
  return from_int(exact(kF32), 2 * c.major + (c.negative ? 1 : 0));
}
Bits cube_sc(Lane& l, Source s) {
  const Cube c = cube(l, s);
  return c.major == 2 ? coordinate(s[0], c.negative) : c.major == 1 ? s[0] : coordinate(s[2], !c.negative);
}
Bits cube_tc(Lane& l, Source s) {
  const Cube c = cube(l, s);
  return c.major == 1 ? coordinate(s[2], c.negative) : coordinate(s[1], true);
}
Bits cube_ma(Lane& l, Source s) {
  const Cube c = cube(l, s);
  return mul(l.f32, low(s[c.major]), 0x40000000);
}

// ---- Functions with a bound only ----

struct Bound {
  std::string_view name;
  double ulp, absolute;
};
constexpr Bound kBounds[] = {
#define WAVEJIT_APPROXIMATION(opcode, max_ulp, max_absolute, documents) {#opcode, max_ulp, max_absolute},
#include "frontend/isa/tables/approximations.def"
#undef WAVEJIT_APPROXIMATION
};
consteval Bound bound_of(std::string_view name) {
  for (const Bound& b : kBounds)
    if (b.name == name) return b;
  throw "not in approximations.def";
}

enum class Infinite : uint8_t { stays, largest /* "clamp" */, zero /* "legacy" */ };

Bits bounded(Lane& l, const Env& e, Function function, uint64_t x, const Bound& bound,
             Infinite infinite = Infinite::stays) {
  const bool narrow = l.exact_only && (bound.ulp == 0 || bound.ulp > 0.51);
  Interval result = approximate(e, function, x, narrow ? 0 : bound.ulp, narrow ? 0 : bound.absolute);
  for (uint64_t* end : {&result.low, &result.high}) {
    if (!e.format.is_inf(*end)) continue;
    if (infinite == Infinite::zero) *end &= e.format.sign();
    if (infinite == Infinite::largest && (function != Function::log2 || e.format.negative(*end))) --*end;
  }
  l.is_interval = true;
  l.high = result.high;
  return result.low;
}
Env nearest(Env e) {
  e.round = Round::nearest;
  return e;
}

#define BOUNDED_F32(name, function, ...)                                        \
  {#name, [](Lane& l, Source s) -> Bits {                                       \
     return bounded(l, flushing(nearest(l.f32)), Function::function, low(s[0]), \
                    bound_of(#name) __VA_OPT__(, ) __VA_ARGS__);                \
   }}
#define BOUNDED_F64(name, function, ...)                                                                           \
  {#name, [](Lane& l, Source s) -> Bits {                                                                          \
     return bounded(l, nearest(l.f64), Function::function, low(s[0]), bound_of(#name) __VA_OPT__(, ) __VA_ARGS__); \
   }}
#define BOUNDED_F16(name, function)                                                     \
  {#name, [](Lane& l, Source s) -> Bits {                                               \
     return bounded(l, nearest(l.f16), Function::function, low(s[0]), bound_of(#name)); \
   }}

constexpr Entry kEntries[] = {
    // VOP1
    {"v_cvt_f32_i32", from_i32<32>},
    {"v_cvt_f32_u32", from_u32<32>},
    {"v_cvt_f64_i32", from_i32<64>},
    {"v_cvt_f64_u32", from_u32<64>},
    {"v_cvt_i32_f32", float_to_int<32, 32, true>},
    {"v_cvt_u32_f32", float_to_int<32, 32, false>},
    {"v_cvt_i32_f64", float_to_int<64, 32, true>},
    {"v_cvt_u32_f64", float_to_int<64, 32, false>},
    {"v_cvt_i16_f16", float_to_int<16, 16, true>},
    {"v_cvt_u16_f16", float_to_int<16, 16, false>},
    {"v_cvt_flr_i32_f32", flr},
    {"v_cvt_rpi_i32_f32", rpi},
    {"v_cvt_f16_f32", f16_from_f32},
    {"v_cvt_f32_f16", f32_from_f16},
    {"v_cvt_f32_f64", f32_from_f64},
    {"v_cvt_f64_f32", f64_from_f32},
    {"v_cvt_off_f32_i4", off_i4},
    {"v_cvt_f16_u16", f16_from_u16},
    {"v_cvt_f16_i16", f16_from_i16},
    {"v_cvt_f32_ubyte0", from_byte<0>},
    {"v_cvt_f32_ubyte1", from_byte<1>},
    {"v_cvt_f32_ubyte2", from_byte<2>},
    {"v_cvt_f32_ubyte3", from_byte<3>},
    {"v_cvt_norm_i16_f16", norm_f16<true>},
    {"v_cvt_norm_u16_f16", norm_f16<false>},
    {"v_floor_f16", integral<16, Integral::floor>},
    {"v_floor_f32", integral<32, Integral::floor>},
    {"v_floor_f64", integral<64, Integral::floor>},
    {"v_ceil_f16", integral<16, Integral::ceil>},
    {"v_ceil_f32", integral<32, Integral::ceil>},
    {"v_ceil_f64", integral<64, Integral::ceil>},
    {"v_trunc_f16", integral<16, Integral::trunc>},
    {"v_trunc_f32", integral<32, Integral::trunc>},
    {"v_trunc_f64", integral<64, Integral::trunc>},
    {"v_rndne_f16", integral<16, Integral::rndne>},
    {"v_rndne_f32", integral<32, Integral::rndne>},
    {"v_rndne_f64", integral<64, Integral::rndne>},
    {"v_fract_f16", fraction<16>},
    {"v_fract_f32", fraction<32>},
    {"v_fract_f64", fraction<64>},
    {"v_frexp_mant_f16", mantissa<16>},
    {"v_frexp_mant_f32", mantissa<32>},
    {"v_frexp_mant_f64", mantissa<64>},
    {"v_frexp_exp_i16_f16", exponent<16>},
    {"v_frexp_exp_i32_f32", exponent<32>},
    {"v_frexp_exp_i32_f64", exponent<64>},
    // clang-format off
    BOUNDED_F32(v_rcp_f32, rcp),
    BOUNDED_F32(v_rcp_iflag_f32, rcp),
    BOUNDED_F32(v_rcp_clamp_f32, rcp, Infinite::largest),
    BOUNDED_F32(v_rcp_legacy_f32, rcp, Infinite::zero),
    BOUNDED_F32(v_rsq_f32, rsq),
    BOUNDED_F32(v_rsq_clamp_f32, rsq, Infinite::largest),
    BOUNDED_F32(v_rsq_legacy_f32, rsq, Infinite::zero),
    BOUNDED_F32(v_sqrt_f32, sqrt),
    BOUNDED_F32(v_exp_f32, exp2),
    BOUNDED_F32(v_exp_legacy_f32, exp2),
    BOUNDED_F32(v_log_f32, log2),
    BOUNDED_F32(v_log_legacy_f32, log2),
    BOUNDED_F32(v_log_clamp_f32, log2, Infinite::largest),
    BOUNDED_F32(v_sin_f32, sin),
    BOUNDED_F32(v_cos_f32, cos),
    BOUNDED_F64(v_rcp_f64, rcp),
    BOUNDED_F64(v_rcp_clamp_f64, rcp, Infinite::largest),
    BOUNDED_F64(v_rsq_f64, rsq),
    BOUNDED_F64(v_rsq_clamp_f64, rsq, Infinite::largest),
    BOUNDED_F64(v_sqrt_f64, sqrt),
    BOUNDED_F16(v_rcp_f16, rcp),
    BOUNDED_F16(v_rsq_f16, rsq),
    BOUNDED_F16(v_sqrt_f16, sqrt),
    BOUNDED_F16(v_exp_f16, exp2),
    BOUNDED_F16(v_log_f16, log2),
    BOUNDED_F16(v_sin_f16, sin),
    BOUNDED_F16(v_cos_f16, cos),
    // clang-format on
    // VOP2
    {"v_add_f16", sum<16>},
    {"v_add_f32", sum<32>},
    {"v_sub_f16", difference<16>},
    {"v_sub_f32", difference<32>},
    {"v_subrev_f16", reverse_difference<16>},
    {"v_subrev_f32", reverse_difference<32>},
    {"v_mul_f16", product<16>},
    {"v_mul_f32", product<32>},
    {"v_mul_legacy_f32", mul_legacy},
    {"v_min_f16", extremum<16, false>},
    {"v_min_f32", extremum<32, false>},
    {"v_max_f16", extremum<16, true>},
    {"v_max_f32", extremum<32, true>},
    {"v_min_legacy_f32", extremum_legacy<false>},
    {"v_max_legacy_f32", extremum_legacy<true>},
    {"v_mac_f32", mad_f32},
    {"v_mac_f16", mad_f16},
    {"v_mac_legacy_f32", mad_legacy},
    {"v_fmac_f32", fused<32>},
    {"v_fmac_f64", fused<64>},
    // The literal is the second source of v_madmk, the third of v_madak.
    {"v_madmk_f32", mad_f32},
    {"v_madak_f32", mad_f32},
    {"v_madmk_f16", mad_f16},
    {"v_madak_f16", mad_f16},
    {"v_ldexp_f16", scaled<16>},
    {"v_ldexp_f32", scaled<32>},
    {"v_cvt_pkaccum_u8_f32", pk_u8},
    {"v_cvt_pknorm_i16_f32", pknorm_f32<true>},
    {"v_cvt_pknorm_u16_f32", pknorm_f32<false>},
    {"v_cvt_pkrtz_f16_f32", pkrtz},
    // VOP3
    {"v_mad_f32", mad_f32},
    {"v_mad_legacy_f32", mad_legacy},
    {"v_mad_f16", mad_f16},
    {"v_mad_legacy_f16", mad_f16},
    {"v_mullit_f32", mullit},
    {"v_fma_f16", fused<16>},
    {"v_fma_legacy_f16", fused<16>},
    {"v_fma_f32", fused<32>},
    {"v_fma_f64", fused<64>},
    {"v_add_f64", sum<64>},
    {"v_mul_f64", product<64>},
    {"v_min_f64", extremum<64, false>},
    {"v_max_f64", extremum<64, true>},
    {"v_ldexp_f64", scaled<64>},
    {"v_min3_f16", extremum3<16, false>},
    {"v_min3_f32", extremum3<32, false>},
    {"v_max3_f16", extremum3<16, true>},
    {"v_max3_f32", extremum3<32, true>},
    {"v_med3_f16", median<16>},
    {"v_med3_f32", median<32>},
    {"v_div_fixup_f16", div_fixup<16>},
    {"v_div_fixup_legacy_f16", div_fixup<16>},
    {"v_div_fixup_f32", div_fixup<32>},
    {"v_div_fixup_f64", div_fixup<64>},
    {"v_div_scale_f32", div_scale<32>},
    {"v_div_scale_f64", div_scale<64>},
    {"v_div_fmas_f32", div_fmas<32>},
    {"v_div_fmas_f64", div_fmas<64>},
    {"v_trig_preop_f64", preop},
    {"v_cubeid_f32", cube_id},
    {"v_cubesc_f32", cube_sc},
    {"v_cubetc_f32", cube_tc},
    {"v_cubema_f32", cube_ma},
    {"v_cvt_pk_u8_f32", pk_u8},
    {"v_cvt_pknorm_i16_f16", pknorm_f16<true>},
    {"v_cvt_pknorm_u16_f16", pknorm_f16<false>},
    {"v_pack_b32_f16", pack_f16},
};

}  // namespace

std::span<const Entry> float_opcodes() {
  return kEntries;
}

}  // namespace wavejit::model
