// Makes the copy of a loop that executes it for one lane after the other.
//
// In lockstep the wave stays in a loop until its last lane is done, executes both ways of every branch that lanes take
// differently, and makes each access to memory that lanes make at places of their own with a gather. The copy executes the
// whole loop for one lane, then for the next: vectors become scalars, masks become conditions, and branches are taken by
// the lane's own bit. ir/analysis/lane_by_lane.h says when that gives the same results. Which of the two is faster depends
// on the lanes; `lane_way` chooses at run time.
//
// Values that the copy needs go through rows of the frame. What is computed in floating point stays a vector, all of whose
// lanes are the same.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/analysis/lane_by_lane.h"
#include "ir/passes/kept_stores.h"
#include "ir/passes/lane_code.h"

namespace wavejit::ir::passes {

class LaneCopier : private LaneCode {
 public:
  // `record` is the number of the loop's LaneWay (internal/lane_way.h).
  LaneCopier(Function& function, const Dominators& dominators, const LaneLoop& found, uint64_t record);

  // Returns false, and changes nothing, if the loop is too large.
  bool run();

 private:
  [[nodiscard]] bool inside(const Inst* inst) const { return loop_.body.contains(inst->parent); }
  [[nodiscard]] bool inside_block(const Block* block) const { return loop_.body.contains(block); }

  // ---------------------------------------------------------------- what to copy

  // Values from outside that a lane's element is read of.
  bool collect();
  // Which values are vectors in the copy: those of operations without a form for scalars, and what only moves them.
  void decide_vectors();
  [[nodiscard]] bool is_vector(const Inst& inst) const;

  // 32- and 64-bit rows do not share memory.
  static uint64_t row_number(size_t index, Type type) { return 2 * index + (type.bits() == 64 ? 1 : 0); }
  [[nodiscard]] uint64_t result_row(size_t i) const { return row_number(rows_.size() + i, stored_[i]->type); }
  [[nodiscard]] uint64_t count_row() const { return row_number(rows_.size() + stored_.size(), kV32); }
  [[nodiscard]] uint64_t stream_row() const { return row_number(rows_.size() + stored_.size() + 1, kV64); }
  // Whether it matters how many iterations a lane was in.
  [[nodiscard]] bool counts() const { return found_.by_lanes && (!found_.scalars.empty() || !found_.previous.empty()); }

  // ---------------------------------------------------------------- in front of the loop

  void make_blocks();
  // Makes the code in front of the loop: the choice of the way, the rows of the live-in vectors, the head of the loop over
  // lanes.
  void start();
  // What a value of the loop is in lanes that are in no iteration.
  Inst* in_no_iteration(Inst* value);
  // The block in front of the loop that is executed in lockstep.
  [[nodiscard]] Block* entry() const { return kept_.any() ? lockstep_ : choose_; }

  // ---------------------------------------------------------------- values

  // At the head of the loop over lanes.
  [[nodiscard]] Elsewhere at_head() { return {*this, head_, head_br_}; }
  // Conversions of a value stand behind its definition, so that all its users can have them.
  [[nodiscard]] Elsewhere at_definition(const Inst* value);
  Inst* bit_of_lane(Inst* number);
  // The lane's value as a scalar, a mask's bit as an i1.
  Inst* scalar(Inst* value);
  std::vector<Inst*> scalars(const std::vector<Inst*>& values);
  Inst* make_scalar(Inst* value);
  // The same, but a vector is converted here and for nobody else.
  Inst* scalar_here(Inst* value);
  Inst* outside_scalar(Inst* value);
  // Of a mask of no or all lanes. Comparisons of numbers in floating point and their complements become one.
  Inst* condition(Inst* mask);
  Inst* first_element(Inst* vector);
  Inst* first_of(Inst* vector) { return make(Op::readlane, kI32, {vector, constant(kI32, 0)}); }
  // The value as a vector whose lanes are all the same, or as a mask of no or all lanes.
  Inst* vector(Inst* value);
  Inst* make_vector(Inst* value);

  void copy(const Block& original);
  void copy(Inst& inst);
  [[nodiscard]] Type copied_type(const Inst* inst) const {
    return vectors_.contains(inst) ? inst->type : lane_type(inst->type);
  }
  void define(Inst* original, Inst* copy);

  // ---------------------------------------------------------------- memory

  // The address of the first element, without the constant offset where `imm` returns that.
  Inst* address_of(const Inst& access, int64_t& imm, int64_t& stride);
  // Where the lane's scratch begins, from the base of an access. Made once, at the head of the loop over lanes, if the loop does not
  // change the base.
  Inst* own_scratch(Inst* base);
  [[nodiscard]] bool stays(const Inst* value, unsigned depth) const;
  Inst* at_head(Inst* value);  // of a value that stays
  void copy_load(Inst& inst);
  void copy_store(Inst& inst);
  void check_scalar_load(const Inst& load);

  // ---------------------------------------------------------------- ends

  [[nodiscard]] Block* copy_of(const Block* from, unsigned edge) const;
  void leave_block(const Block& original, const Inst& last);
  // The copies' predecessors in the order of the originals', with the head of the loop over lanes for those from outside.
  void finish_phis();
  void end();

  const LaneLoop& found_;
  const Loop& loop_;
  const uint64_t record_;
  KeptStores kept_;
  std::vector<Block*> blocks_;       // of the loop, dominators first
  std::vector<Inst*> rows_, masks_;  // values from outside
  std::unordered_set<const Inst*> vectors_;
  Block *choose_ = nullptr, *start_ = nullptr, *head_ = nullptr, *tail_ = nullptr, *done_ = nullptr;
  Block *leave_ = nullptr, *merge_ = nullptr, *lockstep_ = nullptr;
  std::unordered_map<const Block*, Block*> ends_;  // by block: where its copy ends
  std::unordered_map<const Block*, Block*> copies_;
  std::unordered_map<const Inst*, Inst*> first_;           // by phi of the header: its value from outside
  std::unordered_map<const Inst*, Inst*> numbers_;         // of masks from outside, as i64
  std::unordered_map<const Inst*, Inst*> copied_scalars_;  // by scalar of the loop
  std::unordered_map<const Inst*, Inst*> scalars_, vectors_of_;
  std::unordered_map<const Inst*, Inst*> own_scratch_;  // by base
  std::vector<Inst*> stored_;                           // vectors and masks that each lane leaves
  std::vector<Inst*> phis_, mask_results_, scalar_results_;
  Inst *begun_ = nullptr, *count_ = nullptr, *first_count_ = nullptr;  // iterations of the lane
  Inst* most_ = nullptr;                                               // of any lane so far
  Inst *remaining_ = nullptr, *lane_ = nullptr, *lane64_ = nullptr, *zero_ = nullptr, *one_ = nullptr;
  Inst *lds_base_ = nullptr, *head_br_ = nullptr;
};

}  // namespace wavejit::ir::passes
