#include "backend-x86/lower/plans/fusions.h"

#include <algorithm>
#include <iterator>

#include "backend-x86/lower/control.h"
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/vector/simple_forms.h"

namespace wavejit::backend {

using ir::Space;

bool can_sink(const Lowering& ctx, const Fusions& fusions, const Inst& inst, const Inst& user) {
  if (inst.parent != user.parent || ctx.classes.is_shared(&inst)) return false;
  return std::none_of(inst.operands.begin(), inst.operands.end(), [&](const Inst* operand) {
    const Inst* place = operand->op == Op::extract ? operand->operands[0] : operand;
    if (fusions.has(operand) && !can_sink(ctx, fusions, *operand, user)) return true;
    return ctx.classes.rewritten_between(operand, inst, user) || ctx.classes.rewritten_between(place, inst, user);
  });
}

namespace {

// The sum that is an access's address, and its index, as parts of the operand in memory.
void plan_lane_address(const Lowering& ctx, Fusions& fusions, const Inst& access) {
  const Inst* sum = access.operands[1];
  const auto folds = [&](const Inst* value) {
    return !value->is_const() && value->users.size() == 1 && can_sink(ctx, fusions, *value, access);
  };
  // A load under a condition writes its result in front of reading the index.
  if (sum->op != Op::add || sum->type != ir::kI64 || !access.operands[0]->is_const(1) || !folds(sum)) return;
  const auto is_scaled = [&](const Inst* value) {
    return value->op == Op::shl && value->operands[1]->is_const() && value->operands[1]->imm <= 3 && folds(value);
  };
  const auto is_extended = [&](const Inst* value) { return value->op == Op::zext64 && folds(value); };
  const Inst *a = sum->operands[0], *b = sum->operands[1];
  if (a->is_const() || b->is_const()) return;
  fusions.fused[sum->id] = true;
  const Inst* index = is_scaled(b) ? b : is_scaled(a) ? a : is_extended(b) ? b : is_extended(a) ? a : nullptr;
  if (index == nullptr) return;
  fusions.fused[index->id] = true;
  if (index->op == Op::shl && is_extended(index->operands[0])) fusions.fused[index->operands[0]->id] = true;
}

}  // namespace

void plan_fusions(const Lowering& ctx, Fusions& fusions) {
  if (!ctx.on(Optimisation::fusion)) return;
  const auto single = [&](const Inst* value, const Inst& user) {
    return value->users.size() == 1 && can_sink(ctx, fusions, *value, user) && !fusions.fused[user.id];
  };
  for (const auto& block : ctx.function.blocks) {
    for (const Inst* inst : block->insts) {
      switch (inst->op) {
        case Op::cond_br: {
          const Inst* user = inst;
          const Inst* condition = inst->operands[0];
          while (condition->op == Op::not_ && single(condition, *user)) {
            fusions.fused[condition->id] = true;
            user = condition;
            condition = condition->operands[0];
            if (condition->parent != block.get()) break;
          }
          const bool direct = condition->op == Op::mask_any || condition->op == Op::mask_all;
          if (direct && condition->type == ir::kI1 && condition->users.size() == 1 &&
              can_sink(ctx, fusions, *condition, *inst)) {
            fusions.fused[condition->id] = true;
          }
          break;
        }
        case Op::mask_any: {
          const Inst* compare = inst->operands[0];
          if (compare->op == Op::fcmp_f32 && ctx.is_narrow(compare) && single(compare, *inst) &&
              float_condition(compare->attr >> ir::fpenv::kFCmpShift))
            fusions.fused[compare->id] = true;
          break;
        }
        case Op::and_: {
          if (inst->type != ir::kMask) break;
          for (const Inst* operand : inst->operands) {
            const bool compare = operand->op == Op::icmp || operand->op == Op::fcmp_f32 || operand->op == Op::fcmp_f64;
            if (compare && single(operand, *inst) && inst->operands[0] != inst->operands[1]) {
              fusions.fused[operand->id] = true;
              break;
            }
          }
          break;
        }
        case Op::splat: {
          const Inst* scalar = inst->operands[0];
          const Inst* load = scalar->op == Op::extract ? scalar->operands[0] : scalar;
          const bool dword = load->op == Op::load_lane && load->mem.bytes == 4 && load->mem.space != Space::flat &&
                             (load->mem.count == 1) == (load == scalar) && load->operands[0]->is_const(1);
          // Users of other kinds may take the scalar.
          const bool computes = std::all_of(inst->users.begin(), inst->users.end(), [&](const Inst* user) {
            const bool bitwise = user->op == Op::xor_ || user->op == Op::and_;
            const bool here = bitwise ? ctx.is_narrow(inst) : user->op >= Op::fadd_f32 && user->op <= Op::fcmp_f32;
            return (user->op == Op::phi && ctx.is_narrow(inst)) || (user->parent == inst->parent && here);
          });
          if (!dword || !computes || ctx.lane_addresses.is_scalar(inst) || !single(scalar, *inst)) break;
          // One of several dwords: the load makes the vector.
          if (load != scalar) {
            fusions.fused[scalar->id] =
                ctx.is_narrow(inst) && ctx.on(Optimisation::uniform_values) && load->parent == inst->parent;
            break;
          }
          // No other access in between, so that the first of several faults stays the first, and nothing is stored.
          const auto after = std::find(block->insts.begin(), block->insts.end(), load);
          if (std::none_of(after, std::find(after, block->insts.end(), inst),
                           [load](const Inst* other) { return other != load && !ir::is_pure(other->op); }))
            fusions.fused[load->id] = true;
          break;
        }
        case Op::load_lane:
        case Op::store_lane:
          plan_lane_address(ctx, fusions, *inst);
          // One vmovd stores the lowest dword of a vector: the store takes the vector, and the readlane is not emitted.
          for (size_t i = 2; inst->op == Op::store_lane && inst->mem.bytes == 4 && i < inst->operands.size(); ++i) {
            const Inst* value = inst->operands[i];
            if (value->op == Op::readlane && value->operands[1]->is_const(0) && single(value, *inst))
              fusions.fused[value->id] = true;
          }
          break;
        case Op::select: {
          if (!ctx.isa->merges() || inst->type != ir::kV32 || inst->operands[0]->type != ir::kMask) break;
          const Inst* value = inst->operands[1];
          if (is_mergeable(*value) && single(value, *inst)) fusions.fused[value->id] = true;
          break;
        }
        default:
          break;
      }
    }
  }
}

}  // namespace wavejit::backend
