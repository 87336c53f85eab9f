// Loops executed for one lane after the other.
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_lane_loop(Lowering& ctx, const Inst& inst);
// A splat of what a load for one lane gives, which is fused into it.
void emit_load_for_all_lanes(Lowering& ctx, const Inst& splat, unsigned chunk);

}  // namespace wavejit::backend
