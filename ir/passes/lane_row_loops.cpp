// Rows of scratch that a loop goes through, in the copies of loops for one lane (lane_copier.h).
//
// A byte number x is bounded before it makes a row (lane_rows.cpp). If x grows by a constant in each iteration, and the number of
// iterations is known when the loop begins, one test in front of the loop says whether x passes the bound in any of them. If it does
// not, a copy of the loop is executed whose address goes up by as many rows in each iteration. The loop as it was is for the others.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/clone.h"
#include "ir/passes/loop_front.h"
#include "ir/passes/passes.h"
#include "ir/passes/scratch_row.h"

namespace wavejit::ir::passes {
namespace {

constexpr int64_t kMaxStep = int64_t{1} << 16;  // products with 2^32 iterations do not wrap around

// An address of which the loop changes the byte alone, by `step`.
struct Rows {
  Inst* address = nullptr;
  ScratchRow row;
  uint64_t step = 0;
};

class LaneRowLoop : private LoopFront {
 public:
  LaneRowLoop(Function& function, const CountedLoop& loop) : LoopFront(function, loop), slow_(loop.latch()) {}

  bool run() {
    if (slow_ != loop_.loop().header || slow_->rare || loop_.counter().value->type != kI32) return false;
    for (Inst* inst : slow_->insts)
      if (const auto rows = rows_of(inst)) rows_.push_back(*rows);
    if (rows_.empty()) return false;
    const unsigned back = slow_->successors[0] == slow_ ? 0 : 1;
    Block* const behind = slow_->successors[1 - back];
    begin();
    Inst* const last = last_iteration();
    Inst* all = nullptr;
    std::vector<Inst*> first_rows;
    for (const Rows& rows : rows_) {
      Inst* x = wide(first(rows.row.x));
      Inst* grown = make(Op::mul, kI64, {last, constant(kI64, rows.step)});
      Inst* bound = constant(kI64, rows.row.bound);
      Inst* good = icmp(ICmp::ule, add64(x, grown), bound);
      all = all == nullptr ? good : make(Op::and_, kI1, {all, good});
      first_rows.push_back(add64(rows.row.own, make(Op::shl, kI64, {x, constant(kI64, kScratchRowShift)})));
    }
    Block* const front = block();
    Block* const fast = add_block_here(false);
    go_on_in(fast);
    Block* const join = add_block_here(false);
    go_on_in(front);
    make(Op::cond_br, kNone, {all});
    Function::connect(front, fast);
    front->successors.push_back(slow_);
    slow_->predecessors[loop_.from_before()] = front;
    slow_->rare = true;
    copy(fast, first_rows);

    // Behind the loops.
    fast->successors = slow_->successors;
    fast->successors[back] = fast;
    for (Block* loop : {fast, slow_}) {
      loop->successors[1 - back] = join;
      join->predecessors.push_back(loop);
    }
    fast->predecessors.push_back(fast);
    merge(fast, join);
    make_br(join, behind);
    drop_counters(fast);
    function_.count(Rule::rows_counted);
    return true;
  }

 private:
  std::optional<Rows> rows_of(Inst* sum) const {
    const std::optional<ScratchRow> row = scratch_row(sum);
    if (!row || loop_.step_of(row->own) != 0) return std::nullopt;
    const std::optional<int64_t> step = loop_.step_of(row->x);
    if (!step || *step <= 0 || *step > kMaxStep) return std::nullopt;
    return Rows{.address = sum, .row = *row, .step = static_cast<uint64_t>(*step)};
  }

