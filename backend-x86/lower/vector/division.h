// v_div_scale, v_div_fmas and v_div_fixup.
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_division(Lowering& ctx, const Inst& inst, unsigned chunk);

}  // namespace wavejit::backend
