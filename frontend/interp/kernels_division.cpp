// The division helpers v_div_scale, v_div_fmas and v_div_fixup (docs/isa-decisions.md), and v_trig_preop_f64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/kernels_division.cpp"
#include <bit>
#include <cstring>

#include "hwy/foreach_target.h"
// After foreach_target.
#include "frontend/interp/rows-inl.h"
#include "frontend/interp/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace {

template <typename F>
struct Traits;
template <>
struct Traits<float> {
  using Bits = uint32_t;
  static constexpr int kFraction = 23, kMaxExponent = 255, kScaleThreshold = 96, kScale = 64, kTiny = 23,
                       kUnderflow = -150;
  static constexpr uint32_t kNan = 0xffc00000u;
};
template <>
struct Traits<double> {
  using Bits = uint64_t;
  static constexpr int kFraction = 52, kMaxExponent = 2047, kScaleThreshold = 768, kScale = 128, kTiny = 53,
                       kUnderflow = -1075;
  static constexpr uint64_t kNan = 0xfff8000000000000ull;
};

template <typename F>
F get(const uint32_t* rows, size_t l) {
  if constexpr (sizeof(F) == 8) {
    return std::bit_cast<double>(static_cast<uint64_t>(rows[l + kWaveSize]) << 32 | rows[l]);
  } else {
    return std::bit_cast<float>(rows[l]);
  }
}
template <typename F>
void put(uint32_t* rows, size_t l, F x) {
  const auto v = std::bit_cast<typename Traits<F>::Bits>(x);
  rows[l] = static_cast<uint32_t>(v);
  if constexpr (sizeof(F) == 8) rows[l + kWaveSize] = static_cast<uint32_t>(v >> 32);
}
template <typename F>
int exponent(F x) {
  return static_cast<int>(std::bit_cast<typename Traits<F>::Bits>(x) >> Traits<F>::kFraction) & Traits<F>::kMaxExponent;
}
template <typename F>
bool is_denormal(F x) {
  return exponent(x) == 0 && (std::bit_cast<typename Traits<F>::Bits>(x) << 1) != 0;
}
// |n / d| < 2^-(bias-1), the smallest normal, decided exactly; n and d finite and not zero.
template <typename F>
bool quotient_is_denormal(F n, F d) {
  int en, ed;
  const F mn = std::frexp(std::abs(n), &en), md = std::frexp(std::abs(d), &ed);
  const int smallest = 2 - (Traits<F>::kMaxExponent + 1) / 2;  // -126, -1022
  return en - ed < smallest || (en - ed == smallest && mn < md);
}

// Both calls of a division (for numerator and denominator) see the same S1 = denominator and S2 = numerator, so the two
// scale factors and VCC fit together. Runs with denormals enabled.
template <typename F>
void div_scale(Lanes& k) {
  using T = Traits<F>;
  uint64_t out = 0;
  for (size_t l = 0; l < kWaveSize; ++l) {
    const F s0 = get<F>(k.src[0], l), d = get<F>(k.src[1], l), n = get<F>(k.src[2], l);
    const F up = std::ldexp(F{1}, T::kScale), down = std::ldexp(F{1}, -T::kScale);
    F result = s0;
    bool flag = false;
    const bool special = exponent(n) == T::kMaxExponent || exponent(d) == T::kMaxExponent;
    if (n == 0 || d == 0) {
      result = std::bit_cast<F>(T::kNan);
    } else if (special) {
      // Infinities and NaNs: v_div_fixup decides.
    } else if (exponent(n) - exponent(d) >= T::kScaleThreshold) {
      flag = true;
      if (s0 == d) result = s0 * up;
    } else if (is_denormal(d)) {
      result = s0 * up;
    } else if (quotient_is_denormal(F{1}, d)) {
      flag = quotient_is_denormal(n, d);
      if (!flag || s0 == d) result = s0 * down;
    } else if (quotient_is_denormal(n, d)) {
      flag = true;
      if (s0 == n) result = s0 * up;
    } else if (exponent(n) <= T::kTiny) {
      result = s0 * up;
    }
    out |= uint64_t{flag} << l;
    put(k.dst, l, result);
  }
  k.mask_out = out;
}

