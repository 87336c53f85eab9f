#include "ir/passes/way_choices.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/analysis/skipped_way.h"
#include "ir/clone.h"
#include "ir/passes/edges.h"
#include "ir/passes/phi_editor.h"
#include "ir/passes/simplify.h"

namespace wavejit::ir::passes {
namespace {

// Of select, and, or with a constant condition as their first operand; null: none of its operands.
Inst* chosen_by(const Inst& inst, Inst* condition) {
  const bool value = condition->imm != 0;
  switch (inst.op) {
    case Op::select:
      return inst.operands[value ? 1 : 2];
    case Op::and_:
      return value ? inst.operands[1] : condition;
    case Op::or_:
      return value ? condition : inst.operands[1];
    default:
      return nullptr;
  }
}

bool are_opposite(const Inst* a, const Inst* b) {
  if (a->op == Op::not_ && a->operands[0] == b) return true;
  if (b->op == Op::not_ && b->operands[0] == a) return true;
  return a->op == Op::icmp && b->op == Op::icmp && a->operands == b->operands &&
         static_cast<ICmp>(a->attr) == inverse(static_cast<ICmp>(b->attr));
}

// What a way may compute instead of the place where ways meet.
bool is_cheap(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::andn:
    case Op::not_:
    case Op::shl:
    case Op::lshr:
    case Op::ashr:
      return true;
    default:
      return false;
  }
}

class WayChoices {
 public:
  // first_new_block: blocks with at least this id are not in `dominators`.
  WayChoices(Function& function, const Dominators& dominators, Block* block, uint32_t first_new_block)
      : function_(function), dominators_(dominators), block_(block), first_new_block_(first_new_block) {}

  bool move() {
    choose_by_edge();
    choose_by_mask();
    return changed_;
  }
  bool move_to_ways() {
    choose_by_branch();
    return changed_;
  }

 private:
  [[nodiscard]] std::vector<Inst*> phis() const {
    return {block_->insts.begin(), std::ranges::find_if(block_->insts, [](const Inst* i) { return i->op != Op::phi; })};
  }

  // Where each way brings a condition as a constant: what is chosen by it in the same block is chosen by the ways.
  void choose_by_edge() {
    for (Inst* phi : phis()) {
      if (phi->type != kI1 || !std::ranges::all_of(phi->operands, [](const Inst* i) { return i->is_const(); }))
        continue;
      for (Inst* user : std::vector<Inst*>(phi->users)) {
        if (user->parent == block_ && user->operands[0] == phi) choose_by_edge(phi, user);
      }
    }
  }
  void choose_by_edge(const Inst* condition, Inst* user) {
    std::vector<Inst*> operands;
    for (unsigned edge = 0; edge < block_->predecessors.size(); ++edge) {
      Inst* chosen = chosen_by(*user, condition->operands[edge]);
      if (chosen == nullptr) return;
      if (chosen->parent == block_) {
        if (chosen->op != Op::phi) return;
        chosen = chosen->operands[edge];
      }
      operands.push_back(chosen);
    }
    replace_by_phi(Rule::chosen_by_edge, user, std::move(operands));
  }

