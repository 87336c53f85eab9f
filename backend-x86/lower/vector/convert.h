// Conversions between numbers of 32 and 64 bits.
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_convert(Lowering& ctx, const Inst& inst, unsigned chunk);

}  // namespace wavejit::backend