// a*b+c scaled by 2^scale with one rounding to F: the sum is formed in a type wide enough to hold the product exactly,
// its rounding error folded into the last bit (round to odd).
float scaled_fma(float a, float b, float c, int scale) {
  const double product = static_cast<double>(a) * b;
  const double sum = product + c;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  auto bits = std::bit_cast<uint64_t>(sum);
  if (error != 0 && (bits & 1) == 0 && std::isfinite(sum)) bits += (error > 0) == (sum > 0) ? 1 : -1;
  return static_cast<float>(std::bit_cast<double>(bits) * std::ldexp(1.0, scale));
}
// binary128 takes the rounding from MXCSR, but neither flushes denormals.
double scaled_fma(double a, double b, double c, int scale) {
  using Wide = __float128;
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return std::fma(a, b, c);
  const unsigned mxcsr = _mm_getcsr();
  const bool flush_inputs = (mxcsr & 0x40) != 0, flush_result = (mxcsr & 0x8000) != 0;
  const auto input = [&](double x) { return flush_inputs && is_denormal(x) ? std::copysign(0.0, x) : x; };
  a = input(a);
  b = input(b);
  c = input(c);
  const Wide product = static_cast<Wide>(a) * b;
  Wide sum = product + c;
  const Wide part = sum - product;
  const Wide error = (product - (sum - part)) + (c - part);
  unsigned __int128 bits;
  std::memcpy(&bits, &sum, sizeof bits);
  if (error != 0 && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : -1;
  std::memcpy(&sum, &bits, sizeof bits);
  const Wide scaled = sum * static_cast<Wide>(std::ldexp(1.0, scale));
  const auto result = static_cast<double>(scaled);
  if (!flush_result) return result;
  // A result is a denormal if it is below the normal numbers after rounding with an unbounded exponent.
  const auto unbounded = static_cast<double>(scaled * static_cast<Wide>(0x1p200));
  return std::abs(unbounded) < 0x1p-822 ? std::copysign(0.0, result) : result;
}

template <typename F, typename D>
void div_fmas(Lanes& k, D) {
  const D d;
  for (size_t i = 0; i < kWaveSize; i += hn::Lanes(d)) {
    if constexpr (sizeof(F) == 8) {
      store64(hn::MulAdd(load64(d, k.src[0] + i), load64(d, k.src[1] + i), load64(d, k.src[2] + i)), d, k.dst + i);
    } else {
      store(hn::MulAdd(load(d, k.src[0] + i), load(d, k.src[1] + i), load(d, k.src[2] + i)), d, k.dst + i);
    }
  }
}
template <typename F>
void div_fmas_kernel(Lanes& k) {
  using T = Traits<F>;
  // The sources may share rows with the destination.
  alignas(64) uint32_t result[2 * kWaveSize];
  uint32_t* const dst = k.dst;
  k.dst = result;
  div_fmas<F>(k, hn::ScalableTag<F>());
  for (uint64_t m = k.mask_in; m != 0; m &= m - 1) {
    const auto l = static_cast<size_t>(std::countr_zero(m));
    const F c = get<F>(k.src[2], l);
    const int scale = exponent(c) > T::kMaxExponent / 2 ? T::kScale : -T::kScale;
    put(result, l, scaled_fma(get<F>(k.src[0], l), get<F>(k.src[1], l), c, scale));
  }
  k.dst = dst;
  std::memcpy(dst, result, sizeof(F) * kWaveSize);
}

template <typename F>
void div_fixup(Lanes& k) {
  using T = Traits<F>;
  using Bits = typename T::Bits;
  constexpr Bits kSign = Bits{1} << (sizeof(F) * 8 - 1);
  constexpr Bits kInf = static_cast<Bits>(T::kMaxExponent) << T::kFraction;
  constexpr Bits kQuiet = Bits{1} << (T::kFraction - 1);
  for (size_t l = 0; l < kWaveSize; ++l) {
    const auto q = std::bit_cast<Bits>(get<F>(k.src[0], l));
    const auto db = std::bit_cast<Bits>(get<F>(k.src[1], l));
    const auto nb = std::bit_cast<Bits>(get<F>(k.src[2], l));
    const Bits sign = (db ^ nb) & kSign, d = db & ~kSign, n = nb & ~kSign;
    Bits y;
    if (n > kInf) {
      y = nb | kQuiet;
    } else if (d > kInf) {
      y = db | kQuiet;
    } else if ((d == 0 && n == 0) || (d == kInf && n == kInf)) {
      y = T::kNan;
    } else if (d == 0 || n == kInf) {
      y = sign | kInf;
    } else if (d == kInf || n == 0) {
      y = sign;
    } else if (static_cast<int>(n >> T::kFraction) - static_cast<int>(d >> T::kFraction) < T::kUnderflow) {
      y = sign;
    } else if ((q & ~kSign) > kInf) {
      y = sign | kInf;  // the sequence overflowed on the way: inf - inf
    } else {
      y = sign | (q & ~kSign);
    }
    put(k.dst, l, std::bit_cast<F>(y));
  }
}

// The first 1201 bits of the fraction of 2/pi, most significant first (V_TRIG_PREOP_F64, MI300 pseudo-code).
constexpr uint64_t kTwoOverPi[19] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
    0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
    0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};

void trig_preop(Lanes& k) {
  for (size_t l = 0; l < kWaveSize; ++l) {
    const int e = exponent(get<double>(k.src[0], l));
    int shift = static_cast<int>(k.src[1][l] & 31) * 53;
    if (e > 1077) shift += e - 1077;
    // 53 bits starting `shift` bits after the binary point.
    uint64_t window = 0;
    for (int i = 0; i < 53; ++i) {
      const int bit = shift + i;
      const uint64_t b = bit < 1201 && bit / 64 < 19 ? kTwoOverPi[bit / 64] >> (63 - bit % 64) & 1 : 0;
      window = window << 1 | b;
    }
    int scale = -53 - shift;
    if (e >= 1968) scale += 128;
    put(k.dst, l, std::ldexp(static_cast<double>(window), scale));
  }
}

void do_register(Registry& r) {
  r.kernel(Opcode::v_div_scale_f32, div_scale<float>, Env::rn);
  r.kernel(Opcode::v_div_scale_f64, div_scale<double>, Env::rn);
  r.kernel(Opcode::v_div_fmas_f32, div_fmas_kernel<float>, Env::f32, kReadsVcc);
  r.kernel(Opcode::v_div_fmas_f64, div_fmas_kernel<double>, Env::f64, kReadsVcc);
  r.kernel(Opcode::v_div_fixup_f32, div_fixup<float>);
  r.kernel(Opcode::v_div_fixup_f64, div_fixup<double>);
  r.kernel(Opcode::v_trig_preop_f64, trig_preop, Env::rn);
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
void register_division(Registry& r) {
  WAVEJIT_INTERP_DISPATCH(do_register)(r);
}
}  // namespace wavejit::interp
#endif
