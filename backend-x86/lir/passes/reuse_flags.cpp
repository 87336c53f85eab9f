#include "backend-x86/lir/passes/reuse_flags.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "backend-x86/lir/passes/decisions.h"

namespace wavejit::backend::lir {
namespace {

using asmjit::BaseMem;
using asmjit::Operand;
using x86::CondCode;
using Flags = asmjit::CpuRWFlags;
namespace I = x86::Inst;

constexpr auto kConditions = Flags::kX86_CF | Flags::kX86_OF | Flags::kX86_SF | Flags::kX86_ZF | Flags::kX86_PF;
constexpr unsigned kMostNodes = 24;  // between a test and where its flags are dead

// A conditional jump, move or set, and its condition; `none` stands for all other instructions.
struct Conditional {
  enum class Kind : uint8_t { none, jump, move, set };
  Kind kind = Kind::none;
  CondCode condition{};

  [[nodiscard]] asmjit::InstId with(CondCode other) const {
    return kind == Kind::jump   ? I::jccFromCond(other)
           : kind == Kind::move ? I::cmovccFromCond(other)
                                : I::setccFromCond(other);
  }
};
Conditional conditional(asmjit::InstId id) {
  static const auto table = [] {
    std::array<Conditional, I::_kIdCount> of_id{};
    for (uint8_t code = 0; code <= static_cast<uint8_t>(CondCode::kMaxValue); ++code) {
      const auto condition = static_cast<CondCode>(code);
      of_id[I::jccFromCond(condition)] = {Conditional::Kind::jump, condition};
      of_id[I::cmovccFromCond(condition)] = {Conditional::Kind::move, condition};
      of_id[I::setccFromCond(condition)] = {Conditional::Kind::set, condition};
    }
    return of_id;
  }();
  return id < table.size() ? table[id] : Conditional{};
}

class FlagUser {
 public:
  explicit FlagUser(Function& function) : function_(function) {}

  uint32_t run() {
    uint32_t left_out = 0;
    for (Node* node = function_.begin(); node != nullptr;) {
      Node* const next = node->next;
      if (node->is_instruction())
        left_out += visit(*node);
      else if (node->kind != Node::Kind::comment)
        known_.clear();
      node = next;
    }
    return left_out;
  }

 private:
  // A register that holds whether the condition held, which the flags still tell.
  struct Known {
    uint32_t reg;
    CondCode condition;
    Node *set, *widened;  // what has made it; `widened` may be null
  };

  uint32_t& mentions(uint32_t virtual_id) { return mentions_[Operand::virtIdToIndex(virtual_id)]; }
  // Most functions have no test to leave out.
  void count_once() {
    if (!mentions_.empty()) return;
    mentions_.resize(function_.registers.size());
    for (const Operand& argument : function_.arguments) ++mentions(argument.id());
    for (Node* node = function_.begin(); node != nullptr; node = node->next) count(*node);
  }
  void count(const Node& node) {
    for (const Operand& op : node.ops()) {
      if (is_virtual(op)) ++mentions(op.id());
      if (!op.isMem()) continue;
      const auto& mem = op.as<BaseMem>();
      if (mem.hasBaseReg() && Operand::isVirtId(mem.baseId())) ++mentions(mem.baseId());
      if (mem.hasIndexReg() && Operand::isVirtId(mem.indexId())) ++mentions(mem.indexId());
    }
    if (node.has_mask() && Operand::isVirtId(node.mask.id())) ++mentions(node.mask.id());
  }

