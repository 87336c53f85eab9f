#include "ir/analysis/divergent_loop.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace wavejit::ir {

bool is_within(const Inst* mask, const Inst* of, unsigned depth) {
  if (mask == of || mask->is_const(0)) return true;
  if (depth == 0 || !mask->type.is_mask()) return false;
  if (mask->op == Op::and_)
    return is_within(mask->operands[0], of, depth - 1) || is_within(mask->operands[1], of, depth - 1);
  if (mask->op == Op::andn) return is_within(mask->operands[0], of, depth - 1);
  return false;
}

namespace {

// What a value is, in the lanes that have left, during an iteration of which they are no part.
struct Fact {
  enum class Kind : uint8_t { unknown, none, all, same };
  Kind kind = Kind::unknown;
  const Inst* of = nullptr;  // same: as this value from outside, or as this phi of the header
  bool operator==(const Fact&) const = default;
};
constexpr Fact kUnknownLanes{}, kNoLane{.kind = Fact::Kind::none}, kAllLanes{.kind = Fact::Kind::all};

class IdleIteration {
 public:
  IdleIteration(const Loop& loop, const Inst* staying) : loop_(loop), staying_(staying) {
    const auto& predecessors = loop.header->predecessors;
    back_ = static_cast<size_t>(std::find(predecessors.begin(), predecessors.end(), loop.latches[0]) -
                                predecessors.begin());
  }

  [[nodiscard]] bool changes_nothing() {
    for (const Inst* phi : loop_.header->insts) {
      if (phi->op != Op::phi) break;
      const bool empty = phi->type.is_mask() && is_within(next(phi), staying_);
      facts_[phi] = empty ? kNoLane : Fact{Fact::Kind::same, phi};
    }
    // The lanes stay away, and so do those of the other masks.
    if (of(staying_) != kNoLane) return false;
    for (const Inst* phi : loop_.header->insts) {
      if (phi->op != Op::phi) break;
      if (facts_[phi] == kNoLane && of(next(phi)) != kNoLane) return false;
    }
    for (const Block* block : loop_.body) {
      for (const Inst* inst : block->insts) {
        if ((inst->op == Op::load || inst->op == Op::store) && of(inst->operands[0]) != kNoLane) return false;
        if (is_used_outside(*inst) && !is_kept(inst)) return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] const Inst* next(const Inst* phi) const { return phi->operands[back_]; }

  [[nodiscard]] bool is_used_outside(const Inst& inst) const {
    return std::any_of(inst.users.begin(), inst.users.end(),
                       [&](const Inst* user) { return !loop_.body.contains(user->parent); });
  }

  // Whether the value at the end of the idle iteration is that from the end of the one before.
  [[nodiscard]] bool is_kept(const Inst* value, unsigned depth = 4) {
    if (value->is_const() || !loop_.body.contains(value->parent)) return true;
    if (value->type.is_scalar()) return false;
    if (is_carried(value)) return true;
    return depth > 0 && value->op != Op::phi && is_pure(value->op) &&
           std::all_of(value->operands.begin(), value->operands.end(),
                       [&](const Inst* operand) { return is_kept(operand, depth - 1); });
  }

  // The same by way of a phi, which has the value in the idle iteration.
  [[nodiscard]] bool is_carried(const Inst* value) {
    return std::any_of(loop_.header->insts.begin(), loop_.header->insts.end(), [&](const Inst* phi) {
      if (phi->op != Op::phi || next(phi) != value) return false;
      return facts_[phi] == kNoLane || of(value) == Fact{Fact::Kind::same, phi};
    });
  }

  Fact of(const Inst* value) {
    if (value->type.is_mask() && value->is_const(0)) return kNoLane;
    if (value->type.is_mask() && value->is_const(~uint64_t{0})) return kAllLanes;
    if (!loop_.body.contains(value->parent)) return {Fact::Kind::same, value};
    const auto [it, inserted] = facts_.try_emplace(value);
    if (!inserted) return it->second;  // unknown while it is being looked at
    const Fact fact = evaluate(*value);
    return facts_[value] = fact;
  }

  Fact evaluate(const Inst& inst) {
    const auto operand = [&](size_t i) { return of(inst.operands[i]); };
    const bool mask = inst.type.is_mask();
    switch (inst.op) {
      case Op::phi: {
        const Fact first = operand(0);
        for (size_t i = 1; i < inst.operands.size(); ++i)
          if (operand(i) != first) return kUnknownLanes;
        return first;
      }
      case Op::select: {
        const Fact a = operand(1), b = operand(2);
        if (a == b) return a;
        if (!inst.operands[0]->type.is_mask()) return kUnknownLanes;
        const Fact lanes = operand(0);
        return lanes == kNoLane ? b : lanes == kAllLanes ? a : kUnknownLanes;
      }
      case Op::and_: {
        const Fact a = operand(0), b = operand(1);
        if (a == b) return a;
        if (mask && (a == kNoLane || b == kNoLane)) return kNoLane;
        if (mask && a == kAllLanes) return b;
        return mask && b == kAllLanes ? a : kUnknownLanes;
      }
      case Op::or_: {
        const Fact a = operand(0), b = operand(1);
        if (a == b) return a;
        if (mask && (a == kAllLanes || b == kAllLanes)) return kAllLanes;
        if (mask && a == kNoLane) return b;
        return mask && b == kNoLane ? a : kUnknownLanes;
      }
      case Op::andn: {
        const Fact a = operand(0), b = operand(1);
        if (!mask) return kUnknownLanes;
        if (a == kNoLane || b == kAllLanes || (a == b && a != kUnknownLanes)) return kNoLane;
        return b == kNoLane ? a : kUnknownLanes;
      }
      case Op::not_: {
        const Fact a = operand(0);
        if (!mask) return kUnknownLanes;
        return a == kNoLane ? kAllLanes : a == kAllLanes ? kNoLane : kUnknownLanes;
      }
      default:
        return kUnknownLanes;
    }
  }

  const Loop& loop_;
  const Inst* staying_;
  size_t back_ = 0;
  std::unordered_map<const Inst*, Fact> facts_;
};

}  // namespace

const Inst* staying_lanes(const Loop& loop) {
  if (loop.latches.size() != 1) return nullptr;
  const Inst* branch = loop.latches[0]->terminator();
  if (branch->op != Op::cond_br || branch->parent->successors[0] == branch->parent->successors[1]) return nullptr;
  bool stays = branch->parent->successors[0] == loop.header;
  const Inst* condition = branch->operands[0];
  while (condition->op == Op::not_ && loop.body.contains(condition->parent)) {
    condition = condition->operands[0];
    stays = !stays;
  }
  return stays && condition->op == Op::mask_any ? condition->operands[0] : nullptr;
}

bool leaves_lane_by_lane(const Loop& loop) {
  const Inst* staying = staying_lanes(loop);
  if (staying == nullptr || !loop.body.contains(staying->parent)) return false;
  for (const Block* block : loop.body)
    for (const Block* successor : block->successors)
      if (!loop.body.contains(successor) && block != loop.latches[0]) return false;
  return IdleIteration(loop, staying).changes_nothing();
}

}  // namespace wavejit::ir
