#include "ir/analysis/skipped_way.h"

#include <algorithm>
#include <array>

#include "ir/analysis/divergent_loop.h"

namespace wavejit::ir {
namespace {

constexpr LaneFact kUnknownLanes{}, kNoLane{.kind = LaneFact::Kind::none}, kAllLanes{.kind = LaneFact::Kind::all};

}  // namespace

SkippedWay::SkippedWay(const Block* branch, const LaneBranch& lanes, const Loop& loop, const Inst* always, bool last,
                       const Inst* staying)
    : branch_(branch),
      mask_(lanes.mask),
      some_(lanes.some),
      first_(branch->successors[lanes.some]),
      other_(branch->successors[1 - lanes.some]),
      loop_(loop),
      always_(always),
      last_(last),
      staying_(staying) {
  if (always != nullptr) given_[always] = kAllLanes;
  if (always != nullptr && staying != nullptr) assume_carried();
}

// Lanes in the loop have stayed in it, or have come into it. If a mask of the header has to hold or lack a lane for the lane to stay, and
// is the same where the loop begins, that is known in each iteration.
void SkippedWay::assume_carried() {
  const auto value_from = [&](const Inst* phi, bool inside) -> const Inst* {
    const Inst* value = nullptr;
    for (size_t i = 0; i < phi->operands.size(); ++i) {
      if (loop_.body.contains(phi->parent->predecessors[i]) != inside) continue;
      if (value != nullptr && value != phi->operands[i]) return nullptr;
      value = phi->operands[i];
    }
    return value;
  };
  if (always_->op != Op::phi || always_->parent != loop_.header || value_from(always_, true) != staying_) return;
  SkippedWay before(branch_, {.mask = mask_, .some = some_}, loop_, nullptr, last_);
  before.skips_ = false;  // in the iteration before they may have been on the way
  before.assume(staying_, kAllLanes, kMaxDepth);
  if (!before.conclude()) return;
  for (const Inst* phi : loop_.header->insts) {
    if (phi->op != Op::phi) break;
    const Inst *const first = value_from(phi, false), *const later = value_from(phi, true);
    if (!phi->type.is_mask() || first == nullptr || later == nullptr || !first->is_const()) continue;
    const auto it = before.given_.find(later);
    if (it != before.given_.end() && it->second == of(first)) given_[phi] = it->second;
  }
}

bool SkippedWay::changes_nothing(std::string_view& why) {
  return is_proven(why) || is_proven_by_cases(why);
}

// A lane outside `a and b` is outside a, or it is in a and outside b: more may be known in each case than in both together. So may be
// where the wave branches behind the way: the lane is in that branch's mask or not.
bool SkippedWay::is_proven_by_cases(std::string_view& why) const {
  unsigned left = kMaxCases;
  return !again_ && is_proven_in_each(Assumptions(), left, why);
}
bool SkippedWay::is_proven_in_each(const Assumptions& assumptions, unsigned& left, std::string_view& why) const {
  if (left == 0) return false;
  --left;
  SkippedWay one(branch_, {.mask = mask_, .some = some_}, loop_, always_, last_, staying_);
  one.assume(mask_, kNoLane, kMaxDepth);
  for (const auto& [mask, fact] : assumptions) one.assume(mask, fact, kMaxDepth);
  if (!one.conclude()) return true;  // there is no such lane
  if (!assumptions.empty() && one.is_proven(why)) return true;
  const Inst* open = one.undecided(mask_, kMaxDepth);
  if (open == nullptr && assumptions.empty()) (void)one.is_proven(why);
  if (open == nullptr) open = one.open_;
  return open != nullptr && std::ranges::all_of(std::array{kAllLanes, kNoLane}, [&](const LaneFact& fact) {
           Assumptions more = assumptions;
           more.emplace_back(open, fact);
           return is_proven_in_each(more, left, why);
         });
}
// Derives from all that is given what else must hold. Returns false if it contradicts itself.
bool SkippedWay::conclude() {
  for (size_t known = 0; known != given_.size();) {
    known = given_.size();
    const Assumptions given(given_.begin(), given_.end());
    for (const auto& entry : given) {
      const Inst* const mask = entry.first;
      const LaneFact& fact = entry.second;
      assume_operands(mask, fact, 2);
      const LaneFact result = combined(*mask, [&](size_t i) {
        const auto it = given_.find(mask->operands[i]);
        return it == given_.end() ? kUnknownLanes : it->second;
      });
      contradicts_ |= result != kUnknownLanes && result != fact;
    }
  }
  return !contradicts_;
}
// A mask that together with another one decides that the lanes that skip are outside of `mask`, if it is not known whether they are
// in it; null: none.
const Inst* SkippedWay::undecided(const Inst* mask, unsigned depth) const {
  if (depth == 0 || (mask->op != Op::and_ && mask->op != Op::andn)) return nullptr;
  for (size_t i = 0; i < 2; ++i) {
    const Inst* const operand = mask->operands[i];
    const auto it = given_.find(operand);
    if (it == given_.end()) return operand->is_const() ? nullptr : operand;
    const bool negated = mask->op == Op::andn && i == 1;
    if (negated || it->second != kNoLane) continue;
    if (const Inst* const inside = undecided(operand, depth - 1)) return inside;
  }
  return nullptr;
}

bool SkippedWay::is_proven(std::string_view& why) {
  if (!collect(why)) return false;
  if (!again_) assume(mask_, kNoLane, kMaxDepth);
  // Optimistic: phis of loops on the way are what they are from outside, until one of them turns out not to be.
  do {
    facts_.clear();
    refuted_ = false;
    assume_phis();
    for (const Inst* phi : loop_phis_) check_phi(phi);
  } while (refuted_);
  if (again_ && of(mask_) != kNoLane) return why = "lanes come back", false;
  for (const Block* block : way_) {
    for (const Inst* inst : block->insts) {
      if ((inst->op == Op::load || inst->op == Op::store) && of(inst->operands[0]) != kNoLane)
        return why = "memory accessed on a skipped way", false;
      if (!leaves_as_it_was(*inst)) return why = "a value changed on a skipped way", false;
    }
  }
  if (again_) return true;
  find_differences();
  return different_.empty() || differences_stay_unseen() || (why = "a value changed on a skipped way", false);
}

bool SkippedWay::is_kept(const Inst* value, unsigned depth) {
  if (value->is_const() || !way_.contains(value->parent)) return true;
  if (value->type.is_scalar()) return false;
  if (carried_by(value) != nullptr) return true;
  return depth > 0 && value->op != Op::phi && op_info(value->op).lane_wise &&
         std::all_of(value->operands.begin(), value->operands.end(),
                     [&](const Inst* operand) { return is_kept(operand, depth - 1); });
}

const Inst* SkippedWay::next(const Inst* phi) const {
  const Inst* value = nullptr;
  for (size_t i = 0; i < phi->operands.size(); ++i) {
    if (!way_.contains(phi->parent->predecessors[i])) continue;
    if (value != nullptr && value != phi->operands[i]) return nullptr;
    value = phi->operands[i];
  }
  return value;
}

bool SkippedWay::settles(const Inst* phi) {
  return again_ && phi->op == Op::phi && phi->parent == first_ && next(phi) != nullptr && stays(phi);
}

const Inst* SkippedWay::carried_by(const Inst* value) {
  if (!again_) return nullptr;
  for (const Inst* phi : first_->insts) {
    if (phi->op != Op::phi) break;
    if (next(phi) == value && stays(phi)) return phi;
  }
  return nullptr;
}

// What follows from a mask's having none or all of the lanes that skip.
void SkippedWay::assume(const Inst* mask, const LaneFact& fact, unsigned depth) {
  if (depth == 0 || way_.contains(mask->parent)) return;
  const auto [known, inserted] = given_.try_emplace(mask, fact);
  contradicts_ |= known->second != fact;
  if (inserted) assume_operands(mask, fact, depth);
}
void SkippedWay::assume_operands(const Inst* mask, const LaneFact& fact, unsigned depth) {
  const auto operand = [&](size_t i) { return of(mask->operands[i]); };
  switch (mask->op) {
    case Op::and_:
      for (size_t i = 0; i < 2; ++i)
        if (fact == kAllLanes || operand(1 - i) == kAllLanes) assume(mask->operands[i], fact, depth - 1);
      break;
    case Op::or_:
      for (size_t i = 0; i < 2; ++i)
        if (fact == kNoLane || operand(1 - i) == kNoLane) assume(mask->operands[i], fact, depth - 1);
      break;
    case Op::andn:
      if (fact == kAllLanes) assume(mask->operands[0], kAllLanes, depth - 1);
      if (fact == kAllLanes) assume(mask->operands[1], kNoLane, depth - 1);
      if (fact == kNoLane && operand(0) == kAllLanes) assume(mask->operands[1], kAllLanes, depth - 1);
      if (fact == kNoLane && operand(1) == kNoLane) assume(mask->operands[0], kNoLane, depth - 1);
      break;
    case Op::not_:
      assume(mask->operands[0], fact == kNoLane ? kAllLanes : kNoLane, depth - 1);
      break;
    default:
      break;
  }
}

bool SkippedWay::stays(const Inst* phi) {
  const LaneFact now = of(next(phi));
  return now == LaneFact{LaneFact::Kind::same, phi} || (of(phi) == kNoLane && now == kNoLane);
}

bool SkippedWay::collect(std::string_view& why) {
  if (first_ == other_) return why = "both ways are one", false;
  std::vector<const Block*> work{first_};
  while (!work.empty()) {
    const Block* block = work.back();
    work.pop_back();
    if (block == other_) continue;
    if (!loop_.body.contains(block)) return why = "a skipped way leaves the loop", false;
    if (!way_.insert(block).second) continue;
    work.insert(work.end(), block->successors.begin(), block->successors.end());
  }
  again_ = way_.contains(branch_);
  if (again_ && std::any_of(other_->predecessors.begin(), other_->predecessors.end(),
                            [&](const Block* p) { return p != branch_ && way_.contains(p); }))
    return why = "a loop inside has several exits", false;
  if (!again_) {
    for (const Block* predecessor : first_->predecessors)
      if (!way_.contains(predecessor) && predecessor != branch_) return why = "a skipped way has two beginnings", false;
  }
  for (const Block* block : way_) {
    // Entered at its first block alone.
    if (block != first_ && std::any_of(block->predecessors.begin(), block->predecessors.end(),
                                       [&](const Block* p) { return !way_.contains(p) && p != branch_; }))
      return why = "a skipped way has two beginnings", false;
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::phi) break;
      if (block != first_ || !again_) loop_phis_.push_back(inst);
    }
  }
  return true;
}

