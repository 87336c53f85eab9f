// Control flow: constant branches, unreachable blocks, blocks that only follow or only lead to one other, trivial phis.
#include <algorithm>

#include "ir/fold.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

class Cleaner {
 public:
  explicit Cleaner(Function& function) : function_(function) {}

  bool run() {
    bool any = false;
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& block : function_.blocks) changed |= fold_branch(block.get());
      changed |= drop_unreachable(function_);
      for (const auto& block : function_.blocks) changed |= remove_trivial_phis(block.get());
      for (const auto& block : function_.blocks) changed |= skip_empty(block.get());
      drop_empty();
      changed |= merge_chains();
      drop_empty();
      any |= changed;
    }
    return any;
  }

 private:
  void make_unconditional(Block* block) {
    Inst* branch = block->terminator();
    function_.unlink(branch);
    branch->parent = block;
    branch->op = Op::br;
  }

  bool fold_branch(Block* block) {
    Inst* branch = block->terminator();
    if (branch->op != Op::cond_br) return false;
    Inst* condition = branch->operands[0];
    if (condition->is_const()) {
      function_.count(Rule::constant_branch);
      function_.remove_edge(block, condition->imm != 0 ? 1 : 0);
      make_unconditional(block);
      return true;
    }
    if (block->successors[0] == block->successors[1]) {
      Block* target = block->successors[0];
      // Both edges must bring the same values.
      const auto first =
          std::find(target->predecessors.begin(), target->predecessors.end(), block) - target->predecessors.begin();
      const auto second = std::find(target->predecessors.begin() + first + 1, target->predecessors.end(), block) -
                          target->predecessors.begin();
      for (const Inst* phi : target->insts) {
        if (phi->op != Op::phi) break;
        if (phi->operands[static_cast<size_t>(first)] != phi->operands[static_cast<size_t>(second)]) return false;
      }
      function_.count(Rule::branch_to_one_place);
      function_.remove_edge(block, 1);
      make_unconditional(block);
      return true;
    }
    if (condition->op == Op::not_) {
      function_.count(Rule::branch_on_not);
      function_.set_operand(branch, 0, condition->operands[0]);
      std::swap(block->successors[0], block->successors[1]);
      return true;
    }
    return false;
  }

  bool remove_trivial_phis(Block* block) {
    bool changed = false;
    for (Inst* inst : block->insts) {
      if (inst->op != Op::phi) break;
      Inst* only = fold_to_existing(*inst);
      if (only == nullptr) continue;
      function_.count(Rule::phi_of_one_value);
      // Its use of itself goes first.
      for (unsigned i = 0; i < inst->operands.size(); ++i) function_.set_operand(inst, i, only);
      function_.replace_all_uses(inst, only);
      function_.unlink(inst);
      changed = true;
    }
    if (changed) std::erase_if(block->insts, [](const Inst* inst) { return inst->parent == nullptr; });
    return changed;
  }

  // A block with nothing but a branch: its predecessors go where it leads. It stays where phis begin: the copies they
  // mean have their place on such an edge.
  bool skip_empty(Block* block) {
    if (block->insts.size() != 1 || block->insts[0]->op != Op::br || block->predecessors.empty()) return false;
    Block* target = block->successors[0];
    if (target == block || target->insts[0]->op == Op::phi) return false;
    function_.count(Rule::empty_block);
    const auto edge = std::find(target->predecessors.begin(), target->predecessors.end(), block);
    target->predecessors.erase(edge);
    for (Block* predecessor : block->predecessors) {
      *std::find(predecessor->successors.begin(), predecessor->successors.end(), block) = target;
      target->predecessors.push_back(predecessor);
    }
    block->predecessors.clear();
    block->successors.clear();
    function_.unlink(block->insts[0]);
    block->insts.clear();
    empty_ = true;
    return true;
  }

  bool merge_chains() {
    bool changed = false;
    for (const auto& owned : function_.blocks) {
      Block* block = owned.get();
      while (block->successors.size() == 1) {
        Block* next = block->successors[0];
        if (next == block || next->predecessors.size() != 1 || is_entry(next)) break;
        function_.count(Rule::chain_of_blocks);
        // Phis of a single predecessor are copies.
        for (Inst* inst : next->insts) {
          if (inst->op != Op::phi) break;
          function_.replace_all_uses(inst, inst->operands[0]);
          function_.unlink(inst);
        }
        function_.unlink(block->insts.back());
        block->insts.pop_back();
        for (Inst* inst : next->insts) {
          if (inst->parent == nullptr) continue;
          inst->parent = block;
          block->insts.push_back(inst);
        }
        next->insts.clear();
        block->successors = next->successors;
        for (Block* successor : block->successors) {
          std::replace(successor->predecessors.begin(), successor->predecessors.end(), next, block);
        }
        next->successors.clear();
        next->predecessors.clear();
        changed = true;
        empty_ = true;
      }
    }
    return changed;
  }

  void drop_empty() {
    if (empty_)
      std::erase_if(function_.blocks, [](const std::unique_ptr<Block>& block) { return block->insts.empty(); });
    empty_ = false;
  }

  bool is_entry(const Block* block) const {
    return std::any_of(function_.entries.begin(), function_.entries.end(),
                       [&](const Entry& e) { return e.block == block; });
  }

  Function& function_;
  bool empty_ = false;  // there are blocks without instructions to drop
};

}  // namespace

PassResult cfg(Function& function, const PassContext&) {
  bool changed = drop_unreachable(function);
  changed |= Cleaner(function).run();
  // Blocks may have lost all but their branch.
  const bool dead = changed && function.sweep() != 0;
  return {.changed = changed, .settled = !dead};
}

}  // namespace wavejit::ir::passes
