// Homes in memory for the sums of long blocks.
#include <algorithm>
#include <iterator>
#include <set>

#include "backend-x86/emitter.h"
#include "backend-x86/simple_forms.h"
#include "ir/matrix.h"

namespace wavejit::backend {
namespace {

// Instructions of a block in which sums may have a home in memory.
constexpr size_t kLongBlock = 400;

// Between 64-bit values and their halves.
bool is_half_form(ir::Op op) {
  return op == ir::Op::pack64 || op == ir::Op::lo32 || op == ir::Op::hi32;
}

}  // namespace

// Sums that phis carry into or out of long blocks, and factors that are loaded for the next one, have their home in memory
// if there are more of them than registers: a row of the stack with the place of each chunk. So nothing copies them between
// registers and tables around the loops over chunks.
void Emitter::plan_sum_homes() {
  const auto reads_in_place = [&](const Inst* user) {
    if (regions_.of(user->parent) != nullptr) return false;  // passes have registers of their own
    if (user->op == Op::set_vgpr) return true;
    if (user->op == Op::phi) return !lane_addresses_.is_scalar(user) && !is_invariant(user);
    return !is_fused(user) && !ternaries_.contains(user->id) && !divisions_.contains(user->id) &&
           (user->op == Op::fma_f32 || user->op == Op::fma_f64 || is_half_form(user->op) ||
            find_simple_form(*user) != nullptr);
  };
  const auto made_in_place = [&](const Inst* inst) {
    if (inst->op == Op::extract || inst->op == Op::get_vgpr) return regions_.of(inst->parent) == nullptr;
    return reads_in_place(inst);
  };
  std::set<const Inst*> candidates, others, long_lived;
  for (const auto& block : function_.blocks) {
    const bool is_long = block->insts.size() >= kLongBlock;
    for (const Inst* inst : block->insts) {
      if (!inst->type.is_vector() || !classes_.is_shared(inst)) continue;
      const Inst* phi = classes_.representative(inst);
      const bool good = phi->op == Op::phi && phi->type == inst->type && inst->type.count == 1 && !is_invariant(phi) &&
                        !lane_addresses_.is_scalar(phi) && wanted_chunks_[inst->id] == 0xff && made_in_place(inst) &&
                        row_home(phi) == nullptr && std::all_of(inst->users.begin(), inst->users.end(), reads_in_place);
      (good ? candidates : others).insert(phi);
      if (is_long) long_lived.insert(phi);
    }
  }
  std::vector<const Inst*> phis;
  std::set_difference(candidates.begin(), candidates.end(), others.begin(), others.end(), std::back_inserter(phis));
  std::erase_if(phis, [&](const Inst* phi) { return !long_lived.contains(phi); });
  if (phis.size() <= isa_->budget().vectors) return;
  std::sort(phis.begin(), phis.end(), [](const Inst* a, const Inst* b) { return a->id < b->id; });
  for (const Inst* phi : phis) {
    const unsigned bytes = tile_ * 4 * parts(phi);
    row_homes_[phi] = {.block = stack_row(bytes), .row = 0, .row_bytes = bytes};
  }
}

// Behind an instruction whose result has its home in memory.
void Emitter::store_home(const Inst& inst, unsigned chunk) {
  if (!inst.type.is_vector() || ir::is_matrix_op(inst.op)) return;
  const Inst* place = classes_.representative(&inst);
  const RowHome* home = row_home(place);
  if (home == nullptr) return;
  for (unsigned part = 0; part < parts(place); ++part)
    isa_->store(place_of(*home, chunk, part), reg(place, 0, chunk, part).as<Vec>(), nullptr);
}

}  // namespace wavejit::backend
