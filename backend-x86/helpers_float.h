#pragma once

#include "backend-x86/helpers.h"

namespace wavejit::backend {
// Division support, trigonometric range reduction and f64 exponent handling; null for other operations.
[[nodiscard]] HelperFn find_float_helper(ir::Op op);
}  // namespace wavejit::backend