  // Whether the node, a test, has been left out.
  bool visit(Node& node) {
    const auto& ops = node.operands;
    const Conditional made_by = conditional(node.id);
    const bool sets = made_by.kind == Conditional::Kind::set && is_virtual(ops[0]);
    if (known_.empty() && !sets) return false;
    if (node.id == I::kIdTest && is_virtual(ops[0]) && ops[1] == ops[0]) {
      const auto known = std::ranges::find(known_, ops[0].id(), &Known::reg);
      // Above the byte that a condition sets there may be anything.
      const bool whole = known != known_.end() && (known->widened != nullptr || bytes_of(ops[0]) == 1);
      if (whole && leave_out(node, Known(*known))) return true;
    }
    asmjit::InstRWInfo rw;
    if (asmjit::InstAPI::queryRWInfo(asmjit::Arch::kX64, node.base(), ops.data(), node.operand_count, &rw) ||
        is_jump(node) || (rw.writeFlags() & kConditions) != Flags::kNone) {
      known_.clear();
      return false;
    }
    std::optional<Known> made;
    if (sets) {
      made = Known{.reg = ops[0].id(), .condition = made_by.condition, .set = &node, .widened = nullptr};
    } else if (node.id == I::kIdMovzx && is_virtual(ops[0]) && is_virtual(ops[1]) && bytes_of(ops[1]) == 1) {
      const auto byte = std::ranges::find(known_, ops[1].id(), &Known::reg);
      if (byte != known_.end())
        made = Known{.reg = ops[0].id(), .condition = byte->condition, .set = byte->set, .widened = &node};
    }
    for (uint32_t i = 0; i < node.operand_count; ++i)
      if (is_virtual(ops[i]))
        std::erase_if(known_, [&](const Known& known) { return writes(rw, i) && known.reg == ops[i].id(); });
    if (made) known_.push_back(*made);
    return false;
  }
  static bool writes(const asmjit::InstRWInfo& rw, uint32_t operand) { return rw.operand(operand).isWrite(); }

  // What reads the flags of a test, up to where they are dead. Nothing if something reads more of them than whether the number is 0.
  [[nodiscard]] std::optional<std::vector<Node*>> readers(const Node& test) const {
    std::vector<Node*> found;
    Node* node = test.next;
    for (unsigned i = 0; i < kMostNodes; ++i, node = node->next) {
      if (flags_are_dead(node, function_)) return found;
      if (node == nullptr) return std::nullopt;
      if (node->kind == Node::Kind::comment) continue;
      if (!node->is_instruction() || is_jump(*node)) return std::nullopt;
      const Conditional reader = conditional(node->id);
      if (reader.kind != Conditional::Kind::none) {
        if (reader.condition != CondCode::kE && reader.condition != CondCode::kNE) return std::nullopt;
        if (goes_to_label(*node) && !flags_are_dead(function_.node_of(node->operands[0]), function_))
          return std::nullopt;
        found.push_back(node);
        continue;
      }
      asmjit::InstRWInfo rw;
      if (asmjit::InstAPI::queryRWInfo(asmjit::Arch::kX64, node->base(), node->operands.data(), node->operand_count,
                                       &rw) ||
          ((rw.readFlags() | rw.writeFlags()) & kConditions) != Flags::kNone)
        return std::nullopt;
    }
    return std::nullopt;
  }

  bool leave_out(Node& test, const Known& number) {
    const auto found = readers(test);
    if (!found) return false;
    count_once();
    for (Node* reader : *found) {
      const Conditional old = conditional(reader->id);
      reader->id = old.with(old.condition == CondCode::kNE ? number.condition : x86::negateCond(number.condition));
    }
    function_.remove(&test);
    mentions(number.reg) -= 2;
    remove_if_unused(number.widened);
    remove_if_unused(number.set);
    return true;
  }
  // Of the two that make a number: nothing else names what it makes.
  void remove_if_unused(Node* maker) {
    if (maker == nullptr) return;
    const uint32_t made = maker->operands[0].id();
    if (mentions(made) != 1) return;
    for (const Operand& op : maker->ops()) --mentions(op.id());
    std::erase_if(known_, [&](const Known& known) { return known.reg == made; });
    function_.remove(maker);
  }

  Function& function_;
  std::vector<uint32_t> mentions_;  // by register: how many operands name it; empty: not counted yet
  std::vector<Known> known_;        // where the walk is
};

}  // namespace

uint32_t reuse_flags(Function& function) {
  return FlagUser(function).run();
}

}  // namespace wavejit::backend::lir
