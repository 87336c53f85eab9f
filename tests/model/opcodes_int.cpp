// Integer and bit instructions.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>

#include "tests/model/operations.h"

namespace wavejit::model {
namespace {

uint32_t u(Bits value) {
  return static_cast<uint32_t>(value);
}
int64_t s32(Bits value) {
  return static_cast<int32_t>(low(value));
}
int64_t s16(Bits value) {
  return static_cast<int16_t>(low(value));
}
int64_t s64(Bits value) {
  return static_cast<int64_t>(low(value));
}

Bits u32_of(const Lane& l, Wide value) {
  return fit(l, value, 32, false);
}
Bits i32_of(const Lane& l, Wide value) {
  return fit(l, value, 32, true);
}
Bits u16_of(const Lane& l, Wide value) {
  return fit(l, value, 16, false);
}
Bits i16_of(const Lane& l, Wide value) {
  return fit(l, value, 16, true);
}
// Modulo 2^32: clamp has no meaning there.
Bits mod32(int64_t value) {
  return static_cast<uint32_t>(value);
}
Bits mod16(int64_t value) {
  return static_cast<uint16_t>(value);
}

int64_t i24(Bits value) {
  return sign_extended(low(value) & 0xffffff, 24);
}
int64_t u24(Bits value) {
  return static_cast<int64_t>(low(value) & 0xffffff);
}

Bits add_carry(Lane& l, uint64_t a, uint64_t b, bool with_carry) {
  const uint64_t sum = a + b + (with_carry && l.carry_in ? 1 : 0);
  l.carry_out = sum >> 32 != 0;
  return u32_of(l, sum);
}
Bits sub_borrow(Lane& l, uint64_t a, uint64_t b, bool with_carry) {
  const auto difference = static_cast<int64_t>(a - b - (with_carry && l.carry_in ? 1 : 0));
  l.carry_out = difference < 0;
  return u32_of(l, difference);
}

Bits bfe(uint64_t value, Bits offset, Bits width, bool is_signed) {
  const unsigned at = u(offset) & 31, bits = u(width) & 31;
  if (bits == 0) return 0;
  const int64_t shifted = (is_signed ? s32(value) : static_cast<int64_t>(value)) >> at;
  const uint64_t field = static_cast<uint64_t>(shifted) & ((uint64_t{1} << bits) - 1);
  return is_signed ? mod32(sign_extended(field, bits)) : Bits{field};
}

// Vega ISA manual, V_PERM_B32: the bytes of {S0, S1}, S1 being the lower ones.
Bits perm(Lane&, Source s) {
  const uint64_t data = low(s[0]) << 32 | low(s[1]);
  Bits result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const auto select = static_cast<unsigned>(low(s[2]) >> 8 * i & 255);
    uint64_t byte = 0;
    if (select > 12) {
      byte = 255;
    } else if (select >= 8 && select < 12) {  // the sign of a half
      byte = (data >> (16 * (select - 8) + 15) & 1) != 0 ? 255 : 0;
    } else if (select < 8) {
      byte = data >> 8 * select & 255;
    }
    result |= Bits{byte} << 8 * i;
  }
  return result;
}

unsigned byte(Bits value, unsigned index) {
  return static_cast<unsigned>(low(value) >> 8 * index & 255);
}
// The sum of |a - b| over bytes; of those that b has if `masked`.
int64_t distance(uint64_t a, uint64_t b, bool masked) {
  int64_t sum = 0;
  for (unsigned i = 0; i < 4; ++i)
    if (!masked || byte(b, i) != 0) sum += std::abs(static_cast<int>(byte(a, i)) - static_cast<int>(byte(b, i)));
  return sum;
}
// Four sums at byte offsets 0 to 3 of the first source.
template <bool kMasked, unsigned kBits>
Bits quad_distance(Lane& l, Source s) {
  Bits result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const auto window = static_cast<uint32_t>(low(s[0]) >> 8 * i);
    const auto addend = static_cast<int64_t>(low(s[2] >> kBits * i) & ((uint64_t{1} << kBits) - 1));
    result |= fit(l, distance(window, low(s[1]), kMasked) + addend, kBits, false) << kBits * i;
  }
  return result;
}

Bits mad64(Lane& l, Source s, bool is_signed) {
  const Wide sum =
      is_signed ? Wide{s32(s[0])} * s32(s[1]) + s64(s[2]) : static_cast<Wide>(Bits{low(s[0])} * low(s[1]) + low(s[2]));
  // Unsigned: the carry out of bit 63. Signed: whether the sum does not fit.
  l.carry_out = is_signed ? sum != static_cast<int64_t>(sum) : sum >> 64 != 0;
  return fit(l, sum, 64, is_signed);
}

