// Dominator tree of a function with several entries (a virtual root precedes them all).
#pragma once

#include <vector>

#include "ir/function.h"

namespace wavejit::ir {

class Dominators {
 public:
  explicit Dominators(const Function& function);

  // Reverse post-order over the blocks that an entry reaches.
  [[nodiscard]] const std::vector<Block*>& order() const { return order_; }
  [[nodiscard]] bool reachable(const Block* block) const { return number_[block->id] >= 0; }
  // Position in order(); -1 when unreachable.
  [[nodiscard]] int number(const Block* block) const { return number_[block->id]; }
  // Null for entries and blocks reached from several of them (their dominator is the virtual root).
  [[nodiscard]] Block* immediate(const Block* block) const;
  // Reflexive. Unreachable blocks dominate only themselves.
  [[nodiscard]] bool dominates(const Block* a, const Block* b) const;

 private:
  std::vector<Block*> order_;
  std::vector<int> number_;         // by block id
  std::vector<int> idom_;           // by position; -1 is the virtual root
  std::vector<int> enter_, leave_;  // by position: interval in a walk of the dominator tree
};

}  // namespace wavejit::ir
