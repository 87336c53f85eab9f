#include "ir/passes/kept_stores.h"

#include <algorithm>
#include <utility>

#include "internal/lane_streams.h"

namespace wavejit::ir::passes {

KeptStores::KeptStores(LaneCode& code, const LaneLoop& found, const Dominators& dominators)
    : code_(code), found_(found), loop_(*found.loop), places_(*found.loop, dominators) {
  for (const Block* block : loop_.body)
    if (std::ranges::any_of(block->successors, [&](const Block* to) { return dominators.dominates(to, block); }))
      latches_.insert(block);
}

// What a value is in the first iteration, as far as that is known (stream_place.h).
Inst* KeptStores::predicted(Inst* value) {
  const StreamPlace::Prediction p = places_.of(value);
  switch (p.source) {
    case StreamPlace::Source::unknown:
      return code_.constant(value->type, 0);
    case StreamPlace::Source::itself:
      if (!inside(value)) return value;
      return value->is_const() ? code_.constant(value->type, value->imm) : code_.make(value->op, value->type, {});
    case StreamPlace::Source::initial:
      return first_values_->at(value);
    case StreamPlace::Source::operand:
      return predicted(value->operands[p.operand]);
    case StreamPlace::Source::computed:
      break;
  }
  if (const auto it = predicted_.find(value); it != predicted_.end()) return it->second;
  std::vector<Inst*> operands(value->operands.size());
  std::ranges::transform(value->operands, operands.begin(), [&](Inst* operand) { return predicted(operand); });
  return predicted_[value] = code_.clone_here(*value, std::move(operands));
}

Inst* KeptStores::begin(const Begin& begin) {
  first_values_ = &begin.first_values;
  lanes_ = begin.lanes;
  row_ = begin.row;
  lockstep_ = begin.lockstep;
  const Inst& store = *found_.stores.front();
  Inst* place = predicted(store.operands[1]);
  if (store.mem.form == AddressForm::base_offset) {
    Inst* offset = predicted(store.operands[2]);
    place = code_.make(Op::add, kV64, {code_.make(Op::splat64, kV64, {place}), code_.make(Op::zext64, kV64, {offset})});
  }
  if (store.mem.imm != 0)
    place = code_.make(Op::add, kV64, {place, code_.constant(kV64, static_cast<uint64_t>(store.mem.imm))});
  code_.set_pc(store.guest_pc);
  code_.make(Op::set_lanes, kNone, {place}, row(0));
  Inst* possible = code_.make(Op::begin_streams, kI1, {lanes_}, row(0));
  begin_of_all_ = code_.make(Op::get_field, kI64, {}, offsetof(WaveState, stream_space_begin));
  return possible;
}

void KeptStores::begin_lane(Inst* lane, Inst* lane64, Inst* zero) {
  begin_ = code_.make(Op::get_lane, kI64, {lane}, row(0));
  Inst* reach = code_.make(Op::get_lane, kI64, {lane}, row(1));
  // Behind what the lane before has written, if that is the one whose array is in front of this one's.
  Inst* ordered = code_.make(Op::get_field, kI64, {}, offsetof(WaveState, streams_in_order));
  free_ = code_.make(Op::select, kI64, {code_.icmp(ICmp::ne, ordered, zero), before_it_, begin_});
  free_bytes_ = code_.make(Op::sub, kI64, {code_.add64(begin_, reach), free_});
  Inst* most = code_.constant(kI64, kStreamBytes);
  room_ = code_.make(Op::select, kI64, {code_.icmp(ICmp::ult, reach, most), reach, most});
  Inst* buffers = code_.make(Op::get_field, kI64, {}, offsetof(WaveState, stream_buffers));
  buffer_ = code_.add64(buffers, code_.make(Op::shl, kI64, {lane64, code_.constant(kI64, kStreamShift)}));
  space_begin_ = code_.make(Op::get_field, kI64, {}, offsetof(WaveState, stream_space_begin));
  space_bytes_ = code_.make(Op::get_field, kI64, {}, offsetof(WaveState, stream_space_bytes));
  nothing_ = code_.constant(kI64, 0);
  all_iterations_ = code_.constant(kI32, kStreamIterations);
}

void KeptStores::enter(const Block& original) {
  if (&original != loop_.header && original.predecessors.size() == 1) {
    carried_ = carried_out_.at(original.predecessors[0]);
    return;
  }
  carried_ = {code_.make(Op::phi, kI64, {}), code_.make(Op::phi, kI32, {})};
  merged_.emplace_back(&original, carried_);
}

void KeptStores::finish() {
  for (const auto& [original, carried] : merged_) {
    for (const Block* predecessor : original->predecessors) {
      const bool first = predecessor == lockstep_;
      const Carried from = first ? Carried{nothing_, all_iterations_} : carried_out_.at(predecessor);
      LaneCode::add_operand(carried.written, from.written);
      LaneCode::add_operand(carried.left, from.left);
    }
  }
}

void KeptStores::leave_if(Inst* condition) {
  Block* const rest = code_.add_block_here(false);
  code_.branch(condition, lockstep_, rest);
  code_.go_on_in(rest);
}

void KeptStores::count_iteration(const Block& original) {
  if (!latches_.contains(&original)) return;
  Block* const rest = code_.add_block_here(false);
  carried_.left = code_.make(Op::add, kI32, {carried_.left, code_.constant(kI32, 0xffffffff)});
  code_.branch(code_.icmp(ICmp::ne, carried_.left, code_.constant(kI32, 0)), rest, lockstep_);
  code_.go_on_in(rest);
}

Inst* KeptStores::place_of_store(Inst* lanes, Inst* address, uint64_t bytes) {
  Inst* const written = carried_.written;
  Inst* end = code_.add64(written, code_.constant(kI64, bytes));
  for (Inst* good :
       {code_.icmp(ICmp::eq, code_.make(Op::sub, kI64, {address, begin_}), written), code_.icmp(ICmp::ule, end, room_)})
    leave_if(code_.make(Op::andn, kI1, {lanes, good}));
  carried_.written = code_.make(Op::select, kI64, {lanes, end, written});
  return code_.add64(buffer_, written);
}

Inst* KeptStores::load(const Inst& inst, Inst* lanes, Inst* base, int64_t imm) {
  const uint64_t bytes = uint64_t{inst.mem.bytes} * inst.mem.count;
  Inst* address = imm == 0 ? base : code_.add64(base, code_.constant(kI64, static_cast<uint64_t>(imm)));
  Inst* near_some = in_space(address, bytes);
  Block *const join = code_.add_block_here(false), *const plain = code_.add_block_here(false);
  Block *const near = code_.add_block_here(true), *const own = code_.add_block_here(true);
  Block *const whole = code_.add_block_here(true), *const other = code_.add_block_here(true);
  code_.branch(code_.make(Op::and_, kI1, {lanes, near_some}), near, plain);

  code_.set_place_for(near, inst);
  Inst* place = code_.make(Op::sub, kI64, {address, begin_});
  code_.branch(code_.icmp(ICmp::ult, place, carried_.written), own, other);
  // Computed on each way: most lanes read what they have stored, and need no register for it in front.
  const auto end_of_place = [&] { return code_.add64(place, code_.constant(kI64, bytes)); };
  code_.set_place_for(own, inst);
  Inst* complete = bytes == 1 ? code_.constant(kI1, 1) : code_.icmp(ICmp::ule, end_of_place(), carried_.written);
  code_.branch(complete, whole, lockstep_);
  code_.set_place_for(other, inst);
  Inst* end = end_of_place();
  // It may end where the array begins, and must be free as a whole.
  Inst* apart =
      code_.make(Op::or_, kI1, {code_.icmp(ICmp::sge, place, nothing_), code_.icmp(ICmp::sle, end, nothing_)});
  Inst* from_free = code_.make(Op::sub, kI64, {address, free_});
  Inst* end_from_free = code_.add64(from_free, code_.constant(kI64, bytes));
  Inst* free =
      code_.make(Op::and_, kI1,
                 {code_.icmp(ICmp::ult, from_free, free_bytes_), code_.icmp(ICmp::ule, end_from_free, free_bytes_)});
  code_.branch(code_.make(Op::and_, kI1, {apart, free}), plain, lockstep_);

  const auto elements = [&](Block* block, Inst* from, int64_t offset) {
    code_.set_place_for(block, inst);
    if (block == whole) from = code_.add64(from, place);
    std::vector<Inst*> all = code_.load_elements(inst, lanes, from, offset, inst.mem.bytes);
    if (block == whole)
      for (Inst* element : all) element->mem.space = Space::global;
    code_.make(Op::br, kNone, {});
    Function::connect(block, join);
    return all;
  };
  const std::vector<Inst*> memory = elements(plain, base, imm), kept = elements(whole, buffer_, 0);
  code_.set_place_for(join, inst);
  std::vector<Inst*> merged(memory.size());
  std::ranges::transform(memory, kept, merged.begin(),
                         [&](Inst* a, Inst* b) { return code_.make(Op::phi, kI32, {a, b}); });
  return merged.size() == 1 ? merged[0] : code_.make(Op::tuple, lane_type(inst.type), std::move(merged));
}

void KeptStores::check_scalar_load(Inst* address, uint64_t bytes) {
  leave_if(in_space(address, bytes));
}

// Whether some of the bytes may be stored to.
Inst* KeptStores::in_space(Inst* address, uint64_t bytes) {
  Inst* from_begin = code_.make(Op::sub, kI64, {address, code_.add64(space_begin_, code_.constant(kI64, 1 - bytes))});
  return code_.icmp(ICmp::ult, from_begin, code_.add64(space_bytes_, code_.constant(kI64, bytes - 1)));
}

void KeptStores::end_lane(Inst* lane) {
  Inst* const written = carried_out_.at(found_.exit_from).written;
  code_.make(Op::set_lane, kNone, {lane, written}, row(2));
  LaneCode::add_operand(before_it_, code_.add64(begin_, written));
}

void KeptStores::end() {
  code_.set_pc(found_.stores.front()->guest_pc);
  code_.make(Op::end_streams, kNone, {lanes_}, row(0));
  code_.set_pc(code_.block()->guest_pc);
}

}  // namespace wavejit::ir::passes
