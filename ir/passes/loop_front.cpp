#include "ir/passes/loop_front.h"

#include <algorithm>
#include <utility>

#include "ir/passes/simplify.h"

namespace wavejit::ir::passes {

void LoopFront::begin() {
  Block* const header = loop_.loop().header;
  Block* const before = loop_.before();
  set_place(before);
  set_pc(header->guest_pc);
  Block* const added = add_block_here(false);
  *std::ranges::find(before->successors, header) = added;
  added->predecessors.push_back(before);
  go_on_in(added);
}

void LoopFront::end() {
  Block* const header = loop_.loop().header;
  make(Op::br, kNone, {});
  block()->successors.push_back(header);
  header->predecessors[loop_.from_before()] = block();
}

Inst* LoopFront::first(Inst* value) {
  if (!loop_.contains(value)) return value;
  if (value->op == Op::phi) return value->operands[loop_.from_before()];
  if (const auto it = first_.find(value); it != first_.end()) return it->second;
  std::vector<Inst*> operands(value->operands.size());
  std::ranges::transform(value->operands, operands.begin(), [&](Inst* operand) { return first(operand); });
  return first_[value] = clone_here(*value, std::move(operands));
}

Inst* LoopFront::last_iteration() {
  const CountedLoop::Counter& counter = loop_.counter();
  Inst* value = first(counter.value);
  Inst* bound = first(counter.bound);
  Inst* distance = counter.up ? make(Op::sub, value->type, {bound, value}) : make(Op::sub, value->type, {value, bound});
  if (counter.staying != ICmp::ne)
    distance = make(Op::select, value->type, {icmp(counter.staying, value, bound), distance, constant(value->type, 0)});
  return wide(distance);
}

}  // namespace wavejit::ir::passes
