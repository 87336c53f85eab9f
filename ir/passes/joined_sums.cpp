// Copies a block of sums to both ways of the branch that ends it, so that it is one block with the other terms of the sums.
//
// A loop of Tensile's adds all terms of a tile but one to each sum, waits at a barrier, adds the last term, and branches back.
// So two blocks load and store all sums. The branch depends on a counter only and can move in front of the last term. If the
// block with the other terms has further predecessors, this way gets a copy of it.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dominators.h"
#include "ir/clone.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

// Least number of sums that go on across the branch: as many as do not fit AVX2's registers.
constexpr std::ptrdiff_t kLeastSums = 16;
// Most instructions of a block in front of the branch, and of one with the other terms.
constexpr size_t kMostInFront = 800, kMostBehind = 6000;
// Most instructions of a block between the branch and the other terms, such as one that writes a register on this way.
constexpr size_t kMostBetween = 32;

bool is_sum(const Inst* inst) {
  return inst->op == Op::fma_f32 || inst->op == Op::fma_f64;
}

bool reads_memory(Op op) {
  return op == Op::load || op == Op::load_edges || op == Op::load_scalar;
}

// Whether the sum gets a further term in the block. `value`: the sum, or what it goes there as.
bool goes_on_in(const Block* block, const Inst* value) {
  return std::any_of(value->users.begin(), value->users.end(), [&](const Inst* user) {
    if (user->parent == block && is_sum(user)) return user->operands[2] == value;
    return user->parent == block && user->op == Op::phi && goes_on_in(block, user);
  });
}

class Joiner {
 public:
  Joiner(Function& function, const Dominators& dominators, Block* block)
      : function_(function), dominators_(dominators), block_(block) {}

  bool run() {
    if (!is_plain() || !find_condition()) return false;
    for (size_t i = 0; i < 2; ++i) find_terms(ways_[i], block_->successors[i]);
    if ((!ways_[0].goes_on && !ways_[1].goes_on) || !find_uses()) return false;
    function_.count(Rule::sums_joined);
    for (Way& way : ways_) copy_in_front(way);
    for (Way& way : ways_)
      if (way.goes_on && way.terms->predecessors.size() > 1) copy_terms(way);
    keep_condition();
    return true;
  }

 private:
  struct Use {
    Inst* user;
    unsigned operand;
    Inst* value;
  };
  struct Way {
    Block* next = nullptr;   // where the branch leads
    Block* terms = nullptr;  // that block, or one behind it
    std::vector<Use> uses;   // of values of block_ behind the branch
    bool goes_on = false;    // enough sums do
    Block* copy = nullptr;
  };

  // Ends in a branch to two places. Nothing in front of it writes a register that the branch may depend on.
  [[nodiscard]] bool is_plain() const {
    const Inst* branch = block_->terminator();
    if (branch->op != Op::cond_br || block_->successors[0] == block_->successors[1]) return false;
    if (block_->insts.size() > kMostInFront) return false;
    if (std::count(block_->successors.begin(), block_->successors.end(), block_) != 0) return false;
    return std::all_of(block_->insts.begin(), block_->insts.end() - 1, [](const Inst* inst) {
      const Effect effect = op_info(inst->op).effect;
      return inst->op == Op::store || effect == Effect::pure || effect == Effect::reads;
    });
  }

  // Where sums of this block get further terms: the block that the branch leads to, or the next one.
  void find_terms(Way& way, Block* next) {
    way.next = way.terms = next;
    way.goes_on = sums_go_on(next);
    if (way.goes_on || next->insts.size() > kMostBetween || next->predecessors.size() != 1 ||
        next->successors.size() != 1)
      return;
    way.terms = next->successors[0];
    way.goes_on = sums_go_on(way.terms);
  }

  // Whether enough sums of this block that can be copied go on there, and the block there can be joined with this one.
  [[nodiscard]] bool sums_go_on(const Block* terms) const {
    if (terms == block_ || terms->insts.size() > kMostBehind) return false;
    if (terms->predecessors.size() > 1 && !terms->successors.empty()) return false;
    const auto sums = std::count_if(block_->insts.begin(), block_->insts.end(), [&](const Inst* inst) {
      return is_sum(inst) && !stays(inst) && goes_on_in(terms, inst);
    });
    return sums >= kLeastSums;
  }

  // What the branch depends on in this block. Memory may not be among it: it would be read too early.
  bool find_condition() {
    condition_.insert(block_->terminator()->operands[0]);
    for (size_t i = block_->insts.size() - 1; i-- > 0;) {
      const Inst* inst = block_->insts[i];
      if (!condition_.contains(inst) || inst->op == Op::phi) continue;
      if (reads_memory(inst->op)) return false;
      condition_.insert(inst->operands.begin(), inst->operands.end());
    }
    return true;
  }

