// Homes in memory for the sums of long blocks.
#include <algorithm>
#include <set>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/divisions.h"
#include "backend-x86/lower/plans/idle_halves.h"
#include "backend-x86/lower/plans/row_homes.h"
#include "backend-x86/lower/plans/ternary_logic.h"
#include "backend-x86/lower/vector/simple_forms.h"
#include "ir/matrix.h"

namespace wavejit::backend {
namespace {

// Least number of instructions of a block in which sums may live in memory.
constexpr size_t kLongBlock = 400;

// Between 64-bit values and their halves.
bool is_half_form(Op op) {
  return op == Op::pack64 || op == Op::lo32 || op == Op::hi32;
}

}  // namespace

// Sums that a long block receives from other blocks or passes on, and factors that are loaded for the next one, live in
// memory if there are more of them than registers: in a row on the stack with a part for each chunk. So no code copies
// them between registers and rows around the loops over chunks.
void plan_sum_homes(Lowering& ctx, RowHomes& homes) {
  if (!ctx.on(Optimisation::sums_first) || !ctx.on(Optimisation::rolled_segments)) return;
  const auto reads_in_place = [&](const Inst* user) {
    if (ctx.regions.of(user->parent) != nullptr) return false;  // passes have registers of their own
    if (user->op == Op::set_vgpr) return true;
    if (user->op == Op::phi) return !ctx.lane_addresses.is_scalar(user) && !ctx.is_invariant(user);
    return !ctx.is_fused(user) && !ctx.ternaries->trees.contains(user->id) &&
           !ctx.divisions->steps.contains(user->id) &&
           (user->op == Op::fma_f32 || user->op == Op::fma_f64 || is_half_form(user->op) ||
            find_simple_form(*user) != nullptr);
  };
  const auto made_in_place = [&](const Inst* inst) {
    if (inst->op == Op::extract || inst->op == Op::get_vgpr) return ctx.regions.of(inst->parent) == nullptr;
    return reads_in_place(inst);
  };
  const auto is_long = [](const ir::Block* block) { return block->insts.size() >= kLongBlock; };
  const auto is_candidate = [&](const Inst* inst) {
    const Inst* place = ctx.classes.representative(inst);
    return place->type == inst->type && inst->type.count == 1 && !ctx.is_invariant(place) &&
           !ctx.lane_addresses.is_scalar(place) && ctx.idle->is_wanted_whole(inst) && made_in_place(inst) &&
           homes.of(place) == nullptr && std::all_of(inst->users.begin(), inst->users.end(), reads_in_place);
  };
  // All members of a class have to be candidates. A class that has none in a long block, and a value by itself, count
  // if they are sums that another block makes for a long one, or takes over from it.
  std::set<const Inst*> candidates, others, long_lived, passed_on;
  for (const auto& block : ctx.function.blocks) {
    for (const Inst* inst : block->insts) {
      if (!inst->type.is_vector()) continue;
      const Inst* place = ctx.classes.representative(inst);
      const bool is_sum = inst->op == Op::fma_f32 || inst->op == Op::fma_f64;
      const bool is_passed_on =
          is_sum && std::any_of(inst->users.begin(), inst->users.end(), [&](const Inst* user) {
            return user->parent != inst->parent && (is_long(user->parent) || is_long(block.get()));
          });
      if (ctx.classes.is_shared(inst)) {
        (place->op == Op::phi && is_candidate(inst) ? candidates : others).insert(place);
        if (is_long(block.get())) long_lived.insert(place);
      } else if (is_passed_on && is_candidate(inst)) {
        candidates.insert(place);
      }
      if (is_passed_on) passed_on.insert(place);
    }
  }
  const auto homeless = [&](const Inst* place) { return !candidates.contains(place) || others.contains(place); };
  std::erase_if(long_lived, homeless);
  std::erase_if(passed_on, [&](const Inst* place) { return homeless(place) || long_lived.contains(place); });
  std::vector<const Inst*> places;
  if (long_lived.size() > ctx.isa->budget().vectors) places.assign(long_lived.begin(), long_lived.end());
  if (passed_on.size() > ctx.isa->budget().vectors / 2) places.insert(places.end(), passed_on.begin(), passed_on.end());
  std::sort(places.begin(), places.end(), [](const Inst* a, const Inst* b) { return a->id < b->id; });
  for (const Inst* place : places) {
    const unsigned bytes = ctx.tile * 4 * ctx.parts(place);
    homes.all[place] = {.block = ctx.stack_row(bytes), .row = 0, .row_bytes = bytes};
  }
}

}  // namespace wavejit::backend
