#include "backend-x86/lir/passes/straighten_jumps.h"

#include <optional>
#include <vector>

namespace wavejit::backend::lir {
namespace {

using x86::CondCode;

bool is_jump(const Node& node) {
  return node.is_instruction() && node.id == x86::Inst::kIdJmp && node.operands[0].isLabel();
}

// Whether the node is a jump or a branch to a label.
bool goes_to_label(const Node& node) {
  return node.is_instruction() && node.operand_count == 1 && node.operands[0].isLabel();
}

std::optional<CondCode> condition_of(const Node& node) {
  if (!goes_to_label(node) || is_jump(node)) return std::nullopt;
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

// Whether the condition holds behind a comparison of a with b. Empty for those of flags that are not looked at.
std::optional<bool> holds(CondCode condition, int64_t a, int64_t b, uint32_t bytes) {
  const auto unsigned_of = [&](int64_t n) {
    return bytes == 4 ? uint64_t{static_cast<uint32_t>(n)} : static_cast<uint64_t>(n);
  };
  const uint64_t ua = unsigned_of(a), ub = unsigned_of(b);
  switch (condition) {
    case CondCode::kE:
      return a == b;
    case CondCode::kNE:
      return a != b;
    case CondCode::kB:
      return ua < ub;
    case CondCode::kAE:
      return ua >= ub;
    case CondCode::kBE:
      return ua <= ub;
    case CondCode::kA:
      return ua > ub;
    case CondCode::kL:
      return a < b;
    case CondCode::kGE:
      return a >= b;
    case CondCode::kLE:
      return a <= b;
    case CondCode::kG:
      return a > b;
    default:
      return std::nullopt;
  }
}

// A comparison of a register with a number, or its test, and the branch behind it.
struct Decision {
  const Node* compare;
  Node* branch;
  CondCode condition;
  int64_t number;
};
std::optional<Decision> decision_at(Node* label) {
  Node* const compare = label != nullptr ? next_code(label) : nullptr;
  if (compare == nullptr || !compare->is_instruction() || compare->operand_count != 2) return std::nullopt;
  const asmjit::Operand &reg = compare->operands[0], &other = compare->operands[1];
  if (!reg.isReg() || bytes_of(reg) < 4) return std::nullopt;
  int64_t number = 0;
  if (compare->id == x86::Inst::kIdCmp && other.isImm()) {
    number = other.as<asmjit::Imm>().value();
    if (bytes_of(reg) == 4) number = static_cast<int32_t>(number);
  } else if (compare->id != x86::Inst::kIdTest || other != reg) {
    return std::nullopt;
  }
  Node* const branch = next_behind(*compare);
  if (branch == nullptr) return std::nullopt;
  const auto condition = condition_of(*branch);
  if (!condition) return std::nullopt;
  return Decision{.compare = compare, .branch = branch, .condition = *condition, .number = number};
}

// Whether nothing that is executed from the node on reads flags before it writes all that conditions depend on.
bool flags_are_dead(const Node* node, const std::vector<Node*>& labels) {
  using Flags = asmjit::CpuRWFlags;
  constexpr unsigned kMostNodes = 24;  // looked at
  constexpr auto kConditions = Flags::kX86_CF | Flags::kX86_OF | Flags::kX86_SF | Flags::kX86_ZF | Flags::kX86_PF;
  auto alive = kConditions;
  for (unsigned i = 0; i < kMostNodes && node != nullptr; ++i, node = node->next) {
    if (!node->is_code()) continue;
    if (node->is_call()) return true;
    if (!node->is_instruction()) return false;
    if (is_jump(*node)) {
      node = labels[node->operands[0].id()];
      if (node == nullptr) return false;
      continue;
    }
    if (node->id == x86::Inst::kIdRet) return true;
    asmjit::InstRWInfo rw;
    if (asmjit::InstAPI::queryRWInfo(asmjit::Arch::kX64, node->base(), node->operands.data(), node->operand_count, &rw))
      return false;
    if ((rw.readFlags() & alive) != Flags::kNone) return false;
    alive = alive & ~rw.writeFlags();
    if (alive == Flags::kNone) return true;
  }
  return false;
}

}  // namespace

uint32_t straighten_jumps(Function& function) {
  constexpr unsigned kMostSteps = 4;
  std::vector<Node*> labels(function.label_count());
  std::vector<Node*> jumps;
  for (Node* node = function.begin(); node != nullptr; node = node->next) {
    if (node->is_label()) {
      labels[node->label_id()] = node;
    } else if (goes_to_label(*node)) {
      jumps.push_back(node);
    }
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
  // Past a comparison whose outcome is known on this way.
  for (Node* jump : jumps) {
    if (!is_jump(*jump)) continue;
    const auto decision = decision_at(labels[jump->operands[0].id()]);
    if (!decision) continue;
    const asmjit::Operand& reg = decision->compare->operands[0];
    const auto value = number_behind(jump->prev, reg);
    if (!value) continue;
    const auto taken = holds(decision->condition, *value, decision->number, bytes_of(reg));
    if (!taken) continue;
    if (*taken) {
      if (flags_are_dead(labels[decision->branch->operands[0].id()], labels))
        go_to(*jump, decision->branch->operands[0]);
      continue;
    }
    Node* behind = decision->branch->next;
    if (!flags_are_dead(behind, labels)) continue;
    if (behind == nullptr || !behind->is_label()) {
      behind = function.insert(decision->branch, Node::Kind::label);
      behind->operands[0] = function.new_label();
      behind->operand_count = 1;
      labels.push_back(behind);
    }
    go_to(*jump, behind->operands[0]);
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
