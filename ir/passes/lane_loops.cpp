// Copies of loops whose lanes part, for one lane after the other.
//
// In lockstep the wave stays in a loop until its last lane is done, executes both ways of every branch that lanes take
// differently, and makes each access to memory that lanes make at places of their own with a gather. The copy executes the
// whole loop for one lane, then for the next: vectors become scalars, masks become conditions, and branches are taken by
// the lane's own bit. ir/analysis/lane_by_lane.h says when that gives the same results. Which of the two is faster depends
// on the lanes; `lane_way` chooses at run time.
//
// Values that the copy needs go through rows of the frame. What is computed in floating point stays a vector, all of whose
// lanes are the same.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "internal/lane_streams.h"
#include "internal/lane_way.h"
#include "ir/analysis/lane_by_lane.h"
#include "ir/analysis/lane_shape.h"
#include "ir/analysis/skipped_way.h"
#include "ir/analysis/stream_place.h"
#include "ir/clone.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

constexpr size_t kMaxCopiedByLanes = 1500;
constexpr size_t kMaxRows = 96;
// Estimates, in instructions of the host: a vector of all lanes, a gather or scatter, an instruction for one lane.
constexpr double kVectorCost = 8, kScatteredCost = 120, kNearCost = 12;
// The copy is made if it costs less than this many times the loop, for lanes that part as far as is known.
constexpr double kWorthTrying = 6;
constexpr unsigned kMaxRounds = 3;  // of clean_copies()

bool is_scattered(const Inst& access, const LaneShapes& shapes) {
  const Inst* address = nullptr;
  switch (access.mem.form) {
    case AddressForm::base_offset:
    case AddressForm::scratch_off:
      address = access.operands[2];
      break;
    case AddressForm::vector64:
    case AddressForm::lds_offset:
      address = access.operands[1];
      break;
    default:
      return false;
  }
  return !shapes.of(address).known();
}

// Whether an operation has a form for scalars.
bool has_scalar_form(const Inst& inst) {
  switch (inst.op) {
    case Op::udiv64:
    case Op::perm:
      return false;
    case Op::select:
    case Op::phi:
    case Op::extract:
    case Op::tuple:
      return true;
    case Op::splat:
    case Op::splat64:
    case Op::splat_mask:
    case Op::lane_id:
      return true;
    default:
      break;
  }
  const OpInfo& info = op_info(inst.op);
  const auto scalar_or_vector = [](char letter) {
    return letter == 'N' || letter == 'L' || letter == 'V' || letter == 'X' || letter == 'c';
  };
  return scalar_or_vector(info.result) && std::all_of(info.operands.begin(), info.operands.end(), scalar_or_vector);
}

// Signs of numbers in floating point are changed so.
bool changes_constant_bits(Op op) {
  return op == Op::and_ || op == Op::or_ || op == Op::xor_;
}

bool compares_floats(Op op) {
  return op == Op::fcmp_f32 || op == Op::fcmp_f64 || op == Op::fcmp_f16;
}
constexpr uint32_t kUnorderedBit = 8;  // of FCmp

class LaneCopier {
 public:
  LaneCopier(Function& function, const Dominators& dominators, const LaneLoop& found, uint64_t record)
      : function_(function), found_(found), loop_(*found.loop), record_(record), places_(*found.loop, dominators) {
    for (Block* block : dominators.order()) {
      if (!loop_.body.contains(block)) continue;
      blocks_.push_back(block);
      if (std::ranges::any_of(block->successors, [&](const Block* to) { return dominators.dominates(to, block); }))
        latches_.insert(block);
    }
  }

  bool run() {
    if (!collect()) return false;
    decide_vectors();
    function_.count(Rule::loop_by_lanes);
    make_blocks();
    start();
    for (Block* block : blocks_) {
      copy(*block);
      ends_[block] = block_;
      if (keeps_back()) carried_out_[block] = carried_;
    }
    finish_phis();
    end();
    return true;
  }

 private:
  [[nodiscard]] bool inside(const Inst* inst) const { return loop_.body.contains(inst->parent); }

  // ---------------------------------------------------------------- what to copy

  // Values from outside that a lane's element is read of.
  bool collect() {
    size_t count = 0, merged = 0;
    std::unordered_set<const Inst*> seen;
    const auto& into = loop_.header->predecessors;
    const bool several = std::count_if(into.begin(), into.end(), [&](const Block* b) { return !inside_block(b); }) > 1;
    for (Block* block : blocks_) {
      count += block->insts.size();
      for (Inst* inst : block->insts) {
        // What comes in by several ways is merged in front of the loop (start()).
        const bool merges = several && inst->op == Op::phi && block == loop_.header;
        merged += merges ? 1 : 0;
        for (size_t i = 0; i < inst->operands.size(); ++i) {
          Inst* const operand = inst->operands[i];
          if (merges && !inside_block(into[i])) continue;
          if (inside(operand) || operand->type.is_scalar() || !seen.insert(operand).second) continue;
          if (operand->is_const() || operand->op == Op::undef || operand->op == Op::lane_id) continue;
          if (operand->op == Op::splat || operand->op == Op::splat64 || operand->op == Op::splat_mask) continue;
          if (operand->type.is_tuple()) return false;
          (operand->type.is_mask() ? masks_ : rows_).push_back(operand);
        }
      }
    }
    stored_ = found_.results;
    stored_.insert(stored_.end(), found_.previous.begin(), found_.previous.end());
    return count <= kMaxCopiedByLanes && rows_.size() + merged + stored_.size() <= kMaxRows;
  }
  [[nodiscard]] bool inside_block(const Block* block) const { return loop_.body.contains(block); }

