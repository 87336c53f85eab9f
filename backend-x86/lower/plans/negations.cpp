// Sign changes as parts of multiply-adds.
#include <algorithm>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/fusions.h"

namespace wavejit::backend {

void plan_negations(const Lowering& ctx, Fusions& fusions) {
  if (!ctx.on(Optimisation::negations)) return;
  for (const auto& block : ctx.function.blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::xor_ || fusions.has(inst) || !inst->operands[1]->is_const()) continue;
      const bool single = inst->type == ir::kV32 && inst->operands[1]->imm == uint64_t{1} << 31;
      const bool twice = inst->type == ir::kV64 && inst->operands[1]->imm == uint64_t{1} << 63;
      if ((!single && !twice) || inst->users.empty() || inst->operands[0]->is_const()) continue;
      if (ctx.lane_addresses.is_scalar(inst) || ctx.indexed_addresses.is_absorbed(inst)) continue;
      const bool all = std::all_of(inst->users.begin(), inst->users.end(), [&](const Inst* user) {
        return user->op == (single ? Op::fma_f32 : Op::fma_f64) && !fusions.has(user) &&
               can_sink(ctx, fusions, *inst, *user);
      });
      if (all) fusions.fused[inst->id] = true;
    }
  }
}

}  // namespace wavejit::backend
