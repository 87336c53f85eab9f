// GFX940: eight-bit floating point, and its few new integer instructions.
//
// E4M3 ("fp8") with exponent bias 8 and E5M2 ("bf8") with bias 16; no infinities, no negative zero, 0x80 is the only
// NaN (MI300 ISA manual; docs/isa-decisions.md for rounding).
#include "tests/model/fp8.h"
#include "tests/model/operations.h"

namespace wavejit::model {
namespace {

template <const Fp8& kFormat>
Bits from_fp8(Lane&, Source s) {
  return fp8_to_f32(kFormat, static_cast<uint8_t>(low(s[0])));
}
template <const Fp8& kFormat>
Bits from_two(Lane&, Source s) {
  const uint64_t pair = low(s[0]);
  return fp8_to_f32(kFormat, static_cast<uint8_t>(pair)) | Bits{fp8_to_f32(kFormat, static_cast<uint8_t>(pair >> 8))}
                                                               << 32;
}

// `width` bits of the destination are replaced, at `at`.
Bits replaced(Bits old, uint64_t value, unsigned width, unsigned at) {
  const uint64_t mask = ((uint64_t{1} << width) - 1) << at;
  return (low(old) & ~mask) | value << at;
}
template <const Fp8& kFormat>
Bits to_two(Lane& l, Source s) {
  const uint64_t pair = f32_to_fp8(kFormat, static_cast<uint32_t>(low(s[0]))) |
                        uint64_t{f32_to_fp8(kFormat, static_cast<uint32_t>(low(s[1])))} << 8;
  return replaced(s[2], pair, 16, (l.op_sel & 8) != 0 ? 16 : 0);
}
// Noise is added to the fraction and does not carry into the exponent.
template <const Fp8& kFormat, unsigned kNoiseBits>
Bits stochastic(Lane& l, Source s) {
  constexpr uint64_t kFraction = 0x7fffff;
  const uint64_t x = low(s[0]), noise = low(s[1]) >> (32 - kNoiseBits);
  const uint64_t sum = (x & ~kFraction) | (((x & kFraction) + noise) & kFraction);
  return replaced(s[2], f32_to_fp8(kFormat, static_cast<uint32_t>(sum)), 8, 8 * (l.op_sel >> 2 & 3));
}

constexpr Entry kEntries[] = {
    {"v_cvt_f32_fp8", from_fp8<kFp8>},
    {"v_cvt_f32_bf8", from_fp8<kBf8>},
    {"v_cvt_pk_f32_fp8", from_two<kFp8>},
    {"v_cvt_pk_f32_bf8", from_two<kBf8>},
    {"v_cvt_pk_fp8_f32", to_two<kFp8>},
    {"v_cvt_pk_bf8_f32", to_two<kBf8>},
    {"v_cvt_sr_fp8_f32", stochastic<kFp8, 20>},
    {"v_cvt_sr_bf8_f32", stochastic<kBf8, 21>},
    {"v_lshl_add_u64",
     [](Lane&, Source s) -> Bits { return static_cast<uint64_t>((low(s[0]) << (low(s[1]) & 7)) + low(s[2])); }},
    {"v_mov_b64", [](Lane&, Source s) -> Bits { return s[0]; }},
    // The literal is the second source of v_fmamk, the third of v_fmaak.
    {"v_fmamk_f32", [](Lane& l, Source s) -> Bits { return fma(l.f32, low(s[0]), low(s[1]), low(s[2])); }},
    {"v_fmaak_f32", [](Lane& l, Source s) -> Bits { return fma(l.f32, low(s[0]), low(s[1]), low(s[2])); }},
};

}  // namespace

std::span<const Entry> gfx940_opcodes() {
  return kEntries;
}

}  // namespace wavejit::model