void SkippedWay::assume_phis() {
  empty_.clear();
  if (!again_) return;
  // The beginning of the way is the beginning of an iteration.
  for (const Inst* phi : first_->insts) {
    if (phi->op != Op::phi) break;
    const Inst* after = next(phi);
    const bool empty = phi->type.is_mask() && after != nullptr && !not_empty_.contains(phi) && is_within(after, mask_);
    facts_[phi] = empty ? kNoLane : LaneFact{LaneFact::Kind::same, phi};
    if (empty) empty_.push_back(phi);
  }
  for (const Inst* phi : empty_) {
    const Inst* after = next(phi);
    if (after == nullptr || of(after) != kNoLane) {
      not_empty_.insert(phi);
      refuted_ = true;
    }
  }
}

// The operands of phis inside agree.
void SkippedWay::check_phi(const Inst* phi) {
  const LaneFact assumed = of(phi);
  if (assumed == kUnknownLanes) return;
  for (const Inst* operand : phi->operands) {
    if (of(operand) == assumed) continue;
    unknown_.insert(phi);
    refuted_ = true;
    return;
  }
}

// What the instruction defines is not used behind the way, or is the same as without it. phis_agree() looks at phis where
// the ways meet.
bool SkippedWay::leaves_as_it_was(const Inst& inst) {
  return std::all_of(inst.users.begin(), inst.users.end(), [&](const Inst* user) {
    if (way_.contains(user->parent)) return true;
    if (!again_) return user->op == Op::phi && user->parent == other_;
    if (last_ && (inst.type.is_scalar() || settles(&inst))) return true;
    return is_kept(&inst);
  });
}