template <typename T>
T middle(T a, T b, T c) {
  T all[] = {a, b, c};
  std::sort(std::begin(all), std::end(all));
  return all[1];
}

Bits lerp(Lane&, Source s) {
  Bits result = 0;
  for (unsigned i = 0; i < 4; ++i) result |= Bits{(byte(s[0], i) + byte(s[1], i) + (byte(s[2], i) & 1)) >> 1} << 8 * i;
  return result;
}

Bits reversed(Lane&, Source s) {
  Bits result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= (s[0] >> i & 1) << (31 - i);
  return result;
}

// Bits of a mask below this lane, in the lower or upper half of the wave.
Bits masked_count(const Lane& l, Source s, unsigned first) {
  int64_t count = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (first + i < l.number) count += static_cast<int64_t>(low(s[0]) >> i & 1);
  return mod32(count + s32(s[1]));
}

Bits saturate_bytes(Lane&, Source s) {
  const auto clamped = [](int64_t v) { return static_cast<uint64_t>(std::clamp<int64_t>(v, 0, 255)); };
  return clamped(s16(s[0])) | clamped(s16(s[0] >> 16)) << 8;
}

Bits ffbh_i32(Lane&, Source s) {
  const uint32_t differing = u(s[0]) ^ (s32(s[0]) < 0 ? 0xffffffffu : 0u);
  return differing == 0 ? Bits{0xffffffff} : Bits(std::countl_zero(differing));
}

Bits cvt_pk_i16(Lane&, Source s) {
  const auto clamped = [](Bits v) { return mod16(std::clamp<int64_t>(s32(v), -32768, 32767)); };
  return clamped(s[0]) | clamped(s[1]) << 16;
}

Bits sad_u16(Lane& l, Source s) {
  int64_t sum = 0;
  for (unsigned at = 0; at < 32; at += 16) {
    const auto half = [&](Bits v) { return static_cast<int64_t>(low(v) >> at & 0xffff); };
    sum += std::llabs(half(s[0]) - half(s[1]));
  }
  return u32_of(l, Wide{sum} + u(s[2]));
}

// The back ends that a rectangle of 32-pixel tiles covers, by the formula in the Vega ISA manual; the engines have the
// manual's table. `select` holds x and y of the first tile, then x and y of the last, in two bits each: the pattern
// repeats every four tiles.
uint64_t screen_partition(uint64_t select) {
  const uint64_t x0 = select >> 6 & 3, y0 = select >> 4 & 3, x1 = select >> 2 & 3, y1 = select & 3;
  uint64_t covered = 0;
  for (uint64_t i = 0; i <= ((x1 - x0) & 3); ++i) {
    for (uint64_t k = 0; k <= ((y1 - y0) & 3); ++k) {
      const uint64_t x = (x0 + i) & 3, y = (y0 + k) & 3;
      covered |= uint64_t{1} << (((x & 1) ^ y >> 1) << 1 | ((y & 1) ^ x >> 1));
    }
  }
  return covered;
}

