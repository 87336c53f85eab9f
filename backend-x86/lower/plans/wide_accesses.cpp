#include "backend-x86/lower/plans/wide_accesses.h"

#include <array>
#include <span>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/fusions.h"

namespace wavejit::backend {

namespace {

void plan_wide_load(const Lowering& ctx, WideAccesses& plan, const Inst& load) {
  std::array<const Inst*, 4> halves{};
  for (const Inst* user : load.users) {
    if (user->op != Op::extract || user->users.size() != 1 || halves[user->imm] != nullptr) return;
    halves[user->imm] = user;
  }
  WideValues wide;
  for (unsigned i = 0; i < load.mem.count; i += 2) {
    const Inst *low = halves[i], *high = halves[i + 1];
    if (low == nullptr || high == nullptr) return;
    const Inst* whole = low->users[0];
    if (whole->op != Op::pack64 || whole->type != ir::kV64) return;
    if (whole->operands[0] != low || whole->operands[1] != high) return;
    if (whole->parent != load.parent || ctx.lane_addresses.is_scalar(whole)) return;
    // Its registers are written before its place.
    if (ctx.classes.is_shared(whole) || ctx.classes.is_shared(low) || ctx.classes.is_shared(high)) return;
    wide.pairs[i / 2] = whole;
  }
  plan.values[load.id] = wide;
  for (const Inst* half : std::span(halves).first(load.mem.count))
    plan.absorbed[half->id] = plan.absorbed[half->users[0]->id] = true;
}

void plan_wide_store(const Lowering& ctx, WideAccesses& plan, const Inst& store) {
  const size_t count = store.operands.size();
  const Inst *low = store.operands[count - 2], *high = store.operands[count - 1];
  if (low->op != Op::lo32 || high->op != Op::hi32 || low->operands[0] != high->operands[0]) return;
  const Inst* whole = low->operands[0];
  if (whole->type != ir::kV64 || ctx.lane_addresses.is_scalar(whole)) return;
  for (const Inst* half : {low, high}) {
    if (half->users.size() != 1 || ctx.lane_addresses.is_scalar(half) || !can_sink(ctx, ctx.fusions, *half, store))
      return;
  }
  plan.values[store.id].pairs[0] = whole;
  plan.absorbed[low->id] = plan.absorbed[high->id] = true;
}

}  // namespace

WideAccesses plan_wide_accesses(const Lowering& ctx) {
  WideAccesses plan{.values = std::vector<WideValues>(ctx.function.num_values()),
                    .absorbed = std::vector<bool>(ctx.function.num_values())};
  if (!ctx.on(Optimisation::wide_pairs)) return plan;
  for (const auto& block : ctx.function.blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::load && inst->op != Op::store) continue;
      if (inst->mem.bytes != 4 || inst->mem.space == ir::Space::scratch) continue;
      if (inst->mem.count != 2 && (inst->mem.count != 4 || inst->op == Op::store)) continue;
      const Inst* address = lane_operand(*inst);
      if (address == nullptr || ctx.is_uniform(address)) continue;
      inst->op == Op::load ? plan_wide_load(ctx, plan, *inst) : plan_wide_store(ctx, plan, *inst);
    }
  }
  return plan;
}

}  // namespace wavejit::backend
