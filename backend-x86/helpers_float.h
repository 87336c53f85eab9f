#pragma once

#include "backend-x86/helpers.h"

namespace wavejit::backend {
// v_trig_preop_f64 of a number with this exponent field.
[[nodiscard]] double trig_preop(int biased_exponent, uint32_t segment);
// Magnitudes that need no scaling in a division: first, and size of the range, as bits of a float or of the upper half
// of a double.
struct OrdinaryRange {
  uint32_t first, size;
};
inline constexpr OrdinaryRange kOrdinary32{(127 - 40) << 23, 80 << 23}, kOrdinary64{(1023 - 300) << 20, 600 << 20};

// The compiler's division of f32 numbers (in: denominators, numerators), step by step; the arithmetic in the MXCSR that
// it is called in. Of one wave at most.
uint64_t divide_f32(const HelperArgs* args);
// Division support and trigonometric range reduction; null for other operations.
[[nodiscard]] HelperFn find_float_helper(ir::Op op);
}  // namespace wavejit::backend
