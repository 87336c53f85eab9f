// Binary32 arithmetic: VOP1/VOP2/VOP3 add, multiply, fma, min/max/med3, rounding, ldexp and frexp, cube.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/kernels_f32.cpp"
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

// Min and max on bit patterns (docs/isa-decisions.md): quiet NaNs lose against numbers, signalling ones win with
// MODE.ieee; -0 < +0; GFX9 flushes denormal operands as MODE says. Runs with nothing flushed by the host.
template <class D>
HWY_INLINE hn::Vec<D> flush_operand(D d, hn::Vec<D> v, const Lanes& k) {
  if (k.before_gfx9 || (k.mode & 1u << mode::kDenormF32Shift) != 0) return v;
  const auto tiny = hn::Eq(hn::And(v, hn::Set(d, 0x7f800000u)), hn::Zero(d));
  return hn::IfThenElse(tiny, hn::And(v, hn::Set(d, 0x80000000u)), v);
}
template <class D>
HWY_INLINE auto is_nan(D d, hn::Vec<D> v) {
  return hn::Gt(hn::And(v, hn::Set(d, 0x7fffffffu)), hn::Set(d, 0x7f800000u));
}
template <class D>
HWY_INLINE auto is_snan(D d, hn::Vec<D> v) {
  return hn::And(is_nan(d, v), hn::Eq(hn::And(v, hn::Set(d, 0x00400000u)), hn::Zero(d)));
}
template <bool is_max, class D>
HWY_INLINE hn::Vec<D> extremum(D d, hn::Vec<D> a, hn::Vec<D> b, const Lanes& k) {
  const hn::RebindToFloat<D> df;
  const auto fa = hn::BitCast(df, a);
  const auto fb = hn::BitCast(df, b);
  const auto a_wins = hn::RebindMask(d, is_max ? hn::Gt(fa, fb) : hn::Lt(fa, fb));
  const auto equal = hn::RebindMask(d, hn::Eq(fa, fb));
  auto y = hn::IfThenElse(a_wins, a, b);
  y = hn::IfThenElse(equal, is_max ? hn::And(a, b) : hn::Or(a, b), y);
  const auto nan_a = is_nan(d, a);
  const auto nan_b = is_nan(d, b);
  y = hn::IfThenElse(nan_b, a, hn::IfThenElse(nan_a, b, y));
  if ((k.mode & mode::kIeee) != 0) y = hn::IfThenElse(is_snan(d, a), a, hn::IfThenElse(is_snan(d, b), b, y));
  return hn::IfThenElse(is_nan(d, y), hn::Or(y, hn::Set(d, 0x00400000u)), y);
}
template <bool is_max>
void extremum2(Lanes& k) {
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto a = flush_operand(d, load(d, k.src[0] + i), k);
    const auto b = flush_operand(d, load(d, k.src[1] + i), k);
    store(extremum<is_max>(d, a, b, k), d, k.dst + i);
  }
}
template <bool is_max>
void extremum3(Lanes& k) {
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto a = flush_operand(d, load(d, k.src[0] + i), k);
    const auto b = flush_operand(d, load(d, k.src[1] + i), k);
    const auto c = flush_operand(d, load(d, k.src[2] + i), k);
    store(extremum<is_max>(d, extremum<is_max>(d, a, b, k), c, k), d, k.dst + i);
  }
}
void median3(Lanes& k) {
  const hn::ScalableTag<float> df;
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto a = flush_operand(d, load(d, k.src[0] + i), k);
    const auto b = flush_operand(d, load(d, k.src[1] + i), k);
    const auto c = flush_operand(d, load(d, k.src[2] + i), k);
    const auto any_nan = hn::Or(is_nan(d, a), hn::Or(is_nan(d, b), is_nan(d, c)));
    const auto min3 = extremum<false>(d, extremum<false>(d, a, b, k), c, k);
    const auto max3 = hn::BitCast(df, extremum<true>(d, extremum<true>(d, a, b, k), c, k));
    const auto top_is_a = hn::RebindMask(d, hn::Eq(max3, hn::BitCast(df, a)));
    const auto top_is_b = hn::RebindMask(d, hn::Eq(max3, hn::BitCast(df, b)));
    const auto y = hn::IfThenElse(top_is_a, extremum<true>(d, b, c, k),
                                  hn::IfThenElse(top_is_b, extremum<true>(d, a, c, k), extremum<true>(d, a, b, k)));
    store(hn::IfThenElse(any_nan, min3, y), d, k.dst + i);
  }
}