// Phis where what comes from the way is not what comes from the branch itself.
void SkippedWay::find_differences() {
  for (const Inst* phi : other_->insts) {
    if (phi->op != Op::phi) break;
    const Inst* direct = nullptr;
    for (size_t i = 0; i < phi->operands.size(); ++i)
      if (other_->predecessors[i] == branch_) direct = phi->operands[i];
    const auto differs = [&](size_t i) {
      if (!way_.contains(other_->predecessors[i]) || phi->operands[i] == direct) return false;
      const LaneFact fact = of(phi->operands[i]);
      return fact == kUnknownLanes || fact != of(direct);
    };
    for (size_t i = 0; i < phi->operands.size(); ++i) {
      if (!differs(i)) continue;
      different_.push_back(phi);
      break;
    }
  }
}

// Blocks of the loop from which the branch is reached in the same iteration.
std::unordered_set<const Block*> SkippedWay::blocks_before() const {
  std::unordered_set<const Block*> before{branch_};
  std::vector<const Block*> work{branch_};
  while (!work.empty()) {
    const Block* block = work.back();
    work.pop_back();
    if (block == loop_.header) continue;
    for (const Block* from : block->predecessors)
      if (before.insert(from).second) work.push_back(from);
  }
  return before;
}

// Blocks that other ways lead to, too, must not come before the branch: what is known about lanes would be stale there.
void SkippedWay::collect_rest() {
  const auto comes_from_here = [&](const Block* p) { return p == branch_ || way_.contains(p) || rest_.contains(p); };
  const std::unordered_set<const Block*> before = blocks_before();
  std::vector<const Block*> work{other_};
  while (!work.empty()) {
    const Block* block = work.back();
    work.pop_back();
    if (block == loop_.header || block == branch_ || !loop_.body.contains(block) || way_.contains(block)) continue;
    if (rest_.contains(block)) continue;
    if (before.contains(block) && !std::ranges::all_of(block->predecessors, comes_from_here)) continue;
    rest_.insert(block);
    work.insert(work.end(), block->successors.begin(), block->successors.end());
  }
}

