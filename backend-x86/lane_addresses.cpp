#include "backend-x86/lane_addresses.h"

#include <algorithm>

#include "ir/analysis/dominators.h"

namespace wavejit::backend {
namespace {

using ir::Inst;
using ir::Op;

// Operations that Emitter::emit_lane_address does in general registers.
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
    default:
      return false;
  }
}

// Wrapping arithmetic on strides.
int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
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

LaneAddresses::LaneAddresses(const ir::Function& function, const ir::LaneShapes& shapes, unsigned lanes, bool wanted)
    : shapes_(shapes), lanes_(lanes), facts_(function.num_values()), scalar_(function.num_values()) {
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
  const auto fact = [&](unsigned i) -> const std::optional<LaneAddress>& { return facts_[inst.operands[i]->id]; };
  switch (inst.op) {
    case Op::zext64:
    case Op::sext64:
      if (fact(0)) return LaneAddress{.stride = fact(0)->stride, .wave = fact(0)->wave, .guards = {&inst}};
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
                      .guards = fact(0)->guards};
      for (const Inst* guard : fact(1)->guards) {
        if (std::find(sum.guards.begin(), sum.guards.end(), guard) == sum.guards.end()) sum.guards.push_back(guard);
      }
      if (sum.guards.size() > 2) return std::nullopt;
      return sum;
    }
    default:
      return std::nullopt;
  }
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