  [[nodiscard]] bool stays(const Inst* inst) const {
    return inst->op == Op::phi || inst == block_->terminator() || condition_.contains(inst);
  }

  // The way on which control goes from `block_` to the end of `place`; null: no one way.
  Way* way_to(const Block* place) {
    for (Way& way : ways_)
      if (way.next->predecessors.size() == 1 && dominators_.dominates(way.next, place)) return &way;
    return nullptr;
  }

  bool find_uses() {
    for (Inst* value : block_->insts) {
      if (stays(value)) continue;
      for (Inst* user : std::vector<Inst*>(value->users)) {
        if (user->parent == block_ && user->op != Op::phi) continue;
        for (unsigned i = 0; i < user->operands.size(); ++i) {
          if (user->operands[i] != value) continue;
          Way* way = nullptr;
          if (user->op == Op::phi && user->parent->predecessors[i] == block_)
            way = &ways_[user->parent == ways_[1].next];
          else
            way = way_to(user->op == Op::phi ? user->parent->predecessors[i] : user->parent);
          if (way == nullptr) return false;
          const auto same = [&](const Use& use) { return use.user == user && use.operand == i; };
          if (std::none_of(way->uses.begin(), way->uses.end(), same)) way->uses.push_back({user, i, value});
        }
      }
    }
    return true;
  }

  void append_copy(Block* block, const Inst& inst, std::unordered_map<const Inst*, Inst*>& copies) {
    std::vector<Inst*> operands;
    for (Inst* operand : inst.operands) {
      const auto it = copies.find(operand);
      operands.push_back(it != copies.end() ? it->second : operand);
    }
    Inst* copy = clone(function_, inst, std::move(operands));
    function_.append(block, copy);
    copies[&inst] = copy;
  }

  // All but the branch, on one of its ways.
  void copy_in_front(Way& way) {
    way.copy = function_.add_block(block_->guest_pc);
    std::unordered_map<const Inst*, Inst*> copies;
    for (const Inst* inst : block_->insts)
      if (!stays(inst)) append_copy(way.copy, *inst, copies);
    for (const Use& use : way.uses) function_.set_operand(use.user, use.operand, copies.at(use.value));
    Inst* branch = function_.create(Op::br, {}, {});
    branch->guest_pc = block_->terminator()->guest_pc;
    function_.append(way.copy, branch);
    // In place, so that phis keep the order of their operands.
    std::replace(way.next->predecessors.begin(), way.next->predecessors.end(), block_, way.copy);
    std::replace(block_->successors.begin(), block_->successors.end(), way.next, way.copy);
    way.copy->successors.push_back(way.next);
    way.copy->predecessors.push_back(block_);
  }

  // The block with the other terms, which ends the function's code, for this way alone.
  void copy_terms(Way& way) {
    Block* from = way.next == way.terms ? way.copy : way.next;
    const auto edge =
        static_cast<size_t>(std::find(way.terms->predecessors.begin(), way.terms->predecessors.end(), from) -
                            way.terms->predecessors.begin());
    Block* terms = function_.add_block(way.terms->guest_pc);
    std::unordered_map<const Inst*, Inst*> copies;
    for (const Inst* inst : way.terms->insts) {
      if (inst->op == Op::phi)
        copies[inst] = inst->operands[edge];
      else
        append_copy(terms, *inst, copies);
    }
    function_.remove_edge(from, 0);
    Function::connect(from, terms);
  }

  void keep_condition() {
    for (size_t i = block_->insts.size(); i-- > 0;)
      if (Inst* inst = block_->insts[i]; !stays(inst)) function_.unlink(inst);
    std::erase_if(block_->insts, [&](const Inst* inst) { return !stays(inst); });
  }

  Function& function_;
  const Dominators& dominators_;
  Block* const block_;
  Way ways_[2];
  std::unordered_set<const Inst*> condition_;  // what the branch depends on; it stays in front of it
};

}  // namespace

PassResult joined_sums(Function& function, const PassContext& context) {
  // Most functions have no such sums: no dominator tree for them.
  std::ptrdiff_t sums = 0;
  for (const auto& block : function.blocks) sums += std::count_if(block->insts.begin(), block->insts.end(), is_sum);
  if (sums < 2 * kLeastSums) return {};
  bool changed = false;
  for (bool more = true; more;) {
    more = false;
    const Dominators dominators(function);
    for (const auto& block : function.blocks) {
      if (!dominators.reachable(block.get()) || !Joiner(function, dominators, block.get()).run()) continue;
      more = changed = true;
      break;
    }
  }
  if (changed) cfg(function, context);
  return {.changed = changed};
}

}  // namespace wavejit::ir::passes
