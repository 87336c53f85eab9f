#include "backend-x86/lower/plans/walks.h"

#include <algorithm>

#include "backend-x86/lower/lowering.h"
#include "ir/analysis/divergent_loop.h"

namespace wavejit::backend {

namespace {

bool writes_memory(const TileRegion& region) {
  return std::any_of(region.blocks.begin(), region.blocks.end(), [](const ir::Block* block) {
    return std::any_of(block->insts.begin(), block->insts.end(), [](const Inst* inst) {
      const ir::Effect effect = ir::op_info(inst->op).effect;
      return effect == ir::Effect::writes || effect == ir::Effect::atomic;
    });
  });
}

}  // namespace

// Loads that each iteration executes once, for lanes of which there never are more than in the one before, at an
// address that advances by four.
Walks plan_walks(const Lowering& ctx) {
  Walks plan;
  if (!ctx.on(Optimisation::walks)) return plan;
  for (const auto& block : ctx.function.blocks) {
    const TileRegion* region = ctx.regions.of(block.get());
    if (region == nullptr || region->header != block.get()) continue;
    const auto& from = block->predecessors;
    const auto inside = [&](const ir::Block* b) { return region->contains(b); };
    if (std::count_if(from.begin(), from.end(), inside) != 1 || writes_memory(*region)) continue;
    const auto back = static_cast<size_t>(std::find_if(from.begin(), from.end(), inside) - from.begin());
    for (const Inst* load : block->insts) {
      if (load->op != Op::load || load->mem.space != ir::Space::global || load->mem.glc) continue;
      if (load->mem.form != ir::AddressForm::vector64 || load->mem.bytes != 4 || load->mem.count != 1) continue;
      if (ctx.lane_addresses.serves(*load) || ctx.indexed_addresses.of(*load) != nullptr) continue;
      const Inst *mask = load->operands[0], *address = load->operands[1];
      const auto carried = [&](const Inst* value) { return value->op == Op::phi && value->parent == block.get(); };
      if (!carried(address) || !carried(mask) || ctx.shapes.of(address).group >= ctx.isa->lanes) continue;
      const Inst* next = address->operands[back];
      if (next->op != Op::add || next->operands[0] != address || !next->operands[1]->is_const(4)) continue;
      if (!ir::is_within(mask->operands[back], mask)) continue;
      plan.loads[load->id] = block.get();
    }
  }
  return plan;
}

bool is_found_on_a_walk(const Walks& walks, const Inst* value, unsigned depth) {
  if (walks.loads.contains(value->id)) return true;
  const bool plain = value->op == Op::zext64 || value->op == Op::sext64 || value->op == Op::shl ||
                     value->op == Op::add || value->op == Op::sub || value->op == Op::mul || value->op == Op::and_;
  return plain && depth != 0 && std::any_of(value->operands.begin(), value->operands.end(), [&](const Inst* operand) {
           return is_found_on_a_walk(walks, operand, depth - 1);
         });
}

}  // namespace wavejit::backend
