#include "ir/analysis/dominators.h"

#include <algorithm>
#include <utility>

namespace wavejit::ir {

std::vector<Block*> reverse_postorder(const Function& function) {
  std::vector<Block*> order;
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
        order.push_back(visit.block);
        stack.pop_back();
      }
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

Dominators::Dominators(const Function& function)
    : order_(reverse_postorder(function)), number_(function.num_block_ids(), -1) {
  for (size_t i = 0; i < order_.size(); ++i) number_[order_[i]->id] = static_cast<int>(i);
  find_immediate(function);
  number_tree();
}

// Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm" (2001).
void Dominators::find_immediate(const Function& function) {
  const int count = static_cast<int>(order_.size());
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
}

// Gives each block the interval of its subtree in a walk.
void Dominators::number_tree() {
  constexpr int kNone = -1;
  const size_t count = order_.size();
  std::vector<int> first(count + 1, kNone), sibling(count, kNone);  // children, those of the virtual root at 0
  for (size_t i = count; i-- > 0;) sibling[i] = std::exchange(first[idom_[i] + 1], static_cast<int>(i));
  enter_.assign(count, 0);
  leave_.assign(count, 0);
  int clock = 0;
  std::vector<int> path{-1};
  while (!path.empty()) {
    const int node = path.back();
    if (const int child = std::exchange(first[node + 1], kNone); child != kNone) {
      first[node + 1] = sibling[child];
      enter_[child] = clock++;
      path.push_back(child);
    } else {
      if (node >= 0) leave_[node] = clock++;
      path.pop_back();
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
