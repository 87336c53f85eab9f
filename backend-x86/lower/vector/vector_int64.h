// 64-bit lanes: integer operations and moves between 32 and 64 bits.
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_int64(Lowering& ctx, const Inst& inst, unsigned chunk);

}  // namespace wavejit::backend
