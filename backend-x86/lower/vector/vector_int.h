// 32-bit lanes: operations that are one host instruction, selects, and integer operations that take several.
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_ternary(Lowering& ctx, const Inst& inst, unsigned chunk);  // plans/ternary_logic.h
bool emit_simple(Lowering& ctx, const Inst& inst, unsigned chunk);   // simple_forms.h
bool emit_int32(Lowering& ctx, const Inst& inst, unsigned chunk);

}  // namespace wavejit::backend
