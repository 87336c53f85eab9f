#include "backend-x86/lir/passes/jump_tables.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend-x86/lir/instruction_access.h"
#include "backend-x86/lir/passes/decisions.h"

namespace wavejit::backend::lir {
namespace {

using asmjit::Operand;
namespace I = x86::Inst;

constexpr size_t kLeastWays = 6;     // that a tree leads to; fewer take two or three comparisons
constexpr int64_t kMostNumber = 62;  // of a comparison
constexpr unsigned kMostLevels = 8;

constexpr uint32_t kAll = 0xffff;  // general registers
constexpr uint32_t bit_of(uint32_t reg) {
  return 1U << reg;
}

// Which general registers are read before they are written, by block. Calls read all that may hold arguments, and write nothing.
class LiveRegisters {
 public:
  explicit LiveRegisters(const Function& function) {
    std::vector<uint32_t> block_of(function.label_count(), UINT32_MAX);
    bool begins = true;
    for (Node* node = function.begin(); node != nullptr; node = node->next) {
      if (begins || node->is_label()) {
        number_of_.emplace(node, blocks_.size());
        blocks_.push_back({.first = node});
      }
      if (node->is_label()) block_of[node->label_id()] = static_cast<uint32_t>(blocks_.size() - 1);
      blocks_.back().last = node;
      begins = goes_to_label(*node) || leaves(*node);
    }
    for (Block& block : blocks_) {
      for (const Node* node = block.last;; node = node->prev) {
        const Registers own = registers_of(*node);
        block.own = {.read = (block.own.read & ~own.written) | own.read, .written = block.own.written | own.written};
        if (node == block.first) break;
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = blocks_.size(); i-- > 0;) {
        Block& block = blocks_[i];
        uint32_t live = i + 1 == blocks_.size() ? kAll : blocks_[i + 1].live;
        if (leaves(*block.last)) live = kAll;
        if (is_jump(*block.last)) live = 0;
        if (goes_to_label(*block.last)) {
          const uint32_t target = block_of[block.last->operands[0].id()];
          live |= target == UINT32_MAX ? kAll : blocks_[target].live;
        }
        live = (live & ~block.own.written) | block.own.read;
        if (live == block.live) continue;
        block.live = live;
        changed = true;
      }
    }
  }

  // In front of the block that begins with the node.
  [[nodiscard]] uint32_t at(const Node* first) const {
    const auto it = number_of_.find(first);
    return it == number_of_.end() ? kAll : blocks_[it->second].live;
  }

 private:
  // General registers that code reads before it writes them, and that it writes.
  struct Registers {
    uint32_t read = 0, written = 0;
  };
  struct Block {
    const Node* first = nullptr;
    const Node* last = nullptr;
    Registers own;
    uint32_t live = 0;
  };
  static Registers registers_of(const Node& node) {
    if (!node.is_code()) return {};
    if (node.is_call()) {
      uint32_t read = bit_of(x86::Gp::kIdSp) | bit_of(x86::Gp::kIdAx);
      for (const uint8_t argument : Convention::kArguments) read |= bit_of(argument);
      for (const Operand& op : node.ops()) read |= named(op);
      return {.read = read};
    }
    if (!node.is_instruction()) return {.read = kAll};
    if (node.id == I::kIdRet)
      return {.read = Convention::kPreserved[kGpGroup] | bit_of(Convention::kResult), .written = kAll};
    const InstructionAccess* access = instruction_access(node);
    if (access == nullptr) return {.read = kAll};
    uint32_t read = 0, written = 0;
    for (uint32_t i = 0; i < node.operand_count; ++i) {
      const Operand& op = node.operands[i];
      const uint16_t flags = access->operands[i].flags;
      if (!op.isReg()) {
        read |= named(op);
        continue;
      }
      constexpr uint32_t kWhole = 4;  // writes of 32 bits clear the others
      if ((flags & OperandAccess::read) != 0 || bytes_of(op) < kWhole) read |= named(op);
      if ((flags & OperandAccess::write) != 0 && bytes_of(op) >= kWhole) written |= named(op);
    }
    return {.read = read, .written = written};
  }
  // Where no code of the function follows, or any.
  static bool leaves(const Node& node) {
    return node.is_instruction() && (node.id == I::kIdRet || (node.id == I::kIdJmp && !node.operands[0].isLabel()));
  }
  static uint32_t named(const Operand& op) {
    if (op.isReg()) return x86::Reg::isGp(op) ? bit_of(op.id()) : 0;
    if (!op.isMem()) return 0;
    const auto& mem = op.as<x86::Mem>();
    const uint32_t base = mem.hasBaseReg() ? bit_of(mem.baseId()) : 0;
    return mem.hasIndexReg() && !x86::Reg::isVec(mem.indexReg().as<x86::Reg>()) ? base | bit_of(mem.indexId()) : base;
  }

  std::vector<Block> blocks_;
  std::unordered_map<const Node*, size_t> number_of_;  // by their first node
};

class TableMaker {
 public:
  explicit TableMaker(Function& function) : function_(function) {}

  uint32_t run() {
    std::vector<Tree> trees;
    for (const Node* branch : function_.jumps) {
      Node* const compare = before(*branch);
      if (in_trees_.contains(compare)) continue;
      if (auto tree = tree_at(compare)) trees.push_back(std::move(*tree));
    }
    if (trees.empty()) return 0;
    const LiveRegisters live(function_);
    uint32_t made = 0;
    for (const Tree& tree : trees) made += make_table(tree, live) ? 1 : 0;
    return made;
  }

