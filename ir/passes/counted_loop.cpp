#include "ir/passes/counted_loop.h"

#include <algorithm>

#include "ir/passes/simplify.h"

namespace wavejit::ir::passes {
namespace {

// Of a number of the type.
int64_t wrapped(uint64_t value, Type type) {
  return type.bits() == 32 ? static_cast<int32_t>(value) : static_cast<int64_t>(value);
}

bool counts(const Inst* value) {
  return value->type == kI32 || value->type == kI64;
}

}  // namespace

std::optional<CountedLoop> CountedLoop::find(const Loop& loop, const Block* aside) {
  const std::vector<Block*>& into = loop.header->predecessors;
  if (loop.latches.size() != 1 || into.size() != 2) return std::nullopt;
  const Block* const latch = loop.latches[0];
  for (const Block* block : loop.body) {
    for (const Block* to : block->successors) {
      if (to == loop.header && block != latch) return std::nullopt;
      if (!loop.body.contains(to) && to != aside && block != latch) return std::nullopt;
    }
  }
  CountedLoop found(loop);
  found.from_before_ = into[0] == latch ? 1 : 0;
  if (std::ranges::find(latch->successors, aside) != latch->successors.end() || !found.find_counter())
    return std::nullopt;
  return found;
}

bool CountedLoop::find_counter() {
  const Block* const from = latch();
  const Inst* branch = from->terminator();
  if (branch->op != Op::cond_br || branch->operands[0]->op != Op::icmp) return false;
  const Inst* condition = branch->operands[0];
  if (!contains(condition)) return false;
  counter_ = {condition->operands[0], condition->operands[1], static_cast<ICmp>(condition->attr), false};
  if (from->successors[0] != loop_->header) counter_.staying = inverse(counter_.staying);
  if (step_of(counter_.value) == 0) {
    std::swap(counter_.value, counter_.bound);
    counter_.staying = swapped(counter_.staying);
  }
  const std::optional<int64_t> step = step_of(counter_.value);
  if (!counts(counter_.value) || !step || (*step != 1 && *step != -1) || step_of(counter_.bound) != 0) return false;
  counter_.up = *step == 1;
  switch (counter_.staying) {
    case ICmp::ne:
      return true;
    case ICmp::ult:
    case ICmp::slt:
      return counter_.up;
    case ICmp::ugt:
    case ICmp::sgt:
      return !counter_.up;
    default:
      return false;
  }
}

std::optional<int64_t> CountedLoop::step_of(const Inst* value) const {
  if (value->is_const() || !contains(value)) return 0;
  if (const auto it = steps_.find(value); it != steps_.end()) return it->second;
  const std::optional<int64_t> step = compute_step(value);
  steps_[value] = step;
  return step;
}

std::optional<int64_t> CountedLoop::compute_step(const Inst* value) const {
  if (value->op == Op::phi) {
    if (value->parent != loop_->header || !counts(value)) return std::nullopt;
    uint64_t sum = 0;
    const Inst* next = value->operands[from_latch()];
    for (; next->op == Op::add && next->operands[1]->is_const() && contains(next); next = next->operands[0])
      sum += next->operands[1]->imm;
    if (next != value) return std::nullopt;
    return wrapped(sum, value->type);
  }
  if (!is_pure(value->op)) return std::nullopt;
  const bool sum = value->op == Op::add, difference = value->op == Op::sub;
  uint64_t step = 0;
  for (size_t i = 0; i < value->operands.size(); ++i) {
    const std::optional<int64_t> of_operand = step_of(value->operands[i]);
    if (!of_operand) return std::nullopt;
    if (*of_operand == 0) continue;
    if (!counts(value) || (!sum && !difference)) return std::nullopt;
    const auto change = static_cast<uint64_t>(*of_operand);
    step += difference && i == 1 ? 0 - change : change;
  }
  return wrapped(step, value->type);
}

}  // namespace wavejit::ir::passes