  void copy(Block* fast, const std::vector<Inst*>& first_rows) {
    std::vector<Inst*> phis;
    for (Inst* inst : slow_->insts) {
      if (inst->op != Op::phi) break;
      Inst* phi = clone(function_, *inst, {inst->operands[loop_.from_before()]});
      function_.append(fast, phi);
      copies_[inst] = phi;
      phis.push_back(inst);
    }
    set_place_for(fast, *slow_->terminator());
    std::vector<Inst*> addresses;
    for (size_t i = 0; i < rows_.size(); ++i) {
      addresses.push_back(make(Op::phi, kI64, {first_rows[i]}));
      copies_[rows_[i].address] = addresses.back();
    }
    Inst* const counter = loop_.counter().value;
    for (Inst* inst : slow_->insts) {
      if (copies_.contains(inst)) continue;
      if (inst == slow_->terminator()) {
        for (size_t i = 0; i < rows_.size(); ++i)
          add_operand(addresses[i], add64(addresses[i], constant(kI64, rows_[i].step << kScratchRowShift)));
        sink(fast, counter);
      }
      copies_[inst] = clone_here(*inst, mapped(inst->operands));
    }
    for (Inst* phi : phis) add_operand(copies_.at(phi), mapped({phi->operands[loop_.from_latch()]})[0]);
  }
  std::vector<Inst*> mapped(std::vector<Inst*> operands) const {
    for (Inst*& operand : operands)
      if (const auto it = copies_.find(operand); it != copies_.end()) operand = it->second;
    return operands;
  }

  // The counter changes in front of the branch that looks at it, if nothing else does.
  void sink(Block* fast, const Inst* counter) {
    const auto it = copies_.find(counter);
    if (it == copies_.end() || it->second->op != Op::add) return;
    Inst* const change = it->second;
    std::vector<Inst*> late{change};
    for (Inst* user : change->users) {
      if (user->op != Op::icmp || user->parent != fast || !user->users.empty()) return;
      late.push_back(user);
    }
    for (Inst* inst : late) {
      std::erase(fast->insts, inst);
      fast->insts.push_back(inst);
    }
  }

  void merge(Block* fast, Block* join) {
    for (Inst* inst : slow_->insts) {
      std::vector<Inst*> users(inst->users);
      std::erase_if(users, [&](const Inst* user) { return user->parent == slow_ || user->parent == fast; });
      if (users.empty()) continue;
      Inst* phi = function_.create(Op::phi, inst->type, {copies_.at(inst), inst});
      phi->guest_pc = inst->guest_pc;
      function_.append(join, phi);
      for (Inst* user : users)
        for (unsigned i = 0; i < user->operands.size(); ++i)
          if (user->operands[i] == inst) function_.set_operand(user, i, phi);
    }
  }
  void make_br(Block* join, Block* behind) {
    set_place_for(join, *slow_->terminator());
    make(Op::br, kNone, {});
    join->successors.push_back(behind);
    *std::ranges::find(behind->predecessors, slow_) = join;
  }

  // Numbers that only made rows.
  void drop_counters(Block* fast) {
    (void)function_.sweep();
    for (Inst* phi : std::vector<Inst*>(fast->insts)) {
      if (phi->op != Op::phi) break;
      Inst* next = phi->operands[1];
      const auto only = [](const Inst* value, const Inst* user) {
        return std::ranges::all_of(value->users, [&](const Inst* one) { return one == user; });
      };
      if (next->op == Op::add && next->parent == fast && only(phi, next) && only(next, phi))
        function_.replace_all_uses(phi, phi->operands[0]);
    }
    (void)function_.sweep();
  }

  Block* const slow_;
  std::vector<Rows> rows_;
  std::unordered_map<const Inst*, Inst*> copies_;
};

}  // namespace

PassResult lane_row_loops(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  const bool copies = std::ranges::any_of(function.blocks, [](const auto& block) {
    return std::ranges::any_of(
        block->insts, [](const Inst* inst) { return inst->op == Op::load_lane || inst->op == Op::store_lane; });
  });
  if (!copies) return {.changed = dropped};
  bool changed = false;
  const Dominators dominators(function);
  for (const Loop& loop : find_loops(dominators)) {
    if (loop.body.size() != 1) continue;
    const auto counted = CountedLoop::find(loop, nullptr);
    changed |= counted && LaneRowLoop(function, *counted).run();
  }
  return {.changed = changed || dropped};
}

}  // namespace wavejit::ir::passes
