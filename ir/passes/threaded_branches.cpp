// A branch whose condition some ways to it know already: each of these ways goes on where the branch would send it.
//
//   if (c) { a } if (!c) { b }
//
// Compilers for lanes that part make such code of `if (c) { a } else { b }`, since some lanes may have to execute both. In the
// copies of loops for one lane (lane-loops) it is a branch executed twice, in trees of cases at each level, with values that
// phis merge for both ways although only one of them needs each. The condition may also be a phi of the branch's block to which
// some ways bring a constant: a loop that has one exit in lockstep, and leaves it for several reasons, ends so.
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/analysis/dominators.h"
#include "ir/clone.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

constexpr size_t kMaxCopied = 6;         // instructions of a block but phis and the branch
constexpr size_t kMaxBlocks = 4'000;     // of a function
constexpr size_t kMaxSteps = 1'000'000;  // blocks looked at for values, and facts at blocks
constexpr size_t kMaxValues = 64;        // of a block that is copied, phis included
constexpr size_t kMaxFacts = 64;         // at a block; fewer do no harm

// What is known at a place: conditions, by their numbers.
using Facts = std::map<uint32_t, bool>;

class ThreadedBranches {
 public:
  explicit ThreadedBranches(Function& function) : function_(function) {}

  bool run() {
    if (!find_conditions()) return false;
    const Dominators dominators(function_);
    for (Block* block : dominators.order()) {
      visit(block);
      // A way that has got a block of its own has facts of its own.
      if (!behind_.contains(block)) note(block, common_facts(block->predecessors, block));
    }
    return changed_;
  }

 private:
  // Collects the conditions that more than one branch tests. Returns false if no branch can be threaded, or no block is for one
  // lane alone.
  bool find_conditions() {
    std::unordered_map<const Inst*, unsigned> branches;
    bool lane_by_lane = false, phis = false;
    for (const auto& block : function_.blocks) {
      const Inst* last = block->terminator();
      if (last->op == Op::cond_br && !last->operands[0]->is_const()) ++branches[last->operands[0]];
      phis |= chosen_by_phi(block.get()) != nullptr;
      lane_by_lane |= std::ranges::any_of(block->insts, [](const Inst* inst) { return inst->op == Op::set_lanes; });
    }
    if (!lane_by_lane || function_.blocks.size() > kMaxBlocks) return false;
    for (const auto& [condition, count] : branches)
      if (count > 1) conditions_.insert(condition);
    return phis || !conditions_.empty();
  }
  // The condition of the block's branch, if it is one of several branches.
  [[nodiscard]] const Inst* condition_of(const Block* block) const {
    const Inst* last = block->terminator();
    const bool is_one = last->op == Op::cond_br && block->successors[0] != block->successors[1] &&
                        conditions_.contains(last->operands[0]);
    return is_one ? last->operands[0] : nullptr;
  }

  // The phi of the block that is the condition of its branch, if some way brings a constant to it.
  [[nodiscard]] static const Inst* chosen_by_phi(const Block* block) {
    const Inst* const last = block->terminator();
    if (last->op != Op::cond_br || block->successors[0] == block->successors[1]) return nullptr;
    const Inst* const condition = last->operands[0];
    const bool is_one = condition->op == Op::phi && condition->parent == block &&
                        std::ranges::any_of(condition->operands, [](const Inst* inst) { return inst->is_const(); });
    return is_one ? condition : nullptr;
  }

  [[nodiscard]] Facts facts_on_edge(const Block* from, const Block* to) const {
    const auto it = behind_.find(from);
    if (it == behind_.end()) return {};  // a way back
    Facts facts = it->second;
    if (const Inst* condition = condition_of(from)) facts[condition->id] = from->successors[0] == to;
    return facts;
  }
  // What all of these ways to the block know.
  [[nodiscard]] Facts common_facts(std::span<Block* const> ways, const Block* to) const {
    if (ways.empty()) return {};
    Facts facts = facts_on_edge(ways[0], to);
    for (const Block* from : ways.subspan(1)) {
      const Facts edge = facts_on_edge(from, to);
      std::erase_if(facts, [&](const auto& fact) {
        const auto it = edge.find(fact.first);
        return it == edge.end() || it->second != fact.second;
      });
    }
    return facts;
  }

  void note(const Block* block, Facts facts) {
    while (facts.size() > kMaxFacts) facts.erase(facts.begin());
    steps_ += facts.size();
    behind_.emplace(block, std::move(facts));
  }

