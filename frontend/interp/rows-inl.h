// Loads, stores and conversions of 64-lane rows, and the loop macros kernels are written with. Included once per
// Highway target (hence the odd guard).
#if defined(WAVEJIT_INTERP_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WAVEJIT_INTERP_ROWS_INL_H_
#undef WAVEJIT_INTERP_ROWS_INL_H_
#else
#define WAVEJIT_INTERP_ROWS_INL_H_
#endif

#include <cmath>
#include <cstring>

#include "frontend/interp/engine.h"
#include "frontend/interp/host.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 32-bit lanes. Rows are 64-byte aligned.
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const uint32_t* row) {
  return hn::Load(d, reinterpret_cast<const hn::TFromD<D>*>(row));
}
template <class D>
HWY_INLINE void store(hn::Vec<D> v, D d, uint32_t* row) {
  hn::Store(v, d, reinterpret_cast<hn::TFromD<D>*>(row));
}

// 64-bit lanes: the low dwords are in `rows`, the high dwords one row further.
template <class D>
HWY_INLINE hn::Vec<D> load64(D d, const uint32_t* rows) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint32_t, D> d32;
  const auto lo = hn::PromoteTo(du, hn::Load(d32, rows));
  const auto hi = hn::PromoteTo(du, hn::Load(d32, rows + kWaveSize));
  return hn::BitCast(d, hn::Or(lo, hn::ShiftLeft<32>(hi)));
}
template <class D>
HWY_INLINE void store64(hn::Vec<D> v, D d, uint32_t* rows) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint32_t, D> d32;
  const auto u = hn::BitCast(du, v);
  hn::Store(hn::TruncateTo(d32, u), d32, rows);
  hn::Store(hn::TruncateTo(d32, hn::ShiftRight<32>(u)), d32, rows + kWaveSize);
  (void)d;
}

// Lane mask <-> vector mask, for lanes [i, i + Lanes(d)).
template <class D>
HWY_INLINE hn::Mask<D> mask_at(D d, uint64_t bits, size_t i) {
  const uint64_t shifted = bits >> i;
  uint8_t bytes[8];
  std::memcpy(bytes, &shifted, sizeof bytes);
  return hn::LoadMaskBits(d, bytes);
}
template <class D>
HWY_INLINE uint64_t bits_at(D d, hn::Mask<D> m, size_t i) {
  uint64_t bits = 0;
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, m, bytes);
  std::memcpy(&bits, bytes, sizeof bits);
  const size_t n = hn::Lanes(d);
  return (bits & (n >= 64 ? ~0ull : (1ull << n) - 1)) << i;
}

// ---- f16 in f32 lanes ----

inline constexpr uint32_t kDenormIn16 = 1u << mode::kDenormF16F64Shift;
inline constexpr uint32_t kDenormOut16 = 2u << mode::kDenormF16F64Shift;

// The f16 in the low half of each dword, as f32 (exact; NaN quieted).
template <class DU>
HWY_INLINE hn::Vec<hn::RebindToFloat<DU>> f16_to_f32(DU, hn::Vec<DU> dwords) {
  const hn::Rebind<uint16_t, DU> d16;
  const hn::Rebind<hwy::float16_t, DU> dh;
  const hn::RebindToFloat<DU> df;
  return hn::PromoteTo(df, hn::BitCast(dh, hn::TruncateTo(d16, dwords)));
}

// The same with input denormals flushed to signed zero where MODE says so.
template <class DU>
HWY_INLINE hn::Vec<hn::RebindToFloat<DU>> f16_operand(DU du, hn::Vec<DU> dwords, uint32_t mode) {
  if ((mode & kDenormIn16) == 0) {
    const auto tiny = hn::Eq(hn::And(dwords, hn::Set(du, 0x7c00u)), hn::Zero(du));
    dwords = hn::IfThenElse(tiny, hn::And(dwords, hn::Set(du, 0x8000u)), dwords);
  }
  return f16_to_f32(du, dwords);
}

