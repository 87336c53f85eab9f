// Scalar integer helpers of the lane kernels and the SALU.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace wavejit::interp {

constexpr int32_t s32(uint32_t v) {
  return static_cast<int32_t>(v);
}
constexpr int64_t s64(uint64_t v) {
  return static_cast<int64_t>(v);
}
constexpr int16_t s16(uint32_t v) {
  return static_cast<int16_t>(v);
}
constexpr uint16_t u16(uint32_t v) {
  return static_cast<uint16_t>(v);
}
constexpr int32_t s24(uint32_t v) {
  return static_cast<int32_t>(v << 8) >> 8;
}
constexpr uint32_t u24(uint32_t v) {
  return v & 0xffffff;
}
constexpr uint32_t lo16(uint32_t v) {
  return v & 0xffff;
}

constexpr uint32_t saturate_u32(uint64_t v) {
  return v > 0xffffffffu ? 0xffffffffu : static_cast<uint32_t>(v);
}
constexpr uint32_t saturate_s32(int64_t v) {
  return static_cast<uint32_t>(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}
// Saturation to 16 bits, result zero-extended.
constexpr uint32_t saturate_s16(int64_t v) {
  return lo16(static_cast<uint32_t>(v > 32767 ? 32767 : v < -32768 ? -32768 : v));
}
constexpr uint32_t saturate_u16(int64_t v) {
  return static_cast<uint32_t>(v > 65535 ? 65535 : v < 0 ? 0 : v);
}

constexpr uint32_t reverse_bits(uint32_t v) {
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  v = (v >> 8 & 0x00ff00ffu) | (v & 0x00ff00ffu) << 8;
  return v >> 16 | v << 16;
}
// Position counted from the most significant bit of the first one, or of the first bit unlike the sign; -1 if none.
constexpr uint32_t find_first_high(uint32_t v) {
  return v == 0 ? ~0u : static_cast<uint32_t>(std::countl_zero(v));
}
constexpr uint32_t find_first_low(uint32_t v) {
  return v == 0 ? ~0u : static_cast<uint32_t>(std::countr_zero(v));
}
constexpr uint32_t find_first_sign(uint32_t v) {
  const uint32_t x = s32(v) < 0 ? ~v : v;
  return x == 0 ? ~0u : static_cast<uint32_t>(std::countl_zero(x));
}

constexpr uint32_t bitfield_u32(uint32_t v, uint32_t offset, uint32_t width) {
  return width == 0 ? 0 : v >> offset & (0xffffffffu >> (32 - width));
}
constexpr uint32_t bitfield_i32(uint32_t v, uint32_t offset, uint32_t width) {
  if (width == 0) return 0;
  if (offset + width >= 32) return static_cast<uint32_t>(s32(v) >> offset);
  return static_cast<uint32_t>(s32(v << (32 - offset - width)) >> (32 - width));
}

constexpr uint32_t abs_diff(uint32_t a, uint32_t b) {
  return a > b ? a - b : b - a;
}
constexpr uint32_t sad_u8(uint32_t a, uint32_t b, uint32_t c, bool masked = false) {
  for (unsigned i = 0; i < 32; i += 8) {
    const uint32_t x = a >> i & 0xff, y = b >> i & 0xff;
    if (!masked || y != 0) c += abs_diff(x, y);
  }
  return c;
}

template <typename T>
constexpr T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// V_PERM_B32: one selector byte applied to the eight bytes {a, b}, b being the low ones.
constexpr uint32_t permute_byte(uint64_t data, uint32_t select) {
  if (select >= 13) return 0xff;
  if (select == 12) return 0;
  if (select >= 8) return (data >> (16 * (select - 8) + 15) & 1) != 0 ? 0xff : 0;
  return data >> (8 * select) & 0xff;
}
constexpr uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selectors) {
  const uint64_t data = static_cast<uint64_t>(a) << 32 | b;
  uint32_t result = 0;
  for (unsigned i = 0; i < 32; i += 8) result |= permute_byte(data, selectors >> i & 0xff) << i;
  return result;
}

}  // namespace wavejit::interp
