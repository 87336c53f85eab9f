// Vector compares and class tests; the result is a lane mask.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/kernels_compare.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "frontend/interp/rows-inl.h"
#include "frontend/interp/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace {

enum class Fp { f, lt, eq, le, gt, lg, ge, o, u, nge, nlg, ngt, nle, neq, nlt, tru };
enum class Int { f, lt, eq, le, gt, ne, ge, t };

template <Fp c, class V>
HWY_INLINE auto holds(V a, V b) {
  const auto ordered = [&]() HWY_ATTR { return hn::And(hn::Eq(a, a), hn::Eq(b, b)); };
  switch (c) {
    case Fp::f:
      return hn::Lt(hn::Zero(hn::DFromV<V>()), hn::Zero(hn::DFromV<V>()));
    case Fp::tru:
      return hn::Eq(hn::Zero(hn::DFromV<V>()), hn::Zero(hn::DFromV<V>()));
    case Fp::lt:
      return hn::Lt(a, b);
    case Fp::nlt:
      return hn::Not(hn::Lt(a, b));
    case Fp::eq:
      return hn::Eq(a, b);
    case Fp::neq:
      return hn::Not(hn::Eq(a, b));
    case Fp::le:
      return hn::Le(a, b);
    case Fp::nle:
      return hn::Not(hn::Le(a, b));
    case Fp::gt:
      return hn::Gt(a, b);
    case Fp::ngt:
      return hn::Not(hn::Gt(a, b));
    case Fp::ge:
      return hn::Ge(a, b);
    case Fp::nge:
      return hn::Not(hn::Ge(a, b));
    case Fp::lg:
      return hn::Or(hn::Lt(a, b), hn::Gt(a, b));
    case Fp::nlg:
      return hn::Not(hn::Or(hn::Lt(a, b), hn::Gt(a, b)));
    case Fp::o:
      return ordered();
    case Fp::u:
      return hn::Not(ordered());
  }
}

template <Fp c>
void compare_f32(Lanes& k) {
  uint64_t out = 0;
  WAVEJIT_LANES_LOOP(float) out |= bits_at(d, holds<c>(load(d, k.src[0] + i), load(d, k.src[1] + i)), i);
  k.mask_out = out;
}
template <Fp c>
void compare_f64(Lanes& k) {
  uint64_t out = 0;
  WAVEJIT_LANES_LOOP(double) out |= bits_at(d, holds<c>(load64(d, k.src[0] + i), load64(d, k.src[1] + i)), i);
  k.mask_out = out;
}
template <Fp c>
void compare_f16(Lanes& k) {
  uint64_t out = 0;
  const hn::ScalableTag<float> df;
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto a = f16_operand(d, load(d, k.src[0] + i), k.mode);
    const auto b = f16_operand(d, load(d, k.src[1] + i), k.mode);
    out |= bits_at(df, holds<c>(a, b), i);
  }
  k.mask_out = out;
}

template <Int c, typename T>
bool holds_int(T a, T b) {
  switch (c) {
    case Int::f:
      return false;
    case Int::lt:
      return a < b;
    case Int::eq:
      return a == b;
    case Int::le:
      return a <= b;
    case Int::gt:
      return a > b;
    case Int::ne:
      return a != b;
    case Int::ge:
      return a >= b;
    case Int::t:
      return true;
  }
}
template <Int c, class V>
HWY_INLINE auto holds_lanes(V a, V b) {
  const hn::DFromV<V> d;
  switch (c) {
    case Int::f:
      return hn::Lt(hn::Zero(d), hn::Zero(d));
    case Int::t:
      return hn::Eq(hn::Zero(d), hn::Zero(d));
    case Int::lt:
      return hn::Lt(a, b);
    case Int::eq:
      return hn::Eq(a, b);
    case Int::le:
      return hn::Not(hn::Lt(b, a));
    case Int::gt:
      return hn::Lt(b, a);
    case Int::ne:
      return hn::Not(hn::Eq(a, b));
    case Int::ge:
      return hn::Not(hn::Lt(a, b));
  }
}
template <Int c, typename T>
void compare_32(Lanes& k) {
  uint64_t out = 0;
  WAVEJIT_LANES_LOOP(T) out |= bits_at(d, holds_lanes<c>(load(d, k.src[0] + i), load(d, k.src[1] + i)), i);
  k.mask_out = out;
}
template <Int c, typename T>
void compare_64(Lanes& k) {
  uint64_t out = 0;
  for (size_t l = 0; l < kWaveSize; ++l) {
    const uint64_t a = static_cast<uint64_t>(k.src[0][l + kWaveSize]) << 32 | k.src[0][l];
    const uint64_t b = static_cast<uint64_t>(k.src[1][l + kWaveSize]) << 32 | k.src[1][l];
    out |= uint64_t{holds_int<c, T>(static_cast<T>(a), static_cast<T>(b))} << l;
  }
  k.mask_out = out;
}
template <Int c, typename T>
void compare_16(Lanes& k) {
  uint64_t out = 0;
  for (size_t l = 0; l < kWaveSize; ++l)
    out |= uint64_t{holds_int<c, T>(static_cast<T>(k.src[0][l]), static_cast<T>(k.src[1][l]))} << l;
  k.mask_out = out;
}

