// The end of a lane's iterations, of the loop over lanes, and where both ways meet.
#include <algorithm>
#include <utility>

#include "ir/passes/lane_copier.h"

namespace wavejit::ir::passes {

Block* LaneCopier::copy_of(const Block* from, unsigned edge) const {
  if (from == found_.exit_from && edge == found_.exit_edge) return tail_;
  return copies_.at(from->successors[edge]);
}

void LaneCopier::leave_block(const Block& original, const Inst& last) {
  clone_here(last, scalars(last.operands));
  for (unsigned i = 0; i < original.successors.size(); ++i) block()->successors.push_back(copy_of(&original, i));
}

void LaneCopier::finish_phis() {
  for (const Block* original : blocks_) {
    Block* copy = copies_.at(original);
    for (const Block* predecessor : original->predecessors) {
      if (predecessor == entry()) {
        if (copy->predecessors.empty() || copy->predecessors[0] != head_)
          copy->predecessors.insert(copy->predecessors.begin(), head_);
        continue;
      }
      copy->predecessors.push_back(ends_.at(predecessor));
    }
  }
  // connect() has entered the head already, as the header's first predecessor.
  for (Inst* phi : phis_) {
    const bool as_vector = vectors_.contains(phi);
    Inst* copy = as_vector ? vectors_of_.at(phi) : phi->type.is_scalar() ? copied_scalars_.at(phi) : scalars_.at(phi);
    for (Inst* operand : phi->operands) add_operand(copy, as_vector ? vector(operand) : scalar(operand));
  }
  if (begun_ != nullptr) {
    for (const Block* predecessor : begun_->parent->predecessors)
      add_operand(begun_, predecessor == head_ ? first_count_ : count_);
  }
  if (kept_.any()) kept_.finish();
  tail_->predecessors.push_back(ends_.at(found_.exit_from));
}

void LaneCopier::end() {
  set_place(tail_);
  size_t masks = 0;
  std::vector<Inst*> numbers;
  for (size_t i = 0; i < stored_.size(); ++i) {
    Inst* result = stored_[i];
    if (!result->type.is_mask()) {
      make(Op::set_lane, kNone, {lane_, scalar_here(result)}, result_row(i));
      continue;
    }
    // The lane's bit.
    Inst* sum = mask_results_[masks++];
    Inst* bit = make(Op::shl, kI64, {one_, lane64_});
    Inst* own = make(Op::select, kI64, {scalar(result), bit, zero_});
    Inst* next = make(Op::or_, kI64, {make(Op::andn, kI64, {sum, bit}), own});
    add_operand(sum, next);
    numbers.push_back(next);
  }
  // Scalars of the lane that is in most iterations.
  Inst* const more = counts() ? icmp(ICmp::ult, most_, count_) : nullptr;
  for (size_t i = 0; i < found_.scalars.size(); ++i) {
    Inst* value = scalar(found_.scalars[i]);
    if (more != nullptr) value = make(Op::select, value->type, {more, value, scalar_results_[i]});
    add_operand(scalar_results_[i], value);
    scalar_results_[i] = value;
  }
  Inst* most = nullptr;
  if (more != nullptr) {
    most = make(Op::select, kI32, {more, count_, most_});
    add_operand(most_, most);
  }
  if (!found_.previous.empty()) make(Op::set_lane, kNone, {lane_, count_}, count_row());
  if (kept_.any()) kept_.end_lane(lane_);
  Inst* rest = make(Op::and_, kI64, {remaining_, make(Op::sub, kI64, {remaining_, one_})});
  add_operand(remaining_, rest);
  make(Op::cond_br, kNone, {icmp(ICmp::ne, rest, zero_)});
  Function::connect(tail_, head_);
  Function::connect(tail_, done_);

  set_place(done_);
  if (kept_.any()) kept_.end();
  std::vector<Inst*> results;
  masks = 0;
  for (size_t i = 0; i < stored_.size(); ++i) {
    const Inst* result = stored_[i];
    results.push_back(result->type.is_mask() ? make(Op::i64_to_mask, kMask, {numbers[masks++]})
                                             : make(Op::get_lanes, result->type, {}, result_row(i)));
  }
  if (!found_.previous.empty()) {
    Inst* counts = make(Op::get_lanes, kV32, {}, count_row());
    Inst* last = make(Op::icmp, kMask, {counts, make(Op::splat, kV32, {most})}, 0, static_cast<uint32_t>(ICmp::eq));
    for (size_t i = 0; i < found_.previous.size(); ++i) {
      const Inst* phi = found_.previous[i];
      Inst* next = nullptr;
      for (size_t k = 0; k < phi->operands.size(); ++k)
        if (phi->parent->predecessors[k] != entry()) next = phi->operands[k];
      const auto at = std::find(found_.results.begin(), found_.results.end(), next) - found_.results.begin();
      Inst*& result = results[found_.results.size() + i];
      Inst* const other = results[static_cast<size_t>(at)];
      result = phi->type.is_mask()
                   ? make(Op::or_, kMask, {make(Op::and_, kMask, {result, last}), make(Op::andn, kMask, {other, last})})
                   : make(Op::select, phi->type, {last, result, other});
    }
  }
  std::vector<Inst*> left = stored_;
  left.insert(left.end(), found_.scalars.begin(), found_.scalars.end());
  results.insert(results.end(), scalar_results_.begin(), scalar_results_.end());
  make(Op::br, kNone, {});
  Function::connect(done_, merge_);

  // Both ways meet.
  Block* const from = found_.exit_from;
  Block* const target = from->successors[found_.exit_edge];
  from->successors[found_.exit_edge] = leave_;
  leave_->predecessors.push_back(from);
  set_place(leave_);
  make(Op::br, kNone, {});
  Function::connect(leave_, merge_);
  std::swap(merge_->predecessors[0], merge_->predecessors[1]);  // leave_, done_
  set_place(merge_);
  std::vector<std::pair<Inst*, Inst*>> merged;
  merged.reserve(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    merged.emplace_back(left[i], make(Op::phi, left[i]->type, {left[i], results[i]}));
  make(Op::lane_way_end, kNone, {}, record_);
  make(Op::br, kNone, {});
  merge_->successors.push_back(target);
  *std::find(target->predecessors.begin(), target->predecessors.end(), from) = merge_;
  for (const auto& [result, phi] : merged) {
    for (Inst* user : std::vector<Inst*>(result->users)) {
      if (user == phi || loop_.body.contains(user->parent)) continue;
      for (unsigned i = 0; i < user->operands.size(); ++i)
        if (user->operands[i] == result) function_.set_operand(user, i, phi);
    }
  }
}

}  // namespace wavejit::ir::passes
