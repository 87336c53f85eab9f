#include "backend-x86/lir/passes/decisions.h"

namespace wavejit::backend::lir {

using x86::CondCode;

bool is_jump(const Node& node) {
  return node.is_instruction() && node.id == x86::Inst::kIdJmp && node.operands[0].isLabel();
}

bool goes_to_label(const Node& node) {
  return node.is_instruction() && node.operand_count == 1 && node.operands[0].isLabel();
}

std::optional<CondCode> condition_of(const Node& node) {
  if (!goes_to_label(node) || is_jump(node)) return std::nullopt;
  for (uint8_t code = 0; code <= static_cast<uint8_t>(CondCode::kMaxValue); ++code)
    if (node.id == x86::Inst::jccFromCond(static_cast<CondCode>(code))) return static_cast<CondCode>(code);
  return std::nullopt;
}

Node* next_code(Node* node) {
  while (node != nullptr && !node->is_code()) node = node->next;
  return node;
}

Node* next_behind(const Node& node) {
  Node* next = node.next;
  while (next != nullptr && next->kind == Node::Kind::comment) next = next->next;
  return next;
}

Node* before(const Node& node) {
  Node* previous = node.prev;
  while (previous != nullptr && previous->kind == Node::Kind::comment) previous = previous->prev;
  return previous;
}

asmjit::Label label_behind(Function& function, Node& node) {
  Node* behind = node.next;
  if (behind == nullptr || !behind->is_label()) behind = function.insert_label(&node, function.new_label());
  return behind->operands[0].as<asmjit::Label>();
}

std::optional<Decision> decision_of(Node* compare) {
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

bool flags_are_dead(const Node* node, const Function& function) {
  using Flags = asmjit::CpuRWFlags;
  constexpr unsigned kMostNodes = 24;  // looked at
  constexpr auto kConditions = Flags::kX86_CF | Flags::kX86_OF | Flags::kX86_SF | Flags::kX86_ZF | Flags::kX86_PF;
  auto alive = kConditions;
  for (unsigned i = 0; i < kMostNodes && node != nullptr; ++i, node = node->next) {
    if (!node->is_code()) continue;
    if (node->is_call() || node->is_result()) return true;
    if (!node->is_instruction()) return false;
    if (is_jump(*node)) {
      node = function.node_of(node->operands[0]);
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

}  // namespace wavejit::backend::lir
