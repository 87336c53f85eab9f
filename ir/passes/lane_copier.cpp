#include "ir/passes/lane_copier.h"

#include <algorithm>
#include <utility>

#include "ir/rules.h"

namespace wavejit::ir::passes {
namespace {

constexpr size_t kMaxCopiedByLanes = 1500;
constexpr size_t kMaxRows = 96;

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

void remove_user(Inst* value, const Inst* user) {
  value->users.erase(std::find(value->users.begin(), value->users.end(), user));
}

}  // namespace

LaneCopier::LaneCopier(Function& function, const Dominators& dominators, const LaneLoop& found, uint64_t record)
    : LaneCode(function), found_(found), loop_(*found.loop), record_(record), kept_(*this, found, dominators) {
  for (Block* block : dominators.order())
    if (loop_.body.contains(block)) blocks_.push_back(block);
}

bool LaneCopier::run() {
  if (!collect()) return false;
  decide_vectors();
  function_.count(Rule::loop_by_lanes);
  make_blocks();
  start();
  for (const Block* original : blocks_) {
    copy(*original);
    ends_[original] = block();
    if (kept_.any()) kept_.leave(*original);
  }
  finish_phis();
  end();
  return true;
}

bool LaneCopier::collect() {
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

void LaneCopier::decide_vectors() {
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

bool LaneCopier::is_vector(const Inst& inst) const {
  if (inst.op == Op::load || inst.is_const() || inst.op == Op::undef) return false;
  if (!has_scalar_form(inst)) return true;
  if (changes_constant_bits(inst.op) && inst.operands[1]->is_const()) return vectors_.contains(inst.operands[0]);
  if (inst.op != Op::phi && inst.op != Op::select) return false;
  if (inst.type.is_mask()) return false;
  const size_t first = inst.op == Op::select ? 1 : 0;
  return std::any_of(inst.operands.begin() + static_cast<ptrdiff_t>(first), inst.operands.end(),
                     [&](const Inst* operand) { return vectors_.contains(operand); });
}

void LaneCopier::make_blocks() {
  const uint64_t pc = loop_.header->guest_pc;
  auto& all = function_.blocks;
  const size_t before = all.size();
  for (Block** block : {&choose_, &start_, &head_}) *block = function_.add_block(pc);
  if (kept_.any()) lockstep_ = function_.add_block(pc);
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

void LaneCopier::start() {
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
  if (kept_.any()) {
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
  if (kept_.any()) {
    make(Op::cond_br, kNone,
         {kept_.begin({.lanes = lanes, .first_values = first_, .row = stream_row(), .lockstep = lockstep_})});
    Function::connect(start_, head_);
    Function::connect(start_, lockstep_);
  } else {
    make(Op::br, kNone, {});
    Function::connect(start_, head_);
  }

  set_place(head_);
  remaining_ = make(Op::phi, kI64, {lanes});
  if (kept_.any()) kept_.begin_lanes();
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
  if (kept_.any()) kept_.begin_lane(lane_, lane64_, zero_);
  head_br_ = make(Op::br, kNone, {});
  Function::connect(head_, copies_.at(loop_.header));
}

Inst* LaneCopier::in_no_iteration(Inst* value) {
  if (!inside(value)) return value;
  if (value->is_const()) return constant(value->type, value->imm);
  if (const auto it = found_.kept.find(value); it != found_.kept.end()) return first_.at(it->second);
  std::vector<Inst*> operands(value->operands.size());
  std::ranges::transform(value->operands, operands.begin(), [&](Inst* operand) { return in_no_iteration(operand); });
  return clone_here(*value, std::move(operands));
}

}  // namespace wavejit::ir::passes
