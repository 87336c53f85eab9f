#include "backend-x86/lower/plans/row_homes.h"

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/idle_halves.h"
#include "backend-x86/lower/plans/wide_accesses.h"

namespace wavejit::backend {

RowHomes plan_row_homes(Lowering& ctx) {
  RowHomes homes(ctx.function.num_values());
  plan_matrix_homes(ctx, homes);
  plan_sum_homes(ctx, homes);
  return homes;
}

bool has_own_registers(const Lowering& ctx, const RowHomes& homes, const Inst* inst) {
  return !ctx.classes.is_shared(inst) && !ctx.is_fused(inst) && !ctx.is_invariant(inst) &&
         !ctx.lane_addresses.is_scalar(inst) && !ctx.wide->absorbed[inst->id] && ctx.idle->is_wanted_whole(inst) &&
         homes.of(inst) == nullptr;
}

}  // namespace wavejit::backend
