// Reads and writes of the wave state.
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_state(Lowering& ctx, const Inst& inst, unsigned chunk);  // VGPRs and masks
bool emit_scalar_state(Lowering& ctx, const Inst& inst);

}  // namespace wavejit::backend