// Rounds to nearest-even; the f16 bits zero-extended to 32.
template <class DU>
HWY_INLINE hn::Vec<DU> f32_to_f16_rne(DU du, hn::Vec<hn::RebindToFloat<DU>> v) {
  const hn::Rebind<uint16_t, DU> d16;
  const hn::Rebind<hwy::float16_t, DU> dh;
  return hn::PromoteTo(du, hn::BitCast(d16, hn::DemoteTo(dh, v)));
}

// Rounds to f16 in direction `round` (MODE encoding: 0 even, 1 +inf, 2 -inf, 3 zero). The nearest value is stepped back
// by one unit in the last place where it lies on the wrong side; this also turns infinity into the largest finite
// value.
template <class DU>
HWY_INLINE hn::Vec<DU> f32_to_f16_round(DU du, hn::Vec<hn::RebindToFloat<DU>> v, uint32_t round) {
  auto h = f32_to_f16_rne(du, v);
  if (round == 0) return h;
  const hn::RebindToFloat<DU> df;
  const auto back = f16_to_f32(du, h);
  const auto one = hn::Set(du, 1u);
  const auto negative = hn::Ne(hn::And(h, hn::Set(du, 0x8000u)), hn::Zero(du));
  if (round == 3) {
    const auto away = hn::RebindMask(du, hn::Gt(hn::Abs(back), hn::Abs(v)));
    return hn::IfThenElse(away, hn::Sub(h, one), h);
  }
  (void)df;
  // Towards +inf: too small if back < v; towards -inf: too large if back > v. Magnitude grows when the sign agrees with
  // the direction.
  const auto wrong = hn::RebindMask(du, round == 1 ? hn::Lt(back, v) : hn::Gt(back, v));
  const auto grow = round == 1 ? hn::Not(negative) : negative;
  const auto stepped = hn::IfThenElse(grow, hn::Add(h, one), hn::Sub(h, one));
  return hn::IfThenElse(wrong, stepped, h);
}

// Result of an f16 operation computed in f32: MODE rounding, FP16_OVFL, result denormals. Zero-extended.
template <class DU>
HWY_INLINE hn::Vec<DU> f16_result(DU du, hn::Vec<hn::RebindToFloat<DU>> v, uint32_t mode) {
  auto h = f32_to_f16_round(du, v, mode >> mode::kRoundF16F64Shift & 3);
  const hn::RebindToFloat<DU> df;
  if ((mode & mode::kFp16Ovfl) != 0) {
    // Overflow of finite values gives the largest finite value; infinities that were inputs stay.
    const auto overflow = hn::And(hn::Eq(hn::And(h, hn::Set(du, 0x7fffu)), hn::Set(du, 0x7c00u)),
                                  hn::RebindMask(du, hn::Lt(hn::Abs(v), hn::Inf(df))));
    h = hn::IfThenElse(overflow, hn::Sub(h, hn::Set(du, 1u)), h);
  }
  if ((mode & kDenormOut16) == 0) {
    const auto tiny = hn::Eq(hn::And(h, hn::Set(du, 0x7c00u)), hn::Zero(du));
    h = hn::IfThenElse(tiny, hn::And(h, hn::Set(du, 0x8000u)), h);
  }
  return h;
}