// A product with a zero factor is +0, even times infinity or NaN.
template <class D>
HWY_INLINE hn::Vec<D> mul_legacy(D d, hn::Vec<D> a, hn::Vec<D> b) {
  const auto zero = hn::Zero(d);
  const auto any_zero = hn::Or(hn::Eq(a, zero), hn::Eq(b, zero));
  return hn::IfThenElse(any_zero, zero, hn::Mul(a, b));
}

// x - floor(x), at most the largest value below one.
template <class D>
HWY_INLINE hn::Vec<D> fract(D d, hn::Vec<D> x) {
  const auto y = hn::Sub(x, hn::Floor(x));
  const auto top = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x3f7fffffu));
  return hn::IfThenElse(hn::Gt(y, top), top, y);
}

uint32_t frexp_mantissa(uint32_t v) {
  const uint32_t sign = v & 0x80000000u, magnitude = v & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return v | 0x00400000u;
  if (magnitude == 0x7f800000u || magnitude == 0) return v;
  uint32_t fraction = magnitude & 0x007fffffu;
  if (magnitude < 0x00800000u) fraction = (magnitude << (std::countl_zero(magnitude) - 8)) & 0x007fffffu;
  return sign | 0x3f000000u | fraction;
}
uint32_t frexp_exponent(uint32_t v) {
  const uint32_t magnitude = v & 0x7fffffffu;
  if (magnitude >= 0x7f800000u || magnitude == 0) return 0;
  if (magnitude < 0x00800000u) return static_cast<uint32_t>(-117 - std::countl_zero(magnitude));
  return (magnitude >> 23) - 126;
}

// x * 2^n is exact in binary64 for clamped n; the conversion back rounds once, as MODE says.
void ldexp32(Lanes& k) {
  for (size_t l = 0; l < kWaveSize; ++l) {
    const int n = std::clamp(s32(k.src[1][l]), -400, 400);
    const double power = std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
    k.dst[l] =
        std::bit_cast<uint32_t>(static_cast<float>(static_cast<double>(std::bit_cast<float>(k.src[0][l])) * power));
  }
}

enum class Cube { id, sc, tc, ma };
template <Cube what>
void cube(Lanes& k) {
  for (size_t l = 0; l < kWaveSize; ++l) {
    const float x = std::bit_cast<float>(k.src[0][l]), y = std::bit_cast<float>(k.src[1][l]),
                z = std::bit_cast<float>(k.src[2][l]);
    const float ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
    float result;
    if (az >= ax && az >= ay) {
      result = what == Cube::id   ? (z < 0 ? 5.0f : 4.0f)
               : what == Cube::sc ? (z < 0 ? -x : x)
               : what == Cube::tc ? -y
                                  : z * 2.0f;
    } else if (ay >= ax) {
      result = what == Cube::id   ? (y < 0 ? 3.0f : 2.0f)
               : what == Cube::sc ? x
               : what == Cube::tc ? (y < 0 ? -z : z)
                                  : y * 2.0f;
    } else {
      result = what == Cube::id   ? (x < 0 ? 1.0f : 0.0f)
               : what == Cube::sc ? (x < 0 ? z : -z)
               : what == Cube::tc ? -y
                                  : x * 2.0f;
    }
    k.dst[l] = std::bit_cast<uint32_t>(result);
  }
}

