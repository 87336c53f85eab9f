#pragma once

#include "backend-x86/helpers/helpers.h"

namespace wavejit::backend {
// v_trig_preop_f64 of a number with this exponent field.
[[nodiscard]] double trig_preop(int biased_exponent, uint32_t segment);
// Range of magnitudes that need no scaling in a division: its first element and its size, as bits of a float or of the
// upper half of a double.
struct OrdinaryRange {
  uint32_t first, size;
};
inline constexpr OrdinaryRange kOrdinary32{(127 - 40) << 23, 80 << 23}, kOrdinary64{(1023 - 300) << 20, 600 << 20};

// Executes the compiler's f32 division sequence step by step (in: denominators, numerators), under the caller's MXCSR, but
// v_div_fmas with the denormal mode of `attr`. For up to one wave.
uint64_t divide_f32(const HelperArgs* args);
// Division support and trigonometric range reduction; null for other operations.
[[nodiscard]] HelperFn find_float_helper(ir::Op op);
}  // namespace wavejit::backend
