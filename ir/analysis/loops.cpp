#include "ir/analysis/loops.h"

namespace wavejit::ir {

std::vector<Loop> find_loops(const Dominators& dominators) {
  std::vector<Loop> loops;
  const auto& order = dominators.order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    Loop loop{.header = *it};
    for (Block* predecessor : (*it)->predecessors) {
      if (dominators.reachable(predecessor) && dominators.dominates(*it, predecessor))
        loop.latches.push_back(predecessor);
    }
    if (loop.latches.empty()) continue;
    loop.body.insert(*it);
    std::vector<Block*> work = loop.latches;
    while (!work.empty()) {
      Block* block = work.back();
      work.pop_back();
      if (!loop.body.insert(block).second) continue;
      work.insert(work.end(), block->predecessors.begin(), block->predecessors.end());
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

}  // namespace wavejit::ir
