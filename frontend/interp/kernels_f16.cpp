// Binary16 arithmetic: computed in f32 (or f64 for fma) and rounded once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/kernels_f16.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "frontend/interp/half_math.h"
#include "frontend/interp/rows-inl.h"
#include "frontend/interp/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace {

// Unfused: the product is rounded to f16 before the addition.
template <class DU, class V = hn::Vec<DU>>
HWY_INLINE V mad16(DU d, V a, V b, V c, uint32_t mode) {
  const auto product = hn::Mul(f16_operand(d, a, mode), f16_operand(d, b, mode));
  const auto rounded = f16_operand(d, f16_result(d, product, mode), mode);
  return f16_result(d, hn::Add(rounded, f16_operand(d, c, mode)), mode);
}
template <class DU, class V = hn::Vec<DU>>
HWY_INLINE V fma16(DU d, V a, V b, V c, uint32_t mode) {
  return f16_result(d, fma_f16_wide(d, f16_operand(d, a, mode), f16_operand(d, b, mode), f16_operand(d, c, mode)),
                    mode);
}

void mad_kernel(Lanes& k) {
  const uint32_t flushing = flushing_halves(k.mode);
  WAVEJIT_LANES_LOOP(uint32_t)
  store(mad16(d, load(d, k.src[0] + i), load(d, k.src[1] + i), load(d, k.src[2] + i), flushing), d, k.dst + i);
}
void fma_kernel(Lanes& k) {
  WAVEJIT_LANES_LOOP(uint32_t)
  store(fma16(d, load(d, k.src[0] + i), load(d, k.src[1] + i), load(d, k.src[2] + i), k.mode), d, k.dst + i);
}

void fract_kernel(Lanes& k) {
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto x = f16_operand(d, load(d, k.src[0] + i), k.mode);
    const auto h = f16_result(d, hn::Sub(x, hn::Floor(x)), k.mode);
    store(hn::IfThenElse(hn::Eq(h, hn::Set(d, 0x3c00u)), hn::Set(d, 0x3bffu), h), d, k.dst + i);
  }
}

void ldexp_kernel(Lanes& k) {
  WAVEJIT_LANES_LOOP(uint32_t) {
    const hn::RebindToFloat<decltype(d)> df;
    const hn::RebindToSigned<decltype(d)> di;
    const auto x = f16_operand(d, load(d, k.src[0] + i), k.mode);
    auto n = hn::ShiftRight<16>(hn::ShiftLeft<16>(hn::BitCast(di, load(d, k.src[1] + i))));
    n = hn::Min(hn::Max(n, hn::Set(di, -100)), hn::Set(di, 100));
    const auto power = hn::BitCast(df, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
    store(f16_result(d, hn::Mul(x, power), k.mode), d, k.dst + i);
  }
}

template <bool is_max, unsigned operands>
void extremum(Lanes& k) {
  const Extremum16 e(k.mode, k.before_gfx9);
  for (size_t l = 0; l < kWaveSize; ++l) {
    uint32_t y = e.pick(is_max, k.src[0][l], k.src[1][l]);
    if (operands == 3) y = e.pick(is_max, y, k.src[2][l]);
    k.dst[l] = y;
  }
}
void median(Lanes& k) {
  const Extremum16 e(k.mode, k.before_gfx9);
  for (size_t l = 0; l < kWaveSize; ++l) k.dst[l] = e.median(k.src[0][l], k.src[1][l], k.src[2][l]);
}

void do_register(Registry& r) {
  constexpr Env kH = Env::f16;
  WAVEJIT_F16_BINARY(v_add_f16, kH, hn::Add(a, b));
  WAVEJIT_F16_BINARY(v_sub_f16, kH, hn::Sub(a, b));
  WAVEJIT_F16_BINARY(v_subrev_f16, kH, hn::Sub(b, a));
  WAVEJIT_F16_BINARY(v_mul_f16, kH, hn::Mul(a, b));
  WAVEJIT_F16_UNARY(v_floor_f16, kH, hn::Floor(a));
  WAVEJIT_F16_UNARY(v_ceil_f16, kH, hn::Ceil(a));
  WAVEJIT_F16_UNARY(v_trunc_f16, kH, hn::Trunc(a));
  WAVEJIT_F16_UNARY(v_rndne_f16, kH, hn::Round(a));
  r.kernel(Opcode::v_fract_f16, fract_kernel, kH, kResult16);
  r.kernel(Opcode::v_ldexp_f16, ldexp_kernel, kH, kResult16);
  WAVEJIT_EACH1(v_frexp_mant_f16, kResult16, frexp_mantissa16(a));
  WAVEJIT_EACH1(v_frexp_exp_i16_f16, kResult16, frexp_exponent16(a));
  r.kernel(Opcode::v_mac_f16, mad_kernel, kH, kResult16 | kPreservesHi);
  r.kernel(Opcode::v_madmk_f16, mad_kernel, kH, kResult16 | kPreservesHi);
  r.kernel(Opcode::v_madak_f16, mad_kernel, kH, kResult16 | kPreservesHi);
  r.kernel(Opcode::v_mad_f16, mad_kernel, kH, kResult16 | kPreservesHi);
  r.kernel(Opcode::v_mad_legacy_f16, mad_kernel, kH, kResult16);
  r.kernel(Opcode::v_fma_f16, fma_kernel, kH, kResult16 | kPreservesHi);
  r.kernel(Opcode::v_fma_legacy_f16, fma_kernel, kH, kResult16);
  r.kernel(Opcode::v_min_f16, extremum<false, 2>, Env::none, kResult16);
  r.kernel(Opcode::v_max_f16, extremum<true, 2>, Env::none, kResult16);
  r.kernel(Opcode::v_min3_f16, extremum<false, 3>, Env::none, kResult16 | kPreservesHi);
  r.kernel(Opcode::v_max3_f16, extremum<true, 3>, Env::none, kResult16 | kPreservesHi);
  r.kernel(Opcode::v_med3_f16, median, Env::none, kResult16 | kPreservesHi);
  WAVEJIT_EACH3(v_div_fixup_f16, kResult16 | kPreservesHi, div_fixup16(a, b, c));
  WAVEJIT_EACH3(v_div_fixup_legacy_f16, kResult16, div_fixup16(a, b, c));
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
void register_valu_f16(Registry& r) {
  WAVEJIT_INTERP_DISPATCH(do_register)(r);
}
}  // namespace wavejit::interp
#endif
