#include "backend-x86/lower/plans/streaming_store.h"

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/address_terms.h"
#include "backend-x86/lower/plans/prefetches.h"
#include "ir/analysis/run_through.h"

namespace wavejit::backend {

namespace {

bool writes_memory(const Inst& inst) {
  const ir::Effect effect = ir::op_info(inst.op).effect;
  return effect == ir::Effect::writes || effect == ir::Effect::atomic;
}

}  // namespace

const Inst* plan_streaming_store(const Lowering& ctx) {
  if (!ctx.on(Optimisation::streaming_stores) || !ir::runs_through(ctx.function)) return nullptr;
  const Inst* store = nullptr;
  for (const auto& block : ctx.function.blocks) {
    for (const Inst* inst : block->insts) {
      if (!writes_memory(*inst)) continue;
      if (store != nullptr) return nullptr;
      store = inst;
    }
  }
  if (store == nullptr || store->op != Op::store || store->mem.space != ir::Space::global || store->mem.bytes != 4 ||
      ctx.blocks_of_loops.contains(store->parent) || lane_operand(*store) == nullptr ||
      ctx.prefetches->advances.contains(store))
    return nullptr;
  // What the kernel changes in place is in the caches: the store would have to take it out of them.
  const AddressTerms place = address_terms(*store);
  for (const auto& block : ctx.function.blocks)
    for (const Inst* inst : block->insts)
      if (inst->op == Op::load && inst->mem.space == ir::Space::global && lane_operand(*inst) != nullptr &&
          address_terms(*inst) == place)
        return nullptr;
  return store;
}

}  // namespace wavejit::backend
