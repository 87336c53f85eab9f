#include "backend-x86/lir/passes/straighten_jumps.h"

#include <optional>
#include <vector>

#include "backend-x86/lir/passes/decisions.h"

namespace wavejit::backend::lir {
namespace {

// Whether control that passes through the node comes to the label before it comes to code.
bool leads_to(const Node* node, uint32_t label) {
  for (; node != nullptr && !node->is_code(); node = node->next)
    if (node->is_label() && node->label_id() == label) return true;
  return false;
}

// The number that the register holds behind the node, if moves there show it.
std::optional<int64_t> number_behind(const Node* node, const asmjit::Operand& reg) {
  for (; node != nullptr; node = node->prev) {
    if (node->kind == Node::Kind::comment) continue;
    if (!node->is_instruction() || node->id != x86::Inst::kIdMov) return std::nullopt;
    const asmjit::Operand &to = node->operands[0], &from = node->operands[1];
    if (!to.isReg() || !x86::Reg::isGp(to) || to.id() != reg.id()) continue;
    if (!from.isImm() || to != reg) return std::nullopt;
    const auto number = from.as<asmjit::Imm>().value();
    return bytes_of(reg) == 4 ? static_cast<int32_t>(number) : number;
  }
  return std::nullopt;
}

}  // namespace

uint32_t straighten_jumps(Function& function) {
  constexpr unsigned kMostSteps = 4;
  std::vector<Node*>& jumps = function.jumps;
  uint32_t changed = 0;
  const auto go_to = [&](Node& jump, const asmjit::Operand& target) {
    jump.operands[0] = target;
    ++changed;
  };
  for (Node* jump : jumps) {
    for (unsigned step = 0; step < kMostSteps; ++step) {
      Node* const label = function.node_of(jump->operands[0]);
      const Node* const next = label != nullptr ? next_code(label) : nullptr;
      if (next == nullptr || next == jump || !is_jump(*next) || next->operands[0].id() == jump->operands[0].id()) break;
      go_to(*jump, next->operands[0]);
    }
  }
  // Past a comparison whose outcome is known on this way.
  for (Node* jump : jumps) {
    if (!is_jump(*jump)) continue;
    const auto decision = decision_of(next_code(function.node_of(jump->operands[0])));
    if (!decision) continue;
    const asmjit::Operand& reg = decision->compare->operands[0];
    const auto value = number_behind(jump->prev, reg);
    if (!value) continue;
    const auto taken = holds(decision->condition, *value, decision->number, bytes_of(reg));
    if (!taken) continue;
    if (*taken) {
      if (flags_are_dead(function.node_of(decision->branch->operands[0]), function))
        go_to(*jump, decision->branch->operands[0]);
      continue;
    }
    if (!flags_are_dead(decision->branch->next, function)) continue;
    go_to(*jump, label_behind(function, *decision->branch));
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
        auto place = it;  // one of the next that are left
        while (*place != around) --place;
        *place = nullptr;
      }
    }
    if (leads_to(jump.next, jump.operands[0].id())) {
      function.remove(&jump);
      *it = nullptr;
      ++changed;
    }
  }
  std::erase(jumps, nullptr);
  return changed;
}

}  // namespace wavejit::backend::lir