// Bit of the class mask for a value given as sign, exponent and fraction facts (V_CMP_CLASS_F32, Vega ISA manual).
unsigned class_bit(bool negative, bool exponent_ones, bool exponent_zero, bool fraction_zero, bool quiet) {
  if (exponent_ones) return fraction_zero ? (negative ? 2 : 9) : quiet ? 1 : 0;
  if (!exponent_zero) return negative ? 3 : 8;
  if (fraction_zero) return negative ? 5 : 6;
  return negative ? 4 : 7;
}
template <unsigned width>
void classify(Lanes& k) {
  uint64_t out = 0;
  for (size_t l = 0; l < kWaveSize; ++l) {
    uint64_t v = k.src[0][l];
    if (width == 64) v |= static_cast<uint64_t>(k.src[0][l + kWaveSize]) << 32;
    constexpr unsigned fraction_bits = width == 16 ? 10 : width == 32 ? 23 : 52;
    const uint64_t exponent_max = (1ull << (width - 1 - fraction_bits)) - 1;
    const uint64_t fraction = v & ((1ull << fraction_bits) - 1);
    const uint64_t exponent = v >> fraction_bits & exponent_max;
    const unsigned bit = class_bit((v >> (width - 1) & 1) != 0, exponent == exponent_max, exponent == 0, fraction == 0,
                                   (fraction >> (fraction_bits - 1) & 1) != 0);
    out |= uint64_t{k.src[1][l] >> bit & 1} << l;
  }
  k.mask_out = out;
}

#define WAVEJIT_COMPARE(suffix, condition, kernel_, env)        \
  r.kernel(Opcode::v_cmp_##condition##_##suffix, kernel_, env); \
  r.kernel(Opcode::v_cmpx_##condition##_##suffix, kernel_, env, kCmpx)
// v_cmps and v_cmpsx of GFX6 and GFX7 differ in the exceptions that they raise only.
#define WAVEJIT_SIGNALLING_COMPARE(suffix, condition, kernel_, env) \
  r.kernel(Opcode::v_cmps_##condition##_##suffix, kernel_, env);    \
  r.kernel(Opcode::v_cmpsx_##condition##_##suffix, kernel_, env, kCmpx)
#define WAVEJIT_FP_COMPARE(condition)                                               \
  WAVEJIT_COMPARE(f16, condition, compare_f16<Fp::condition>, Env::f16);            \
  WAVEJIT_COMPARE(f32, condition, compare_f32<Fp::condition>, Env::f32);            \
  WAVEJIT_COMPARE(f64, condition, compare_f64<Fp::condition>, Env::f64);            \
  WAVEJIT_SIGNALLING_COMPARE(f32, condition, compare_f32<Fp::condition>, Env::f32); \
  WAVEJIT_SIGNALLING_COMPARE(f64, condition, compare_f64<Fp::condition>, Env::f64)
#define WAVEJIT_INT_COMPARE(condition)                                                \
  WAVEJIT_COMPARE(i16, condition, (compare_16<Int::condition, int16_t>), Env::none);  \
  WAVEJIT_COMPARE(u16, condition, (compare_16<Int::condition, uint16_t>), Env::none); \
  WAVEJIT_COMPARE(i32, condition, (compare_32<Int::condition, int32_t>), Env::none);  \
  WAVEJIT_COMPARE(u32, condition, (compare_32<Int::condition, uint32_t>), Env::none); \
  WAVEJIT_COMPARE(i64, condition, (compare_64<Int::condition, int64_t>), Env::none);  \
  WAVEJIT_COMPARE(u64, condition, (compare_64<Int::condition, uint64_t>), Env::none)

void do_register(Registry& r) {
  WAVEJIT_FP_COMPARE(f);
  WAVEJIT_FP_COMPARE(lt);
  WAVEJIT_FP_COMPARE(eq);
  WAVEJIT_FP_COMPARE(le);
  WAVEJIT_FP_COMPARE(gt);
  WAVEJIT_FP_COMPARE(lg);
  WAVEJIT_FP_COMPARE(ge);
  WAVEJIT_FP_COMPARE(o);
  WAVEJIT_FP_COMPARE(u);
  WAVEJIT_FP_COMPARE(nge);
  WAVEJIT_FP_COMPARE(nlg);
  WAVEJIT_FP_COMPARE(ngt);
  WAVEJIT_FP_COMPARE(nle);
  WAVEJIT_FP_COMPARE(neq);
  WAVEJIT_FP_COMPARE(nlt);
  WAVEJIT_FP_COMPARE(tru);
  WAVEJIT_INT_COMPARE(f);
  WAVEJIT_INT_COMPARE(lt);
  WAVEJIT_INT_COMPARE(eq);
  WAVEJIT_INT_COMPARE(le);
  WAVEJIT_INT_COMPARE(gt);
  WAVEJIT_INT_COMPARE(ne);
  WAVEJIT_INT_COMPARE(ge);
  WAVEJIT_INT_COMPARE(t);
  WAVEJIT_COMPARE(f16, class, classify<16>, Env::none);
  WAVEJIT_COMPARE(f32, class, classify<32>, Env::none);
  WAVEJIT_COMPARE(f64, class, classify<64>, Env::none);
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
void register_compares(Registry& r) {
  WAVEJIT_INTERP_DISPATCH(do_register)(r);
}
}  // namespace wavejit::interp
#endif
