// Values of the eight-bit floating-point formats of GFX940; see kernels_fp8.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace wavejit::interp {

enum class Fp8 : uint8_t { e4m3, e5m2 };

template <Fp8 format>
struct Fp8Facts {
  static constexpr int kFraction = format == Fp8::e4m3 ? 3 : 2;  // bits
  static constexpr int kBias = format == Fp8::e4m3 ? 8 : 16;
};

template <Fp8 format>
float fp8_value(uint32_t byte) {
  using F = Fp8Facts<format>;
  if (byte == 0x80) return std::numeric_limits<float>::quiet_NaN();
  const int exponent = static_cast<int>(byte >> F::kFraction & ((1u << (7 - F::kFraction)) - 1));
  const int fraction = static_cast<int>(byte & ((1u << F::kFraction) - 1));
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - F::kBias - F::kFraction)
                                        : std::ldexp(static_cast<float>(fraction + (1 << F::kFraction)),
                                                     exponent - F::kBias - F::kFraction);
  return (byte & 0x80) != 0 ? -magnitude : magnitude;
}

// To nearest, ties to even (the host must round so); what is too large becomes NaN.
template <Fp8 format>
uint32_t fp8_rounded(float x) {
  using F = Fp8Facts<format>;
  if (!std::isfinite(x)) return 0x80;
  const double magnitude = std::abs(static_cast<double>(x));
  int exponent = 0;
  if (magnitude != 0) std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
  exponent = std::max(exponent - 1, 1 - F::kBias);
  // In units of the last place: normal numbers have kFraction + 1 bits here.
  auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, F::kFraction - exponent)));
  if (units == 0) return 0;
  // A carry out of the fraction makes the exponent larger by itself.
  const uint32_t code =
      units < (1u << F::kFraction) ? units : units + (static_cast<uint32_t>(exponent + F::kBias - 1) << F::kFraction);
  if (code > 0x7f) return 0x80;
  return code | (std::signbit(x) ? 0x80u : 0u);
}

}  // namespace wavejit::interp
