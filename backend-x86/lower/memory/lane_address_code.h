// Code of values that are kept in general registers for the lanes of a chunk (plans/lane_addresses.h).
#pragma once

#include <vector>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

void emit_lane_address(Lowering& ctx, const Inst& inst, unsigned chunk);
// The value of the chunk's first lane, or of the wave's: a register or an immediate.
Operand lane_base(Lowering& ctx, const Inst* value, unsigned chunk, bool wave);
Gp clamp_test(Lowering& ctx, const std::vector<const Inst*>& clamps, unsigned chunk);
x86::CondCode test_guard(Lowering& ctx, const Inst* guard, unsigned chunk);
Vec lane_vector32(Lowering& ctx, const Inst* value, unsigned chunk);
Vec64 lane_vector64(Lowering& ctx, const Inst* value, unsigned chunk);

}  // namespace wavejit::backend