// One rounding of a*b+c in f16. The sum is formed in f64, then brought to f32 by round-to-odd, so that the final
// rounding to f16 sees the exact result's position (the product has 22 bits, so f64 loses only what lies far below any
// f16 midpoint).
template <class DU>
HWY_INLINE hn::Vec<hn::RebindToFloat<DU>> fma_f16_wide(DU, hn::Vec<hn::RebindToFloat<DU>> a,
                                                       hn::Vec<hn::RebindToFloat<DU>> b,
                                                       hn::Vec<hn::RebindToFloat<DU>> c) {
  const hn::RebindToFloat<DU> df;
  const hn::Half<decltype(df)> dhalf;
  const hn::Rebind<double, decltype(dhalf)> d64;
  const hn::RebindToUnsigned<decltype(d64)> du64;
  const auto half = [&](auto x, auto y, auto z) HWY_ATTR {
    const auto s = hn::MulAdd(hn::PromoteTo(d64, x), hn::PromoteTo(d64, y), hn::PromoteTo(d64, z));
    const auto bits = hn::BitCast(du64, s);
    const auto low = hn::Set(du64, 0x1fffffffull);
    const auto exact = hn::Eq(hn::And(bits, low), hn::Zero(du64));
    const auto nan_or_inf =
        hn::Eq(hn::And(bits, hn::Set(du64, 0x7ff0000000000000ull)), hn::Set(du64, 0x7ff0000000000000ull));
    const auto odd = hn::Or(hn::AndNot(low, bits), hn::Set(du64, 0x20000000ull));
    return hn::DemoteTo(dhalf, hn::BitCast(d64, hn::IfThenElse(hn::Or(exact, nan_or_inf), bits, odd)));
  };
  const auto lo = half(hn::LowerHalf(dhalf, a), hn::LowerHalf(dhalf, b), hn::LowerHalf(dhalf, c));
  const auto hi = half(hn::UpperHalf(dhalf, a), hn::UpperHalf(dhalf, b), hn::UpperHalf(dhalf, c));
  return hn::Combine(df, hi, lo);
}

}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// Kernel bodies. In the expressions: d the tag, a, b, c the sources (vectors), k the Lanes, i the first lane.
#define WAVEJIT_LANES_LOOP(T) \
  const hn::ScalableTag<T> d; \
  for (size_t i = 0; i < kWaveSize; i += hn::Lanes(d))
#define WAVEJIT_UNARY(op, T, env, ...)          \
  r.kernel(                                     \
      Opcode::op,                               \
      [](Lanes& k) HWY_ATTR {                   \
        WAVEJIT_LANES_LOOP(T) {                 \
          const auto a = load(d, k.src[0] + i); \
          store(__VA_ARGS__, d, k.dst + i);     \
        }                                       \
      },                                        \
      env)
#define WAVEJIT_BINARY(op, T, env, ...)         \
  r.kernel(                                     \
      Opcode::op,                               \
      [](Lanes& k) HWY_ATTR {                   \
        WAVEJIT_LANES_LOOP(T) {                 \
          const auto a = load(d, k.src[0] + i); \
          const auto b = load(d, k.src[1] + i); \
          store(__VA_ARGS__, d, k.dst + i);     \
        }                                       \
      },                                        \
      env)
#define WAVEJIT_TERNARY(op, T, env, ...)        \
  r.kernel(                                     \
      Opcode::op,                               \
      [](Lanes& k) HWY_ATTR {                   \
        WAVEJIT_LANES_LOOP(T) {                 \
          const auto a = load(d, k.src[0] + i); \
          const auto b = load(d, k.src[1] + i); \
          const auto c = load(d, k.src[2] + i); \
          store(__VA_ARGS__, d, k.dst + i);     \
        }                                       \
      },                                        \
      env)
#define WAVEJIT_UNARY64(op, T, env, ...)          \
  r.kernel(                                       \
      Opcode::op,                                 \
      [](Lanes& k) HWY_ATTR {                     \
        WAVEJIT_LANES_LOOP(T) {                   \
          const auto a = load64(d, k.src[0] + i); \
          store64(__VA_ARGS__, d, k.dst + i);     \
        }                                         \
      },                                          \
      env)
#define WAVEJIT_BINARY64(op, T, env, ...)         \
  r.kernel(                                       \
      Opcode::op,                                 \
      [](Lanes& k) HWY_ATTR {                     \
        WAVEJIT_LANES_LOOP(T) {                   \
          const auto a = load64(d, k.src[0] + i); \
          const auto b = load64(d, k.src[1] + i); \
          store64(__VA_ARGS__, d, k.dst + i);     \
        }                                         \
      },                                          \
      env)