  void visit(Block* block) {
    const Inst *condition = condition_of(block), *const phi = chosen_by_phi(block);
    if (phi == nullptr && (condition == nullptr || condition->parent == block)) return;
    if (steps_ > kMaxSteps) return;
    if (block->predecessors.size() < 2 || !can_be_copied(block)) return;
    std::array<std::vector<Block*>, 2> known;  // the ways by what they know: false, true
    for (Block* from : block->predecessors) {
      if (!behind_.contains(from)) return;  // a loop begins here
      if (std::ranges::count(from->successors, block) != 1) return;
      if (phi != nullptr) {
        const Inst* const chosen = phi->operands[place_of(from, block)];
        if (chosen->is_const()) known[chosen->imm != 0].push_back(from);
        continue;
      }
      const Facts facts = facts_on_edge(from, block);
      if (const auto it = facts.find(condition->id); it != facts.end()) known[it->second].push_back(from);
    }
    if (known[0].empty() && known[1].empty()) return;
    // No way of its own back to the start of a loop.
    for (const bool value : {false, true})
      if (!known[value].empty() && behind_.contains(block->successors[value ? 0 : 1])) return;
    thread(block, known);
  }
  static bool can_be_copied(const Block* block) {
    size_t copied = 0;
    if (block->insts.size() > kMaxValues) return false;
    for (const Inst* inst : block->insts) {
      if (inst == block->terminator()) continue;
      if (inst->type.is_mask()) return false;
      if (inst->op == Op::phi) continue;
      if (!is_pure(inst->op) || !inst->type.is_scalar() || ++copied > kMaxCopied) return false;
    }
    return true;
  }

  // What a value of the threaded block is behind one of its copies, and in the block itself if it stays.
  using Versions = std::unordered_map<const Block*, Inst*>;

  void thread(Block* block, const std::array<std::vector<Block*>, 2>& known) {
    std::unordered_map<Inst*, Versions> versions;
    for (const bool value : {false, true})
      if (!known[value].empty()) add_way(block, known[value], value, versions);
    // The block stays for ways that do not know the condition.
    while (block->predecessors.empty() && !block->successors.empty()) function_.remove_edge(block, 0);
    const std::vector<Inst*> defined(block->insts.begin(), block->insts.end() - 1);
    for (Inst* inst : defined) {
      Versions& by_block = versions[inst];
      by_block.emplace(block, inst);
      replace_uses(block, inst, by_block);
    }
    function_.count(Rule::branch_threaded);
    changed_ = true;
  }

  void add_way(Block* block, const std::vector<Block*>& from, bool value,
               std::unordered_map<Inst*, Versions>& versions) {
    Block* way = add_block_behind(block);
    Block* to = block->successors[value ? 0 : 1];
    note(way, common_facts(from, block));

    std::unordered_map<const Inst*, Inst*> copies;
    const auto copy_of = [&](Inst* inst) {
      const auto it = copies.find(inst);
      return it == copies.end() ? inst : it->second;
    };
    std::vector<std::vector<Inst*>> merged;  // by phi
    std::vector<Inst*> phis;
    for (Inst* inst : block->insts) {
      if (inst->op != Op::phi) break;
      phis.push_back(inst);
      std::vector<Inst*>& operands = merged.emplace_back();
      operands.reserve(from.size());
      for (Block* one : from) operands.push_back(inst->operands[place_of(one, block)]);
    }
    for (Block* one : from) {
      const size_t edge = std::ranges::find(one->successors, block) - one->successors.begin();
      const size_t place = place_of(one, block);
      block->predecessors.erase(block->predecessors.begin() + static_cast<ptrdiff_t>(place));
      for (Inst* phi : phis) remove_operand(phi, place);
      one->successors[edge] = way;
      way->predecessors.push_back(one);
    }
    for (size_t i = 0; i < phis.size(); ++i) {
      const bool same = std::ranges::all_of(merged[i], [&](const Inst* operand) { return operand == merged[i][0]; });
      if (same) {
        copies[phis[i]] = merged[i][0];
        continue;
      }
      Inst* phi = function_.create(Op::phi, phis[i]->type, merged[i]);
      phi->guest_pc = phis[i]->guest_pc;
      function_.append(way, phi);
      copies[phis[i]] = phi;
    }
    for (Inst* inst : block->insts) {
      if (inst->op == Op::phi || inst == block->terminator()) continue;
      std::vector<Inst*> operands;
      operands.reserve(inst->operands.size());
      for (Inst* operand : inst->operands) operands.push_back(copy_of(operand));
      Inst* copy = clone(function_, *inst, std::move(operands));
      function_.append(way, copy);
      copies[inst] = copy;
    }
    Inst* branch = function_.create(Op::br, kNone);
    branch->guest_pc = block->terminator()->guest_pc;
    function_.append(way, branch);
    const size_t place = place_of(block, to);
    Function::connect(way, to);
    for (Inst* phi : to->insts) {
      if (phi->op != Op::phi) break;
      Inst* operand = copy_of(phi->operands[place]);
      phi->operands.push_back(operand);
      operand->users.push_back(phi);
    }
    for (Inst* inst : block->insts)
      if (inst != block->terminator()) versions[inst].emplace(way, copy_of(inst));
  }