// Returns true if the block is executed several times in an iteration.
bool SkippedWay::is_repeated(const Block* block) const {
  std::unordered_set<const Block*> seen;
  std::vector<const Block*> work{block};
  while (!work.empty()) {
    const Block* from = work.back();
    work.pop_back();
    for (const Block* to : from->successors) {
      if (to == block) return true;
      if (to != loop_.header && loop_.body.contains(to) && seen.insert(to).second) work.push_back(to);
    }
  }
  return false;
}

// Returns false if the user, behind the way, has another of its operands in lanes that skip the way.
bool SkippedWay::depends_on(const Inst& user, const Inst* value) {
  const auto takes = [&](size_t i) { return user.operands[i] == value; };
  if (user.op == Op::phi) {
    for (size_t i = 0; i < user.operands.size(); ++i) {
      const Block* const from = user.parent->predecessors[i];
      if (!takes(i) || is_never_taken(*from, *user.parent)) continue;
      const std::optional<LaneBranch> lanes = lane_branch(*from);
      if (open_ == nullptr && lanes && rest_.contains(from) && of(lanes->mask) == kUnknownLanes && !is_repeated(from))
        open_ = lanes->mask;
      return true;
    }
    return false;
  }
  if (user.op != Op::select || !user.operands[0]->type.is_mask() || takes(0)) return true;
  const LaneFact lanes = of(user.operands[0]);
  return (lanes != kNoLane && takes(1)) || (lanes != kAllLanes && takes(2));
}

// Lanes that skip the way do not look at what is different: they make no access with it and take no branch by it, nobody uses it
// behind the loop, and if the next iteration begins with it, they are not in it.
bool SkippedWay::differences_stay_unseen() {
  collect_rest();
  if (!rest_.contains(other_)) return false;
  std::unordered_set<const Inst*> seen(different_.begin(), different_.end());
  std::vector<const Inst*> work = different_;
  bool goes_on = false;
  while (!work.empty()) {
    const Inst* value = work.back();
    work.pop_back();
    for (const Inst* user : value->users) {
      if (user->op == Op::phi && user->parent == loop_.header) {
        if (std::any_of(user->users.begin(), user->users.end(),
                        [&](const Inst* far) { return !loop_.body.contains(far->parent); }))
          return false;
        goes_on = true;
        continue;
      }
      if (!rest_.contains(user->parent)) return false;
      if (given_.contains(user))
        return false;  // an assumption for the lane, whatever the wave does, cannot depend on that
      if (user->op == Op::load || user->op == Op::store) {
        if (value == user->operands[0] || of(user->operands[0]) != kNoLane) return false;
        if (user->op == Op::store) continue;
      } else if (user->op == Op::cond_br || user->op == Op::mask_any || user->op == Op::load_scalar) {
        return false;
      } else if (of(user) != kUnknownLanes || !depends_on(*user, value)) {
        continue;
      }
      if (seen.insert(user).second) work.push_back(user);
    }
  }
  return !goes_on || (staying_ != nullptr && of(staying_) == kNoLane);
}

