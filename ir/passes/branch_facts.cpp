// Behind a conditional branch its condition is known: the condition, its complement and masks made of it become
// constants in the blocks that only one way of the branch leads to. Work-items' ids make many conditions the same for a
// whole wave; the accesses they guard then need no mask.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <unordered_map>

#include "internal/wave_state.h"
#include "ir/analysis/dominators.h"
#include "ir/clone.h"
#include "ir/passes/passes.h"
#include "ir/passes/phi_editor.h"
#include "ir/passes/way_choices.h"

namespace wavejit::ir::passes {
namespace {

class BranchFacts {
 public:
  explicit BranchFacts(Function& function) : function_(function), dominators_(function) {}

  bool run() {
    for (Block* block : std::vector<Block*>(dominators_.order().begin(), dominators_.order().end())) {
      changed_ |= move_choices(function_, dominators_, block);
      const Inst* last = block->terminator();
      if (last->op != Op::cond_br || last->operands[0]->is_const()) continue;
      if (block->successors[0] == block->successors[1]) continue;
      for (unsigned way = 0; way < 2; ++way) {
        Block* target = block->successors[way];
        if (target->predecessors.size() == 1) {
          assume(last->operands[0], way == 0, target, kMaxDepth);
        } else {
          assume_on_edge(block, target, way == 0);
        }
      }
    }
    return changed_;
  }

  [[nodiscard]] const Dominators& dominators() const { return dominators_; }

 private:
  static constexpr unsigned kMaxDepth = 3;

  // `condition` is `value` in all blocks that `from` dominates.
  void assume(Inst* condition, bool value, Block* from, unsigned depth) {
    replace(Rule::condition_known, condition, value ? 1 : 0, from);
    if (depth == 0) return;
    // What follows from it, and what it follows from.
    for (Inst* user : std::vector<Inst*>(condition->users)) {
      if (user->op == Op::splat_mask) replace(Rule::splat_known, user, value ? ~uint64_t{0} : 0, from);
      if (user->op == Op::not_ && user->type == kI1) assume(user, !value, from, depth - 1);
    }
    if (condition->op == Op::not_) assume(condition->operands[0], !value, from, depth - 1);
    if (condition->op == (value ? Op::and_ : Op::or_))
      for (Inst* operand : std::vector<Inst*>(condition->operands)) assume(operand, value, from, depth - 1);
    if (condition->op == Op::mask_any && value) assume_some(*condition->operands[0], from, depth - 1);
    if (condition->op == Op::icmp && value) bound_wave(*condition, from);
    if (condition->op == Op::mask_any && !value) replace(Rule::mask_known, condition->operands[0], 0, from);
    if (condition->op == Op::mask_all && value) replace(Rule::mask_known, condition->operands[0], ~uint64_t{0}, from);
  }

  // The mask has a lane: conditions of the whole wave in it hold.
  void assume_some(const Inst& mask, Block* from, unsigned depth) {
    const auto holds = [&](const Inst* part) {
      if (part->op == Op::splat_mask) assume(part->operands[0], true, from, depth);
    };
    holds(&mask);
    if (mask.op != Op::and_) return;
    for (const Inst* part : std::vector<Inst*>(mask.operands)) holds(part);
  }

  // A comparison of a wave's number in its work-group, or of a multiple of it, holds. That bounds what is computed from
  // the number: `if (local_id < 16)` is about the first wave alone.
  void bound_wave(const Inst& comparison, Block* from) {
    const auto relation = static_cast<ICmp>(comparison.attr);
    Inst* wave = comparison.operands[0];
    const Inst* limit = comparison.operands[1];
    if (!limit->is_const() || (relation != ICmp::ult && (relation != ICmp::eq || limit->imm != 0))) return;
    uint64_t waves = relation == ICmp::eq ? 1 : limit->imm, shift = 0;
    if (wave->op == Op::shl && wave->operands[1]->is_const()) {
      shift = wave->operands[1]->imm;
      wave = wave->operands[0];
    }
    const std::optional<uint64_t> last = last_wave(*wave);
    if (!last || waves == 0 || shift >= 32 || *last << shift > UINT32_MAX) return;
    waves = ((waves - 1) >> shift) + 1;
    if (const uint64_t bits = std::bit_ceil(waves) - 1; bits < *last) replace_with_copies(wave, bits, from);
  }
  // The highest number that it may be, if it is the number of a wave.
  static std::optional<uint64_t> last_wave(const Inst& inst) {
    if ((inst.op != Op::and_ && inst.op != Op::umin) || !inst.operands[1]->is_const()) return std::nullopt;
    const Inst* field = inst.operands[0];
    const bool is_number = field->op == Op::get_field && field->imm == offsetof(WaveState, wave_in_group);
    return is_number ? std::optional(inst.operands[1]->imm) : std::nullopt;
  }

