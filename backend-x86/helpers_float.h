#pragma once

#include "backend-x86/helpers.h"

namespace wavejit::backend {
// v_trig_preop_f64 of a number with this exponent field.
[[nodiscard]] double trig_preop(int biased_exponent, uint32_t segment);
// Division support and trigonometric range reduction; null for other operations.
[[nodiscard]] HelperFn find_float_helper(ir::Op op);
}  // namespace wavejit::backend
