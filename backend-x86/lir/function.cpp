#include "backend-x86/lir/function.h"

namespace wavejit::backend::lir {

bool is_fixed_target(const asmjit::Operand& target) {
  if (!target.isMem()) return target.isImm();
  const auto& mem = target.as<asmjit::BaseMem>();
  return !mem.hasBaseReg() && !mem.hasIndexReg();
}

Function::Function() {
  first_ = insert(nullptr, Node::Kind::label);
  first_->operands[0] = new_label();
  first_->operand_count = 1;
}

Node* Function::insert(Node* where, Node::Kind kind) {
  if (used_ == kNodesAtOnce) {
    memory_.push_back(std::make_unique_for_overwrite<Node[]>(kNodesAtOnce));
    used_ = 0;
  }
  Node* node = &memory_.back()[used_++];
  node->kind = kind;
  node->prev = where;
  node->next = where != nullptr ? where->next : nullptr;
  if (where != nullptr) where->next = node;
  if (node->next != nullptr) node->next->prev = node;
  if (where == last_) last_ = node;
  return node;
}

void Function::remove(Node* node) {
  node->prev->next = node->next;
  if (node->next != nullptr) node->next->prev = node->prev;
  if (node == last_) last_ = node->prev;
  if (node == exit) exit = nullptr;
}

}  // namespace wavejit::backend::lir