 private:
  // Where a way of a branch leads: another comparison of the tree, or elsewhere.
  struct Way {
    size_t decision = SIZE_MAX;
    Node* branch = nullptr;  // elsewhere: where it goes if it is taken, or what is behind it
    bool taken = false;
    const Node* begin = nullptr;  // there, before tables have been made
  };
  struct Step {
    Decision decision;
    Way ways[2];  // not taken, taken
  };
  struct Tree {
    Node* root = nullptr;
    Operand reg;
    std::vector<Step> steps;
    std::vector<Way> ways;  // that leave it
    int64_t most = 0;
  };

  std::optional<Tree> tree_at(Node* node) {
    const auto first = decision_of(node);
    if (!first || bytes_of(first->compare->operands[0]) != 4 || !fits(*first)) return std::nullopt;
    Tree tree{.root = node, .reg = first->compare->operands[0], .steps = {}, .ways = {}};
    // Most comparisons are not followed by another one.
    const Node* const behind[] = {first->branch->next, function_.node_of(first->branch->operands[0])};
    if (std::ranges::none_of(behind, [&](const Node* begin) { return step_at(tree, begin).has_value(); }))
      return std::nullopt;
    grow(tree, *first, 1);
    const bool dead =
        std::ranges::all_of(tree.ways, [&](const Way& way) { return flags_are_dead(way.begin, function_); });
    if (tree.ways.size() < kLeastWays || !dead) return std::nullopt;
    for (const Step& step : tree.steps) in_trees_.insert(step.decision.compare);
    return tree;
  }
  static bool fits(const Decision& decision) {
    return decision.number >= -1 && decision.number <= kMostNumber &&
           holds(decision.condition, 0, decision.number, 4).has_value();
  }
  [[nodiscard]] const Node* begin_of(const Way& way) const {
    return way.taken ? function_.node_of(way.branch->operands[0]) : way.branch->next;
  }

  size_t grow(Tree& tree, const Decision& decision, unsigned level) {
    const size_t index = tree.steps.size();
    tree.steps.push_back({.decision = decision, .ways = {}});
    tree.most = std::max(tree.most, decision.number);
    for (const bool taken : {false, true}) {
      Way way{.branch = decision.branch, .taken = taken};
      way.begin = begin_of(way);
      const auto next = step_at(tree, way.begin);
      if (next && level < kMostLevels && !in_trees_.contains(next->compare) && !is_step(tree, next->compare)) {
        way.decision = grow(tree, *next, level + 1);
      } else {
        tree.ways.push_back(way);
      }
      tree.steps[index].ways[taken] = way;
    }
    return index;
  }
  // The comparison of the tree's register that comes first behind the node, if it may be one of the tree.
  static std::optional<Decision> step_at(const Tree& tree, const Node* begin) {
    auto next = decision_of(next_code(const_cast<Node*>(begin)));
    if (next && (next->compare->operands[0] != tree.reg || !fits(*next))) next.reset();
    return next;
  }
  static bool is_step(const Tree& tree, const Node* compare) {
    return std::ranges::any_of(tree.steps, [&](const Step& step) { return step.decision.compare == compare; });
  }

  [[nodiscard]] static const Way& way_of(const Tree& tree, int64_t number) {
    for (size_t at = 0;;) {
      const Step& step = tree.steps[at];
      const Way& way = step.ways[*holds(step.decision.condition, number, step.decision.number, 4)];
      if (way.decision == SIZE_MAX) return way;
      at = way.decision;
    }
  }

  bool make_table(const Tree& tree, const LiveRegisters& live) {
    // The comparison may be in the middle of a block: what its ways read is what matters, and the register. If no way reads that,
    // it may hold what is loaded from the table; numbers beyond the table have gone their way by then.
    uint32_t used = bit_of(x86::Gp::kIdSp);
    for (const Way& way : tree.ways) used |= live.at(way.begin);
    const uint32_t own = bit_of(tree.reg.id());
    const bool is_dead = (used & own) == 0;
    const uint32_t unused = kAll & ~used & ~own;
    if (std::popcount(unused) < (is_dead ? 1 : 2)) return false;
    const auto table = static_cast<uint32_t>(std::countr_zero(unused));
    const auto number = is_dead ? tree.reg.id() : static_cast<uint32_t>(std::countr_zero(unused & (unused - 1)));

    JumpTable made{.label = function_.new_label(), .targets = {}};
    const auto count = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(tree.most + 2)));
    for (int64_t value = 0; value < count; ++value) {
      const Way& way = way_of(tree, value);
      made.targets.push_back(way.taken ? way.branch->operands[0].as<asmjit::Label>()
                                       : label_behind(function_, *way.branch));
    }
    Node* const in_front = tree.root->prev;
    const asmjit::Label rest = label_behind(function_, *in_front);
    cursor_ = in_front;
    const x86::Gp index = x86::gpq(number), base = x86::gpq(table);
    add(I::kIdMov, {x86::gpd(number), tree.reg});
    add(I::kIdCmp, {x86::gpd(number), asmjit::imm(count)});
    add(I::kIdJae, {rest});
    add(I::kIdLea, {base, x86::ptr(made.label)});
    add(I::kIdMovsxd, {index, x86::dword_ptr(base, index, 2)});
    add(I::kIdAdd, {index, base});
    add(I::kIdJmp, {index});
    function_.jump_tables.push_back(std::move(made));
    return true;
  }
  void add(asmjit::InstId id, std::initializer_list<Operand> operands) {
    cursor_ = function_.insert(cursor_, Node::Kind::instruction);
    cursor_->id = id;
    for (const Operand& op : operands) cursor_->operands[cursor_->operand_count++] = op;
  }

  Function& function_;
  std::unordered_set<const Node*> in_trees_;  // comparisons
  Node* cursor_ = nullptr;
};

}  // namespace

uint32_t make_jump_tables(Function& function) {
  return TableMaker(function).run();
}

}  // namespace wavejit::backend::lir
