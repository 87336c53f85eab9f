// What the copy has for values of the loop, and for each of its instructions.
#include <algorithm>

#include "ir/passes/lane_copier.h"

namespace wavejit::ir::passes {
namespace {

bool compares_floats(Op op) {
  return op == Op::fcmp_f32 || op == Op::fcmp_f64 || op == Op::fcmp_f16;
}
constexpr uint32_t kUnorderedBit = 8;  // of FCmp

}  // namespace

Inst* LaneCopier::bit_of_lane(Inst* number) {
  Inst* bit = make(Op::and_, kI64, {make(Op::lshr, kI64, {number, lane64_}), one_});
  return icmp(ICmp::ne, bit, zero_);
}

LaneCode::Elsewhere LaneCopier::at_definition(const Inst* value) {
  const auto& insts = value->parent->insts;
  auto next = std::find(insts.begin(), insts.end(), value) + 1;
  while (next != insts.end() && (*next)->op == Op::phi) ++next;
  return {*this, value->parent, next == insts.end() ? nullptr : *next};
}

Inst* LaneCopier::scalar(Inst* value) {
  if (value->type.is_scalar()) return inside(value) ? copied_scalars_.at(value) : value;
  if (const auto it = scalars_.find(value); it != scalars_.end()) return it->second;
  return scalars_[value] = make_scalar(value);
}

std::vector<Inst*> LaneCopier::scalars(const std::vector<Inst*>& values) {
  std::vector<Inst*> result(values.size());
  std::ranges::transform(values, result.begin(), [&](Inst* value) { return scalar(value); });
  return result;
}

Inst* LaneCopier::make_scalar(Inst* value) {
  if (!inside(value) || value->is_const() || value->op == Op::undef || value->op == Op::lane_id) {
    const Elsewhere place = at_head();
    return outside_scalar(value);
  }
  Inst* vector = vectors_of_.at(value);
  const Elsewhere place = at_definition(vector);
  if (value->type.is_mask()) return condition(vector);
  return first_element(vector);
}

Inst* LaneCopier::condition(Inst* mask) {
  const uint32_t predicate = mask->attr >> fpenv::kFCmpShift;
  if (!compares_floats(mask->op) || (predicate & kUnorderedBit) == 0) return make(Op::mask_any, kI1, {mask});
  const uint32_t opposite = mask->attr ^ (2 * kUnorderedBit - 1) << fpenv::kFCmpShift;
  return make(Op::not_, kI1, {make(Op::mask_any, kI1, {make(mask->op, kMask, mask->operands, mask->imm, opposite)})});
}

Inst* LaneCopier::scalar_here(Inst* value) {
  const auto it = vectors_of_.find(value);
  if (!vectors_.contains(value) || value->type.is_mask() || it == vectors_of_.end()) return scalar(value);
  return first_element(it->second);
}

Inst* LaneCopier::first_element(Inst* vector) {
  if (vector->type == kV32) return first_of(vector);
  return make(Op::pack64, kI64, {first_of(make(Op::lo32, kV32, {vector})), first_of(make(Op::hi32, kV32, {vector}))});
}

Inst* LaneCopier::outside_scalar(Inst* value) {
  switch (value->op) {
    case Op::const_:
      if (!value->type.is_mask()) return constant(lane_type(value->type), value->imm);
      if (value->imm == 0 || value->imm == ~uint64_t{0}) return constant(kI1, value->imm & 1);
      return bit_of_lane(constant(kI64, value->imm));
    case Op::undef:
      return constant(lane_type(value->type), 0);
    case Op::lane_id:
      return lane_;
    case Op::splat:
    case Op::splat64:
    case Op::splat_mask:
      return value->operands[0];
    default:
      break;
  }
  WAVEJIT_CHECK(false, "%{} has no row", value->id);
  return nullptr;
}

Inst* LaneCopier::vector(Inst* value) {
  if (const auto it = vectors_of_.find(value); it != vectors_of_.end()) return it->second;
  return vectors_of_[value] = make_vector(value);
}

Inst* LaneCopier::make_vector(Inst* value) {
  const bool anywhere = value->is_const() && (!value->type.is_mask() || value->imm == 0 || value->imm == ~uint64_t{0});
  if (anywhere ||
      (!inside(value) && (value->op == Op::splat || value->op == Op::splat64 || value->op == Op::splat_mask))) {
    if (!inside(value)) return value;
    const Elsewhere place = at_head();
    return constant(value->type, value->imm);
  }
  Inst* from = scalar(value);
  const Elsewhere place = at_definition(from);
  if (value->type.is_mask()) return make(Op::splat_mask, kMask, {from});
  return value->type == kV32 ? make(Op::splat, kV32, {from}) : make(Op::splat64, kV64, {from});
}

void LaneCopier::copy(const Block& original) {
  set_place(copies_.at(&original));
  if (kept_.any()) kept_.enter(original);
  if (&original == loop_.header && counts()) begun_ = make(Op::phi, kI32, {});
  for (Inst* inst : original.insts) {
    set_pc(inst->guest_pc);
    if (inst->op != Op::phi && count_ == nullptr && begun_ != nullptr)
      count_ = make(Op::add, kI32, {begun_, constant(kI32, 1)});
    if (is_terminator(inst->op)) {
      if (kept_.any()) kept_.count_iteration(original);
      leave_block(original, *inst);
    } else if (inst->op == Op::poll && kept_.any()) {
      continue;  // iterations are counted instead
    } else if (inst == found_.always) {
      const Elsewhere place = at_head();
      scalars_[inst] = constant(kI1, 1);
    } else if (inst->op == Op::phi) {
      define(inst, make(Op::phi, copied_type(inst), {}));
      phis_.push_back(inst);
    } else if (!inst->is_const() && inst->op != Op::undef && inst->op != Op::lane_id) {
      copy(*inst);
    } else if (inst->type.is_scalar()) {
      copied_scalars_[inst] = clone_here(*inst, {});
    }
  }
}

void LaneCopier::define(Inst* original, Inst* copy) {
  if (original->type.is_scalar()) {
    copied_scalars_[original] = copy;
  } else if (vectors_.contains(original)) {
    vectors_of_[original] = copy;
  } else {
    scalars_[original] = copy;
  }
}

void LaneCopier::copy(Inst& inst) {
  switch (inst.op) {
    case Op::load:
      return copy_load(inst);
    case Op::store:
      return copy_store(inst);
    case Op::load_scalar:
      if (kept_.any()) check_scalar_load(inst);
      break;
    case Op::mask_any:
      copied_scalars_[&inst] = scalar(inst.operands[0]);
      return;
    case Op::splat:
    case Op::splat64:
    case Op::splat_mask:
      scalars_[&inst] = scalar(inst.operands[0]);
      return;
    default:
      break;
  }
  if (inst.type == kNone || inst.type.is_scalar() || !vectors_.contains(&inst)) {
    Inst* copy = clone_here(inst, scalars(inst.operands));
    copy->type = lane_type(inst.type);
    if (inst.type != kNone) define(&inst, copy);
    return;
  }
  std::vector<Inst*> operands;
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    Inst* operand = inst.operands[i];
    const bool condition = inst.op == Op::select && i == 0;
    const bool as_scalar = operand->type.is_scalar() || (condition && !vectors_.contains(operand));
    operands.push_back(as_scalar ? scalar(operand) : vector(operand));
  }
  define(&inst, clone_here(inst, std::move(operands)));
}

}  // namespace wavejit::ir::passes
