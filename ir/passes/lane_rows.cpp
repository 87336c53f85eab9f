// Accesses to scratch near one number, in the copies of loops for one lane (lane_copier.h).
//
// Byte b of a lane is in row b / 4, and b is bounded first. So each member of a structure at x + 8, x + 12 and so on has a sum, a bound
// and a row of its own. If x is so small that no sum passes the bound, the rows are at constant distances from the row of x. One
// test of x chooses between code with these and the code as it was.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/clone.h"
#include "ir/passes/passes.h"
#include "ir/passes/scratch_row.h"

namespace wavejit::ir::passes {
namespace {

constexpr size_t kFewest = 3;         // accesses for which a test is made
constexpr size_t kMost = 96;          // instructions that are copied
constexpr uint64_t kFarthest = 4096;  // bytes from x

// An access whose byte is x + `bytes`.
struct Place {
  Inst* access = nullptr;
  ScratchRow row;
  Inst* x = nullptr;
  uint64_t bytes = 0;
};

std::optional<Place> place_of(Inst* access) {
  if (access->op != Op::load_lane && access->op != Op::store_lane) return std::nullopt;
  const std::optional<ScratchRow> row = scratch_row(access->operands[1]);
  if (!row || row->bound < kFarthest) return std::nullopt;
  Place place{.access = access, .row = *row, .x = row->x};
  if (const Inst* x = row->x; x->op == Op::add && x->operands[1]->is_const() && x->operands[1]->imm <= kFarthest) {
    place.x = x->operands[0];
    place.bytes = x->operands[1]->imm;
  }
  return place;
}

class LaneRows {
 public:
  explicit LaneRows(Function& function) : function_(function) {}

  bool run() {
    bool changed = false;
    for (size_t i = 0; i < function_.blocks.size(); ++i) {
      Block* const block = function_.blocks[i].get();
      if (!block->rare) changed |= split(block, i);
    }
    if (changed) (void)function_.sweep();
    return changed;
  }

 private:
  bool split(Block* block, size_t index) {
    if (!choose(*block) || !divide(*block)) return false;
    Block* const fast = function_.add_block(block->guest_pc);
    Block* const join = function_.add_block(block->guest_pc);
    Block* const slow = function_.add_block(block->guest_pc);
    slow->rare = true;
    auto& all = function_.blocks;
    std::rotate(all.begin() + static_cast<ptrdiff_t>(index) + 1, all.end() - 3, all.end() - 1);

    // The rest of the block goes to `join`.
    move(*block, behind_, join);
    join->successors = std::exchange(block->successors, {});
    for (Block* to : join->successors) std::ranges::replace(to->predecessors, block, join);
    move(*block, both_, slow);

    Inst* x = places_.front().x;
    uint64_t bound = places_.front().row.bound, farthest = 0;
    for (const Place& place : places_) {
      bound = std::min(bound, place.row.bound);
      farthest = std::max(farthest, place.bytes);
    }
    Inst* small = make(block, Op::icmp, kI1, {x, constant(block, kI32, bound - farthest)});
    small->attr = static_cast<uint32_t>(ICmp::ule);
    make(block, Op::cond_br, kNone, {small});
    Function::connect(block, fast);
    Function::connect(block, slow);

    Inst* row = make(fast, Op::shl, kI64, {make(fast, Op::zext64, kI64, {x}), constant(fast, kI64, kScratchRowShift)});
    copy_to(fast, row);
    for (Block* way : {fast, slow}) {
      make(way, Op::br, kNone, {});
      Function::connect(way, join);
    }
    merge(join);
    function_.count(Rule::rows_together);
    return true;
  }

  // The accesses of the block with one x.
  bool choose(const Block& block) {
    std::vector<std::pair<Inst*, std::vector<Place>>> groups;
    for (Inst* inst : block.insts) {
      const auto place = place_of(inst);
      if (!place) continue;
      const int64_t imm = inst->mem.imm + static_cast<int64_t>(place->bytes << kScratchRowShift);
      if (imm != static_cast<int32_t>(imm)) continue;
      auto group = std::ranges::find(groups, place->x, [](const auto& one) { return one.first; });
      if (group == groups.end()) group = groups.insert(groups.end(), {place->x, {}});
      group->second.push_back(*place);
    }
    const auto most = std::ranges::max_element(groups, {}, [](const auto& group) { return group.second.size(); });
    if (most == groups.end() || most->second.size() < kFewest) return false;
    places_ = most->second;
    return true;
  }

