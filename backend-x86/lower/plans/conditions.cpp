// Compares of scalars as parts of their readers.
#include <algorithm>
#include <vector>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/fusions.h"

namespace wavejit::backend {

namespace {

using Users = std::vector<const Inst*>;

// False if something else needs the condition as a number.
bool add_readers_of_condition(const Lowering& ctx, const Fusions& fusions, const Inst& condition, Users& readers) {
  constexpr size_t kMostReaders = 8;
  if (condition.users.empty() || ctx.classes.is_shared(&condition)) return false;
  return std::all_of(condition.users.begin(), condition.users.end(), [&](const Inst* user) {
    if (user->op == Op::not_ && condition.op != Op::not_) return add_readers_of_condition(ctx, fusions, *user, readers);
    const bool reads_flags =
        user->op == Op::cond_br || (user->op == Op::select && user->type.is_scalar() &&
                                    user->operands[1] != &condition && user->operands[2] != &condition);
    if (!reads_flags || readers.size() == kMostReaders) return false;
    readers.push_back(user);
    return true;
  });
}

// Whether what is compared is in its registers where the condition is read. At most one value's registers are kept longer
// than they would be.
bool is_recomputable(const Lowering& ctx, const Inst& compare, const Inst& reader) {
  if (ctx.regions.of(compare.parent) != ctx.regions.of(reader.parent)) return false;
  unsigned kept = 0;
  for (const Inst* operand : compare.operands) {
    if (operand->is_const() || operand->op == Op::undef) continue;
    const bool read = std::find(reader.operands.begin(), reader.operands.end(), operand) != reader.operands.end();
    if (read || ctx.liveness.live_after(*operand, reader)) continue;
    const Inst* place = operand->op == Op::extract ? operand->operands[0] : operand;
    const bool next_to_it = compare.parent == reader.parent &&
                            !ctx.classes.rewritten_between(operand, compare, reader) &&
                            !ctx.classes.rewritten_between(place, compare, reader);
    if (!next_to_it && (ctx.classes.is_shared(operand) || ctx.classes.is_shared(place) || ++kept > 1)) return false;
  }
  return true;
}

}  // namespace

void plan_conditions(const Lowering& ctx, Fusions& fusions) {
  if (!ctx.on(Optimisation::fusion)) return;
  Users readers;
  for (const auto& block : ctx.function.blocks) {
    for (const Inst* inst : block->insts) {
      if ((inst->op != Op::icmp && inst->op != Op::not_) || inst->type != ir::kI1 || fusions.fused[inst->id]) continue;
      readers.clear();
      if (!add_readers_of_condition(ctx, fusions, *inst, readers)) continue;
      if (!std::all_of(readers.begin(), readers.end(),
                       [&](const Inst* reader) { return is_recomputable(ctx, *inst, *reader); }))
        continue;
      fusions.fused[inst->id] = true;
      for (const Inst* user : inst->users)
        if (user->op == Op::not_) fusions.fused[user->id] = true;
    }
  }
}

}  // namespace wavejit::backend
