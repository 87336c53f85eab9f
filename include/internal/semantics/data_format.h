// Formats of typed memory: how texels and buffer elements are laid out, and what they are in registers. Used by the
// interpreter and by translated code: conversions that the ISA documents only name (docs/isa-decisions.md, "Memory
// formats").
//
// Sources: GCN3 and Vega ISA manuals, "Buffer Resource Descriptor" and "Image Resource Descriptor"; names as there,
// from the highest bits down: in 2_10_10_10 X is the lowest ten bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace wavejit::format {

// NUM_FORMAT. Images have sRGB besides.
enum class Number : uint8_t { unorm, snorm, uscaled, sscaled, uint, sint, reserved, float_, srgb = 9 };

struct Layout {
  uint8_t components = 0;  // 0: no such format
  uint8_t bytes = 0;
  uint8_t bits[4] = {};
  uint8_t shift[4] = {};
};

namespace detail {
constexpr Layout layout(unsigned bytes, unsigned x, unsigned y = 0, unsigned z = 0, unsigned w = 0) {
  Layout l;
  const unsigned bits[4] = {x, y, z, w};
  unsigned shift = 0;
  for (unsigned i = 0; i < 4 && bits[i] != 0; ++i) {
    l.bits[i] = static_cast<uint8_t>(bits[i]);
    l.shift[i] = static_cast<uint8_t>(shift);
    shift += bits[i];
    l.components = static_cast<uint8_t>(i + 1);
  }
  l.bytes = static_cast<uint8_t>(bytes);
  return l;
}
}  // namespace detail

// BUF_DATA_FORMAT, which IMG_DATA_FORMAT is the same as up to 14.
constexpr Layout layout_of(unsigned data_format) {
  using detail::layout;
  switch (data_format) {
    case 1:
      return layout(1, 8);
    case 2:
      return layout(2, 16);
    case 3:
      return layout(2, 8, 8);
    case 4:
      return layout(4, 32);
    case 5:
      return layout(4, 16, 16);
    case 6:
      return layout(4, 11, 11, 10);
    case 7:
      return layout(4, 10, 11, 11);
    case 8:
      return layout(4, 2, 10, 10, 10);
    case 9:
      return layout(4, 10, 10, 10, 2);
    case 10:
      return layout(4, 8, 8, 8, 8);
    case 11:
      return layout(8, 32, 32);
    case 12:
      return layout(8, 16, 16, 16, 16);
    case 13:
      return layout(12, 32, 32, 32);
    case 14:
      return layout(16, 32, 32, 32, 32);
    default:
      return {};
  }
}

// What only images have: 16-bit packed colours and depth with stencil, of which the first component is depth.
constexpr Layout image_layout_of(unsigned data_format) {
  using detail::layout;
  switch (data_format) {
    case 16:
      return layout(2, 5, 6, 5);
    case 17:
      return layout(2, 5, 5, 5, 1);
    case 18:
      return layout(2, 1, 5, 5, 5);
    case 19:
      return layout(2, 4, 4, 4, 4);
    default:
      return layout_of(data_format);
  }
}

constexpr bool is_integer(Number number) {
  return number == Number::uint || number == Number::sint;
}

// Whether every component of the layout can be such a number.
constexpr bool is_valid(const Layout& layout, Number number) {
  if (layout.components == 0) return false;
  for (unsigned i = 0; i < layout.components; ++i) {
    const unsigned bits = layout.bits[i];
    switch (number) {
      case Number::float_:
        if (bits != 10 && bits != 11 && bits != 16 && bits != 32) return false;
        if ((bits == 10 || bits == 11) && layout.components != 3) return false;
        break;
      case Number::uint:
      case Number::sint:
        break;
      case Number::unorm:
      case Number::snorm:
      case Number::uscaled:
      case Number::sscaled:
        if (bits == 32) return false;
        break;
      case Number::srgb:
        if (bits != 8) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

// ---- Conversions ----

// Both without the host's F16C, which not every file here is compiled for. NaNs stay NaNs.
inline float half_to_float(uint32_t half) {
  const uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13 | (mantissa != 0 ? 1u << 22 : 0));
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}
// To nearest even, denormals kept, infinity beyond the largest.
inline uint32_t float_to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  if (magnitude < 0x38800000)  // denormal: a multiple of 2^-24
    return sign | static_cast<uint32_t>(std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24)));
  const uint32_t odd = magnitude >> 13 & 1;
  return sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13);
}