// Of masks behind the way. A phi of a loop there has no lane that skips if none of its operands brings one. What is found may rest
// on phis that are still being looked at: `refuted` tells that one of them does have such a lane.
bool SkippedWay::has_no_lane(const Inst* mask, std::unordered_set<const Inst*>& phis, bool& refuted,
                             unsigned depth) const {
  if (mask->is_const(0)) return true;
  if (const auto it = given_.find(mask); it != given_.end()) return it->second == kNoLane;
  if (depth == 0 || !mask->type.is_mask()) return false;
  const auto operand = [&](size_t i) { return has_no_lane(mask->operands[i], phis, refuted, depth - 1); };
  switch (mask->op) {
    case Op::and_:
      return operand(0) || operand(1);
    case Op::andn:
      return operand(0);
    case Op::or_:
      return operand(0) && operand(1);
    case Op::phi:
      if (!rest_.contains(mask->parent)) return false;
      if (!phis.insert(mask).second) return true;
      for (size_t i = 0; i < mask->operands.size(); ++i)
        if (!operand(i)) return refuted = true, false;
      return true;
    default:
      return false;
  }
}
bool SkippedWay::has_no_lane(const Inst* mask) const {
  std::unordered_set<const Inst*> phis;
  bool refuted = false;
  return has_no_lane(mask, phis, refuted, kMaxDepth) && !refuted;
}

LaneFact SkippedWay::of(const Inst* value) {
  if (value->type.is_mask() && value->is_const(0)) return kNoLane;
  if (value->type.is_mask() && value->is_const(~uint64_t{0})) return kAllLanes;
  if (const auto it = given_.find(value); it != given_.end()) return it->second;
  if (value->type.is_mask() && skips_ && !again_ && !way_.contains(value->parent) && is_within(value, mask_))
    return kNoLane;
  if (value->type.is_mask() && rest_.contains(value->parent) && has_no_lane(value)) return kNoLane;
  if (!way_.contains(value->parent) && !rest_.contains(value->parent)) return in_front(value, kMaxDepth);
  const auto [it, inserted] = facts_.try_emplace(value);
  if (!inserted) return it->second;  // unknown while it is being looked at
  const LaneFact fact = evaluate(*value);
  return facts_[value] = fact;
}

// Of values in front of the branch: masks, and what they choose, follow from what is given in the same iteration.
LaneFact SkippedWay::in_front(const Inst* value, unsigned depth) const {
  const LaneFact same{LaneFact::Kind::same, value};
  if (value->type.is_mask()) {
    if (value->is_const(0)) return kNoLane;
    if (value->is_const(~uint64_t{0})) return kAllLanes;
    if (const auto it = given_.find(value); it != given_.end()) return it->second;
  }
  if (depth == 0 || again_ || !loop_.body.contains(value->parent)) return same;
  if (!value->type.is_mask() && (value->op != Op::select || !value->operands[0]->type.is_mask())) return same;
  const LaneFact fact = combined(*value, [&](size_t i) { return in_front(value->operands[i], depth - 1); });
  if (value->type.is_mask()) return fact == kNoLane || fact == kAllLanes ? fact : same;
  return fact == kUnknownLanes ? same : fact;
}

LaneFact SkippedWay::phi(const Inst& inst) {
  if (unknown_.contains(&inst)) return kUnknownLanes;
  // Of what comes in, all that is known so far; check_phi() looks at the rest.
  LaneFact first;
  bool found = false;
  for (const Inst* operand : inst.operands) {
    const auto it = facts_.find(operand);
    const bool pending = way_.contains(operand->parent) && it != facts_.end() && it->second == kUnknownLanes;
    if (pending) continue;
    const LaneFact fact = of(operand);
    if (fact == kUnknownLanes) continue;
    if (!found) {
      first = fact;
      found = true;
      facts_[&inst] = first;  // what depends on it may use it
    }
  }
  return first;
}