  // Which values are vectors in the copy: those of operations without a form for scalars, and what only moves them.
  void decide_vectors() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Block* block : blocks_) {
        for (const Inst* inst : block->insts) {
          if (inst->type == kNone || inst->type.is_scalar() || vectors_.contains(inst)) continue;
          if (!is_vector(*inst)) continue;
          vectors_.insert(inst);
          changed = true;
        }
      }
    }
  }
  [[nodiscard]] bool is_vector(const Inst& inst) const {
    if (inst.op == Op::load || inst.is_const() || inst.op == Op::undef) return false;
    if (!has_scalar_form(inst)) return true;
    if (changes_constant_bits(inst.op) && inst.operands[1]->is_const()) return vectors_.contains(inst.operands[0]);
    if (inst.op != Op::phi && inst.op != Op::select) return false;
    if (inst.type.is_mask()) return false;
    const size_t first = inst.op == Op::select ? 1 : 0;
    return std::any_of(inst.operands.begin() + static_cast<ptrdiff_t>(first), inst.operands.end(),
                       [&](const Inst* operand) { return vectors_.contains(operand); });
  }

  // ---------------------------------------------------------------- code

  Inst* make(Op op, Type type, std::vector<Inst*> operands, uint64_t imm = 0, uint32_t attr = 0) {
    Inst* inst = function_.create(op, type, std::move(operands));
    inst->imm = imm;
    inst->attr = attr;
    inst->guest_pc = pc_;
    if (before_ != nullptr) {
      function_.insert_before(before_, inst);
    } else {
      function_.append(block_, inst);
    }
    return inst;
  }
  Inst* constant(Type type, uint64_t value) { return make(Op::const_, type, {}, value); }
  Inst* icmp(ICmp predicate, Inst* a, Inst* b) {
    return make(Op::icmp, kI1, {a, b}, 0, static_cast<uint32_t>(predicate));
  }
  // 32- and 64-bit rows do not share memory.
  static uint64_t row_number(size_t index, Type type) { return 2 * index + (type.bits() == 64 ? 1 : 0); }

  void make_blocks() {
    const uint64_t pc = loop_.header->guest_pc;
    auto& all = function_.blocks;
    const size_t before = all.size();
    for (Block** block : {&choose_, &start_, &head_}) *block = function_.add_block(pc);
    if (keeps_back()) lockstep_ = function_.add_block(pc);
    for (const Block* block : blocks_) copies_[block] = function_.add_block(block->guest_pc);
    for (Block** block : {&tail_, &done_}) *block = function_.add_block(pc);
    const size_t added = all.size() - before;
    // In the layout they go in front of the loop.
    const auto header = std::find_if(all.begin(), all.end(), [&](const auto& b) { return b.get() == loop_.header; });
    std::rotate(header, all.end() - static_cast<ptrdiff_t>(added), all.end());
    for (Block** block : {&leave_, &merge_}) *block = function_.add_block(pc);
    const auto from = std::find_if(all.begin(), all.end(), [&](const auto& b) { return b.get() == found_.exit_from; });
    std::rotate(from + 1, all.end() - 2, all.end());
  }

  void set_place(Block* block, Inst* before = nullptr) {
    block_ = block;
    before_ = before;
    pc_ = before != nullptr && before->guest_pc != 0 ? before->guest_pc : block->guest_pc;
  }

  // Makes the code in front of the loop: the choice of the way, the rows of the live-in vectors, the head of the loop over
  // lanes.
  void start() {
    Block* const header = loop_.header;
    // Values that come into the loop.
    set_place(choose_);
    std::vector<Inst*> phis;
    for (Inst* phi : header->insts) {
      if (phi->op != Op::phi) break;
      phis.push_back(phi);
    }
    std::vector<size_t> ways;  // from outside, as numbers of the header's predecessors
    for (size_t i = 0; i < header->predecessors.size(); ++i)
      if (!inside_block(header->predecessors[i])) ways.push_back(i);
    for (Inst* phi : phis) {
      Inst* value = phi->operands[ways[0]];
      if (ways.size() > 1) {
        std::vector<Inst*> operands(ways.size());
        std::ranges::transform(ways, operands.begin(), [&](size_t way) { return phi->operands[way]; });
        value = make(Op::phi, phi->type, std::move(operands));
        if (phi->type.is_mask()) masks_.push_back(value);
        if (!phi->type.is_mask() && !phi->type.is_scalar()) rows_.push_back(value);
      }
      first_[phi] = value;
    }
    for (const size_t way : ways) {
      Block* from = header->predecessors[way];
      std::replace(from->successors.begin(), from->successors.end(), header, choose_);
    }
    // A block may come in by both edges of its branch.
    for (const size_t way : ways) choose_->predecessors.push_back(header->predecessors[way]);
    std::vector<Block*> predecessors{entry()};
    for (Inst* phi : phis) {
      std::vector<Inst*> operands{first_[phi]};
      for (size_t i = 0; i < phi->operands.size(); ++i)
        if (inside_block(header->predecessors[i])) operands.push_back(phi->operands[i]);
      for (Inst* operand : phi->operands) remove_user(operand, phi);
      phi->operands = std::move(operands);
      for (Inst* operand : phi->operands) operand->users.push_back(phi);
    }
    for (Block* predecessor : header->predecessors)
      if (inside_block(predecessor)) predecessors.push_back(predecessor);
    header->predecessors = std::move(predecessors);

    // Lanes that are in none of these masks keep what they have.
    Inst* lanes = nullptr;
    Inst* way = make(Op::lane_way, kI1, {}, record_);
    for (const Inst* phi : found_.empty) {
      Inst* bits = make(Op::mask_to_i64, kI64, {first_.at(phi)});
      lanes = lanes == nullptr ? bits : make(Op::or_, kI64, {lanes, bits});
    }
    if (lanes == nullptr) lanes = constant(kI64, ~uint64_t{0});
    Inst* some = icmp(ICmp::ne, lanes, constant(kI64, 0));
    make(Op::cond_br, kNone, {make(Op::and_, kI1, {way, some})});
    Function::connect(choose_, start_);
    if (keeps_back()) {
      Function::connect(choose_, lockstep_);
      set_place(lockstep_);
      make(Op::br, kNone, {});
    }
    entry()->successors.push_back(header);  // its predecessor already

    set_place(start_);
    for (size_t i = 0; i < rows_.size(); ++i) make(Op::set_lanes, kNone, {rows_[i]}, row_number(i, rows_[i]->type));
    for (Inst* mask : masks_) numbers_[mask] = make(Op::mask_to_i64, kI64, {mask});
    // What lanes have that are in no iteration.
    const auto initial = [&](size_t i) -> Inst* {
      const bool keeps = !found_.empty.empty() && i < found_.results.size();
      return keeps ? in_no_iteration(stored_[i]) : nullptr;
    };
    for (size_t i = 0; i < stored_.size(); ++i) {
      Inst* const first = initial(i);
      if (stored_[i]->type.is_mask()) {
        mask_results_.push_back(first == nullptr ? constant(kI64, 0) : make(Op::mask_to_i64, kI64, {first}));
      } else if (first != nullptr) {
        make(Op::set_lanes, kNone, {first}, result_row(i));
      }
    }
    if (!found_.previous.empty()) make(Op::set_lanes, kNone, {constant(kV32, 0)}, count_row());
    for (const Inst* result : found_.scalars) scalar_results_.push_back(constant(result->type, 0));
    if (counts()) most_ = constant(kI32, 0);
    zero_ = constant(kI64, 0);
    one_ = constant(kI64, 1);
    lds_base_ = make(Op::get_field, kI64, {}, offsetof(WaveState, lds_base));
    lanes_ = lanes;
    if (keeps_back()) {
      begin_streams();
    } else {
      make(Op::br, kNone, {});
      Function::connect(start_, head_);
    }

    set_place(head_);
    remaining_ = make(Op::phi, kI64, {lanes});
    if (keeps_back()) before_it_ = make(Op::phi, kI64, {begin_of_all_});
    for (Inst*& result : mask_results_) result = make(Op::phi, kI64, {result});
    for (Inst*& result : scalar_results_) result = make(Op::phi, result->type, {result});
    if (counts()) most_ = make(Op::phi, kI32, {most_});
    lane_ = make(Op::lo32, kI32, {make(Op::ctz, kI64, {remaining_})});
    lane64_ = make(Op::zext64, kI64, {lane_});
    make(Op::set_field, kNone, {lane_}, offsetof(WaveState, fault_lane));
    for (size_t i = 0; i < rows_.size(); ++i)
      scalars_[rows_[i]] = make(Op::get_lane, lane_type(rows_[i]->type), {lane_}, row_number(i, rows_[i]->type));
    for (Inst* mask : masks_) scalars_[mask] = bit_of_lane(numbers_.at(mask));
    if (counts()) first_count_ = constant(kI32, 0);
    if (keeps_back()) begin_stream_of_lane();
    head_br_ = make(Op::br, kNone, {});
    Function::connect(head_, copies_.at(loop_.header));
  }

  // What a value of the loop is in lanes that are in no iteration.
  Inst* in_no_iteration(Inst* value) {
    if (!inside(value)) return value;
    if (value->is_const()) return constant(value->type, value->imm);
    if (const auto it = found_.kept.find(value); it != found_.kept.end()) return first_.at(it->second);
    std::vector<Inst*> operands(value->operands.size());
    std::ranges::transform(value->operands, operands.begin(), [&](Inst* operand) { return in_no_iteration(operand); });
    return clone_here(*value, std::move(operands));
  }

  [[nodiscard]] uint64_t result_row(size_t i) const { return row_number(rows_.size() + i, stored_[i]->type); }
  [[nodiscard]] uint64_t count_row() const { return row_number(rows_.size() + stored_.size(), kV32); }
  // Whether it matters how many iterations a lane was in.
  [[nodiscard]] bool counts() const { return found_.by_lanes && (!found_.scalars.empty() || !found_.previous.empty()); }

  static void remove_user(Inst* value, const Inst* user) {
    value->users.erase(std::find(value->users.begin(), value->users.end(), user));
  }

  Inst* bit_of_lane(Inst* number) {
    Inst* bit = make(Op::and_, kI64, {make(Op::lshr, kI64, {number, lane64_}), one_});
    return icmp(ICmp::ne, bit, zero_);
  }

  // Instructions are made elsewhere for a while.
  class Elsewhere {
   public:
    Elsewhere(LaneCopier& copier, Block* block, Inst* before)
        : copier_(copier), block_(copier.block_), before_(copier.before_), pc_(copier.pc_) {
      copier.block_ = block;
      copier.before_ = before;
    }
    ~Elsewhere() {
      copier_.block_ = block_;
      copier_.before_ = before_;
      copier_.pc_ = pc_;
    }
    Elsewhere(const Elsewhere&) = delete;
    Elsewhere& operator=(const Elsewhere&) = delete;

   private:
    LaneCopier& copier_;
    Block* block_;
    Inst* before_;
    uint64_t pc_;
  };
  // At the head of the loop over lanes.
  [[nodiscard]] Elsewhere at_head() { return {*this, head_, head_br_}; }
  // Conversions of a value stand behind its definition, so that all its users can have them.
  [[nodiscard]] Elsewhere at_definition(const Inst* value) {
    const auto& insts = value->parent->insts;
    auto next = std::find(insts.begin(), insts.end(), value) + 1;
    while (next != insts.end() && (*next)->op == Op::phi) ++next;
    return {*this, value->parent, next == insts.end() ? nullptr : *next};
  }

  // The lane's value as a scalar, a mask's bit as an i1.
  Inst* scalar(Inst* value) {
    if (value->type.is_scalar()) return inside(value) ? copied_scalars_.at(value) : value;
    if (const auto it = scalars_.find(value); it != scalars_.end()) return it->second;
    return scalars_[value] = make_scalar(value);
  }
  std::vector<Inst*> scalars(const std::vector<Inst*>& values) {
    std::vector<Inst*> result(values.size());
    std::ranges::transform(values, result.begin(), [&](Inst* value) { return scalar(value); });
    return result;
  }
  Inst* make_scalar(Inst* value) {
    if (!inside(value) || value->is_const() || value->op == Op::undef || value->op == Op::lane_id) {
      const Elsewhere place = at_head();
      return outside_scalar(value);
    }
    Inst* vector = vectors_of_.at(value);
    const Elsewhere place = at_definition(vector);
    if (value->type.is_mask()) return condition(vector);
    return first_element(vector);
  }
  // Of a mask of no or all lanes. Comparisons of numbers in floating point and their complements become one.
  Inst* condition(Inst* mask) {
    const uint32_t predicate = mask->attr >> fpenv::kFCmpShift;
    if (!compares_floats(mask->op) || (predicate & kUnorderedBit) == 0) return make(Op::mask_any, kI1, {mask});
    const uint32_t opposite = mask->attr ^ (2 * kUnorderedBit - 1) << fpenv::kFCmpShift;
    return make(Op::not_, kI1, {make(Op::mask_any, kI1, {make(mask->op, kMask, mask->operands, mask->imm, opposite)})});
  }
  // The same, but a vector is converted here and for nobody else.
  Inst* scalar_here(Inst* value) {
    const auto it = vectors_of_.find(value);
    if (!vectors_.contains(value) || value->type.is_mask() || it == vectors_of_.end()) return scalar(value);
    return first_element(it->second);
  }
  Inst* first_element(Inst* vector) {
    if (vector->type == kV32) return first_of(vector);
    return make(Op::pack64, kI64, {first_of(make(Op::lo32, kV32, {vector})), first_of(make(Op::hi32, kV32, {vector}))});
  }
  Inst* first_of(Inst* vector) { return make(Op::readlane, kI32, {vector, constant(kI32, 0)}); }
  Inst* outside_scalar(Inst* value) {
    switch (value->op) {
      case Op::const_:
        if (!value->type.is_mask()) return constant(lane_type(value->type), value->imm);
        if (value->imm == 0 || value->imm == ~uint64_t{0}) return constant(kI1, value->imm & 1);
        return bit_of_lane(constant(kI64, value->imm));
      case Op::undef:
        return constant(lane_type(value->type), 0);
      case Op::lane_id:
        return lane_;
      case Op::splat:
      case Op::splat64:
      case Op::splat_mask:
        return value->operands[0];
      default:
        break;
    }
    WAVEJIT_CHECK(false, "%{} has no row", value->id);
    return nullptr;
  }

  // The same as a vector whose lanes are all the same, or as a mask of no or all lanes.
  Inst* vector(Inst* value) {
    if (const auto it = vectors_of_.find(value); it != vectors_of_.end()) return it->second;
    return vectors_of_[value] = make_vector(value);
  }
  Inst* make_vector(Inst* value) {
    const bool anywhere =
        value->is_const() && (!value->type.is_mask() || value->imm == 0 || value->imm == ~uint64_t{0});
    if (anywhere ||
        (!inside(value) && (value->op == Op::splat || value->op == Op::splat64 || value->op == Op::splat_mask))) {
      if (!inside(value)) return value;
      const Elsewhere place = at_head();
      return constant(value->type, value->imm);
    }
    Inst* from = scalar(value);
    const Elsewhere place = at_definition(from);
    if (value->type.is_mask()) return make(Op::splat_mask, kMask, {from});
    return value->type == kV32 ? make(Op::splat, kV32, {from}) : make(Op::splat64, kV64, {from});
  }

  void copy(const Block& original) {
    set_place(copies_.at(&original));
    if (keeps_back()) enter(original);
    if (&original == loop_.header && counts()) begun_ = make(Op::phi, kI32, {});
    for (Inst* inst : original.insts) {
      pc_ = inst->guest_pc;
      if (inst->op != Op::phi && count_ == nullptr && begun_ != nullptr)
        count_ = make(Op::add, kI32, {begun_, constant(kI32, 1)});
      if (is_terminator(inst->op)) {
        if (keeps_back() && latches_.contains(&original)) count_iteration();
        leave_block(original, *inst);
      } else if (inst->op == Op::poll && keeps_back()) {
        continue;  // count_iteration() instead
      } else if (inst == found_.always) {
        const Elsewhere place = at_head();
        scalars_[inst] = constant(kI1, 1);
      } else if (inst->op == Op::phi) {
        define(inst, make(Op::phi, copied_type(inst), {}));
        phis_.push_back(inst);
      } else if (!inst->is_const() && inst->op != Op::undef && inst->op != Op::lane_id) {
        copy(*inst);
      } else if (inst->type.is_scalar()) {
        copied_scalars_[inst] = clone_here(*inst, {});
      }
    }
  }

  [[nodiscard]] Type copied_type(const Inst* inst) const {
    return vectors_.contains(inst) ? inst->type : lane_type(inst->type);
  }
  void define(Inst* original, Inst* copy) {
    if (original->type.is_scalar()) {
      copied_scalars_[original] = copy;
    } else if (vectors_.contains(original)) {
      vectors_of_[original] = copy;
    } else {
      scalars_[original] = copy;
    }
  }

  Inst* clone_here(const Inst& inst, std::vector<Inst*> operands) {
    Inst* copy = clone(function_, inst, std::move(operands));
    function_.append(block_, copy);
    return copy;
  }

  void copy(Inst& inst) {
    switch (inst.op) {
      case Op::load:
        return copy_load(inst);
      case Op::store:
        return copy_store(inst);
      case Op::load_scalar:
        if (keeps_back()) load_nothing_kept_back(inst);
        break;
      case Op::mask_any:
        copied_scalars_[&inst] = scalar(inst.operands[0]);
        return;
      case Op::splat:
      case Op::splat64:
      case Op::splat_mask:
        scalars_[&inst] = scalar(inst.operands[0]);
        return;
      default:
        break;
    }
    if (inst.type == kNone || inst.type.is_scalar() || !vectors_.contains(&inst)) {
      Inst* copy = clone_here(inst, scalars(inst.operands));
      copy->type = lane_type(inst.type);
      if (inst.type != kNone) define(&inst, copy);
      return;
    }
    std::vector<Inst*> operands;
    for (size_t i = 0; i < inst.operands.size(); ++i) {
      Inst* operand = inst.operands[i];
      const bool condition = inst.op == Op::select && i == 0;
      const bool as_scalar = operand->type.is_scalar() || (condition && !vectors_.contains(operand));
      operands.push_back(as_scalar ? scalar(operand) : vector(operand));
    }
    define(&inst, clone_here(inst, std::move(operands)));
  }

  // ---------------------------------------------------------------- memory

  Inst* add64(Inst* a, Inst* b) { return make(Op::add, kI64, {a, b}); }

  // The address of the first element, without the constant offset where `imm` returns that.
  Inst* address_of(const Inst& access, int64_t& imm, int64_t& stride) {
    const MemAttr& mem = access.mem;
    imm = mem.imm;
    stride = mem.bytes;
    switch (mem.form) {
      case AddressForm::base_offset:
        return add64(scalar(access.operands[1]), make(Op::zext64, kI64, {scalar(access.operands[2])}));
      case AddressForm::base_only:
      case AddressForm::vector64:
        return scalar(access.operands[1]);
      case AddressForm::lds_offset:
        return add64(lds_base_, make(Op::zext64, kI64, {scalar(access.operands[1])}));
      case AddressForm::scratch_off:
      case AddressForm::scratch_base:
        break;
    }
    // Byte b of the lane is at base + (b / 4) * 256 + lane * 4 + b % 4.
    stride = mem.bytes == 4 ? 256 : mem.bytes;
    Inst* own = add64(scalar(access.operands[1]), make(Op::shl, kI64, {lane64_, constant(kI64, 2)}));
    if (mem.form == AddressForm::scratch_base) {
      const auto byte = std::min<uint64_t>(static_cast<uint32_t>(imm), kLastScratchByte);
      imm = static_cast<int64_t>(byte / 4 * 256 + byte % 4);
      return own;
    }
    Inst* byte = scalar(access.operands[2]);
    if (imm != 0) byte = make(Op::add, kI32, {byte, constant(kI32, static_cast<uint32_t>(imm))});
    imm = 0;
    // Dwords are aligned here, so that one shift makes the row of the number.
    const bool dword = mem.bytes == 4;
    byte = make(Op::umin, kI32, {byte, constant(kI32, dword ? kLastScratchByte & ~3u : kLastScratchByte)});
    Inst* row = dword ? make(Op::shl, kI32, {byte, constant(kI32, 6)})
                      : make(Op::shl, kI32, {make(Op::lshr, kI32, {byte, constant(kI32, 2)}), constant(kI32, 8)});
    if (!dword) row = make(Op::or_, kI32, {row, make(Op::and_, kI32, {byte, constant(kI32, 3)})});
    return add64(own, make(Op::zext64, kI64, {row}));
  }

  Inst* access(const Inst& original, Op op, Type type, std::vector<Inst*> operands, int64_t imm, unsigned count) {
    Inst* inst = make(op, type, std::move(operands));
    inst->mem.space = original.mem.space;
    // What is kept back is in no aperture.
    if (op == Op::store_lane && original.mem.space == Space::flat) inst->mem.space = Space::global;
    inst->mem.form = AddressForm::base_only;
    inst->mem.bytes = original.mem.bytes;
    inst->mem.count = static_cast<uint8_t>(count);
    inst->mem.sign_extend = original.mem.sign_extend;
    inst->mem.glc = original.mem.glc;
    inst->mem.imm = imm;
    return inst;
  }

  void copy_load(Inst& inst) {
    int64_t imm = 0, stride = 0;
    Inst* lanes = scalar(inst.operands[0]);
    Inst* address = address_of(inst, imm, stride);
    const unsigned count = inst.mem.count;
    if (keeps_back() && (inst.mem.space == Space::global || inst.mem.space == Space::flat))
      return load_beside_streams(inst, lanes, address, imm);
    if (count == 1 || (stride == 4 && inst.mem.bytes == 4)) {
      scalars_[&inst] = access(inst, Op::load_lane, lane_type(inst.type), {lanes, address}, imm, count);
      return;
    }
    scalars_[&inst] = make(Op::tuple, lane_type(inst.type), load_elements(inst, lanes, address, imm, stride));
  }

  std::vector<Inst*> load_elements(const Inst& inst, Inst* lanes, Inst* address, int64_t imm, int64_t stride) {
    std::vector<Inst*> elements;
    for (unsigned i = 0; i < inst.mem.count; ++i) {
      Inst* element = access(inst, Op::load_lane, kI32, {lanes, address}, imm + stride * i, 1);
      // Bytes that several instructions load.
      if (inst.mem.bytes == 1) element->guest_pc += 4 * (inst.imm >> 8 * i & 0xff);
      elements.push_back(element);
    }
    return elements;
  }

  void copy_store(Inst& inst) {
    int64_t imm = 0, stride = 0;
    Inst* lanes = scalar(inst.operands[0]);
    Inst* address = address_of(inst, imm, stride);
    const size_t first = inst.operands.size() - inst.mem.count;
    if (inst.mem.space == Space::global || inst.mem.space == Space::flat) {
      const uint64_t bytes = uint64_t{inst.mem.bytes} * inst.mem.count;
      address =
          next_in_stream(lanes, imm == 0 ? address : add64(address, constant(kI64, static_cast<uint64_t>(imm))), bytes);
      imm = 0;
    }
    for (unsigned i = 0; i < inst.mem.count; ++i)
      access(inst, Op::store_lane, kNone, {lanes, address, scalar(inst.operands[first + i])}, imm + stride * i, 1);
  }

  // ---------------------------------------------------------------- stores that are kept back

  // What a lane takes with it from block to block: how many bytes it has stored, and the iterations that it has left.
  struct Carried {
    Inst* written = nullptr;
    Inst* left = nullptr;
  };

  [[nodiscard]] bool keeps_back() const { return !found_.stores.empty(); }
  // The block in front of the loop that is executed in lockstep.
  [[nodiscard]] Block* entry() const { return keeps_back() ? lockstep_ : choose_; }

  // What a value is in the first iteration, as far as that is known (stream_place.h).
  Inst* predicted(Inst* value) {
    const StreamPlace::Prediction p = places_.of(value);
    switch (p.source) {
      case StreamPlace::Source::unknown:
        return constant(value->type, 0);
      case StreamPlace::Source::itself:
        if (!inside(value)) return value;
        return value->is_const() ? constant(value->type, value->imm) : make(value->op, value->type, {});
      case StreamPlace::Source::initial:
        return first_.at(value);
      case StreamPlace::Source::operand:
        return predicted(value->operands[p.operand]);
      case StreamPlace::Source::computed:
        break;
    }
    if (const auto it = predicted_.find(value); it != predicted_.end()) return it->second;
    std::vector<Inst*> operands(value->operands.size());
    std::ranges::transform(value->operands, operands.begin(), [&](Inst* operand) { return predicted(operand); });
    return predicted_[value] = clone_here(*value, std::move(operands));
  }

  void begin_streams() {
    const Inst& store = *found_.stores.front();
    Inst* begin = predicted(store.operands[1]);
    if (store.mem.form == AddressForm::base_offset) {
      Inst* offset = predicted(store.operands[2]);
      begin = make(Op::add, kV64, {make(Op::splat64, kV64, {begin}), make(Op::zext64, kV64, {offset})});
    }
    if (store.mem.imm != 0) begin = make(Op::add, kV64, {begin, constant(kV64, static_cast<uint64_t>(store.mem.imm))});
    pc_ = store.guest_pc;
    make(Op::set_lanes, kNone, {begin}, stream_row(0));
    Inst* possible = make(Op::begin_streams, kI1, {lanes_}, stream_row(0));
    begin_of_all_ = make(Op::get_field, kI64, {}, offsetof(WaveState, stream_space_begin));
    make(Op::cond_br, kNone, {possible});
    Function::connect(start_, head_);
    Function::connect(start_, lockstep_);
  }
  [[nodiscard]] uint64_t stream_row(unsigned i) const {
    return row_number(rows_.size() + stored_.size() + 1 + i, kV64);
  }

  // In front of the lane's iterations.
  void begin_stream_of_lane() {
    begin_ = make(Op::get_lane, kI64, {lane_}, stream_row(0));
    Inst* reach = make(Op::get_lane, kI64, {lane_}, stream_row(1));
    // Behind what the lane before has written, if that is the one whose array is in front of this one's.
    Inst* ordered = make(Op::get_field, kI64, {}, offsetof(WaveState, streams_in_order));
    free_ = make(Op::select, kI64, {icmp(ICmp::ne, ordered, zero_), before_it_, begin_});
    free_bytes_ = make(Op::sub, kI64, {add64(begin_, reach), free_});
    Inst* most = constant(kI64, kStreamBytes);
    room_ = make(Op::select, kI64, {icmp(ICmp::ult, reach, most), reach, most});
    Inst* buffers = make(Op::get_field, kI64, {}, offsetof(WaveState, stream_buffers));
    buffer_ = add64(buffers, make(Op::shl, kI64, {lane64_, constant(kI64, kStreamShift)}));
    space_begin_ = make(Op::get_field, kI64, {}, offsetof(WaveState, stream_space_begin));
    space_bytes_ = make(Op::get_field, kI64, {}, offsetof(WaveState, stream_space_bytes));
    nothing_ = constant(kI64, 0);
    all_iterations_ = constant(kI32, kStreamIterations);
  }

  void enter(const Block& original) {
    if (&original != loop_.header && original.predecessors.size() == 1) {
      carried_ = carried_out_.at(original.predecessors[0]);
      return;
    }
    carried_ = {make(Op::phi, kI64, {}), make(Op::phi, kI32, {})};
    merged_[&original] = carried_;
  }
  void finish_carried() {
    for (const auto& [original, carried] : merged_) {
      for (const Block* predecessor : original->predecessors) {
        const bool first = predecessor == entry();
        const Carried from = first ? Carried{nothing_, all_iterations_} : carried_out_.at(predecessor);
        for (const auto& [phi, value] : {std::pair{carried.written, from.written}, {carried.left, from.left}}) {
          phi->operands.push_back(value);
          value->users.push_back(phi);
        }
      }
    }
  }

  // A block behind the one in which code is made, or at the end of the function if it is rarely executed.
  Block* add_block_here(bool rare) {
    auto& all = function_.blocks;
    Block* added = function_.add_block(block_->guest_pc);
    if (rare) return added;
    const auto here = std::find_if(all.begin(), all.end(), [&](const auto& b) { return b.get() == block_; });
    std::rotate(here + 1, all.end() - 1, all.end());
    return added;
  }
  void branch(Inst* condition, Block* then, Block* otherwise) {
    make(Op::cond_br, kNone, {condition});
    Function::connect(block_, then);
    Function::connect(block_, otherwise);
  }
  void go_on_in(Block* block) {
    const uint64_t pc = pc_;
    set_place(block);
    pc_ = pc;
  }

  // A lane that goes on for long may wait for what is kept back, or for a lane that has not begun.
  void count_iteration() {
    Block* const rest = add_block_here(false);
    carried_.left = make(Op::add, kI32, {carried_.left, constant(kI32, 0xffffffff)});
    branch(icmp(ICmp::ne, carried_.left, constant(kI32, 0)), rest, lockstep_);
    go_on_in(rest);
  }

  // The place in the buffer for what the lane stores next, if `address` is where that belongs.
  Inst* next_in_stream(Inst* lanes, Inst* address, uint64_t bytes) {
    Inst* const written = carried_.written;
    Inst* end = add64(written, constant(kI64, bytes));
    for (Inst* good : {icmp(ICmp::eq, make(Op::sub, kI64, {address, begin_}), written), icmp(ICmp::ule, end, room_)}) {
      Block* const rest = add_block_here(false);
      branch(make(Op::andn, kI1, {lanes, good}), lockstep_, rest);
      go_on_in(rest);
    }
    carried_.written = make(Op::select, kI64, {lanes, end, written});
    return add64(buffer_, written);
  }

  // A load of memory, or of what the lane has stored itself.
  void load_beside_streams(Inst& inst, Inst* lanes, Inst* base, int64_t imm) {
    const uint64_t bytes = uint64_t{inst.mem.bytes} * inst.mem.count;
    Inst* address = imm == 0 ? base : add64(base, constant(kI64, static_cast<uint64_t>(imm)));
    Inst* near_some = in_space(address, bytes);
    Block *const join = add_block_here(false), *const plain = add_block_here(false);
    Block *const near = add_block_here(true), *const own = add_block_here(true);
    Block *const whole = add_block_here(true), *const other = add_block_here(true);
    branch(make(Op::and_, kI1, {lanes, near_some}), near, plain);

    set_place_for(near, inst);
    Inst* place = make(Op::sub, kI64, {address, begin_});
    Inst* end = add64(place, constant(kI64, bytes));
    branch(icmp(ICmp::ult, place, carried_.written), own, other);
    set_place_for(own, inst);
    branch(icmp(ICmp::ule, end, carried_.written), whole, lockstep_);
    set_place_for(other, inst);
    // It may end where the array begins, and must be free as a whole.
    Inst* apart = make(Op::or_, kI1, {icmp(ICmp::sge, place, nothing_), icmp(ICmp::sle, end, nothing_)});
    Inst* from_free = make(Op::sub, kI64, {address, free_});
    Inst* end_from_free = add64(from_free, constant(kI64, bytes));
    Inst* free =
        make(Op::and_, kI1, {icmp(ICmp::ult, from_free, free_bytes_), icmp(ICmp::ule, end_from_free, free_bytes_)});
    branch(make(Op::and_, kI1, {apart, free}), plain, lockstep_);

    const auto elements = [&](Block* block, Inst* from, int64_t offset) {
      set_place_for(block, inst);
      if (block == whole) from = add64(from, place);
      std::vector<Inst*> all = load_elements(inst, lanes, from, offset, inst.mem.bytes);
      if (block == whole)
        for (Inst* element : all) element->mem.space = Space::global;
      make(Op::br, kNone, {});
      Function::connect(block, join);
      return all;
    };
    const std::vector<Inst*> memory = elements(plain, base, imm), kept = elements(whole, buffer_, 0);
    set_place_for(join, inst);
    std::vector<Inst*> merged(memory.size());
    std::ranges::transform(memory, kept, merged.begin(), [&](Inst* a, Inst* b) { return make(Op::phi, kI32, {a, b}); });
    scalars_[&inst] = merged.size() == 1 ? merged[0] : make(Op::tuple, lane_type(inst.type), std::move(merged));
  }
  // A load for the whole wave, of memory that no lane stores to.
  void load_nothing_kept_back(const Inst& load) {
    Inst* address = scalar(load.operands[0]);
    if (load.operands.size() > 1) {
      Inst* offset = scalar(load.operands[1]);
      address = add64(address, offset->type == kI32 ? make(Op::zext64, kI64, {offset}) : offset);
    }
    if (load.imm != 0) address = add64(address, constant(kI64, load.imm));
    Block* const rest = add_block_here(false);
    branch(in_space(address, uint64_t{4} * std::max<unsigned>(load.type.count, 1)), lockstep_, rest);
    go_on_in(rest);
  }
  // Whether some of the bytes may be stored to.
  Inst* in_space(Inst* address, uint64_t bytes) {
    Inst* from_begin = make(Op::sub, kI64, {address, add64(space_begin_, constant(kI64, 1 - bytes))});
    return icmp(ICmp::ult, from_begin, add64(space_bytes_, constant(kI64, bytes - 1)));
  }
  void set_place_for(Block* block, const Inst& inst) {
    set_place(block);
    pc_ = inst.guest_pc;
  }

  // ---------------------------------------------------------------- ends

  [[nodiscard]] Block* copy_of(const Block* from, unsigned edge) const {
    if (from == found_.exit_from && edge == found_.exit_edge) return tail_;
    return copies_.at(from->successors[edge]);
  }

  void leave_block(const Block& original, const Inst& last) {
    clone_here(last, scalars(last.operands));
    for (unsigned i = 0; i < original.successors.size(); ++i) block_->successors.push_back(copy_of(&original, i));
  }

  // The copies' predecessors in the order of the originals', with the head of the loop over lanes for those from outside.
  void finish_phis() {
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
      for (Inst* operand : phi->operands) {
        Inst* value = as_vector ? vector(operand) : scalar(operand);
        copy->operands.push_back(value);
        value->users.push_back(copy);
      }
    }
    if (begun_ != nullptr) {
      for (const Block* predecessor : begun_->parent->predecessors) {
        Inst* value = predecessor == head_ ? first_count_ : count_;
        begun_->operands.push_back(value);
        value->users.push_back(begun_);
      }
    }
    if (keeps_back()) finish_carried();
    tail_->predecessors.push_back(ends_.at(found_.exit_from));
  }

  void end() {
    set_place(tail_);
    const auto add_operand = [](Inst* phi, Inst* value) {
      phi->operands.push_back(value);
      value->users.push_back(phi);
    };
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
    if (keeps_back()) {
      Inst* const written = carried_out_.at(found_.exit_from).written;
      make(Op::set_lane, kNone, {lane_, written}, stream_row(2));
      add_operand(before_it_, add64(begin_, written));
    }
    Inst* rest = make(Op::and_, kI64, {remaining_, make(Op::sub, kI64, {remaining_, one_})});
    add_operand(remaining_, rest);
    make(Op::cond_br, kNone, {icmp(ICmp::ne, rest, zero_)});
    Function::connect(tail_, head_);
    Function::connect(tail_, done_);

    set_place(done_);
    if (keeps_back()) {
      pc_ = found_.stores.front()->guest_pc;
      make(Op::end_streams, kNone, {lanes_}, stream_row(0));
      pc_ = done_->guest_pc;
    }
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
        result =
            phi->type.is_mask()
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

  Function& function_;
  const LaneLoop& found_;
  const Loop& loop_;
  const uint64_t record_;
  std::vector<Block*> blocks_;                // of the loop, dominators first
  std::unordered_set<const Block*> latches_;  // of the loop and of those inside
  std::vector<Inst*> rows_, masks_;           // values from outside
  std::unordered_set<const Inst*> vectors_;
  Block *choose_ = nullptr, *start_ = nullptr, *head_ = nullptr, *tail_ = nullptr, *done_ = nullptr;
  Block *leave_ = nullptr, *merge_ = nullptr, *lockstep_ = nullptr;
  std::unordered_map<const Block*, Block*> ends_;  // by block: where its copy ends
  StreamPlace places_;
  std::unordered_map<const Inst*, Inst*> predicted_;
  Carried carried_;  // where code is made
  std::unordered_map<const Block*, Carried> carried_out_, merged_;
  Inst *lanes_ = nullptr, *begin_ = nullptr, *room_ = nullptr, *buffer_ = nullptr;
  Inst *begin_of_all_ = nullptr, *before_it_ = nullptr, *free_ = nullptr, *free_bytes_ = nullptr;
  Inst *space_begin_ = nullptr, *space_bytes_ = nullptr, *nothing_ = nullptr, *all_iterations_ = nullptr;
  std::unordered_map<const Block*, Block*> copies_;
  std::unordered_map<const Inst*, Inst*> first_;           // by phi of the header: its value from outside
  std::unordered_map<const Inst*, Inst*> numbers_;         // of masks from outside, as i64
  std::unordered_map<const Inst*, Inst*> copied_scalars_;  // by scalar of the loop
  std::unordered_map<const Inst*, Inst*> scalars_, vectors_of_;
  std::vector<Inst*> stored_;  // vectors and masks that each lane leaves
  std::vector<Inst*> phis_, mask_results_, scalar_results_;
  Inst *begun_ = nullptr, *count_ = nullptr, *first_count_ = nullptr;  // iterations of the lane
  Inst* most_ = nullptr;                                               // of any lane so far
  Inst *remaining_ = nullptr, *lane_ = nullptr, *lane64_ = nullptr, *zero_ = nullptr, *one_ = nullptr;
  Inst *lds_base_ = nullptr, *head_br_ = nullptr;
  Block* block_ = nullptr;
  Inst* before_ = nullptr;
  uint64_t pc_ = 0;
};