  // `number` has no other bits than `bits` in the blocks that `from` dominates. They get copies of what is computed from
  // it in front of them, without what has gone through a phi.
  void replace_with_copies(Inst* number, uint64_t bits, Block* from) {
    constexpr size_t kMost = 64;
    std::vector<Inst*> computed{number};
    std::vector<std::pair<Inst*, unsigned>> uses;
    for (size_t i = 0; i < computed.size(); ++i) {
      if (computed.size() > kMost) return;
      for (Inst* user : computed[i]->users) {
        for (unsigned k = 0; k < user->operands.size(); ++k) {
          if (user->operands[k] != computed[i]) continue;
          const Block* where = user->op == Op::phi ? user->parent->predecessors[k] : user->parent;
          if (dominators_.dominates(from, where)) uses.emplace_back(user, k);
        }
        const bool in_front = user->parent != from && dominators_.dominates(user->parent, from);
        if (in_front && user->op != Op::phi && is_pure(user->op) && std::ranges::find(computed, user) == computed.end())
          computed.push_back(user);
      }
    }
    if (uses.empty()) return;
    Inst* const position = first_behind_phis(*from);
    const auto insert = [&](Inst* inst) {
      inst->guest_pc = from->guest_pc;
      function_.insert_before(position, inst);
      return inst;
    };
    Inst* known = insert(function_.create(Op::const_, kI32));
    known->imm = bits;
    if (bits != 0) known = insert(function_.create(Op::and_, kI32, {number, known}));
    std::unordered_map<const Inst*, Inst*> copies{{number, known}};
    const auto copy_of = [&](const auto& self, Inst* inst) -> Inst* {
      if (const auto it = copies.find(inst); it != copies.end()) return it->second;
      if (std::ranges::find(computed, inst) == computed.end()) return inst;
      std::vector<Inst*> operands;
      operands.reserve(inst->operands.size());
      for (Inst* operand : inst->operands) operands.push_back(self(self, operand));
      Inst* copy = clone(function_, *inst, std::move(operands));
      copies.emplace(inst, copy);
      return insert(copy);
    };
    for (const auto& [user, k] : uses) {
      function_.set_operand(user, k, copy_of(copy_of, user->operands[k]));
      function_.count(Rule::wave_bounded);
    }
    changed_ = true;
  }

  // Where several ways meet: phis that take the condition itself from this one.
  void assume_on_edge(Block* from, Block* to, bool value) {
    const Inst* condition = from->terminator()->operands[0];
    const auto edge = static_cast<unsigned>(std::ranges::find(to->predecessors, from) - to->predecessors.begin());
    for (Inst* phi : std::vector<Inst*>(to->insts)) {
      if (phi->op != Op::phi) break;
      const bool is_opposite = is_not_of(phi->operands[edge], condition) || is_not_of(condition, phi->operands[edge]);
      if (phi->operands[edge] != condition && !is_opposite) continue;
      Inst* constant = function_.create(Op::const_, kI1);
      constant->imm = value != is_opposite ? 1 : 0;
      constant->guest_pc = from->terminator()->guest_pc;
      bool always = true;
      for (unsigned i = 0; i < phi->operands.size(); ++i)
        always &= i == edge || phi->operands[i] == phi || phi->operands[i]->is_const(constant->imm);
      function_.insert_before(always ? first_behind_phis(*to) : from->terminator(), constant);
      if (always) {
        function_.replace_all_uses(phi, constant);
      } else {
        function_.set_operand(phi, edge, constant);
      }
      function_.count(Rule::condition_known);
      changed_ = true;
    }
  }
  static bool is_not_of(const Inst* value, const Inst* other) {
    return value->op == Op::not_ && value->operands[0] == other;
  }

  void replace(Rule rule, Inst* inst, uint64_t value, Block* from) {
    if (inst->is_const()) return;
    Inst* constant = nullptr;
    for (Inst* user : std::vector<Inst*>(inst->users)) {
      for (unsigned i = 0; i < user->operands.size(); ++i) {
        if (user->operands[i] != inst) continue;
        const Block* where = user->op == Op::phi ? user->parent->predecessors[i] : user->parent;
        if (!dominators_.dominates(from, where)) continue;
        if (!constant) {
          constant = function_.create(Op::const_, inst->type);
          constant->imm = value;
          constant->guest_pc = from->guest_pc;
          function_.insert_before(first_behind_phis(*from), constant);
        }
        function_.set_operand(user, i, constant);
        function_.count(rule);
        changed_ = true;
      }
    }
  }

  Function& function_;
  Dominators dominators_;
  bool changed_ = false;
};

}  // namespace

PassResult branch_facts(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  BranchFacts facts(function);
  const bool known = facts.run();
  const bool moved = move_choices_to_ways(function, facts.dominators());
  return {.changed = known || moved || dropped};
}

}  // namespace wavejit::ir::passes
