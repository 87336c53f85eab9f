#include "backend-x86/lower/plans/lane_addresses.h"

#include <algorithm>

#include "ir/analysis/dominators.h"

namespace wavejit::backend {
namespace {

using ir::Inst;
using ir::Op;

// Operations that emit_lane_address() does in general registers.
bool is_computable(const Inst& inst) {
  if (!inst.type.is_vector() || inst.type.is_tuple()) return false;
  switch (inst.op) {
    case Op::phi:
    case Op::get_vgpr:
    case Op::splat:
    case Op::splat64:
    case Op::zext64:
    case Op::sext64:
    case Op::lo32:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::shl:
    case Op::lshr:
    case Op::ashr:
      return true;
    case Op::smin:
    case Op::smax:
    case Op::umin:
    case Op::umax:
      return inst.type == ir::kV32;
    default:
      return false;
  }
}

constexpr size_t kMaxGuards = 4;

// Wrapping arithmetic on strides.
int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// The guards of both, without repetition.
std::vector<const Inst*> joined(const std::vector<const Inst*>& a, const std::vector<const Inst*>& b) {
  std::vector<const Inst*> all = a;
  for (const Inst* guard : b)
    if (std::find(all.begin(), all.end(), guard) == all.end()) all.push_back(guard);
  return all;
}

}  // namespace

const Inst* lane_operand(const Inst& access) {
  if (access.op != Op::load && access.op != Op::store) return nullptr;
  switch (access.mem.form) {
    case ir::AddressForm::vector64:
    case ir::AddressForm::lds_offset:
      return access.operands[1];
    case ir::AddressForm::base_offset:
      return access.operands[2];
    default:
      return nullptr;
  }
}

LaneAddresses::LaneAddresses(const ir::Function& function, const ir::LaneShapes& shapes, unsigned lanes, bool wanted,
                             bool clamped)
    : shapes_(shapes), lanes_(lanes), clamped_(clamped), facts_(function.num_values()), scalar_(function.num_values()) {
  if (!wanted) return;
  const ir::Dominators dominators(function);
  std::vector<const Inst*> candidates;
  for (const ir::Block* block : dominators.order()) {
    for (const Inst* inst : block->insts) {
      if (!inst->type.is_vector() || inst->type.is_tuple()) continue;
      facts_[inst->id] = derive(*inst);
      if (!facts_[inst->id] || !is_computable(*inst)) continue;
      scalar_[inst->id] = true;
      candidates.push_back(inst);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Inst* inst : candidates) {
      if (!scalar_[inst->id] || keeps(*inst)) continue;
      scalar_[inst->id] = false;
      changed = true;
    }
  }
}

std::optional<LaneAddress> LaneAddresses::derive(const Inst& inst) const {
  const ir::LaneShape shape = shapes_.of(&inst);
  if (shape.group >= lanes_) {
    // One number for the wave needs operands that are such, too.
    const bool wave =
        shape.group == kWaveSize && std::all_of(inst.operands.begin(), inst.operands.end(),
                                                [&](const Inst* o) { return shapes_.of(o).group == kWaveSize; });
    return LaneAddress{.stride = inst.type == ir::kV32 ? static_cast<int32_t>(shape.stride) : shape.stride,
                       .wave = wave,
                       .guards = {}};
  }
  if (inst.type == ir::kV32) return clamped_ ? derive_guarded32(inst) : std::nullopt;
  const auto fact = [&](unsigned i) -> const std::optional<LaneAddress>& { return facts_[inst.operands[i]->id]; };
  switch (inst.op) {
    case Op::zext64:
    case Op::sext64:
      if (fact(0))
        return LaneAddress{
            .stride = fact(0)->stride, .wave = fact(0)->wave, .guards = joined(fact(0)->guards, {&inst})};
      return std::nullopt;
    case Op::shl:
      if (inst.type != ir::kV64 || !inst.operands[1]->is_const() || !fact(0)) return std::nullopt;
      return LaneAddress{
          .stride = static_cast<int64_t>(static_cast<uint64_t>(fact(0)->stride) << (inst.operands[1]->imm % 64)),
          .wave = fact(0)->wave,
          .guards = fact(0)->guards};
    case Op::add: {
      if (inst.type != ir::kV64 || !fact(0) || !fact(1)) return std::nullopt;
      // Where a guard fails the operands are looked at again, behind other instructions: a phi may have changed by
      // then.
      if (inst.operands[0]->op == Op::phi || inst.operands[1]->op == Op::phi) return std::nullopt;
      LaneAddress sum{.stride = wrap_add(fact(0)->stride, fact(1)->stride),
                      .wave = fact(0)->wave && fact(1)->wave,
                      .guards = joined(fact(0)->guards, fact(1)->guards)};
      const auto extensions =
          std::count_if(sum.guards.begin(), sum.guards.end(), [](const Inst* guard) { return !is_clamp(guard->op); });
      if (extensions > 2 || sum.guards.size() > kMaxGuards) return std::nullopt;
      return sum;
    }
    default:
      return std::nullopt;
  }
}

// Clamped indices, and sums of such. Where a guard fails all of them are computed again as vectors, from the values
// without guards that they come from; these must not be phis, which may have changed by then.
std::optional<LaneAddress> LaneAddresses::derive_guarded32(const Inst& inst) const {
  const bool clamp = is_clamp(inst.op);
  if (!clamp && inst.op != Op::add && inst.op != Op::sub) return std::nullopt;
  for (const Inst* operand : inst.operands)
    if (!facts_[operand->id] || operand->op == Op::phi) return std::nullopt;
  const LaneAddress &a = *facts_[inst.operands[0]->id], &b = *facts_[inst.operands[1]->id];
  LaneAddress result{.wave = a.wave && b.wave, .guards = joined(a.guards, b.guards)};
  if (clamp) {
    // Ascending indices against a bound.
    constexpr int64_t kFar = 1 << 20;
    if (std::min(a.stride, b.stride) != 0 || std::max(a.stride, b.stride) > kFar) return std::nullopt;
    result.stride = std::max(a.stride, b.stride);
    result.guards.push_back(&inst);
  } else {
    if (result.guards.empty()) return std::nullopt;
    result.stride = static_cast<int32_t>(inst.op == Op::add ? a.stride + b.stride : a.stride - b.stride);
  }
  if (result.stride <= 0 || result.guards.size() > kMaxGuards) return std::nullopt;
  return result;
}

bool LaneAddresses::serves(const Inst& access) const {
  const Inst* address = lane_operand(access);
  return address != nullptr && scalar_[address->id];
}

// Whether all users of the value, assumed to be a scalar, can live with that.
bool LaneAddresses::keeps(const Inst& inst) const {
  if (inst.users.empty()) return false;
  if (inst.op == Op::phi) {
    for (const Inst* operand : inst.operands) {
      if (operand->is_const() || operand->op == Op::undef) continue;
      // From a vector the first lanes are taken where it enters the phi.
      if (!scalar_[operand->id] && shapes_.of(operand).group >= (of(&inst).wave ? kWaveSize : lanes_)) continue;
      if (!scalar_[operand->id] || of(operand).wave != of(&inst).wave) return false;
    }
  }
  return std::all_of(inst.users.begin(), inst.users.end(), [&](const Inst* user) {
    if (user->op == Op::load || user->op == Op::store) {
      return lane_operand(*user) == &inst && std::count(user->operands.begin(), user->operands.end(), &inst) == 1;
    }
    if (!scalar_[user->id]) return false;
    return user->op != Op::phi || of(user).wave == of(&inst).wave;
  });
}

}  // namespace wavejit::backend