#define WAVEJIT_TERNARY64(op, T, env, ...)        \
  r.kernel(                                       \
      Opcode::op,                                 \
      [](Lanes& k) HWY_ATTR {                     \
        WAVEJIT_LANES_LOOP(T) {                   \
          const auto a = load64(d, k.src[0] + i); \
          const auto b = load64(d, k.src[1] + i); \
          const auto c = load64(d, k.src[2] + i); \
          store64(__VA_ARGS__, d, k.dst + i);     \
        }                                         \
      },                                          \
      env)
// f16 operands and result in the low halves; a, b, c are f32 vectors.
#define WAVEJIT_F16_UNARY(op, env, ...)                                 \
  r.kernel(                                                             \
      Opcode::op,                                                       \
      [](Lanes& k) HWY_ATTR {                                           \
        WAVEJIT_LANES_LOOP(uint32_t) {                                  \
          const auto a = f16_operand(d, load(d, k.src[0] + i), k.mode); \
          store(f16_result(d, __VA_ARGS__, k.mode), d, k.dst + i);      \
        }                                                               \
      },                                                                \
      env, kResult16)
#define WAVEJIT_F16_BINARY(op, env, ...)                                \
  r.kernel(                                                             \
      Opcode::op,                                                       \
      [](Lanes& k) HWY_ATTR {                                           \
        WAVEJIT_LANES_LOOP(uint32_t) {                                  \
          const auto a = f16_operand(d, load(d, k.src[0] + i), k.mode); \
          const auto b = f16_operand(d, load(d, k.src[1] + i), k.mode); \
          store(f16_result(d, __VA_ARGS__, k.mode), d, k.dst + i);      \
        }                                                               \
      },                                                                \
      env, kResult16)
// Lane-by-lane integer kernels, left to the compiler's vectoriser (which sees the current Highway target). a, b, c are
// uint32_t; lanes are independent, so aliasing between sources and destination is harmless.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define WAVEJIT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define WAVEJIT_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define WAVEJIT_EACH1(op, flags, ...)                 \
  r.kernel(                                           \
      Opcode::op,                                     \
      [](Lanes& k) HWY_ATTR {                         \
        const uint32_t* pa = k.src[0];                \
        uint32_t* pd = k.dst;                         \
        WAVEJIT_INDEPENDENT                           \
        for (size_t l = 0; l < kWaveSize; ++l) {      \
          const uint32_t a = pa[l];                   \
          pd[l] = static_cast<uint32_t>(__VA_ARGS__); \
        }                                             \
      },                                              \
      Env::none, flags)
#define WAVEJIT_EACH2(op, flags, ...)                 \
  r.kernel(                                           \
      Opcode::op,                                     \
      [](Lanes& k) HWY_ATTR {                         \
        const uint32_t* pa = k.src[0];                \
        const uint32_t* pb = k.src[1];                \
        uint32_t* pd = k.dst;                         \
        [[maybe_unused]] const bool clamp = k.clamp;  \
        WAVEJIT_INDEPENDENT                           \
        for (size_t l = 0; l < kWaveSize; ++l) {      \
          const uint32_t a = pa[l], b = pb[l];        \
          pd[l] = static_cast<uint32_t>(__VA_ARGS__); \
        }                                             \
      },                                              \
      Env::none, flags)
#define WAVEJIT_EACH3(op, flags, ...)                     \
  r.kernel(                                               \
      Opcode::op,                                         \
      [](Lanes& k) HWY_ATTR {                             \
        const uint32_t* pa = k.src[0];                    \
        const uint32_t* pb = k.src[1];                    \
        const uint32_t* pc = k.src[2];                    \
        uint32_t* pd = k.dst;                             \
        [[maybe_unused]] const bool clamp = k.clamp;      \
        WAVEJIT_INDEPENDENT                               \
        for (size_t l = 0; l < kWaveSize; ++l) {          \
          const uint32_t a = pa[l], b = pb[l], c = pc[l]; \
          pd[l] = static_cast<uint32_t>(__VA_ARGS__);     \
        }                                                 \
      },                                                  \
      Env::none, flags)
#endif
