// Operations in which lanes see each other.
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_cross_lane(Lowering& ctx, const Inst& inst);
void read_lane(Lowering& ctx, const Gp& d, const Inst* value, const Operand& lane);
// Rows on the stack that are known to hold values do so no longer.
void forget_rows(Lowering& ctx);

}  // namespace wavejit::backend