void do_register(Registry& r) {
  constexpr Env kF = Env::f32;
  WAVEJIT_BINARY(v_add_f32, float, kF, hn::Add(a, b));
  WAVEJIT_BINARY(v_sub_f32, float, kF, hn::Sub(a, b));
  WAVEJIT_BINARY(v_subrev_f32, float, kF, hn::Sub(b, a));
  WAVEJIT_BINARY(v_mul_f32, float, kF, hn::Mul(a, b));
  WAVEJIT_BINARY(v_mul_legacy_f32, float, kF, mul_legacy(d, a, b));
  WAVEJIT_TERNARY(v_mac_f32, float, Env::flush, hn::Add(hn::Mul(a, b), c));
  WAVEJIT_TERNARY(v_mad_f32, float, Env::flush, hn::Add(hn::Mul(a, b), c));
  WAVEJIT_TERNARY(v_mad_legacy_f32, float, Env::flush, hn::Add(mul_legacy(d, a, b), c));
  WAVEJIT_TERNARY(v_mac_legacy_f32, float, Env::flush, hn::Add(mul_legacy(d, a, b), c));
  // -MAX_FLOAT unless the third source is positive (Southern Islands; CLRX "V_MULLIT_F32").
  WAVEJIT_TERNARY(v_mullit_f32, float, kF,
                  hn::IfThenElse(hn::Gt(c, hn::Zero(d)), mul_legacy(d, a, b), hn::Neg(hn::Set(d, FLT_MAX))));
  // The second source where the comparison fails, as it does with NaNs; nothing is flushed or quieted.
  WAVEJIT_BINARY(v_min_legacy_f32, float, Env::rn, hn::IfThenElse(hn::Lt(a, b), a, b));
  WAVEJIT_BINARY(v_max_legacy_f32, float, Env::rn, hn::IfThenElse(hn::Ge(a, b), a, b));
  // Sources in assembly order, which is S0 * K + S1 and S0 * S1 + K.
  WAVEJIT_TERNARY(v_madmk_f32, float, Env::flush, hn::Add(hn::Mul(a, b), c));
  WAVEJIT_TERNARY(v_madak_f32, float, Env::flush, hn::Add(hn::Mul(a, b), c));
  WAVEJIT_TERNARY(v_fmamk_f32, float, kF, hn::MulAdd(a, b, c));
  WAVEJIT_TERNARY(v_fmaak_f32, float, kF, hn::MulAdd(a, b, c));
  WAVEJIT_TERNARY(v_fma_f32, float, kF, hn::MulAdd(a, b, c));
  WAVEJIT_TERNARY(v_fmac_f32, float, kF, hn::MulAdd(a, b, c));

  r.kernel(Opcode::v_min_f32, extremum2<false>, Env::rn);
  r.kernel(Opcode::v_max_f32, extremum2<true>, Env::rn);
  r.kernel(Opcode::v_min3_f32, extremum3<false>, Env::rn);
  r.kernel(Opcode::v_max3_f32, extremum3<true>, Env::rn);
  r.kernel(Opcode::v_med3_f32, median3, Env::rn);

  WAVEJIT_UNARY(v_floor_f32, float, kF, hn::Floor(a));
  WAVEJIT_UNARY(v_ceil_f32, float, kF, hn::Ceil(a));
  WAVEJIT_UNARY(v_trunc_f32, float, kF, hn::Trunc(a));
  WAVEJIT_UNARY(v_rndne_f32, float, kF, hn::Round(a));
  WAVEJIT_UNARY(v_fract_f32, float, kF, fract(d, a));
  WAVEJIT_EACH1(v_frexp_mant_f32, 0, frexp_mantissa(a));
  WAVEJIT_EACH1(v_frexp_exp_i32_f32, 0, frexp_exponent(a));
  r.kernel(Opcode::v_ldexp_f32, ldexp32, kF);
  r.kernel(Opcode::v_cubeid_f32, cube<Cube::id>, kF);
  r.kernel(Opcode::v_cubesc_f32, cube<Cube::sc>, kF);
  r.kernel(Opcode::v_cubetc_f32, cube<Cube::tc>, kF);
  r.kernel(Opcode::v_cubema_f32, cube<Cube::ma>, kF);
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
void register_valu_f32(Registry& r) {
  WAVEJIT_INTERP_DISPATCH(do_register)(r);
}
}  // namespace wavejit::interp
#endif