// Floats without sign: five bits of exponent and the rest of mantissa.
inline float small_float_to_float(uint32_t value, unsigned bits) {
  return half_to_float(value << (15 - bits));
}
// To nearest even; negative numbers become 0, NaN stays NaN.
inline uint32_t float_to_small_float(float value, unsigned bits) {
  const unsigned mantissa = bits - 5;
  if (std::isnan(value)) return (1u << bits) - 1;
  if (!(value > 0)) return 0;
  if (std::isinf(value)) return 31u << mantissa;
  int exponent = 0;
  (void)std::frexp(value, &exponent);                                         // value in [2^(exponent - 1), 2^exponent)
  const int unit = std::max(exponent - 1, -14) - static_cast<int>(mantissa);  // weight of the last bit
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(static_cast<double>(value), -unit)));
  // A carry out of the mantissa goes into the exponent, up to infinity.
  const uint32_t result = exponent - 1 < -14 ? steps : (static_cast<uint32_t>(exponent - 1 + 14) << mantissa) + steps;
  return std::min(result, 31u << mantissa);
}

inline float srgb_to_linear(float x) {
  return x <= 0.04045f ? static_cast<float>(x / 12.92) : static_cast<float>(std::pow((x + 0.055) / 1.055, 2.4));
}
inline float linear_to_srgb(float x) {
  if (!(x > 0)) return 0;
  if (x >= 1) return 1;
  return static_cast<float>(x < 0.0031308 ? x * 12.92 : 1.055 * std::pow(static_cast<double>(x), 1 / 2.4) - 0.055);
}

inline int32_t sign_extend(uint32_t raw, unsigned bits) {
  return static_cast<int32_t>(raw << (32 - bits)) >> (32 - bits);
}

// The register contents of a component: the bits of a float, or an integer. `is_alpha`: sRGB leaves it linear.
inline uint32_t to_register(uint32_t raw, unsigned bits, Number number, bool is_alpha) {
  const auto of = [](float value) { return std::bit_cast<uint32_t>(value); };
  const double all = static_cast<double>((uint64_t{1} << bits) - 1);
  switch (number) {
    case Number::unorm:
      return of(static_cast<float>(raw / all));
    case Number::srgb:
      return of(is_alpha ? static_cast<float>(raw / all) : srgb_to_linear(static_cast<float>(raw / all)));
    case Number::snorm: {
      if (bits == 1) return of(-static_cast<float>(raw));
      const double top = static_cast<double>((uint64_t{1} << (bits - 1)) - 1);
      return of(static_cast<float>(std::max(sign_extend(raw, bits) / top, -1.0)));
    }
    case Number::uscaled:
      return of(static_cast<float>(raw));
    case Number::sscaled:
      return of(static_cast<float>(sign_extend(raw, bits)));
    case Number::sint:
      return static_cast<uint32_t>(sign_extend(raw, bits));
    case Number::float_:
      if (bits == 16) return of(half_to_float(raw));
      if (bits < 16) return of(small_float_to_float(raw, bits));
      return raw;
    default:
      return raw;
  }
}