LaneFact SkippedWay::merged_behind(const Inst& phi) {
  std::optional<LaneFact> first;
  for (size_t i = 0; i < phi.operands.size(); ++i) {
    if (is_never_taken(*phi.parent->predecessors[i], *phi.parent)) continue;
    const LaneFact fact = of(phi.operands[i]);
    if (first && fact != *first) return kUnknownLanes;
    first = fact;
  }
  return first.value_or(kUnknownLanes);
}
// Returns true if a wave with the lane does not go from one block to the other behind the branch: no way from the branch leads there in
// this iteration, or the lane is in the mask that decides, and the wave goes where that is not empty.
bool SkippedWay::is_never_taken(const Block& from, const Block& to) {
  if (behind_.empty()) behind_ = blocks_behind();
  if (!behind_.contains(&from)) return true;
  const std::optional<LaneBranch> lanes = lane_branch(from);
  return lanes && &from != branch_ && rest_.contains(&from) && from.successors[lanes->some] != &to &&
         of(lanes->mask) == kAllLanes;
}
// Blocks of the loop that are reached from the branch in the same iteration, the branch's included.
std::unordered_set<const Block*> SkippedWay::blocks_behind() const {
  std::unordered_set<const Block*> behind{branch_};
  std::vector<const Block*> work{branch_};
  while (!work.empty()) {
    const Block* block = work.back();
    work.pop_back();
    for (const Block* to : block->successors)
      if (to != loop_.header && loop_.body.contains(to) && behind.insert(to).second) work.push_back(to);
  }
  return behind;
}

LaneFact SkippedWay::evaluate(const Inst& inst) {
  if (inst.op == Op::phi) return rest_.contains(inst.parent) ? merged_behind(inst) : phi(inst);
  return combined(inst, [&](size_t i) { return of(inst.operands[i]); });
}

// What follows for the result from operand(number).
template <typename Operand>
LaneFact SkippedWay::combined(const Inst& inst, const Operand& operand) {
  const bool mask = inst.type.is_mask();
  switch (inst.op) {
    case Op::select: {
      const LaneFact a = operand(1), b = operand(2);
      if (a == b) return a;
      if (!inst.operands[0]->type.is_mask()) return kUnknownLanes;
      const LaneFact lanes = operand(0);
      return lanes == kNoLane ? b : lanes == kAllLanes ? a : kUnknownLanes;
    }
    case Op::and_: {
      const LaneFact a = operand(0), b = operand(1);
      if (a == b) return a;
      if (mask && (a == kNoLane || b == kNoLane)) return kNoLane;
      if (mask && a == kAllLanes) return b;
      return mask && b == kAllLanes ? a : kUnknownLanes;
    }
    case Op::or_: {
      const LaneFact a = operand(0), b = operand(1);
      if (a == b) return a;
      if (mask && (a == kAllLanes || b == kAllLanes)) return kAllLanes;
      if (mask && a == kNoLane) return b;
      return mask && b == kNoLane ? a : kUnknownLanes;
    }
    case Op::xor_: {
      const LaneFact a = operand(0), b = operand(1);
      if (!mask) return kUnknownLanes;
      if (a == b && a != kUnknownLanes) return kNoLane;
      return a == kNoLane ? b : b == kNoLane ? a : kUnknownLanes;
    }
    case Op::andn: {
      const LaneFact a = operand(0), b = operand(1);
      if (!mask) return kUnknownLanes;
      if (a == kNoLane || b == kAllLanes || (a == b && a != kUnknownLanes)) return kNoLane;
      return b == kNoLane ? a : kUnknownLanes;
    }
    case Op::not_: {
      const LaneFact a = operand(0);
      if (!mask) return kUnknownLanes;
      return a == kNoLane ? kAllLanes : a == kAllLanes ? kNoLane : kUnknownLanes;
    }
    default:
      return kUnknownLanes;
  }
}

std::optional<LaneBranch> lane_branch(const Block& block) {
  const Inst* last = block.terminator();
  if (last->op != Op::cond_br) return std::nullopt;
  LaneBranch branch;
  const Inst* condition = last->operands[0];
  while (condition->op == Op::not_ && condition->type == kI1) {
    condition = condition->operands[0];
    branch.some = 1 - branch.some;
  }
  if (condition->op != Op::mask_any) return std::nullopt;
  branch.mask = condition->operands[0];
  return branch;
}

}  // namespace wavejit::ir
