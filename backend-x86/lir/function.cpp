#include "backend-x86/lir/function.h"

#include <algorithm>

namespace wavejit::backend::lir {

bool is_fixed_target(const asmjit::Operand& target) {
  if (!target.isMem()) return target.isImm();
  const auto& mem = target.as<asmjit::BaseMem>();
  return !mem.hasBaseReg() && !mem.hasIndexReg();
}

Function::Function() {
  first_ = insert_label(nullptr, new_label());
}

Node* Function::insert(Node* where, Node::Kind kind) {
  if (memory_.empty() || memory_.back().size() == kNodesAtOnce) memory_.emplace_back().reserve(kNodesAtOnce);
  Node* node = &memory_.back().emplace_back();
  node->kind = kind;
  node->prev = where;
  node->next = where != nullptr ? where->next : nullptr;
  if (where != nullptr) where->next = node;
  if (node->next != nullptr) node->next->prev = node;
  if (where == last_) last_ = node;
  return node;
}

Node* Function::insert_label(Node* where, const asmjit::Label& label) {
  Node* node = insert(where, Node::Kind::label);
  node->operands[0] = label;
  node->operand_count = 1;
  if (label_nodes_.size() <= label.id()) label_nodes_.resize(std::max<size_t>(labels_, label.id() + 1));
  label_nodes_[label.id()] = node;
  return node;
}

void Function::remove(Node* node) {
  node->prev->next = node->next;
  if (node->next != nullptr) node->next->prev = node->prev;
  if (node == last_) last_ = node->prev;
  if (node == exit) exit = nullptr;
}

}  // namespace wavejit::backend::lir
