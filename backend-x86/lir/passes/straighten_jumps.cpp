#include "backend-x86/lir/passes/straighten_jumps.h"

#include <optional>
#include <vector>

namespace wavejit::backend::lir {
namespace {

using x86::CondCode;

bool is_jump(const Node& node) {
  return node.is_instruction() && node.id == x86::Inst::kIdJmp && node.operands[0].isLabel();
}

std::optional<CondCode> condition_of(const Node& node) {
  if (!node.is_instruction() || node.operand_count != 1 || !node.operands[0].isLabel() || is_jump(node))
    return std::nullopt;
  for (uint8_t code = 0; code <= static_cast<uint8_t>(CondCode::kMaxValue); ++code)
    if (node.id == x86::Inst::jccFromCond(static_cast<CondCode>(code))) return static_cast<CondCode>(code);
  return std::nullopt;
}

// The first node from here on that is code.
Node* next_code(Node* node) {
  while (node != nullptr && !node->is_code()) node = node->next;
  return node;
}

// What follows a node, if only the node leads there.
Node* next_behind(const Node& node) {
  Node* next = node.next;
  while (next != nullptr && next->kind == Node::Kind::comment) next = next->next;
  return next;
}

// Whether control that passes through the node comes to the label before it comes to code.
bool leads_to(const Node* node, uint32_t label) {
  for (; node != nullptr && !node->is_code(); node = node->next)
    if (node->is_label() && node->label_id() == label) return true;
  return false;
}

}  // namespace

uint32_t straighten_jumps(Function& function) {
  constexpr unsigned kMostSteps = 4;
  std::vector<Node*> labels(function.label_count());
  std::vector<Node*> jumps;
  for (Node* node = function.begin(); node != nullptr; node = node->next) {
    if (node->is_label()) labels[node->label_id()] = node;
    if (is_jump(*node) || condition_of(*node)) jumps.push_back(node);
  }
  uint32_t changed = 0;
  const auto go_to = [&](Node& jump, const asmjit::Operand& target) {
    jump.operands[0] = target;
    ++changed;
  };
  for (Node* jump : jumps) {
    for (unsigned step = 0; step < kMostSteps; ++step) {
      Node* const label = labels[jump->operands[0].id()];
      const Node* const next = label != nullptr ? next_code(label) : nullptr;
      if (next == nullptr || next == jump || !is_jump(*next) || next->operands[0].id() == jump->operands[0].id()) break;
      go_to(*jump, next->operands[0]);
    }
  }
  // From the end: a jump may be removed together with the branch around it.
  for (auto it = jumps.rbegin(); it != jumps.rend(); ++it) {
    Node& jump = **it;
    if (const auto condition = condition_of(jump)) {
      Node* const around = next_behind(jump);
      if (around != nullptr && is_jump(*around) && leads_to(around->next, jump.operands[0].id())) {
        jump.id = x86::Inst::jccFromCond(x86::negateCond(*condition));
        go_to(jump, around->operands[0]);
        function.remove(around);
      }
    }
    if (leads_to(jump.next, jump.operands[0].id())) {
      function.remove(&jump);
      ++changed;
    }
  }
  return changed;
}

}  // namespace wavejit::backend::lir
