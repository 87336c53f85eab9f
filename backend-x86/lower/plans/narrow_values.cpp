#include "backend-x86/lower/plans/narrow_values.h"

#include <algorithm>

namespace wavejit::backend {
namespace {

using ir::Inst;
using ir::Op;

// Whether a lane of the result comes from the same lane of the operands, in all of the operation's code.
bool is_lane_wise(const Inst& inst) {
  switch (inst.op) {
    case Op::phi:
    case Op::select:
    case Op::splat:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::fadd_f32:
    case Op::fsub_f32:
    case Op::fmul_f32:
    case Op::fma_f32:
    case Op::fmin_f32:
    case Op::fmax_f32:
    case Op::fclamp_f32:
    case Op::fcanon_f32:
    case Op::ftrunc_f32:
    case Op::fceil_f32:
    case Op::ffloor_f32:
    case Op::frndne_f32:
    case Op::cvt_f32_i32:
    case Op::cvt_f32_u32:
    case Op::cvt_i32_f32:
    case Op::cvt_u32_f32:
    case Op::div_scale_f32:
    case Op::div_fmas_f32:
    case Op::div_fixup_f32:
    case Op::frcp_f32:
    case Op::frsq_f32:
    case Op::fsqrt_f32:
      return inst.type == ir::kV32;
    case Op::fcmp_f32:
    case Op::div_scale_vcc_f32:
      return true;
    default:
      return false;
  }
}

class NarrowValues {
 public:
  NarrowValues(const ir::Function& function, const ir::LaneShapes& shapes) : narrow_(function.num_values()) {
    std::vector<const Inst*> left;
    for (const auto& block : function.blocks) {
      for (const Inst* inst : block->insts) {
        const bool alike = std::ranges::all_of(inst->operands, [&](const Inst* operand) {
          return operand->type.is_scalar() || operand->type.is_mask() || shapes.of(operand).is_uniform();
        });
        narrow_[inst->id] = is_lane_wise(*inst) && !inst->users.empty() && alike &&
                            (inst->type.is_mask() || shapes.of(inst).is_uniform());
        if (narrow_[inst->id]) left.push_back(inst);
      }
    }
    for (bool changed = true; changed;) {
      changed = std::erase_if(left, [&](const Inst* inst) {
                  narrow_[inst->id] =
                      std::ranges::all_of(inst->users, [&](const Inst* user) { return reads_lane_0(*user, *inst); });
                  return !narrow_[inst->id];
                }) != 0;
    }
  }

  [[nodiscard]] std::vector<bool> take() && { return std::move(narrow_); }

 private:
  // Masks come from operands that are alike in all lanes, so that any lane tells what lane 0 does.
  [[nodiscard]] bool reads_lane_0(const Inst& user, const Inst& value) const {
    if (narrow_[user.id]) return true;
    if (value.type.is_mask()) return user.op == Op::mask_any;
    return user.op == Op::readlane && user.operands[1]->is_const(0);
  }

  std::vector<bool> narrow_;
};

}  // namespace

std::vector<bool> find_narrow_values(const ir::Function& function, const ir::LaneShapes& shapes) {
  return NarrowValues(function, shapes).take();
}

}  // namespace wavejit::backend
