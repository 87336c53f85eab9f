#include "backend-x86/lower/plans/phi_classes.h"

#include <algorithm>
#include <utility>

#include "backend-x86/lower/control.h"
#include "backend-x86/lower/memory/memory_shared.h"

namespace wavejit::backend {
Liveness::Liveness(const ir::Function& function)
    : in_(function.num_block_ids()), out_(in_.size()), position_(function.num_values()) {
  Values by_id(function.num_values());
  for (const auto& block : function.blocks) {
    uint32_t position = 0;
    for (const ir::Inst* inst : block->insts) {
      position_[inst->id] = position++;
      by_id[inst->id] = inst;
    }
  }
  // Value by value, from the blocks that use it backwards to the one that makes it.
  std::vector<const ir::Inst*> entered(in_.size()), left(in_.size());  // the last value for which a block has been seen
  std::vector<const ir::Block*> work;
  for (const ir::Inst* value : by_id) {
    if (value == nullptr) continue;
    const auto enter = [&](const ir::Block* block) {
      if (std::exchange(entered[block->id], value) == value) return;
      in_[block->id].push_back(value);
      work.push_back(block);
    };
    const auto leave = [&](const ir::Block* block) {
      if (std::exchange(left[block->id], value) == value) return;
      out_[block->id].push_back(value);
      if (block != value->parent) enter(block);
    };
    for (const ir::Inst* user : value->users) {
      if (user->op != ir::Op::phi) {
        if (user->parent != value->parent) enter(user->parent);
        continue;
      }
      for (size_t i = 0; i < user->operands.size(); ++i)
        if (user->operands[i] == value) leave(user->parent->predecessors[i]);
    }
    while (!work.empty()) {
      const ir::Block* block = work.back();
      work.pop_back();
      for (const ir::Block* predecessor : block->predecessors) leave(predecessor);
    }
  }
}

bool Liveness::has(const Values& values, const ir::Inst& value) {
  const auto at = std::lower_bound(values.begin(), values.end(), value.id,
                                   [](const ir::Inst* inst, uint32_t id) { return inst->id < id; });
  return at != values.end() && *at == &value;
}

bool Liveness::live_after(const ir::Inst& value, const ir::Inst& point) const {
  const ir::Block& block = *point.parent;
  const bool own_block = value.parent == &block;
  const bool phi = point.op == ir::Op::phi;
  if (own_block && value.op != ir::Op::phi && (phi || position(value) > position(point))) return live_in(block, value);
  if (live_out(block, value)) return true;
  return std::any_of(value.users.begin(), value.users.end(), [&](const ir::Inst* user) {
    return user->parent == &block && user->op != ir::Op::phi && (phi || position(*user) > position(point));
  });
}

PhiClasses::PhiClasses(const ir::Function& function, const Liveness& liveness,
                       const std::function<bool(const ir::Inst&, const ir::Inst&)>& may_share)
    : liveness_(liveness), representative_(function.num_values()), shared_(function.num_values()) {
  std::vector<std::vector<const ir::Inst*>> members(function.num_values());
  for (const auto& block : function.blocks) {
    for (const ir::Inst* inst : block->insts) {
      representative_[inst->id] = inst;
      if (inst->op == ir::Op::phi) {
        shared_[inst->id] = true;
        members[inst->id] = {inst};
      }
    }
  }
  const auto interfere = [&](const ir::Inst* a, const ir::Inst* b) {
    return liveness_.live_after(*a, *b) || liveness_.live_after(*b, *a);
  };
  for (const auto& block : function.blocks) {
    for (const ir::Inst* phi : block->insts) {
      if (phi->op != ir::Op::phi) break;
      for (const ir::Inst* value : phi->operands) {
        const ir::Op op = value->op;
        // Constants are rematerialised; another phi keeps its own registers; an unused phi needs none.
        if (op == ir::Op::const_ || op == ir::Op::undef || op == ir::Op::phi || op == ir::Op::lane_id) continue;
        if (shared_[value->id] || value->type.is_tuple() || phi->users.empty()) continue;
        if (may_share && !may_share(*phi, *value)) continue;
        const auto& group = members[phi->id];
        if (std::any_of(group.begin(), group.end(), [&](const ir::Inst* m) { return interfere(m, value); })) continue;
        representative_[value->id] = phi;
        shared_[value->id] = true;
        members[phi->id].push_back(value);
      }
    }
  }
}

bool PhiClasses::rewritten_between(const ir::Inst* value, const ir::Inst& from, const ir::Inst& to) const {
  if (!is_shared(value)) return false;
  const ir::Inst* own = representative(value);
  const auto& insts = to.parent->insts;
  for (uint32_t i = liveness_.position(from) + 1; i < liveness_.position(to); ++i) {
    if (insts[i]->op != ir::Op::phi && representative(insts[i]) == own) return true;
  }
  return false;
}

}  // namespace wavejit::backend
