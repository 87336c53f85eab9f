// Bit-level helpers for binary16 operands, for what must not go through f32 (signalling NaNs, selection).
#pragma once

#include <bit>
#include <cstdint>

#include "internal/wave_state.h"

namespace wavejit::interp {

constexpr bool is_nan16(uint32_t v) {
  return (v & 0x7fff) > 0x7c00;
}
constexpr bool is_snan16(uint32_t v) {
  return is_nan16(v) && (v & 0x0200) == 0;
}
constexpr uint32_t flush16(uint32_t v) {
  return (v & 0x7c00) == 0 ? v & 0x8000 : v;
}
// Monotonic with the value; -0 and +0 differ by one, so -0 < +0.
constexpr int32_t order16(uint32_t v) {
  return (v & 0x8000) != 0 ? -static_cast<int32_t>(v & 0x7fff) - 1 : static_cast<int32_t>(v & 0x7fff);
}

// MODE with f16's denormals flushed, of instructions that do so whatever MODE says.
constexpr uint32_t flushing_halves(uint32_t mode) {
  return mode & ~(3u << mode::kDenormF16F64Shift);
}

struct Extremum16 {
  bool flush;  // input denormals (GFX9 only)
  bool ieee;
  Extremum16(uint32_t mode, bool before_gfx9)
      : flush(!before_gfx9 && (mode & 1u << mode::kDenormF16F64Shift) == 0), ieee((mode & mode::kIeee) != 0) {}

  uint32_t pick(bool is_max, uint32_t a, uint32_t b) const {
    a &= 0xffff;
    b &= 0xffff;
    if (flush) {
      a = flush16(a);
      b = flush16(b);
    }
    uint32_t y;
    if (ieee && is_snan16(a)) {
      y = a;
    } else if (ieee && is_snan16(b)) {
      y = b;
    } else if (is_nan16(a)) {
      y = b;
    } else if (is_nan16(b)) {
      y = a;
    } else {
      y = (order16(a) > order16(b)) == is_max ? a : b;
    }
    return is_nan16(y) ? y | 0x0200 : y;
  }
  uint32_t min(uint32_t a, uint32_t b) const { return pick(false, a, b); }
  uint32_t max(uint32_t a, uint32_t b) const { return pick(true, a, b); }
  uint32_t median(uint32_t a, uint32_t b, uint32_t c) const {
    a &= 0xffff;
    b &= 0xffff;
    c &= 0xffff;
    if (flush) {
      a = flush16(a);
      b = flush16(b);
      c = flush16(c);
    }
    if (is_nan16(a) || is_nan16(b) || is_nan16(c)) return min(min(a, b), c);
    const uint32_t top = max(max(a, b), c);
    const auto equal = [](uint32_t x, uint32_t y) { return x == y || ((x | y) & 0x7fff) == 0; };
    if (equal(top, a)) return max(b, c);
    if (equal(top, b)) return max(a, c);
    return max(a, b);
  }
};

constexpr uint32_t frexp_mantissa16(uint32_t v) {
  const uint32_t magnitude = v & 0x7fff;
  if (magnitude > 0x7c00) return (v & 0xffff) | 0x0200;
  if (magnitude == 0x7c00 || magnitude == 0) return v & 0xffff;
  uint32_t fraction = magnitude;
  if (magnitude < 0x0400) fraction = magnitude << (std::countl_zero(magnitude) - 21);
  return (v & 0x8000) | 0x3800 | (fraction & 0x03ff);
}
constexpr uint32_t frexp_exponent16(uint32_t v) {
  const uint32_t magnitude = v & 0x7fff;
  if (magnitude >= 0x7c00 || magnitude == 0) return 0;
  const int e = magnitude < 0x0400 ? 8 - std::countl_zero(magnitude) : static_cast<int>(magnitude >> 10) - 14;
  return static_cast<uint32_t>(e) & 0xffff;
}

constexpr uint32_t div_fixup16(uint32_t q, uint32_t denominator, uint32_t numerator) {
  const uint32_t sign = (denominator ^ numerator) & 0x8000;
  const uint32_t d = denominator & 0x7fff, n = numerator & 0x7fff;
  if (n > 0x7c00) return (numerator & 0xffff) | 0x0200;
  if (d > 0x7c00) return (denominator & 0xffff) | 0x0200;
  if ((d == 0 && n == 0) || (d == 0x7c00 && n == 0x7c00)) return 0xfe00;
  if (d == 0 || n == 0x7c00) return sign | 0x7c00;
  if (d == 0x7c00 || n == 0) return sign;
  return sign | (q & 0x7fff);
}

}  // namespace wavejit::interp