#define ROW(name, ...) {#name, []([[maybe_unused]] Lane& l, Source s) -> Bits { return __VA_ARGS__; }}
// clang-format off
constexpr Entry kEntries[] = {
    // VOP1
    ROW(v_mov_b32, s[0]),
    ROW(v_not_b32, mod32(~s32(s[0]))),
    {"v_bfrev_b32", reversed},
    ROW(v_ffbh_u32, u(s[0]) == 0 ? Bits{0xffffffff} : Bits(std::countl_zero(u(s[0])))),
    ROW(v_ffbl_b32, u(s[0]) == 0 ? Bits{0xffffffff} : Bits(std::countr_zero(u(s[0])))),
    {"v_ffbh_i32", ffbh_i32},
    {"v_sat_pk_u8_i16", saturate_bytes},
    // VOP2
    ROW(v_cndmask_b32, l.carry_in ? s[1] : s[0]),
    ROW(v_mul_i32_i24, i32_of(l, i24(s[0]) * i24(s[1]))),
    ROW(v_mul_hi_i32_i24, mod32(i24(s[0]) * i24(s[1]) >> 32)),
    ROW(v_mul_u32_u24, u32_of(l, u24(s[0]) * u24(s[1]))),
    ROW(v_mul_hi_u32_u24, mod32(u24(s[0]) * u24(s[1]) >> 32)),
    ROW(v_min_i32, mod32(std::min(s32(s[0]), s32(s[1])))),
    ROW(v_max_i32, mod32(std::max(s32(s[0]), s32(s[1])))),
    ROW(v_min_u32, std::min(s[0], s[1])),
    ROW(v_max_u32, std::max(s[0], s[1])),
    ROW(v_lshrrev_b32, s[1] >> (u(s[0]) & 31)),
    ROW(v_ashrrev_i32, mod32(s32(s[1]) >> (u(s[0]) & 31))),
    ROW(v_lshlrev_b32, u(s[1] << (u(s[0]) & 31))),
    ROW(v_lshr_b32, s[0] >> (u(s[1]) & 31)),
    ROW(v_ashr_i32, mod32(s32(s[0]) >> (u(s[1]) & 31))),
    ROW(v_lshl_b32, u(s[0] << (u(s[1]) & 31))),
    ROW(v_and_b32, s[0] & s[1]),
    ROW(v_or_b32, s[0] | s[1]),
    ROW(v_xor_b32, s[0] ^ s[1]),
    ROW(v_xnor_b32, u(~(s[0] ^ s[1]))),
    ROW(v_add_co_u32, add_carry(l, u(s[0]), u(s[1]), false)),
    ROW(v_sub_co_u32, sub_borrow(l, u(s[0]), u(s[1]), false)),
    ROW(v_subrev_co_u32, sub_borrow(l, u(s[1]), u(s[0]), false)),
    ROW(v_addc_co_u32, add_carry(l, u(s[0]), u(s[1]), true)),
    ROW(v_subb_co_u32, sub_borrow(l, u(s[0]), u(s[1]), true)),
    ROW(v_subbrev_co_u32, sub_borrow(l, u(s[1]), u(s[0]), true)),
    ROW(v_add_u32, u32_of(l, Wide{u(s[0])} + u(s[1]))),
    ROW(v_sub_u32, u32_of(l, Wide{u(s[0])} - u(s[1]))),
    ROW(v_subrev_u32, u32_of(l, Wide{u(s[1])} - u(s[0]))),
    ROW(v_add_u16, u16_of(l, Wide{u(s[0])} + u(s[1]))),
    ROW(v_sub_u16, u16_of(l, Wide{u(s[0])} - u(s[1]))),
    ROW(v_subrev_u16, u16_of(l, Wide{u(s[1])} - u(s[0]))),
    ROW(v_mul_lo_u16, mod16(s32(s[0]) * s32(s[1]))),
    ROW(v_lshlrev_b16, mod16(s32(s[1]) << (u(s[0]) & 15))),
    ROW(v_lshrrev_b16, s[1] >> (u(s[0]) & 15)),
    ROW(v_ashrrev_i16, mod16(s16(s[1]) >> (u(s[0]) & 15))),
    ROW(v_max_u16, std::max(s[0], s[1])),
    ROW(v_min_u16, std::min(s[0], s[1])),
    ROW(v_max_i16, mod16(std::max(s16(s[0]), s16(s[1])))),
    ROW(v_min_i16, mod16(std::min(s16(s[0]), s16(s[1])))),
    ROW(v_bcnt_u32_b32, mod32(std::popcount(u(s[0])) + s32(s[1]))),
    ROW(v_mbcnt_lo_u32_b32, masked_count(l, s, 0)),
    ROW(v_mbcnt_hi_u32_b32, masked_count(l, s, 32)),
    ROW(v_bfm_b32, u(((Bits{1} << (u(s[0]) & 31)) - 1) << (u(s[1]) & 31))),
    ROW(v_cvt_pk_u16_u32, std::min<Bits>(s[0], 65535) | std::min<Bits>(s[1], 65535) << 16),
    {"v_cvt_pk_i16_i32", cvt_pk_i16},
    // VOP3
    ROW(v_mad_i32_i24, i32_of(l, Wide{i24(s[0]) * i24(s[1])} + s32(s[2]))),
    ROW(v_mad_u32_u24, u32_of(l, Wide{u24(s[0]) * u24(s[1])} + u(s[2]))),
    ROW(v_bfe_u32, bfe(low(s[0]), s[1], s[2], false)),
    ROW(v_bfe_i32, bfe(low(s[0]), s[1], s[2], true)),
    ROW(v_bfi_b32, u((s[0] & s[1]) | (~s[0] & s[2]))),
    {"v_lerp_u8", lerp},
    ROW(v_alignbit_b32, u((s[0] << 32 | s[1]) >> (u(s[2]) & 31))),
    ROW(v_alignbyte_b32, u((s[0] << 32 | s[1]) >> 8 * (u(s[2]) & 3))),
    ROW(v_min3_i32, mod32(std::min({s32(s[0]), s32(s[1]), s32(s[2])}))),
    ROW(v_max3_i32, mod32(std::max({s32(s[0]), s32(s[1]), s32(s[2])}))),
    ROW(v_med3_i32, mod32(middle(s32(s[0]), s32(s[1]), s32(s[2])))),
    ROW(v_min3_u32, std::min({s[0], s[1], s[2]})),
    ROW(v_max3_u32, std::max({s[0], s[1], s[2]})),
    ROW(v_med3_u32, middle(s[0], s[1], s[2])),
    ROW(v_min3_i16, mod16(std::min({s16(s[0]), s16(s[1]), s16(s[2])}))),
    ROW(v_max3_i16, mod16(std::max({s16(s[0]), s16(s[1]), s16(s[2])}))),
    ROW(v_med3_i16, mod16(middle(s16(s[0]), s16(s[1]), s16(s[2])))),
    ROW(v_min3_u16, std::min({s[0], s[1], s[2]})),
    ROW(v_max3_u16, std::max({s[0], s[1], s[2]})),
    ROW(v_med3_u16, middle(s[0], s[1], s[2])),
    ROW(v_sad_u8, u32_of(l, Wide{distance(low(s[0]), low(s[1]), false)} + u(s[2]))),
    ROW(v_sad_hi_u8, u32_of(l, Wide{distance(low(s[0]), low(s[1]), false)} * 65536 + u(s[2]))),
    {"v_sad_u16", sad_u16},
    ROW(v_sad_u32, u32_of(l, Wide{std::llabs(int64_t{u(s[0])} - int64_t{u(s[1])})} + u(s[2]))),
    ROW(v_msad_u8, u32_of(l, Wide{distance(low(s[0]), low(s[1]), true)} + u(s[2]))),
    {"v_qsad_pk_u16_u8", quad_distance<false, 16>},
    {"v_mqsad_pk_u16_u8", quad_distance<true, 16>},
    {"v_mqsad_u32_u8", quad_distance<true, 32>},
    ROW(v_mad_u64_u32, mad64(l, s, false)),
    ROW(v_mad_i64_i32, mad64(l, s, true)),
    ROW(v_mad_u16, u16_of(l, Wide{u(s[0])} * u(s[1]) + u(s[2]))),
    ROW(v_mad_legacy_u16, u16_of(l, Wide{u(s[0])} * u(s[1]) + u(s[2]))),
    ROW(v_mad_i16, i16_of(l, Wide{s16(s[0])} * s16(s[1]) + s16(s[2]))),
    ROW(v_mad_legacy_i16, i16_of(l, Wide{s16(s[0])} * s16(s[1]) + s16(s[2]))),
    ROW(v_mad_u32_u16, u32_of(l, Wide{u(s[0])} * u(s[1]) + u(s[2]))),
    ROW(v_mad_i32_i16, i32_of(l, Wide{s16(s[0])} * s16(s[1]) + s32(s[2]))),
    {"v_perm_b32", perm},
    ROW(v_xad_u32, mod32(s32(s[0] ^ s[1]) + s32(s[2]))),
    ROW(v_lshl_add_u32, u((s[0] << (u(s[1]) & 31)) + s[2])),
    ROW(v_add_lshl_u32, u((s[0] + s[1]) << (u(s[2]) & 31))),
    ROW(v_add3_u32, u(s[0] + s[1] + s[2])),
    ROW(v_lshl_or_b32, u(s[0] << (u(s[1]) & 31)) | s[2]),
    ROW(v_and_or_b32, (s[0] & s[1]) | s[2]),
    ROW(v_or3_b32, s[0] | s[1] | s[2]),
    ROW(v_mul_lo_u32, mod32(s32(s[0]) * s32(s[1]))),
    ROW(v_mul_lo_i32, mod32(s32(s[0]) * s32(s[1]))),
    ROW(v_mul_hi_u32, s[0] * s[1] >> 32),
    ROW(v_mul_hi_i32, mod32(s32(s[0]) * s32(s[1]) >> 32)),
    ROW(v_lshlrev_b64, low(s[1]) << (u(s[0]) & 63)),
    ROW(v_lshrrev_b64, low(s[1]) >> (u(s[0]) & 63)),
    ROW(v_ashrrev_i64, static_cast<uint64_t>(s64(s[1]) >> (u(s[0]) & 63))),
    ROW(v_lshl_b64, low(s[0]) << (u(s[1]) & 63)),
    ROW(v_lshr_b64, low(s[0]) >> (u(s[1]) & 63)),
    ROW(v_ashr_i64, static_cast<uint64_t>(s64(s[0]) >> (u(s[1]) & 63))),
    ROW(v_add_i32, i32_of(l, Wide{s32(s[0])} + s32(s[1]))),
    ROW(v_sub_i32, i32_of(l, Wide{s32(s[0])} - s32(s[1]))),
    ROW(v_add_i16, i16_of(l, Wide{s16(s[0])} + s16(s[1]))),
    ROW(v_sub_i16, i16_of(l, Wide{s16(s[0])} - s16(s[1]))),
    ROW(v_screen_partition_4se_b32, screen_partition(low(s[0]))),
};
// clang-format on
#undef ROW

}  // namespace

std::span<const Entry> integer_opcodes() {
  return kEntries;
}

}  // namespace wavejit::model
