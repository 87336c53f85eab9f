// VOP3P (packed and mixed-precision arithmetic, dot products) and vector compares.
//
// Sources of packed instructions come with their halves where op_sel and op_sel_hi put them, negated; those of mixed
// precision come as binary32 (opcode_form.cpp).
#include <algorithm>
#include <bit>

#include "tests/model/operations.h"

namespace wavejit::model {
namespace {

// A packed instruction from what it does to each half (of kBits bits).
using Half = uint64_t (*)(const Lane&, uint64_t, uint64_t, uint64_t);
template <unsigned kBits, unsigned kSources, Half kHalf>
Bits packed(Lane& l, Source s) {
  constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
  Bits result = 0;
  for (unsigned at = 0; at <= kBits; at += kBits) {
    const auto source = [&](unsigned i) { return i < kSources ? low(s[i] >> at) & kMask : 0; };
    result |= Bits{kHalf(l, source(0), source(1), source(2)) & kMask} << at;
  }
  return result;
}

int64_t s16(uint64_t value) {
  return sign_extended(value & 0xffff, 16);
}
uint64_t u16_of(const Lane& l, int64_t value) {
  return low(fit(l, value, 16, false));
}
uint64_t i16_of(const Lane& l, int64_t value) {
  return low(fit(l, value, 16, true));
}

// ---- Dot products ----

template <unsigned kBits, bool kSigned>
Bits dot(Lane& l, Source s) {
  constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
  Wide sum = kSigned ? Wide{sign_extended(low(s[2]), 32)} : Wide{static_cast<int64_t>(low(s[2]))};
  for (unsigned at = 0; at < 32; at += kBits) {
    const uint64_t a = low(s[0]) >> at & kMask, b = low(s[1]) >> at & kMask;
    sum += kSigned ? sign_extended(a, kBits) * sign_extended(b, kBits) : static_cast<int64_t>(a * b);
  }
  return fit(l, sum, 32, kSigned);
}
// Two fused operations to nearest, the lower half first, without binary32's denormals; GFX90A has no binary16 ones.
Bits dot2_f32(Lane& l, Source s) {
  Env e = flushing(l.f32);
  e.round = Round::nearest;
  const Env halves = l.family == isa::Family::gfx90a ? flushing(exact(kF16)) : exact(kF16);
  const auto wide = [&](uint64_t half) { return convert(halves, exact(kF32), half & 0xffff); };
  const uint64_t first = fma(e, wide(low(s[0])), wide(low(s[1])), low(s[2]));
  return fma(e, wide(low(s[0]) >> 16), wide(low(s[1]) >> 16), first);
}

// ---- Mixed precision ----

Bits mad_mix(Lane& l, Source s) {
  return mad(flushing(l.f32), low(s[0]), low(s[1]), low(s[2]));
}
Bits fma_mix(Lane& l, Source s) {
  return fma(l.f32, low(s[0]), low(s[1]), low(s[2]));
}
Bits to_half(const Lane& l, Bits value) {
  return convert(exact(kF32), l.f16, low(value));
}
Bits to_flushed_half(const Lane& l, Bits value) {
  return convert(exact(kF32), flushing(l.f16), low(value));
}

// What packed instructions do to a half.
#define HALF(name, expression)                                                                            \
  uint64_t name([[maybe_unused]] const Lane& l, [[maybe_unused]] uint64_t a, [[maybe_unused]] uint64_t b, \
                [[maybe_unused]] uint64_t c) {                                                            \
    return expression;                                                                                    \
  }
HALF(mad_i16, i16_of(l, s16(a) * s16(b) + s16(c)))
HALF(mad_u16, u16_of(l, static_cast<int64_t>(a* b + c)))
HALF(mul_lo_u16, u16_of(l, static_cast<int64_t>(a* b)))
HALF(add_i16, i16_of(l, s16(a) + s16(b)))
HALF(sub_i16, i16_of(l, s16(a) - s16(b)))
HALF(add_u16, u16_of(l, static_cast<int64_t>(a + b)))
HALF(sub_u16, u16_of(l, static_cast<int64_t>(a) - static_cast<int64_t>(b)))
HALF(lshlrev_b16, b << (a & 15))
HALF(lshrrev_b16, b >> (a & 15))
HALF(ashrrev_i16, static_cast<uint64_t>(s16(b) >> (a & 15)))
HALF(max_i16, s16(a) > s16(b) ? a : b)
HALF(min_i16, s16(a) < s16(b) ? a : b)
HALF(max_u16, std::max(a, b))
HALF(min_u16, std::min(a, b))
HALF(fma_f16, fma(l.f16, a, b, c))
HALF(add_f16, add(l.f16, a, b))
HALF(mul_f16, mul(l.f16, a, b))
HALF(min_f16, minimum(l.f16, a, b, false, true))
HALF(max_f16, minimum(l.f16, a, b, true, true))
HALF(fma_f32, fma(l.f32, a, b, c))
HALF(add_f32, add(l.f32, a, b))
HALF(mul_f32, mul(l.f32, a, b))
#undef HALF

constexpr Entry kPacked[] = {
    {"v_pk_mad_i16", packed<16, 3, mad_i16>},
    {"v_pk_mad_u16", packed<16, 3, mad_u16>},
    {"v_pk_mul_lo_u16", packed<16, 2, mul_lo_u16>},
    {"v_pk_add_i16", packed<16, 2, add_i16>},
    {"v_pk_sub_i16", packed<16, 2, sub_i16>},
    {"v_pk_add_u16", packed<16, 2, add_u16>},
    {"v_pk_sub_u16", packed<16, 2, sub_u16>},
    {"v_pk_lshlrev_b16", packed<16, 2, lshlrev_b16>},
    {"v_pk_lshrrev_b16", packed<16, 2, lshrrev_b16>},
    {"v_pk_ashrrev_i16", packed<16, 2, ashrrev_i16>},
    {"v_pk_max_i16", packed<16, 2, max_i16>},
    {"v_pk_min_i16", packed<16, 2, min_i16>},
    {"v_pk_max_u16", packed<16, 2, max_u16>},
    {"v_pk_min_u16", packed<16, 2, min_u16>},
    {"v_pk_fma_f16", packed<16, 3, fma_f16>},
    {"v_pk_fmac_f16", packed<16, 3, fma_f16>},
    {"v_pk_add_f16", packed<16, 2, add_f16>},
    {"v_pk_mul_f16", packed<16, 2, mul_f16>},
    {"v_pk_min_f16", packed<16, 2, min_f16>},
    {"v_pk_max_f16", packed<16, 2, max_f16>},
    {"v_pk_fma_f32", packed<32, 3, fma_f32>},
    {"v_pk_add_f32", packed<32, 2, add_f32>},
    {"v_pk_mul_f32", packed<32, 2, mul_f32>},
    // op_sel has chosen the lower half of the first source, which is the lower result, and the lower half of the
    // second.
    {"v_pk_mov_b32", [](Lane&, Source s) -> Bits { return (s[0] & 0xffffffff) | (s[1] & 0xffffffff) << 32; }},
    {"v_dot2_f32_f16", dot2_f32},
    {"v_dot2c_f32_f16", dot2_f32},
    {"v_dot2_i32_i16", dot<16, true>},
    {"v_dot2c_i32_i16", dot<16, true>},
    {"v_dot2_u32_u16", dot<16, false>},
    {"v_dot4_i32_i8", dot<8, true>},
    {"v_dot4c_i32_i8", dot<8, true>},
    {"v_dot4_u32_u8", dot<8, false>},
    {"v_dot8_i32_i4", dot<4, true>},
    {"v_dot8c_i32_i4", dot<4, true>},
    {"v_dot8_u32_u4", dot<4, false>},
    {"v_mad_mix_f32", mad_mix},
    {"v_fma_mix_f32", fma_mix},
    {"v_mad_mixlo_f16", [](Lane& l, Source s) { return to_flushed_half(l, mad_mix(l, s)); }},
    {"v_mad_mixhi_f16", [](Lane& l, Source s) { return to_flushed_half(l, mad_mix(l, s)); }},
    {"v_fma_mixlo_f16", [](Lane& l, Source s) { return to_half(l, fma_mix(l, s)); }},
    {"v_fma_mixhi_f16", [](Lane& l, Source s) { return to_half(l, fma_mix(l, s)); }},
};

// ---- Compares: the result is the lane's bit ----

enum : unsigned { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };  // what of it makes the condition true

template <unsigned kBits, unsigned kTrue>
Bits compare_float(Lane& l, Source s) {
  const Env& e = kBits == 16 ? l.f16 : kBits == 32 ? l.f32 : l.f64;
  const Format& f = e.format;
  const uint64_t a = e.input(low(s[0])), b = e.input(low(s[1]));
  const unsigned relation = f.is_nan(a) || f.is_nan(b) ? kUnordered
                            : equal(f, a, b)           ? kEqual
                            : less(f, a, b)            ? kLess
                                                       : kGreater;
  return (kTrue & relation) != 0 ? 1 : 0;
}
template <unsigned kBits, bool kSigned, unsigned kTrue>
Bits compare_int(Lane&, Source s) {
  const uint64_t a = low(s[0]), b = low(s[1]);
  const bool is_less = kSigned ? sign_extended(a, kBits) < sign_extended(b, kBits) : a < b;
  const unsigned relation = a == b ? kEqual : is_less ? kLess : kGreater;
  return (kTrue & relation) != 0 ? 1 : 0;
}
// On bits: denormals are not flushed.
template <unsigned kBits>
Bits classify(Lane& l, Source s) {
  const Format& f = kBits == 16 ? l.f16.format : kBits == 32 ? l.f32.format : l.f64.format;
  const uint64_t a = low(s[0]);
  const bool negative = f.negative(a);
  const unsigned bit = f.is_signalling(a) ? 0
                       : f.is_nan(a)      ? 1
                       : f.is_inf(a)      ? (negative ? 2 : 9)
                       : f.is_zero(a)     ? (negative ? 5 : 6)
                       : f.is_denormal(a) ? (negative ? 4 : 7)
                                          : (negative ? 3 : 8);
  return low(s[1]) >> bit & 1;
}

#define COMPARE_FLOAT_ALL(prefix, bits)                                                            \
  {prefix "f_f" #bits, compare_float<bits, 0>}, {prefix "lt_f" #bits, compare_float<bits, kLess>}, \
      {prefix "eq_f" #bits, compare_float<bits, kEqual>},                                          \
      {prefix "le_f" #bits, compare_float < bits, kLess | kEqual > },                              \
      {prefix "gt_f" #bits, compare_float<bits, kGreater>},                                        \
      {prefix "lg_f" #bits, compare_float < bits, kLess | kGreater > },                            \
      {prefix "ge_f" #bits, compare_float < bits, kGreater | kEqual > },                           \
      {prefix "o_f" #bits, compare_float < bits, kLess | kEqual | kGreater > },                    \
      {prefix "u_f" #bits, compare_float<bits, kUnordered>},                                       \
      {prefix "nge_f" #bits, compare_float < bits, kUnordered | kLess > },                         \
      {prefix "nlg_f" #bits, compare_float < bits, kUnordered | kEqual > },                        \
      {prefix "ngt_f" #bits, compare_float < bits, kUnordered | kLess | kEqual > },                \
      {prefix "nle_f" #bits, compare_float < bits, kUnordered | kGreater > },                      \
      {prefix "neq_f" #bits, compare_float < bits, kUnordered | kLess | kGreater > },              \
      {prefix "nlt_f" #bits, compare_float < bits, kUnordered | kEqual | kGreater > }, {           \
    prefix "tru_f" #bits, compare_float<bits, kUnordered | kLess | kEqual | kGreater>              \
  }
#define COMPARE_FLOAT(bits) COMPARE_FLOAT_ALL("v_cmp_", bits), COMPARE_FLOAT_ALL("v_cmpx_", bits)
// The forms of GFX6 and GFX7 that differ in the exceptions they raise.
#define COMPARE_FLOAT_SIGNALLING(bits) COMPARE_FLOAT_ALL("v_cmps_", bits), COMPARE_FLOAT_ALL("v_cmpsx_", bits)
#define COMPARE_INT_ALL(prefix, letter, bits, is_signed)                                  \
  {prefix "f_" letter #bits, compare_int<bits, is_signed, 0>},                            \
      {prefix "lt_" letter #bits, compare_int<bits, is_signed, kLess>},                   \
      {prefix "eq_" letter #bits, compare_int<bits, is_signed, kEqual>},                  \
      {prefix "le_" letter #bits, compare_int < bits, is_signed, kLess | kEqual > },      \
      {prefix "gt_" letter #bits, compare_int<bits, is_signed, kGreater>},                \
      {prefix "ne_" letter #bits, compare_int < bits, is_signed, kLess | kGreater > },    \
      {prefix "ge_" letter #bits, compare_int < bits, is_signed, kGreater | kEqual > }, { \
    prefix "t_" letter #bits, compare_int<bits, is_signed, kLess | kEqual | kGreater>     \
  }
#define COMPARE_INT(bits)                                                                  \
  COMPARE_INT_ALL("v_cmp_", "i", bits, true), COMPARE_INT_ALL("v_cmpx_", "i", bits, true), \
      COMPARE_INT_ALL("v_cmp_", "u", bits, false), COMPARE_INT_ALL("v_cmpx_", "u", bits, false)
#define CLASSIFY(bits)                       \
  {"v_cmp_class_f" #bits, classify<bits>}, { \
    "v_cmpx_class_f" #bits, classify<bits>   \
  }

constexpr Entry kCompares[] = {
    COMPARE_FLOAT(16),
    COMPARE_FLOAT(32),
    COMPARE_FLOAT(64),
    COMPARE_FLOAT_SIGNALLING(32),
    COMPARE_FLOAT_SIGNALLING(64),
    COMPARE_INT(16),
    COMPARE_INT(32),
    COMPARE_INT(64),
    CLASSIFY(16),
    CLASSIFY(32),
    CLASSIFY(64),
};

}  // namespace

std::span<const Entry> packed_opcodes() {
  return kPacked;
}
std::span<const Entry> compare_opcodes() {
  return kCompares;
}

const Entry* find(std::string_view opcode) {
  for (const std::span<const Entry> entries :
       {float_opcodes(), integer_opcodes(), packed_opcodes(), compare_opcodes(), gfx940_opcodes()})
    for (const Entry& entry : entries)
      if (entry.name == opcode) return &entry;
  return nullptr;
}

bool keeps_high(std::string_view opcode) {
  static constexpr std::string_view kKeep[] = {
      "v_mad_f16",   "v_mad_u16",  "v_mad_i16",  "v_fma_f16",  "v_div_fixup_f16", "v_mac_f16",       "v_madmk_f16",
      "v_madak_f16", "v_min3_f16", "v_max3_f16", "v_med3_f16", "v_min3_i16",      "v_max3_i16",      "v_med3_i16",
      "v_min3_u16",  "v_max3_u16", "v_med3_u16", "v_add_i16",  "v_sub_i16",       "v_mad_mixlo_f16", "v_fma_mixlo_f16"};
  return std::find(std::begin(kKeep), std::end(kKeep), opcode) != std::end(kKeep);
}

}  // namespace wavejit::model
