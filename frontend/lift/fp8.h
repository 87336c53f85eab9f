// Eight-bit floating point of GFX940.
#pragma once

#include "frontend/lift/context.h"

namespace wavejit::lift {

enum class Fp8 : uint8_t { e4m3, e5m2 };
constexpr unsigned fp8_fraction_bits(Fp8 format) {
  return format == Fp8::e4m3 ? 3 : 2;
}
constexpr uint32_t fp8_bias(Fp8 format) {
  return format == Fp8::e4m3 ? 8 : 16;
}

// The value of one byte of a register.
Inst* fp8_to_f32(Context& c, Inst* dword, unsigned byte, Fp8 format);

}  // namespace wavejit::lift
