// Numbers in floating point that the copies of loops for one lane (lane_copier.h) load and store.
//
// A load of one lane gives scalars, but arithmetic takes vectors. If only arithmetic uses a scalar, also through phis, the pass
// makes the vector right behind the load: the host does both in one instruction, and two dwords in three. A change of the sign in between becomes one of the
// vector, and later a part of a multiply-add. In the other direction, a dword of a vector may only be stored. Then the pass reads it
// from the vector in front of the store, which is one instruction of the host, too.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/analysis/lane_shape.h"
#include "ir/passes/passes.h"
#include "ir/passes/phi_editor.h"

namespace wavejit::ir::passes {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 31;

bool changes_sign(const Inst& inst) {
  return inst.operands.size() == 2 && ((inst.op == Op::xor_ && inst.operands[1]->is_const(kSign)) ||
                                       (inst.op == Op::and_ && inst.operands[1]->is_const(kSign - 1)));
}

// A load of one dword, or one of several that a load has.
bool loads_dword(const Inst& inst) {
  const Inst& load = inst.op == Op::extract ? *inst.operands[0] : inst;
  return load.op == Op::load_lane && load.mem.bytes == 4 && (load.mem.count == 1) == (&load == &inst) &&
         load.mem.space != Space::flat;
}

class LaneNumbers {
 public:
  explicit LaneNumbers(Function& function) : function_(function) {}

  bool run() {
    collect();
    const bool loaded = !loads_.empty() && prune();
    if (loaded) make_vectors();
    return store_from_vectors() || loaded;
  }

 private:
  void collect() {
    for (const auto& block : function_.blocks) {
      for (Inst* inst : block->insts) {
        if (inst->type != kI32 || inst->users.empty()) continue;
        if (loads_dword(*inst)) loads_.push_back(inst);
        if (loads_dword(*inst) || inst->op == Op::phi || changes_sign(*inst)) {
          numbers_.insert(inst);
          order_.push_back(inst);
        }
      }
    }
  }

  // Leaves the loads that only vectors are made of, and what is between both. Returns false if nothing is left.
  bool prune() {
    for (bool changed = true; changed;) {
      changed = std::erase_if(order_, [&](const Inst* inst) {
                  if (is_number(*inst)) return false;
                  numbers_.erase(inst);
                  return true;
                }) != 0;
    }
    return std::ranges::any_of(loads_, [&](const Inst* load) { return numbers_.contains(load); });
  }
  [[nodiscard]] bool is_number(const Inst& inst) const {
    const bool read = std::ranges::all_of(
        inst.users, [&](const Inst* user) { return user->op == Op::splat || numbers_.contains(user); });
    if (!read) return false;
    if (inst.op != Op::phi) return loads_dword(inst) || numbers_.contains(inst.operands[0]);
    return std::ranges::all_of(inst.operands, [&](const Inst* operand) {
      const bool seldom = operand->op == Op::get_lane;  // once for each lane
      return seldom || operand->is_const() || operand->op == Op::readlane || numbers_.contains(operand);
    });
  }

  void make_vectors() {
    const LaneShapes shapes(function_);
    PhiEditor editor(function_);
    for (Inst* inst : order_)
      if (inst->op == Op::phi) vectors_[inst] = editor.new_phi(inst->parent, kV32);
    for (Inst* inst : order_)
      if (inst->op != Op::phi) (void)vector(inst);
    for (Inst* phi : order_) {
      if (phi->op != Op::phi) continue;
      for (size_t i = 0; i < phi->operands.size(); ++i)
        editor.add_operand(vectors_.at(phi), at_end(editor, shapes, phi->parent->predecessors[i], phi->operands[i]));
    }
    for (Inst* inst : order_)
      for (Inst* user : std::vector<Inst*>(inst->users))
        if (user->op == Op::splat && user != vectors_.at(inst)) function_.replace_all_uses(user, vectors_.at(inst));
    // Phis may use each other.
    for (Inst* phi : order_)
      if (phi->op == Op::phi && !phi->users.empty())
        function_.replace_all_uses(phi, editor.behind_phis(phi->parent, Op::const_, kI32, {}));
    editor.flush();
    (void)function_.sweep();
  }

  // Of a load or a change of sign: behind it.
  Inst* vector(Inst* number) {
    if (const auto it = vectors_.find(number); it != vectors_.end()) return it->second;
    Inst* made = nullptr;
    const auto place = std::ranges::find(number->parent->insts, number);
    Inst* const behind = *(place + 1);
    if (loads_dword(*number)) {
      made = function_.create(Op::splat, kV32, {number});
      function_.count(Rule::number_loaded);
    } else {
      Inst* mask = function_.create(Op::const_, kV32);
      mask->imm = number->operands[1]->imm;
      Inst* of = vector(number->operands[0]);
      function_.insert_before(behind, mask);
      made = function_.create(number->op, kV32, {of, mask});
    }
    made->guest_pc = number->guest_pc;
    function_.insert_before(behind, made);
    return vectors_[number] = made;
  }

  Inst* at_end(PhiEditor& editor, const LaneShapes& shapes, Block* block, Inst* operand) {
    if (const auto it = vectors_.find(operand); it != vectors_.end()) return it->second;
    if (operand->is_const()) return editor.at_end(block, Op::const_, kV32, {}, operand->imm);
    Inst* from = operand->operands[0];
    if (operand->op == Op::readlane && shapes.of(from).is_uniform()) return from;
    return editor.at_end(block, Op::splat, kV32, {operand});
  }

  bool store_from_vectors() {
    bool changed = false;
    for (const auto& block : function_.blocks) {
      for (Inst* inst : std::vector<Inst*>(block->insts)) {
        if (inst->op != Op::readlane || !inst->operands[1]->is_const(0) || inst->users.empty()) continue;
        const bool stored = std::ranges::all_of(
            inst->users, [](const Inst* user) { return user->op == Op::store_lane && user->mem.bytes == 4; });
        if (stored && (inst->users.size() > 1 || inst->users[0]->parent != block.get())) {
          take_out_at_stores(*inst);
          changed = true;
        }
      }
    }
    if (changed) (void)function_.sweep();
    return changed;
  }
  void take_out_at_stores(Inst& read) {
    for (Inst* store : std::vector<Inst*>(read.users)) {
      const auto at = std::ranges::find(store->operands, &read);
      Inst* lane = function_.create(Op::const_, kI32);
      function_.insert_before(store, lane);
      Inst* again = function_.create(Op::readlane, kI32, {read.operands[0], lane});
      again->guest_pc = store->guest_pc;
      function_.insert_before(store, again);
      function_.set_operand(store, static_cast<unsigned>(at - store->operands.begin()), again);
      function_.count(Rule::number_stored);
    }
  }

  Function& function_;
  std::vector<Inst*> order_, loads_;  // in the order of the code
  std::unordered_set<const Inst*> numbers_;
  std::unordered_map<const Inst*, Inst*> vectors_;
};

}  // namespace

PassResult lane_numbers(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  return {.changed = LaneNumbers(function).run() || dropped};
}

}  // namespace wavejit::ir::passes
