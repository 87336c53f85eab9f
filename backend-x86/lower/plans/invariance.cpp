#include "backend-x86/lower/plans/invariance.h"

#include <algorithm>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory_broadcast.h"
#include "backend-x86/lower/operations.h"
#include "ir/matrix.h"

namespace wavejit::backend {

using ir::TypeKind;

bool is_invariant(const Lowering& ctx, const std::vector<bool>& invariant, const Inst* inst) {
  if (inst->is_const() || inst->op == Op::undef || inst->type.is_scalar()) {
    return inst->type != ir::kMask || inst->imm == 0 || inst->imm == ~uint64_t{0};
  }
  return invariant[ctx.resolve(inst).inst->id];
}

namespace {

void plan_block(const Lowering& ctx, std::vector<bool>& invariant, const ir::Block& block) {
  const bool share = ctx.on(Optimisation::uniform_values);
  // Results of loads stay in registers through the segment when there is one for all chunks; beyond a few it is cheaper
  // to load them again in every chunk.
  unsigned loaded = 0;
  const auto uniform_load = [&](const Inst& inst) {
    if (inst.op != Op::load || (inst.mem.space != ir::Space::global && inst.mem.space != ir::Space::lds)) return false;
    return std::all_of(inst.operands.begin(), inst.operands.end(), [&](const Inst* o) {
      return ctx.is_uniform(o) || (is_invariant(ctx, invariant, o) && !ctx.lane_addresses.is_scalar(o));
    });
  };
  for (const Inst* inst : block.insts) {
    if (uniform_load(*inst)) loaded += inst->type.count;
  }
  const bool few_loads = loaded <= ctx.isa->lanes / 2;
  for (const Inst* inst : block.insts) {
    if (inst->type.is_scalar() || inst->type.kind == TypeKind::none || inst->op == Op::lane_id) continue;
    if (ctx.lane_addresses.is_scalar(inst)) {
      invariant[inst->id] = ctx.lane_addresses.of(inst).wave;
      continue;
    }
    if (!share) continue;
    if (inst->op == Op::phi) {
      invariant[inst->id] = ctx.is_uniform(inst);
      continue;
    }
    if (ctx.classes.is_shared(inst)) continue;  // the phi's registers decide
    if (inst->op == Op::load) {
      invariant[inst->id] = few_loads && uniform_load(*inst);
      continue;
    }
    // Cross-lane operations and conversions from numbers look at the chunk, unless all lanes come out the same.
    if (!ir::is_pure(inst->op)) continue;
    const bool lane_wise =
        shape_of(*inst) == Shape::chunk && inst->op != Op::i64_to_mask && !ir::is_matrix_op(inst->op);
    if (!lane_wise) continue;
    invariant[inst->id] =
        ctx.is_uniform(inst) || std::all_of(inst->operands.begin(), inst->operands.end(),
                                            [&](const Inst* o) { return is_invariant(ctx, invariant, o); });
  }
}

}  // namespace

std::vector<bool> plan_invariance(const Lowering& ctx) {
  std::vector<bool> invariant(ctx.function.num_values());
  for (const auto& block : ctx.function.blocks) plan_block(ctx, invariant, *block);
  return invariant;
}

}  // namespace wavejit::backend