// Whether one lane after the other may be faster. Lanes that take a branch differently are taken to be half of them.
bool worth_trying(const LaneLoop& found, const LaneShapes& shapes, const Dominators& dominators) {
  if (found.branches == 0) return false;
  double lockstep = 0, lane = 0;
  for (const Block* block : found.loop->body) {
    double share = 1;
    for (const Block* over = block; over != nullptr && over != found.loop->header; over = dominators.immediate(over)) {
      const Block* before = dominators.immediate(over);
      if (before == nullptr || !found.loop->body.contains(before)) break;
      const auto branch = lane_branch(*before);
      if (branch && before->successors[branch->some] == over) share /= 2;
    }
    for (const Inst* inst : block->insts) {
      if (inst->op == Op::phi || inst->is_const()) continue;
      const bool access = inst->op == Op::load || inst->op == Op::store;
      const bool vector = inst->type.is_vector() || inst->type.is_mask() || access;
      const double elements = access ? inst->mem.count : inst->type.kind == TypeKind::v64 ? 2 : 1;
      if (!vector) {
        lockstep += 1;
        lane += share;
      } else if (access && is_scattered(*inst, shapes)) {
        lockstep += kScatteredCost * elements;
        lane += share * elements;
      } else {
        lockstep += (access ? kNearCost : shapes.of(inst).is_uniform() ? 1 : kVectorCost) * elements;
        lane += share;
      }
    }
  }
  return kWaveSize * lane < kWorthTrying * lockstep;
}

