// Lane masks: logic, comparisons' results, and their use as numbers.
#pragma once

#include <cstdint>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_mask(Lowering& ctx, const Inst& inst, unsigned chunk);
bool emit_mask_number(Lowering& ctx, const Inst& inst);  // conversions between masks and scalars

MaskReg condition_mask(Lowering& ctx, const Inst* condition, unsigned chunk);
void emit_fcmp32(Lowering& ctx, uint32_t attr, const MaskReg& d, const Vec& a, const Operand_& b,
                 const MaskReg* under = nullptr);
Gp mask_to_number(Lowering& ctx, const Inst* mask);              // 64-bit
Vec count_below(Lowering& ctx, const Gp& bits, unsigned chunk);  // for each lane, the bits set below it

}  // namespace wavejit::backend
