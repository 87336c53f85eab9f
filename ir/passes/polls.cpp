// Polls in loops that may wait for what others do.
//
// Such a loop goes on or ends as a value says that it has loaded itself, and another wave can change what it loads:
//   - one of another work-group: by coherent accesses (glc; on GFX940 sc0 and sc1), atomics, and any access if the loop
//     invalidates a cache. On GFX6 to GFX9 a plain load may find the same stale line of the L1 cache for ever.
//   - one of its own work-group, if that has several: also by plain loads and by LDS.
// All other loops end whatever others do, or never. Where no signal can interrupt these, they poll, too
// (PassContext::poll_all_loops).
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "ir/analysis/loops.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

class Waiting {
 public:
  Waiting(const Loop& loop, bool one_wave)
      : loop_(loop), invalidates_(has_fence(loop)), plain_(!one_wave || invalidates_), lds_(!one_wave) {}

  // Whether the wave may come back by way of this latch as long as nobody else does something. Loops that share a
  // header, which is where code was entered that is resumed inside of one, are one loop here.
  [[nodiscard]] bool at(const Block* latch) {
    const std::unordered_set<const Block*> way = way_to(latch);
    bool leaves = false;
    for (const Block* block : way) {
      const auto& next = block->successors;
      if (std::all_of(next.begin(), next.end(), [&](const Block* b) { return way.contains(b); })) continue;
      leaves = true;
      if (depends(block->terminator()->operands[0])) return true;
    }
    return !leaves;
  }

 private:
  // The blocks between the header and the latch.
  [[nodiscard]] std::unordered_set<const Block*> way_to(const Block* latch) const {
    std::unordered_set<const Block*> way{loop_.header, latch};
    std::vector<const Block*> work{latch};
    while (!work.empty()) {
      const Block* block = work.back();
      work.pop_back();
      if (block == loop_.header) continue;
      for (const Block* from : block->predecessors)
        if (way.insert(from).second) work.push_back(from);
    }
    return way;
  }

  [[nodiscard]] static bool has_fence(const Loop& loop) {
    return std::any_of(loop.body.begin(), loop.body.end(), [](const Block* block) {
      return std::any_of(block->insts.begin(), block->insts.end(),
                         [](const Inst* inst) { return inst->op == Op::fence; });
    });
  }

  [[nodiscard]] bool observes(const Inst& inst) const {
    switch (inst.op) {
      case Op::atomic:
        return inst.mem.space != Space::lds || lds_;
      case Op::call:
        return true;
      case Op::load:
      case Op::load_edges:
        switch (inst.mem.space) {
          case Space::scratch:
            return false;
          case Space::lds:
            return lds_;
          default:
            return plain_ || inst.mem.glc;
        }
      case Op::load_scalar:
        return inst.mem.glc || invalidates_;
      default:
        return false;
    }
  }

  // Whether the value may be another one in a later iteration only because memory is.
  bool depends(const Inst* value) {
    std::vector<const Inst*> work{value};
    const auto reach = [&](const Inst* inst) {
      if (loop_.body.contains(inst->parent) && seen_.insert(inst).second) work.push_back(inst);
    };
    while (!work.empty()) {
      const Inst* inst = work.back();
      work.pop_back();
      if (!loop_.body.contains(inst->parent)) continue;
      if (observes(*inst)) return true;
      for (const Inst* operand : inst->operands) reach(operand);
      if (inst->op != Op::phi || inst->parent == loop_.header) continue;
      // Which way has been taken to it.
      for (const Block* block : loop_.body)
        if (block->terminator()->op == Op::cond_br) reach(block->terminator()->operands[0]);
    }
    return false;
  }

  const Loop& loop_;
  const bool invalidates_;
  const bool plain_, lds_;  // such loads may see what others have stored
  std::unordered_set<const Inst*> seen_;
};

// Returns false if the block has one.
bool add_poll(Function& function, Block& block) {
  const auto size = block.insts.size();
  if (size >= 2 && block.insts[size - 2]->op == Op::poll) return false;
  Inst* poll = function.create(Op::poll, kNone);
  poll->guest_pc = block.terminator()->guest_pc;
  function.insert_before(block.terminator(), poll);
  return true;
}

}  // namespace

PassResult polls(Function& function, const PassContext& context) {
  bool changed = drop_unreachable(function);
  const Dominators dominators(function);
  std::vector<std::pair<Block*, Rule>> at;
  for (const Loop& loop : find_loops(dominators))
    for (Block* latch : loop.latches)
      if (context.poll_all_loops || Waiting(loop, context.one_wave).at(latch))
        at.emplace_back(latch, Rule::poll_in_loop);
  // Cycles that have several entries are no loops of which anything is known.
  for (Block* block : dominators.order())
    for (const Block* next : block->successors)
      if (dominators.number(next) <= dominators.number(block) && !dominators.dominates(next, block))
        at.emplace_back(block, Rule::poll_in_cycle);
  for (const auto& [block, rule] : at) {
    if (!add_poll(function, *block)) continue;
    function.count(rule);
    changed = true;
  }
  return {.changed = changed};
}

}  // namespace wavejit::ir::passes
