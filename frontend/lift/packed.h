// Operands of VOP3P instructions, behind their modifiers.
#pragma once

#include "frontend/lift/context.h"

namespace wavejit::lift {

Inst* packed_source(Context& c, unsigned i);           // two f16
Inst* pair_source(Context& c, unsigned i, bool high);  // one of two f32
Inst* mixed_source(Context& c, unsigned i);            // of v_mad_mix and v_fma_mix: f32

}  // namespace wavejit::lift
