// Scalar arithmetic on general-purpose registers.
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_scalar_arithmetic(Lowering& ctx, const Inst& inst);

}  // namespace wavejit::backend
