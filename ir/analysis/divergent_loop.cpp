#include "ir/analysis/divergent_loop.h"

#include <optional>
#include <string_view>

#include "ir/analysis/skipped_way.h"

namespace wavejit::ir {

bool is_within(const Inst* mask, const Inst* of, unsigned depth) {
  if (mask == of || mask->is_const(0)) return true;
  if (depth == 0 || !mask->type.is_mask()) return false;
  if (mask->op == Op::and_)
    return is_within(mask->operands[0], of, depth - 1) || is_within(mask->operands[1], of, depth - 1);
  if (mask->op == Op::andn) return is_within(mask->operands[0], of, depth - 1);
  return false;
}

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
  const std::optional<LaneBranch> end = lane_branch(*loop.latches[0]);
  std::string_view why;
  return end && SkippedWay(loop.latches[0], *end, loop, nullptr, false).changes_nothing(why);
}

}  // namespace wavejit::ir
