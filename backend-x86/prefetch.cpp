// Lanes that walk through memory of their own, as through the rows of a sparse matrix: the processor's prefetchers do
// not see so many streams. Where such a loop is entered, the line behind each lane's first one is asked for, while
// there is enough else to do.
#include <algorithm>

#include "backend-x86/emitter.h"
#include "ir/analysis/loops.h"

namespace wavejit::backend {

void Emitter::plan_prefetches() {
  constexpr int64_t kLine = 64;
  const ir::Dominators dominators(function_);
  for (const ir::Loop& loop : ir::find_loops(dominators)) {
    const ir::Block* header = loop.header;
    if (header->predecessors.size() != loop.latches.size() + 1) continue;
    const auto entry = std::find_if(header->predecessors.begin(), header->predecessors.end(),
                                    [&](const ir::Block* b) { return !loop.body.contains(b); });
    if (entry == header->predecessors.end() || (*entry)->terminator()->op != Op::br || regions_.of(*entry) != nullptr)
      continue;
    const auto from = static_cast<size_t>(entry - header->predecessors.begin());
    for (const Inst* phi : header->insts) {
      if (phi->op != Op::phi || phi->type != ir::kV64 || lane_addresses_.is_scalar(phi)) continue;
      if (shapes_.of(phi).group >= isa_->lanes || phi->operands[from]->is_const()) continue;
      const bool loaded = std::any_of(phi->users.begin(), phi->users.end(), [&](const Inst* user) {
        return user->op == Op::load && user->mem.form == ir::AddressForm::vector64 &&
               user->mem.space == ir::Space::global && loop.body.contains(user->parent);
      });
      // Small steps: a line lasts for several iterations.
      int64_t step = 0;
      for (size_t i = 0; i < phi->operands.size() && loaded; ++i) {
        const Inst* next = phi->operands[i];
        if (i == from) continue;
        step = next->op == Op::add && next->operands[0] == phi && next->operands[1]->is_const()
                   ? static_cast<int64_t>(next->operands[1]->imm)
                   : 0;
      }
      if (step == 0 || step >= kLine || step <= -kLine) continue;
      prefetches_[(*entry)->id].push_back({phi->operands[from], static_cast<int32_t>(step > 0 ? kLine : -kLine)});
    }
  }
}

// Prefetches do not fault: that goes for lanes that are off, too.
void Emitter::emit_prefetches(const ir::Block& block) {
  const auto found = prefetches_.find(block.id);
  if (found == prefetches_.end()) return;
  for (const Prefetch& prefetch : found->second) {
    const Mem row = scratch_row(address_row_, 2 * isa_->bytes());
    for (unsigned chunk = first_chunk(); chunk < end_chunk(); ++chunk) {
      isa_->recycle();
      isa_->store_row64(row, v64(prefetch.address, chunk));
      for (unsigned lane = 0; lane < isa_->lanes; ++lane) {
        const Gp pointer = cc_.newUInt64();
        cc_.mov(pointer, row.cloneAdjusted(lane * 8).cloneResized(8));
        cc_.prefetcht0(x86::ptr(pointer, prefetch.distance));
      }
    }
  }
}

}  // namespace wavejit::backend
