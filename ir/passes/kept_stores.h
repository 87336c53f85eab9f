// Stores of a loop's copy for one lane after the other that are kept back until all lanes are done (internal/lane_streams.h), and the
// checks of what the copy accesses besides. Where a check fails, control goes to the loop that is executed in lockstep.
//
// The copier calls begin() in front of the loop over lanes, begin_lanes() and begin_lane() at its head, enter(), count_iteration() and
// leave() for each block of the copy, finish() when all blocks are made, end_lane() at the loop's end and end() behind it.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/analysis/lane_by_lane.h"
#include "ir/analysis/stream_place.h"
#include "ir/passes/lane_code.h"

namespace wavejit::ir::passes {

class KeptStores {
 public:
  KeptStores(LaneCode& code, const LaneLoop& found, const Dominators& dominators);

  // Whether the loop has any. All functions below are for loops that do.
  [[nodiscard]] bool any() const { return !found_.stores.empty(); }

  struct Begin {
    Inst* lanes = nullptr;                                       // those that are executed, as i64
    const std::unordered_map<const Inst*, Inst*>& first_values;  // by phi of the header: its value from outside
    uint64_t row = 0;                                            // the first one of three rows for 64-bit elements
    Block* lockstep = nullptr;                                   // in front of the loop in lockstep
  };
  // Returns the condition that stores can be kept back at all.
  [[nodiscard]] Inst* begin(const Begin& begin);
  void begin_lanes() { before_it_ = code_.make(Op::phi, kI64, {begin_of_all_}); }
  void begin_lane(Inst* lane, Inst* lane64, Inst* zero);

  void enter(const Block& original);
  // A lane that goes on for long may wait for what is kept back, or for a lane that has not begun.
  void count_iteration(const Block& original);
  void leave(const Block& original) { carried_out_[&original] = carried_; }
  void finish();
  void end_lane(Inst* lane);
  void end();

  // The place in the buffer for what the lane stores next, if `address` is where that belongs.
  [[nodiscard]] Inst* place_of_store(Inst* lanes, Inst* address, uint64_t bytes);
  // A load of memory, or of what the lane has stored itself, at base + imm. Returns the lane's value.
  [[nodiscard]] Inst* load(const Inst& inst, Inst* lanes, Inst* base, int64_t imm);
  // For a load for the whole wave, of memory that no lane stores to.
  void check_scalar_load(Inst* address, uint64_t bytes);

 private:
  // What a lane takes with it from block to block: how many bytes it has stored, and the iterations that it has left.
  struct Carried {
    Inst* written = nullptr;
    Inst* left = nullptr;
  };

  [[nodiscard]] bool inside(const Inst* inst) const { return loop_.body.contains(inst->parent); }
  Inst* predicted(Inst* value);
  Inst* in_space(Inst* address, uint64_t bytes);
  void leave_if(Inst* condition);  // goes to the loop in lockstep
  [[nodiscard]] uint64_t row(unsigned i) const { return row_ + uint64_t{2} * i; }

  LaneCode& code_;
  const LaneLoop& found_;
  const Loop& loop_;
  StreamPlace places_;
  std::unordered_set<const Block*> latches_;  // of the loop and of those inside
  const std::unordered_map<const Inst*, Inst*>* first_values_ = nullptr;
  std::unordered_map<const Inst*, Inst*> predicted_;
  uint64_t row_ = 0;
  Block* lockstep_ = nullptr;
  Carried carried_;                                        // where code is made
  std::unordered_map<const Block*, Carried> carried_out_;  // behind a block
  std::vector<std::pair<const Block*, Carried>> merged_;   // at the beginning of blocks that merge ways
  Inst *lanes_ = nullptr, *begin_ = nullptr, *room_ = nullptr, *buffer_ = nullptr;
  Inst *begin_of_all_ = nullptr, *before_it_ = nullptr, *free_ = nullptr, *free_bytes_ = nullptr;
  Inst *space_begin_ = nullptr, *space_bytes_ = nullptr, *nothing_ = nullptr, *all_iterations_ = nullptr;
};

}  // namespace wavejit::ir::passes
