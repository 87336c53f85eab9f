// MODE's fields of rounding and denormals as the host has them. One home for the interpreter, translated code and what
// both share: tests/facts/check.py finds copies.
#pragma once

#include <cstdint>

namespace wavejit::rounding {

// MODE.fp_round (0 even, 1 +inf, 2 -inf, 3 zero) as MXCSR.RC and the immediate of vcvtps2ph have it (0 even, 1 -inf,
// 2 +inf, 3 zero).
constexpr uint32_t on_host(uint32_t mode_round) {
  constexpr uint32_t kHost[4] = {0, 2, 1, 3};
  return kHost[mode_round & 3];
}

// MXCSR: rounding in bits 14:13, DAZ in bit 6, FTZ in bit 15, all exceptions masked.
constexpr uint32_t mxcsr(uint32_t mode_round, bool keeps_inputs, bool keeps_outputs) {
  constexpr uint32_t kMasked = 0x1f80, kDaz = 1u << 6, kFtz = 1u << 15;
  return kMasked | on_host(mode_round) << 13 | (keeps_inputs ? 0 : kDaz) | (keeps_outputs ? 0 : kFtz);
}

inline constexpr uint32_t kNeutralMxcsr = mxcsr(0, true, true);  // to nearest, denormals kept

}  // namespace wavejit::rounding
