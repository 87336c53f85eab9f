#include "backend-x86/lower/plans/indexed_addresses.h"

#include <algorithm>

namespace wavejit::backend {

using ir::Inst;
using ir::Op;

IndexedAddresses::IndexedAddresses(const ir::Function& function, const ir::LaneShapes& shapes,
                                   const LaneAddresses& scalars, const PhiClasses& classes, unsigned lanes, bool wanted)
    : shapes_(shapes),
      scalars_(scalars),
      classes_(classes),
      lanes_(lanes),
      forms_(function.num_values()),
      absorbed_(function.num_values()) {
  if (!wanted) return;
  std::vector<const Inst*> candidates;
  for (const auto& block : function.blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::load && inst->op != Op::store) continue;
      const std::optional<Match> found = match(*inst);
      if (!found) continue;
      forms_[inst->id] = found->form;
      for (const Inst* value : found->chain) {
        if (!absorbed_[value->id]) candidates.push_back(value);
        absorbed_[value->id] = true;
      }
    }
  }
  const auto absorbs = [&](const Inst* user, const Inst* value) {
    if (forms_[user->id])
      return lane_operand(*user) == value && std::count(user->operands.begin(), user->operands.end(), value) == 1;
    return bool{absorbed_[user->id]};
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Inst* value : candidates) {
      if (!absorbed_[value->id]) continue;
      if (std::all_of(value->users.begin(), value->users.end(), [&](const Inst* user) { return absorbs(user, value); }))
        continue;
      absorbed_[value->id] = false;
      changed = true;
    }
  }
}

// Whether the register still has the value when the access is emitted.
bool IndexedAddresses::is_stable(const Inst* inst) const {
  const Inst* place = inst->op == Op::extract ? inst->operands[0] : inst;
  return !classes_.is_shared(inst) && !classes_.is_shared(place);
}

std::optional<IndexedAddresses::Match> IndexedAddresses::match(const Inst& access) const {
  if (access.mem.form != ir::AddressForm::vector64 || scalars_.serves(access)) return std::nullopt;
  const Inst* node = lane_operand(access);
  if (shapes_.of(node).group >= lanes_) return std::nullopt;
  Match found;
  IndexedAddress& form = found.form;
  const auto inner = [&](const Inst* inst) {
    found.chain.push_back(inst);
    return inst->parent == access.parent && !classes_.is_shared(inst) && !scalars_.is_scalar(inst);
  };
  while (node->op == Op::add) {
    if (!inner(node)) return std::nullopt;
    const bool swap = node->operands[0]->op == Op::splat64 || node->operands[0]->is_const();
    const Inst* uniform = node->operands[swap ? 0 : 1];
    if (uniform->is_const()) {
      form.disp = static_cast<int64_t>(static_cast<uint64_t>(form.disp) + uniform->imm);
    } else if (uniform->op == Op::splat64 && form.base == nullptr && is_stable(uniform->operands[0])) {
      form.base = uniform->operands[0];
    } else {
      return std::nullopt;
    }
    node = node->operands[swap ? 1 : 0];
  }
  if (form.base == nullptr) return std::nullopt;
  if (node->op == Op::shl) {
    if (!inner(node) || !node->operands[1]->is_const() || node->operands[1]->imm > 3) return std::nullopt;
    form.shift = static_cast<unsigned>(node->operands[1]->imm);
    node = node->operands[0];
  }
  if (node->op != Op::zext64 && node->op != Op::sext64) return std::nullopt;
  if (!inner(node)) return std::nullopt;
  form.index = node->operands[0];
  if (form.index->is_const() || scalars_.is_scalar(form.index) || !is_stable(form.index)) return std::nullopt;
  const unsigned unit = unsigned{access.mem.bytes} * access.mem.count;
  if (unit % (1u << form.shift) != 0) return std::nullopt;
  form.is_signed = node->op == Op::sext64 || (shapes_.bits().of(form.index).possible & 0x80000000) == 0;
  return found;
}

}  // namespace wavejit::backend
