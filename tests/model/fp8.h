// Values of the eight-bit floating-point formats of GFX940, in integers.
#pragma once

#include <cstdint>

#include "tests/model/number.h"

namespace wavejit::model {

struct Fp8 {
  unsigned fraction;
  int bias;
};
inline constexpr Fp8 kFp8{3, 8}, kBf8{2, 16};
inline constexpr uint8_t kFp8Nan = 0x80;

// Exactly.
[[nodiscard]] uint64_t fp8_to_f32(const Fp8& format, uint8_t code);
// To nearest, ties to even; what is too large, infinite or no number gives the NaN.
[[nodiscard]] uint8_t f32_to_fp8(const Fp8& format, uint32_t bits);

}  // namespace wavejit::model
