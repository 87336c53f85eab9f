#include "ir/analysis/dominators.h"

#include <algorithm>

namespace wavejit::ir {

// Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm" (2001).
Dominators::Dominators(const Function& function) : number_(function.num_block_ids(), -1) {
  std::vector<char> seen(function.num_block_ids(), 0);
  struct Visit {
    Block* block;
    size_t next;
  };
  std::vector<Visit> stack;
  for (auto entry = function.entries.rbegin(); entry != function.entries.rend(); ++entry) {
    if (seen[entry->block->id]) continue;
    seen[entry->block->id] = 1;
    stack.push_back({entry->block, 0});
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next < visit.block->successors.size()) {
        Block* successor = visit.block->successors[visit.next++];
        if (seen[successor->id]) continue;
        seen[successor->id] = 1;
        stack.push_back({successor, 0});
      } else {
        order_.push_back(visit.block);
        stack.pop_back();
      }
    }
  }
  std::reverse(order_.begin(), order_.end());
  const int count = static_cast<int>(order_.size());
  for (int i = 0; i < count; ++i) number_[order_[i]->id] = i;

  constexpr int kUnknown = -2;
  idom_.assign(order_.size(), kUnknown);
  std::vector<char> is_entry(order_.size(), 0);
  for (const Entry& entry : function.entries) is_entry[number_[entry.block->id]] = 1;
  const auto meet = [&](int a, int b) {
    while (a != b) {
      if (a == -1 || b == -1) return -1;
      if (a > b) {
        a = idom_[a];
      } else {
        b = idom_[b];
      }
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < count; ++i) {
      int dominator = is_entry[i] ? -1 : kUnknown;
      for (const Block* predecessor : order_[i]->predecessors) {
        const int p = number_[predecessor->id];
        if (p < 0 || idom_[p] == kUnknown) continue;
        dominator = dominator == kUnknown ? p : meet(dominator, p);
      }
      if (idom_[i] != dominator) {
        idom_[i] = dominator;
        changed = true;
      }
    }
  }

  std::vector<std::vector<int>> children(order_.size() + 1);
  for (int i = 0; i < count; ++i) children[idom_[i] + 1].push_back(i);
  enter_.assign(order_.size(), 0);
  leave_.assign(order_.size(), 0);
  int clock = 0;
  std::vector<std::pair<int, size_t>> walk{{-1, 0}};
  while (!walk.empty()) {
    const int node = walk.back().first;
    const std::vector<int>& list = children[node + 1];
    if (walk.back().second < list.size()) {
      const int child = list[walk.back().second++];
      enter_[child] = clock++;
      walk.emplace_back(child, 0);
    } else {
      if (node >= 0) leave_[node] = clock++;
      walk.pop_back();
    }
  }
}

Block* Dominators::immediate(const Block* block) const {
  const int n = number_[block->id];
  return n < 0 || idom_[n] < 0 ? nullptr : order_[idom_[n]];
}

bool Dominators::dominates(const Block* a, const Block* b) const {
  if (a == b) return true;
  const int x = number_[a->id];
  const int y = number_[b->id];
  return x >= 0 && y >= 0 && enter_[x] <= enter_[y] && leave_[y] <= leave_[x];
}

}  // namespace wavejit::ir