inline uint32_t from_register(uint32_t value, unsigned bits, Number number, bool is_alpha) {
  const auto f = std::bit_cast<float>(value);
  const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  const auto clamp = [](double x, double low, double high) { return std::isnan(x) ? 0.0 : std::clamp(x, low, high); };
  switch (number) {
    case Number::unorm:
      return static_cast<uint32_t>(std::nearbyint(clamp(f, 0, 1) * mask));
    case Number::srgb: {
      const double x = is_alpha ? static_cast<double>(f) : static_cast<double>(linear_to_srgb(f));
      return static_cast<uint32_t>(std::nearbyint(clamp(x, 0, 1) * mask));
    }
    case Number::snorm:
      return static_cast<uint32_t>(static_cast<int32_t>(std::nearbyint(clamp(f, -1, 1) * (mask >> 1)))) & mask;
    case Number::uscaled:
      return static_cast<uint32_t>(clamp(f, 0, mask));
    case Number::sscaled:
      return static_cast<uint32_t>(static_cast<int32_t>(clamp(f, -static_cast<double>(mask >> 1) - 1, mask >> 1))) &
             mask;
    case Number::float_:
      if (bits == 16) return float_to_half(f);
      if (bits < 16) return float_to_small_float(f, bits);
      return value;
    case Number::sint: {
      const auto high = static_cast<int32_t>(mask >> 1);
      return static_cast<uint32_t>(std::clamp(static_cast<int32_t>(value), -high - 1, high)) & mask;
    }
    default:
      return std::min(value, mask);
  }
}

// What a component that the format does not have reads as: 0, and 1 for the fourth.
constexpr uint32_t one(Number number) {
  return is_integer(number) ? 1 : 0x3f800000;
}
constexpr uint32_t missing(unsigned component, Number number) {
  return component == 3 ? one(number) : 0;
}

// All four components of the element at `memory`.
inline void read_element(const void* memory, const Layout& layout, Number number, uint32_t out[4]) {
  uint32_t words[4] = {};
  std::memcpy(words, memory, layout.bytes);
  for (unsigned i = 0; i < 4; ++i) {
    if (i >= layout.components) {
      out[i] = missing(i, number);
      continue;
    }
    const unsigned bits = layout.bits[i], shift = layout.shift[i];
    const uint32_t raw = words[shift / 32] >> (shift % 32) & (bits == 32 ? ~0u : (1u << bits) - 1);
    out[i] = to_register(raw, bits, number, i == 3);
  }
}

// The first `count` components from registers, the others 0.
inline void write_element(void* memory, const Layout& layout, Number number, const uint32_t* in, unsigned count) {
  uint32_t words[4] = {};
  for (unsigned i = 0; i < layout.components && i < count; ++i)
    words[layout.shift[i] / 32] |= from_register(in[i], layout.bits[i], number, i == 3) << (layout.shift[i] % 32);
  std::memcpy(memory, words, layout.bytes);
}

// Registers of 16 bits hold halves, or the lower bits of integers.
inline uint32_t to_d16(uint32_t value, Number number) {
  return is_integer(number) ? value & 0xffff : float_to_half(std::bit_cast<float>(value));
}
inline uint32_t from_d16(uint32_t value, Number number) {
  if (number == Number::uint) return value & 0xffff;
  if (number == Number::sint) return static_cast<uint32_t>(sign_extend(value & 0xffff, 16));
  return std::bit_cast<uint32_t>(half_to_float(value));
}

// DST_SEL: 0 and 1 are constants, 4 to 7 components.
constexpr uint32_t select(const uint32_t components[4], unsigned select, Number number) {
  return select >= 4 ? components[select - 4] : select == 1 ? one(number) : 0;
}

// The components that a store through DST_SEL `selects` writes: each is the register that a load would put it in, the
// first one of several, and T{} if there is none. T: the registers' values, or where rows of them are.
template <typename T>
constexpr void select_back(const T (&registers)[4], uint32_t selects, T (&components)[4]) {
  for (unsigned i = 0; i < 4; ++i) components[i] = T{};
  for (unsigned i = 4; i-- > 0;)
    if (const uint32_t from = selects >> (3 * i) & 7; from >= 4) components[from - 4] = registers[i];
}

}  // namespace wavejit::format