  // Parts the block into what stays in front, what both ways have, and what is behind them. Pure instructions that depend on no
  // access stay in front.
  bool divide(const Block& block) {
    both_.clear();
    behind_.clear();
    std::unordered_set<const Inst*> bounded, inside;
    for (const Place& place : places_) bounded.insert(place.row.bounded);
    const auto is_bound = [&](const Inst* inst) { return bounded.contains(inst); };
    const auto begin = std::ranges::find_if(
        block.insts, [&](const Inst* inst) { return is_bound(inst) || inst == places_.front().access; });
    const auto end = std::ranges::find(block.insts, places_.back().access) + 1;
    if (begin >= end) return false;
    for (auto at = begin; at != end; ++at) {
      Inst* const inst = *at;
      const bool access = inst->op == Op::load_lane || inst->op == Op::store_lane;
      if ((!access && !is_pure(inst->op)) || inst->type.count > 1) return false;
      const bool depends = std::ranges::any_of(inst->operands, [&](const Inst* o) { return inside.contains(o); });
      if (!access && !depends && !is_bound(inst)) continue;
      inside.insert(inst);
    }
    // Sums that only bounds look at are for the code as it was.
    for (auto at = end; at != block.insts.begin();) {
      const Inst* const inst = *--at;
      if (is_pure(inst->op) && inst->op != Op::phi && inst != places_.front().x && !inst->users.empty() &&
          std::ranges::all_of(inst->users, [&](const Inst* user) { return inside.contains(user); }))
        inside.insert(inst);
    }
    for (auto at = block.insts.begin(); at != end; ++at)
      if (inside.contains(*at)) both_.push_back(*at);
    if (both_.size() > kMost || std::ranges::find(both_, places_.front().x) != both_.end()) return false;
    behind_.assign(end, block.insts.end());
    return true;
  }

  void move(Block& from, const std::vector<Inst*>& insts, Block* to) {
    const std::unordered_set<const Inst*> moved(insts.begin(), insts.end());
    std::erase_if(from.insts, [&](const Inst* inst) { return moved.contains(inst); });
    for (Inst* inst : insts) inst->parent = to;
    to->insts.insert(to->insts.end(), insts.begin(), insts.end());
  }

  void copy_to(Block* fast, Inst* row) {
    copies_.clear();
    std::unordered_map<Inst*, Inst*> rows;  // by what the lane's own place is
    for (Inst* inst : both_) {
      std::vector<Inst*> operands(inst->operands);
      for (Inst*& operand : operands)
        if (const auto it = copies_.find(operand); it != copies_.end()) operand = it->second;
      const auto place = std::ranges::find(places_, inst, &Place::access);
      if (place != places_.end()) {
        Inst*& at = rows[place->row.own];
        if (at == nullptr) at = make(fast, Op::add, kI64, {operands[1]->operands[0], row});
        operands[1] = at;
      }
      Inst* copy = clone(function_, *inst, std::move(operands));
      if (place != places_.end()) copy->mem.imm += static_cast<int64_t>(place->bytes << kScratchRowShift);
      function_.append(fast, copy);
      copies_[inst] = copy;
    }
  }

  // What is used behind both ways.
  void merge(Block* join) {
    std::vector<Inst*> phis;
    for (Inst* inst : both_) {
      std::vector<Inst*> users(inst->users);
      std::erase_if(users, [&](const Inst* user) { return user->parent == inst->parent; });
      if (users.empty()) continue;
      Inst* phi = function_.create(Op::phi, inst->type, {copies_.at(inst), inst});
      phi->guest_pc = inst->guest_pc;
      phi->parent = join;
      phis.push_back(phi);
      for (Inst* user : users)
        for (unsigned i = 0; i < user->operands.size(); ++i)
          if (user->operands[i] == inst) function_.set_operand(user, i, phi);
    }
    join->insts.insert(join->insts.begin(), phis.begin(), phis.end());
  }

  Inst* make(Block* block, Op op, Type type, std::vector<Inst*> operands) {
    Inst* inst = function_.create(op, type, std::move(operands));
    inst->guest_pc = places_.front().access->guest_pc;
    function_.append(block, inst);
    return inst;
  }
  Inst* constant(Block* block, Type type, uint64_t value) {
    Inst* inst = make(block, Op::const_, type, {});
    inst->imm = value;
    return inst;
  }

  Function& function_;
  std::vector<Place> places_;
  std::vector<Inst*> both_, behind_;
  std::unordered_map<const Inst*, Inst*> copies_;
};

}  // namespace

PassResult lane_rows(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  return {.changed = LaneRows(function).run() || dropped};
}

}  // namespace wavejit::ir::passes
