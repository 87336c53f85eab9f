// Whole-row helpers of the operand and result stages.
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/lanes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "frontend/interp/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace {

void splat(uint32_t* rows, uint64_t value, unsigned dwords) {
  for (unsigned w = 0; w < dwords; ++w) {
    const auto word = static_cast<uint32_t>(w < 2 ? value >> (32 * w) : 0);
    WAVEJIT_LANES_LOOP(uint32_t) store(hn::Set(d, word), d, rows + w * kWaveSize + i);
  }
}

void merge(uint32_t* dst, const uint32_t* src, uint64_t mask, unsigned rows) {
  if (mask == ~0ull) {
    std::memcpy(dst, src, static_cast<size_t>(rows) * kWaveSize * 4);
    return;
  }
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto m = mask_at(d, mask, i);
    for (unsigned w = 0; w < rows; ++w)
      hn::BlendedStore(load(d, src + w * kWaveSize + i), m, d, dst + w * kWaveSize + i);
  }
}

// NaN becomes 0 with DX10_CLAMP, else stays. max(x, +0) also turns -0 into +0. The comparison reads denormals as MODE's
// input field says (for f32 and f64 the host does that), so that flushed ones become +0.
template <class D>
HWY_INLINE hn::Vec<D> clamp01(D d, hn::Vec<D> v, bool dx10) {
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, hn::TFromD<D>(1));
  auto y = hn::IfThenElse(hn::Gt(v, zero), v, zero);  // also NaN -> 0
  y = hn::IfThenElse(hn::Lt(y, one), y, one);
  if (dx10) return y;
  // A NaN is quieted: v_div_scale hands on those that signal.
  constexpr unsigned kQuietBit = sizeof(hn::TFromD<D>) == 8 ? 51 : 22;
  const hn::RebindToUnsigned<D> du;
  const auto quiet = hn::BitCast(d, hn::Set(du, hn::TFromD<decltype(du)>{1} << kQuietBit));
  return hn::IfThenElse(hn::IsNaN(v), hn::Or(v, quiet), y);
}

void clamp_f32(uint32_t* row, bool dx10) {
  WAVEJIT_LANES_LOOP(float) store(clamp01(d, load(d, row + i), dx10), d, row + i);
}

void clamp_f64(uint32_t* rows, bool dx10) {
  WAVEJIT_LANES_LOOP(double) store64(clamp01(d, load64(d, rows + i), dx10), d, rows + i);
}

void clamp_f16(uint32_t* row, uint32_t mode, bool both_halves) {
  const bool dx10 = (mode & mode::kDx10Clamp) != 0;
  const hn::ScalableTag<float> df;
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto v = load(d, row + i);
    const auto lo = f32_to_f16_rne(d, clamp01(df, f16_operand(d, hn::And(v, hn::Set(d, 0xffffu)), mode), dx10));
    if (!both_halves) {
      store(lo, d, row + i);
      continue;
    }
    const auto hi = f32_to_f16_rne(d, clamp01(df, f16_operand(d, hn::ShiftRight<16>(v), mode), dx10));
    store(hn::Or(lo, hn::ShiftLeft<16>(hi)), d, row + i);
  }
}

// Output modifiers turn -0 into +0 (GCN3 ISA manual, 6.2.2 "output modifiers").
template <class D>
HWY_INLINE hn::Vec<D> scale(D d, hn::Vec<D> v, hn::TFromD<D> factor) {
  const auto y = hn::Mul(v, hn::Set(d, factor));
  return hn::IfThenZeroElse(hn::Eq(y, hn::Zero(d)), y);
}

void scale_f32(uint32_t* row, float factor) {
  WAVEJIT_LANES_LOOP(float) store(scale(d, load(d, row + i), factor), d, row + i);
}

void scale_f64(uint32_t* rows, double factor) {
  WAVEJIT_LANES_LOOP(double) store64(scale(d, load64(d, rows + i), factor), d, rows + i);
}

void scale_f16(uint32_t* row, float factor, uint32_t mode) {
  const hn::ScalableTag<float> df;
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto v = f16_operand(d, hn::And(load(d, row + i), hn::Set(d, 0xffffu)), mode);
    const auto h = f16_result(d, scale(df, v, factor), mode);
    store(hn::IfThenZeroElse(hn::Eq(h, hn::Set(d, 0x8000u)), h), d, row + i);
  }
}

void bits(uint32_t* dst, const uint32_t* src, uint32_t and_mask, uint32_t xor_mask) {
  WAVEJIT_LANES_LOOP(uint32_t)
  store(hn::Xor(hn::And(load(d, src + i), hn::Set(d, and_mask)), hn::Set(d, xor_mask)), d, dst + i);
}

void extract(uint32_t* dst, const uint32_t* src, unsigned shift, unsigned width, bool sign) {
  const int up = static_cast<int>(32 - shift - width);
  const int down = static_cast<int>(32 - width);
  if (sign) {
    WAVEJIT_LANES_LOOP(int32_t)
    store(hn::ShiftRightSame(hn::ShiftLeftSame(load(d, src + i), up), down), d, dst + i);
  } else {
    WAVEJIT_LANES_LOOP(uint32_t)
    store(hn::ShiftRightSame(hn::ShiftLeftSame(load(d, src + i), up), down), d, dst + i);
  }
}

void select_halves(uint32_t* dst, const uint32_t* src, bool lo_from_hi, bool hi_from_hi, uint32_t xor_mask) {
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto v = load(d, src + i);
    const auto lo = lo_from_hi ? hn::ShiftRight<16>(v) : hn::And(v, hn::Set(d, 0xffffu));
    const auto hi = hi_from_hi ? hn::And(v, hn::Set(d, 0xffff0000u)) : hn::ShiftLeft<16>(v);
    store(hn::Xor(hn::Or(lo, hi), hn::Set(d, xor_mask)), d, dst + i);
  }
}

void half_to_float(uint32_t* dst, const uint32_t* src, uint32_t mode) {
  const hn::ScalableTag<float> df;
  WAVEJIT_LANES_LOOP(uint32_t)
  store(f16_operand(d, hn::And(load(d, src + i), hn::Set(d, 0xffffu)), mode), df, dst + i);
}

void insert(uint32_t* dst, const uint32_t* value, const uint32_t* old, uint32_t field, unsigned shift) {
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto f = hn::Set(d, field);
    const auto v = hn::And(hn::ShiftLeftSame(load(d, value + i), static_cast<int>(shift)), f);
    store(hn::Or(hn::AndNot(f, load(d, old + i)), v), d, dst + i);
  }
}

LaneFunctions get_lane_functions() {
  return {.splat = splat,
          .merge = merge,
          .clamp_f32 = clamp_f32,
          .clamp_f64 = clamp_f64,
          .clamp_f16 = clamp_f16,
          .scale_f32 = scale_f32,
          .scale_f64 = scale_f64,
          .scale_f16 = scale_f16,
          .bits = bits,
          .extract = extract,
          .select_halves = select_halves,
          .half_to_float = half_to_float,
          .insert = insert};
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
const LaneFunctions& lane_functions() {
  static const LaneFunctions functions = WAVEJIT_INTERP_DISPATCH(get_lane_functions)();
  return functions;
}
}  // namespace wavejit::interp
#endif