  // Where the ways of a branch meet: what a number is chosen by the branch's condition is chosen by the ways. A choice
  // costs a comparison and a conditional move; a phi costs nothing if its operands can share a register.
  void choose_by_branch() {
    const Block* const branch = dominators_.immediate(block_);
    if (branch == nullptr) return;
    const Inst* const end = branch->terminator();
    if (end->op != Op::cond_br || end->operands[0]->is_const() || branch->successors[0] == branch->successors[1])
      return;
    std::vector<bool> holds;  // by edge: whether the condition does
    for (const Block* from : block_->predecessors) {
      const std::optional<unsigned> way = way_to(*branch, *from);
      if (!way) return;
      holds.push_back(*way == 0);
    }
    const Inst* const condition = end->operands[0];
    for (Inst* choice : std::vector<Inst*>(block_->insts)) {
      if (choice->op != Op::select || !choice->type.is_scalar() || choice->users.empty()) continue;
      const bool opposite = are_opposite(choice->operands[0], condition);
      if (choice->operands[0] != condition && !opposite) continue;
      choose_by_branch(choice, holds, opposite);
    }
  }
  // Blocks on edges lead nowhere else.
  [[nodiscard]] bool is_new(const Block& block) const { return block.id >= first_new_block_; }
  // The way of the branch that each path from it to the end of `from`, and then to the block, takes.
  [[nodiscard]] std::optional<unsigned> way_to(const Block& branch, const Block& from) const {
    for (unsigned way = 0; way < 2; ++way) {
      const Block* const first = branch.successors[way];
      if (&from == &branch) {
        if (first == block_) return way;
      } else if (!is_new(*first) && first != block_ && first->predecessors.size() == 1 &&
                 dominators_.dominates(first, &from)) {
        return way;
      }
    }
    return std::nullopt;
  }
  void choose_by_branch(Inst* choice, const std::vector<bool>& holds, bool opposite) {
    const auto chosen_on = [&](unsigned edge) { return choice->operands[holds[edge] != opposite ? 1 : 2]; };
    for (unsigned edge = 0; edge < holds.size(); ++edge)
      if (!can_have(chosen_on(edge), choice, kMaxDepth)) return;
    std::vector<Inst*> operands;
    operands.reserve(holds.size());
    for (unsigned edge = 0; edge < holds.size(); ++edge) operands.push_back(on_edge(chosen_on(edge), edge));
    replace_by_phi(Rule::chosen_by_branch, choice, std::move(operands));
  }
  // Whether the ways to the block can have the value, which nobody but `user` reads if they have to compute it.
  [[nodiscard]] bool can_have(const Inst* value, const Inst* user, unsigned depth) const {
    if (value->parent != block_ || value->op == Op::phi) return true;
    if (depth == 0 || !is_cheap(value->op)) return false;
    return std::ranges::all_of(value->users, [&](const Inst* other) { return other == user; }) &&
           std::ranges::all_of(value->operands,
                               [&](const Inst* operand) { return can_have(operand, value, depth - 1); });
  }
  Inst* on_edge(Inst* value, unsigned edge) {
    if (value->parent != block_) return value;
    if (value->op == Op::phi) return value->operands[edge];
    std::vector<Inst*> operands;
    operands.reserve(value->operands.size());
    for (Inst* operand : value->operands) operands.push_back(on_edge(operand, edge));
    Inst* const copy = clone(function_, *value, std::move(operands));
    Block* const place = block_on_edge(function_, block_, edge, EdgePlace::behind_predecessor);
    function_.insert_before(place->terminator(), copy);
    return copy;
  }

  // Where the way of lanes in a mask and the way of a wave without such lanes meet: a value that the former has chosen by the
  // mask, and the latter has not changed, is chosen by the mask here. Without such a lane the choice is the value. The mask and
  // both values are those of the branch, which is on every way to this block.
  void choose_by_mask() {
    if (block_->predecessors.size() != 2) return;
    for (unsigned edge = 0; edge < 2; ++edge) {
      const Block *branch = block_->predecessors[edge], *end = block_->predecessors[1 - edge];
      const std::optional<LaneBranch> lanes = lane_branch(*branch);
      if (!lanes || branch->successors[1 - lanes->some] != block_ || branch->successors[lanes->some] == block_)
        continue;
      if (!dominators_.dominates(branch, end) || dominators_.dominates(block_, end)) continue;
      for (Inst* phi : phis()) {
        Inst *unchanged = phi->operands[edge], *choice = phi->operands[1 - edge];
        if (choice->op != Op::select || choice->operands[0] != lanes->mask || choice->operands[2] != unchanged)
          continue;
        Inst *chosen = choice->operands[1], *const position = first_behind_phis(*block_);
        if (!dominators_.dominates(chosen->parent, branch)) {
          if (!chosen->is_const()) continue;
          const uint64_t value = chosen->imm;
          chosen = function_.create(Op::const_, choice->type);
          chosen->imm = value;
          chosen->guest_pc = choice->guest_pc;
          function_.insert_before(position, chosen);
        }
        Inst* here = function_.create(Op::select, choice->type, {lanes->mask, chosen, unchanged});
        here->guest_pc = choice->guest_pc;
        function_.insert_before(position, here);
        function_.replace_all_uses(phi, here);
        function_.count(Rule::chosen_by_mask);
        changed_ = true;
      }
    }
  }

  void replace_by_phi(Rule rule, Inst* choice, std::vector<Inst*> operands) {
    Inst* phi = function_.create(Op::phi, choice->type, std::move(operands));
    phi->guest_pc = choice->guest_pc;
    function_.insert_before(block_->insts.front(), phi);
    function_.replace_all_uses(choice, phi);
    function_.count(rule);
    changed_ = true;
  }

  static constexpr unsigned kMaxDepth = 2;  // instructions that a way computes for one choice
  Function& function_;
  const Dominators& dominators_;
  Block* const block_;
  const uint32_t first_new_block_;
  bool changed_ = false;
};

}  // namespace

bool move_choices(Function& function, const Dominators& dominators, Block* block) {
  return block->predecessors.size() > 1 && WayChoices(function, dominators, block, function.num_block_ids()).move();
}

bool move_choices_to_ways(Function& function, const Dominators& dominators) {
  const uint32_t first_new_block = function.num_block_ids();
  bool changed = false;
  for (Block* block : dominators.order())
    if (block->predecessors.size() > 1)
      changed |= WayChoices(function, dominators, block, first_new_block).move_to_ways();
  return changed;
}

}  // namespace wavejit::ir::passes