// Accesses to one place in scratch compute its address alike. Branches of masks that were unions and complements are
// branches of the same few conditions now, and decide each other.
void clean_copies(Function& function, const PassContext& context) {
  (void)gvn(function, context);
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    (void)peephole(function, context);
    const bool known = branch_facts(function, context).changed;
    (void)cfg(function, context);
    if (!known) break;
  }
}

}  // namespace

PassResult lane_loops(Function& function, const PassContext& context) {
  const bool dropped = drop_unreachable(function);
  const Dominators dominators(function);
  const std::vector<Loop> loops = find_loops(dominators);
  if (loops.empty()) return {.changed = dropped};
  std::vector<LaneLoop> found;
  std::unordered_set<const Block*> taken;
  const LaneShapes shapes(function);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {  // outer ones first
    if (taken.contains(loop->header)) continue;
    LaneObstacle obstacle;
    std::optional<LaneLoop> one = find_lane_loop(*loop, dominators, shapes.bits(), obstacle);
    if (one && !context.all_lane_loops && !worth_trying(*one, shapes, dominators)) {
      obstacle = {.what = "lanes stay together or access memory together"};
      one.reset();
    }
    if (context.loop_remark)
      context.loop_remark({.header = loop->header, .obstacle = obstacle.what, .at = obstacle.at});
    if (!one) continue;
    taken.insert(loop->body.begin(), loop->body.end());
    found.push_back(std::move(*one));
  }
  bool copied = false;
  for (const LaneLoop& one : found) {
    const uint64_t record = (one.loop->header->guest_pc >> 2 ^ one.loop->body.size()) % kLaneWays;
    copied |= LaneCopier(function, dominators, one, record).run();
  }
  if (copied) clean_copies(function, context);
  return {.changed = copied || dropped};
}

}  // namespace wavejit::ir::passes
