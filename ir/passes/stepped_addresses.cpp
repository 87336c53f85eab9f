// Addresses that a loop advances by the same in all lanes: the phi becomes the address in front of the loop plus a
// scalar phi. An extended index is known to grow by a constant from lane to lane unless it wraps around, which code can
// test (backend-x86/lower/plans/lane_addresses.h). A sum keeps that, a phi does not.
#include <algorithm>
#include <optional>
#include <vector>

#include "ir/analysis/dominators.h"
#include "ir/analysis/lane_shape.h"
#include "ir/passes/passes.h"
#include "ir/passes/phi_editor.h"

namespace wavejit::ir::passes {
namespace {

constexpr unsigned kMaxDepth = 8;
constexpr unsigned kGroup = 16;  // lanes of the widest vector

// The terms that an iteration adds.
struct Step {
  uint64_t constant = 0;
  std::vector<Inst*> scalars;
  bool operator==(const Step&) const = default;
};

struct Candidate {
  Inst* phi = nullptr;
  size_t latch = 0;  // which operand comes from the iteration before
  Step step;
};

bool is_uniform_term(const Inst* inst) {
  return inst->is_const() || inst->op == Op::splat64;
}

// The uniform operand of a sum; null if it has none.
Inst* uniform_term(const Inst* sum) {
  if (sum->op != Op::add) return nullptr;
  const auto it = std::find_if(sum->operands.begin(), sum->operands.end(), is_uniform_term);
  return it == sum->operands.end() ? nullptr : *it;
}

// What leads from the phi to the value, by sums alone.
std::optional<Step> step_between(const Inst* phi, const Inst* value) {
  Step step;
  for (unsigned depth = 0; value != phi; ++depth) {
    Inst* term = depth == kMaxDepth ? nullptr : uniform_term(value);
    if (term == nullptr) return std::nullopt;
    if (term->is_const()) {
      step.constant += term->imm;
    } else {
      step.scalars.push_back(term->operands[0]);
    }
    value = value->operands[value->operands[0] == term ? 1 : 0];
  }
  return step;
}

// What the analyses are worth making for.
bool may_step(const Inst* inst) {
  return inst->op == Op::phi && inst->type == kV64 && inst->operands.size() == 2;
}

class SteppedAddresses {
 public:
  explicit SteppedAddresses(Function& function) : function_(function), dominators_(function), shapes_(function) {}

  bool run() {
    for (Block* block : dominators_.order()) {
      for (Inst* inst : block->insts) {
        if (inst->op != Op::phi) break;
        if (may_step(inst) && shapes_.of(inst).group < kGroup) consider(inst);
      }
    }
    while (std::erase_if(candidates_, [&](const Candidate& c) {
             return !is_index(c.phi->operands[1 - c.latch], kMaxDepth) || !only_addresses(c.phi, kMaxDepth);
           }) > 0) {
    }
    if (candidates_.empty()) return false;
    PhiEditor editor(function_);
    for (const Candidate& candidate : candidates_) replace(editor, candidate);
    editor.flush();
    return true;
  }

 private:
  void consider(Inst* phi) {
    const auto& from = phi->parent->predecessors;
    for (size_t latch = 0; latch < 2; ++latch) {
      if (!dominators_.dominates(phi->parent, from[latch])) continue;
      if (auto step = step_between(phi, phi->operands[latch]))
        candidates_.push_back({.phi = phi, .latch = latch, .step = std::move(*step)});
      return;
    }
  }

  bool is_candidate(const Inst* inst) const {
    return std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& c) { return c.phi == inst; });
  }

  // Whether the value is made of extended indices that grow by a constant from lane to lane.
  bool is_index(const Inst* value, unsigned depth) const {
    if (depth == 0) return false;
    switch (value->op) {
      case Op::phi:
        return is_candidate(value);
      case Op::sext64:
      case Op::zext64:
        return shapes_.of(value->operands[0]).group >= kGroup;
      case Op::shl:
        return value->operands[1]->is_const() && is_index(value->operands[0], depth - 1);
      case Op::add: {
        const auto known = [&](const Inst* operand) { return shapes_.of(operand).group >= kGroup; };
        return std::all_of(value->operands.begin(), value->operands.end(),
                           [&](const Inst* operand) { return known(operand) || is_index(operand, depth - 1); });
      }
      default:
        return false;
    }
  }

  // Whether the value is looked at by accesses alone, as their address, also with more added to it.
  bool only_addresses(const Inst* value, unsigned depth) const {
    return std::all_of(value->users.begin(), value->users.end(), [&](const Inst* user) {
      switch (user->op) {
        case Op::load:
        case Op::store:
          return user->mem.form == AddressForm::vector64 &&
                 std::count(user->operands.begin(), user->operands.end(), value) == 1;
        case Op::phi:
          return is_candidate(user);
        case Op::add:
          return depth > 0 && uniform_term(user) != nullptr && only_addresses(user, depth - 1);
        default:
          return false;
      }
    });
  }

  // What the iterations so far have added, from a scalar phi; one for all addresses of a loop that advance alike.
  Inst* sum_of_steps(PhiEditor& editor, const Candidate& candidate) {
    Block* const header = candidate.phi->parent;
    for (const auto& [block, step, splat] : sums_)
      if (block == header && step == candidate.step) return splat;
    Inst* sum = editor.new_phi(header, kI64);
    Block* const latch = header->predecessors[candidate.latch];
    Inst* next = sum;
    const auto add = [&](Inst* term) { next = editor.at_end(latch, Op::add, kI64, {next, term}); };
    for (Inst* scalar : candidate.step.scalars) add(scalar);
    if (candidate.step.constant != 0 || candidate.step.scalars.empty())
      add(editor.at_end(latch, Op::const_, kI64, {}, candidate.step.constant));
    Inst* zero = editor.at_end(header->predecessors[1 - candidate.latch], Op::const_, kI64, {}, 0);
    for (size_t i = 0; i < 2; ++i) editor.add_operand(sum, i == candidate.latch ? next : zero);
    Inst* splat = editor.behind_phis(header, Op::splat64, kV64, {sum});
    sums_.push_back({header, candidate.step, splat});
    return splat;
  }

  void replace(PhiEditor& editor, const Candidate& candidate) {
    Inst* const phi = candidate.phi;
    Inst* sum = sum_of_steps(editor, candidate);
    Inst* address = editor.behind_phis(phi->parent, Op::add, kV64, {phi->operands[1 - candidate.latch], sum});
    function_.replace_all_uses(phi, address);
    function_.count(Rule::stepped_address);
  }

  struct Sum {
    Block* header;
    Step step;
    Inst* splat;
  };

  Function& function_;
  Dominators dominators_;
  LaneShapes shapes_;
  std::vector<Candidate> candidates_;  // in the order of the blocks: those of outer loops first
  std::vector<Sum> sums_;
};

}  // namespace

PassResult stepped_addresses(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  const bool any = std::any_of(function.blocks.begin(), function.blocks.end(), [](const auto& block) {
    return std::any_of(block->insts.begin(), block->insts.end(), may_step);
  });
  const bool changed = any && SteppedAddresses(function).run();
  if (changed) function.sweep();
  return {.changed = changed || dropped};
}

}  // namespace wavejit::ir::passes
