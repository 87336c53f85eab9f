// Reciprocals, roots, exponentials, logarithms, sines.
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_transcendental(Lowering& ctx, const Inst& inst, unsigned chunk);

}  // namespace wavejit::backend
