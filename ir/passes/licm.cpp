// Loop-invariant code motion: pure instructions whose operands come from outside a loop move in front of it. Halves of 64-bit values
// that only code behind the loop reads move behind it.
#include <algorithm>

#include "ir/analysis/loops.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

// A hoisted vector occupies registers in the whole loop; past a few of them recomputing is cheaper than spilling.
constexpr unsigned kMaxHoistedVectors = 8;

class Hoister {
 public:
  explicit Hoister(Function& function) : function_(function), dominators_(function), loops_(find_loops(dominators_)) {}

  bool run() {
    bool changed = false;
    for (Loop& loop : loops_) changed |= hoist(loop);
    return changed;
  }

 private:
  // The preheader: the block that every path into the loop goes through last. Made if the only such path branches. Null
  // if several edges enter the loop.
  Block* preheader(const Loop& loop) {
    Block* outside = nullptr;
    for (Block* predecessor : loop.header->predecessors) {
      if (loop.body.contains(predecessor)) continue;
      if (outside != nullptr) return nullptr;
      outside = predecessor;
    }
    if (outside == nullptr || outside->successors.size() == 1) return outside;
    Block* block = function_.add_block(loop.header->guest_pc);
    *std::find(outside->successors.begin(), outside->successors.end(), loop.header) = block;
    *std::find(loop.header->predecessors.begin(), loop.header->predecessors.end(), outside) = block;
    block->predecessors.push_back(outside);
    block->successors.push_back(loop.header);
    function_.append(block, function_.create(Op::br, kNone));
    // In the layout it goes in front of the loop.
    const auto header = std::find_if(function_.blocks.begin(), function_.blocks.end(),
                                     [&](const auto& owned) { return owned.get() == loop.header; });
    std::rotate(header, function_.blocks.end() - 1, function_.blocks.end());
    for (Loop& other : loops_) {
      if (other.body.contains(outside) && other.body.contains(loop.header)) other.body.insert(block);
    }
    return block;
  }

  bool invariant(const Loop& loop, const Inst* inst) const {
    if (!is_pure(inst->op) || inst->op == Op::phi) return false;
    return std::none_of(inst->operands.begin(), inst->operands.end(),
                        [&](const Inst* operand) { return loop.body.contains(operand->parent); });
  }

  // Two scalars made one, as the base of an address. One for all blocks costs no registers, so that it may happen for
  // nothing.
  static bool is_pair(const Inst* inst) { return inst->op == Op::pack64 && inst->type == kI64 && !inst->users.empty(); }

  // The same pair in the block.
  static Inst* same_pair(const Inst* pair, const Block* block) {
    const auto& users = pair->operands[0]->users;
    const auto it = std::find_if(users.begin(), users.end(), [&](const Inst* other) {
      return other != pair && other->parent == block && is_pair(other) && other->operands == pair->operands;
    });
    return it == users.end() ? nullptr : *it;
  }

  bool hoist(Loop& loop) {
    // In dominance order, so that operands move before their users.
    std::vector<Block*> blocks;
    std::vector<bool> every_time;  // whether each iteration passes through the block
    for (Block* block : dominators_.order()) {
      if (!loop.body.contains(block)) continue;
      blocks.push_back(block);
      every_time.push_back(std::any_of(loop.latches.begin(), loop.latches.end(),
                                       [&](Block* latch) { return dominators_.dominates(block, latch); }));
    }
    const auto moves = [&](size_t block, const Inst* inst) {
      return (every_time[block] || is_pair(inst)) && invariant(loop, inst);
    };
    bool any = false;
    for (size_t i = 0; i < blocks.size() && !any; ++i)
      any = std::any_of(blocks[i]->insts.begin(), blocks[i]->insts.end(),
                        [&](const Inst* inst) { return moves(i, inst); });
    Block* target = any ? preheader(loop) : nullptr;
    if (target == nullptr) return false;
    unsigned vectors = 0;
    std::vector<Inst*> moved;
    bool replaced = false;
    for (size_t i = 0; i < blocks.size(); ++i) {
      Block* const block = blocks[i];
      for (Inst* inst : block->insts) {
        if (!moves(i, inst)) continue;
        const bool vector = inst->type.is_vector() && !inst->is_const();
        if (vector && ++vectors > kMaxHoistedVectors) continue;
        if (Inst* same = is_pair(inst) ? same_pair(inst, target) : nullptr) {
          function_.replace_all_uses(inst, same);
          function_.count(Rule::invariant_hoisted);
          replaced = true;
          continue;
        }
        inst->parent = target;
        moved.push_back(inst);
        function_.count(Rule::invariant_hoisted);
      }
      std::erase_if(block->insts, [&](const Inst* inst) { return inst->parent == target; });
    }
    target->insts.insert(target->insts.end() - 1, moved.begin(), moved.end());
    return replaced || !moved.empty();
  }

  Function& function_;
  Dominators dominators_;
  std::vector<Loop> loops_;
};

class Sinker {
 public:
  explicit Sinker(Function& function) : function_(function), dominators_(function) {}

  bool run() {
    bool changed = false;
    for (const Loop& loop : find_loops(dominators_))
      if (Block* behind = block_behind(loop)) changed |= sink(loop, *behind);
    return changed;
  }

 private:
  // Where the only way out of the loop leads, and nothing else does; null: there is no such block.
  [[nodiscard]] static Block* block_behind(const Loop& loop) {
    Block* behind = nullptr;
    for (const Block* block : loop.body) {
      for (Block* next : block->successors) {
        if (loop.body.contains(next)) continue;
        if (behind != nullptr) return nullptr;
        behind = next;
      }
    }
    return behind != nullptr && behind->predecessors.size() == 1 ? behind : nullptr;
  }

  bool sink(const Loop& loop, Block& behind) {
    std::vector<Inst*> moved;
    for (Block* block : dominators_.order()) {
      if (!loop.body.contains(block)) continue;
      for (Inst* inst : block->insts) {
        if ((inst->op == Op::lo32 || inst->op == Op::hi32) && is_read_behind(*inst, behind)) {
          inst->parent = &behind;
          moved.push_back(inst);
          function_.count(Rule::half_sunk);
        }
      }
      std::erase_if(block->insts, [&](const Inst* inst) { return inst->parent == &behind; });
    }
    const auto place = std::ranges::find_if(behind.insts, [](const Inst* inst) { return inst->op != Op::phi; });
    behind.insts.insert(place, moved.begin(), moved.end());
    return !moved.empty();
  }
  [[nodiscard]] bool is_read_behind(const Inst& inst, const Block& behind) const {
    if (inst.users.empty()) return false;
    return std::ranges::all_of(inst.users, [&](const Inst* user) {
      if (user->op != Op::phi) return dominators_.dominates(&behind, user->parent);
      for (size_t i = 0; i < user->operands.size(); ++i)
        if (user->operands[i] == &inst && !dominators_.dominates(&behind, user->parent->predecessors[i])) return false;
      return true;
    });
  }

  Function& function_;
  const Dominators dominators_;
};

}  // namespace

PassResult licm(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  const bool sunk = Sinker(function).run();
  return {.changed = Hoister(function).run() || sunk || dropped};
}

}  // namespace wavejit::ir::passes
