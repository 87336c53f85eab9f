// Dominator tree of a function with several entries; a virtual root precedes them all.
#pragma once

#include <vector>

#include "ir/function.h"

namespace wavejit::ir {

// The blocks that an entry reaches, in reverse post-order.
[[nodiscard]] std::vector<Block*> reverse_postorder(const Function& function);

class Dominators {
 public:
  explicit Dominators(const Function& function);

  // As reverse_postorder().
  [[nodiscard]] const std::vector<Block*>& order() const { return order_; }
  [[nodiscard]] bool reachable(const Block* block) const { return number_[block->id] >= 0; }
  // Position in order(); -1 when unreachable.
  [[nodiscard]] int number(const Block* block) const { return number_[block->id]; }
  // Immediate dominator. Null for entries and for blocks whose immediate dominator is the virtual root.
  [[nodiscard]] Block* immediate(const Block* block) const;
  // Reflexive. Unreachable blocks dominate only themselves.
  [[nodiscard]] bool dominates(const Block* a, const Block* b) const;

 private:
  void find_immediate(const Function& function);
  void number_tree();

  std::vector<Block*> order_;
  std::vector<int> number_;         // by block id
  std::vector<int> idom_;           // by position; -1 is the virtual root
  std::vector<int> enter_, leave_;  // by position: interval in a traversal of the dominator tree
};

}  // namespace wavejit::ir