  Block* add_block_behind(const Block* block) {
    Block* added = function_.add_block(block->guest_pc);
    added->rare = block->rare;
    auto& blocks = function_.blocks;
    const auto place = std::ranges::find_if(blocks, [&](const auto& one) { return one.get() == block; });
    std::rotate(place + 1, blocks.end() - 1, blocks.end());
    return added;
  }
  static size_t place_of(const Block* from, const Block* to) {
    return static_cast<size_t>(std::ranges::find(to->predecessors, from) - to->predecessors.begin());
  }
  static void remove_operand(Inst* phi, size_t place) {
    Inst* operand = phi->operands[place];
    operand->users.erase(std::ranges::find(operand->users, phi));
    phi->operands.erase(phi->operands.begin() + static_cast<ptrdiff_t>(place));
  }

  // Uses behind the block find the version that the way to them has.
  void replace_uses(const Block* block, Inst* inst, Versions& versions) {
    std::vector<Inst*> users;
    for (Inst* user : inst->users)
      if (user->parent != block) users.push_back(user);
    std::ranges::sort(users, {}, [](const Inst* user) { return user->id; });
    users.erase(std::unique(users.begin(), users.end()), users.end());
    std::vector<Inst*> phis;
    for (Inst* user : users) {
      for (unsigned i = 0; i < user->operands.size(); ++i) {
        if (user->operands[i] != inst) continue;
        Block* const at = user->op == Op::phi ? user->parent->predecessors[i] : user->parent;
        function_.set_operand(user, i, version_at(at, inst, versions, phis));
      }
    }
    for (size_t i = 0; i < phis.size(); ++i) {
      for (Block* from : phis[i]->parent->predecessors) {
        Inst* value = version_at(from, inst, versions, phis);
        phis[i]->operands.push_back(value);
        value->users.push_back(phis[i]);
      }
    }
    drop_trivial(phis);
  }
  // In the block, all through which the value is the same: those that define versions have no other users. Appends to `phis`
  // those that it makes, which have no operands yet.
  Inst* version_at(Block* block, const Inst* inst, Versions& versions, std::vector<Inst*>& phis) {
    std::vector<const Block*> passed;
    Inst* value = nullptr;
    while (value == nullptr) {
      ++steps_;
      if (const auto it = versions.find(block); it != versions.end()) {
        value = it->second;
      } else if (passed.push_back(block); block->predecessors.size() == 1) {
        block = block->predecessors[0];
      } else {
        value = function_.create(Op::phi, inst->type);
        value->guest_pc = block->guest_pc;
        function_.insert_before(block->insts.front(), value);
        phis.push_back(value);
      }
    }
    for (const Block* one : passed) versions.emplace(one, value);
    return value;
  }
  void drop_trivial(std::vector<Inst*>& phis) {
    for (bool more = true; more;) {
      more = false;
      for (Inst*& phi : phis) {
        if (phi == nullptr) continue;
        Inst* only = nullptr;
        const bool trivial = std::ranges::all_of(phi->operands, [&](Inst* operand) {
          if (operand == phi) return true;
          if (only == nullptr) only = operand;
          return operand == only;
        });
        if (!trivial || only == nullptr) continue;
        while (!phi->operands.empty()) remove_operand(phi, phi->operands.size() - 1);
        function_.replace_all_uses(phi, only);
        function_.erase(phi);
        phi = nullptr;
        more = true;
      }
    }
  }

  Function& function_;
  std::unordered_set<const Inst*> conditions_;
  std::unordered_map<const Block*, Facts> behind_;  // without what the block's own branch tells
  size_t steps_ = 0;
  bool changed_ = false;
};

}  // namespace

PassResult threaded_branches(Function& function, const PassContext& context) {
  const bool dropped = drop_unreachable(function);
  const bool changed = ThreadedBranches(function).run();
  if (changed) (void)cfg(function, context);
  return {.changed = changed || dropped};
}

}  // namespace wavejit::ir::passes
