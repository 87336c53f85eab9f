#include "backend-x86/phi_classes.h"

#include <algorithm>

namespace wavejit::backend {
namespace {
uint32_t num_block_ids(const ir::Function& function) {
  uint32_t n = 0;
  for (const auto& block : function.blocks) n = std::max(n, block->id + 1);
  return n;
}
}  // namespace

Liveness::Liveness(const ir::Function& function)
    : words_((function.num_values() + 63) / 64),
      in_(num_block_ids(function) * words_),
      out_(in_.size()),
      position_(function.num_values()) {
  Bits defined(in_.size()), needed(in_.size());  // needed: upward-exposed uses
  const auto set = [&](Bits& bits, const ir::Block& block, const ir::Inst& value) {
    bits[block.id * words_ + value.id / 64] |= uint64_t{1} << (value.id % 64);
  };
  for (const auto& block : function.blocks) {
    uint32_t position = 0;
    for (const ir::Inst* inst : block->insts) {
      position_[inst->id] = position++;
      if (inst->op != ir::Op::phi) {
        for (const ir::Inst* operand : inst->operands) {
          if (!get(defined, *block, *operand)) set(needed, *block, *operand);
        }
      }
      set(defined, *block, *inst);
    }
  }
  // Phi operands are used at the end of their predecessor.
  Bits edge_uses(in_.size());
  for (const auto& block : function.blocks) {
    for (const ir::Inst* inst : block->insts) {
      if (inst->op != ir::Op::phi) break;
      for (size_t i = 0; i < inst->operands.size(); ++i) set(edge_uses, *block->predecessors[i], *inst->operands[i]);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = function.blocks.rbegin(); it != function.blocks.rend(); ++it) {
      const ir::Block& block = **it;
      for (size_t w = 0; w < words_; ++w) {
        const size_t at = block.id * words_ + w;
        uint64_t out = edge_uses[at];
        for (const ir::Block* successor : block.successors) out |= in_[successor->id * words_ + w];
        const uint64_t in = needed[at] | (out & ~defined[at]);
        changed |= in != in_[at] || out != out_[at];
        in_[at] = in;
        out_[at] = out;
      }
    }
  }
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
