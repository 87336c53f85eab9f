// Short blocks that are skipped when no lane is active are executed always.
//
// Where what such a block computes is merged into registers under its mask, nothing changes without active lanes. A
// branch costs a test of the mask, which waits for all lanes, and it ends the stretch of code that the backend can run
// through for a few lanes at a time; a few more vector operations are cheaper.
#include <algorithm>

#include "ir/analysis/loops.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

constexpr unsigned kMaxCost = 10;
// In the body of a loop that ends when the mask is empty, where skipping saves nothing but the last iteration.
constexpr unsigned kMaxLoopCost = 40;

unsigned cost_of(const Inst* inst) {
  switch (inst->op) {
    case Op::phi:
    case Op::const_:
    case Op::br:
    case Op::lo32:
    case Op::hi32:
    case Op::pack64:
    case Op::splat:
    case Op::splat64:
    case Op::lane_id:
      return 0;
    case Op::add:
    case Op::sub:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::not_:
    case Op::andn:
    case Op::shl:
    case Op::lshr:
    case Op::ashr:
    case Op::select:
    case Op::icmp:
    case Op::umin:
    case Op::umax:
    case Op::smin:
    case Op::smax:
    case Op::mul:
    case Op::zext64:
    case Op::mask_any:
    case Op::fadd_f32:
    case Op::fsub_f32:
    case Op::fmul_f32:
    case Op::fma_f32:
    case Op::fcmp_f32:
    case Op::fmin_f32:
    case Op::fmax_f32:
      return inst->type.kind == TypeKind::v64 ? 2 : 1;
    default:
      return 2 * kMaxLoopCost;  // not for this pass: expensive, or never looked at
  }
}

class Flattener {
 public:
  explicit Flattener(Function& function)
      : function_(function), dominators_(function), loops_(find_loops(dominators_)) {}

  bool run() {
    bool any = false;
    for (bool changed = true; changed;) {
      changed = false;
      // From the inside out: blocks in front of a branch take in what is behind it.
      const auto& order = dominators_.order();
      for (auto it = order.rbegin(); it != order.rend(); ++it)
        if (!(*it)->insts.empty() && flatten(*it)) changed = any = true;
    }
    std::erase_if(function_.blocks, [](const auto& block) { return block->insts.empty(); });
    return any;
  }

 private:
  // Whether the mask has no lanes outside of `of`.
  static bool within(const Inst* mask, const Inst* of, unsigned depth = 6) {
    if (mask == of) return true;
    if (depth == 0) return false;
    if (mask->op == Op::and_ && mask->type == kMask)
      return within(mask->operands[0], of, depth - 1) || within(mask->operands[1], of, depth - 1);
    // a & ~b
    if (mask->op == Op::andn && mask->type == kMask) return within(mask->operands[0], of, depth - 1);
    return false;
  }

  // Whether a & ~phi is empty for either operand of the phi if the mask is: the way out of loops. The lanes that stay,
  // a, are among those that came, which a test had left without any; the others are those the test sent away.
  static bool leaves_none(const Inst* phi, const Inst* skipped, const Inst* taken, const Inst* mask) {
    if (phi->type != kMask || mask->op != Op::and_) return false;
    for (unsigned i = 0; i < 2; ++i) {
      const Inst* came = mask->operands[i];
      const Inst* test = mask->operands[1 - i];
      if (skipped != came || taken->op != Op::or_) continue;
      const auto sent_away = [&](const Inst* part) { return part->op == Op::not_ && part->operands[0] == test; };
      if (std::none_of(taken->operands.begin(), taken->operands.end(), sent_away)) continue;
      return std::all_of(phi->users.begin(), phi->users.end(), [&](const Inst* user) {
        return user->op == Op::andn && user->operands[0] == came && user->operands[1] == phi;
      });
    }
    return false;
  }

  // Whether the value from the skipped block is the other one if no lane is active.
  static bool same_without_lanes(const Inst* phi, const Inst* taken, const Inst* skipped, const Inst* mask) {
    if (taken == skipped) return true;
    if (taken->op == Op::select && taken->operands[0]->type == kMask && within(taken->operands[0], mask))
      return same_without_lanes(phi, taken->operands[2], skipped, mask);
    return leaves_none(phi, skipped, taken, mask);
  }

  // Whether both blocks belong to the same innermost loop and the one is its header, the other branches back to it.
  [[nodiscard]] bool is_body(const Block* first, const Block* last) const {
    for (const Loop& loop : loops_)
      if (loop.body.contains(first))
        return loop.header == first &&
               std::find(last->successors.begin(), last->successors.end(), first) != last->successors.end();
    return false;
  }

  bool flatten(Block* block) {
    Inst* branch = block->terminator();
    if (branch->op != Op::cond_br) return false;
    const Inst* condition = branch->operands[0];
    unsigned taken_index = 0;
    while (condition->op == Op::not_) {
      condition = condition->operands[0];
      taken_index ^= 1;
    }
    if (condition->op != Op::mask_any) return false;
    const Inst* mask = condition->operands[0];
    Block* body = block->successors[taken_index];
    Block* join = block->successors[taken_index ^ 1];
    if (body == join || body == block || join == block || body->predecessors.size() != 1 ||
        body->successors.size() != 1 || body->successors[0] != join || join->predecessors.size() != 2)
      return false;
    const unsigned from_body = join->predecessors[0] == body ? 0 : 1;
    unsigned cost = 0;
    for (const Inst* inst : body->insts) {
      if (inst->op == Op::phi || (!is_pure(inst->op) && inst->op != Op::br)) return false;
      if (inst->op != Op::br) cost += cost_of(inst);
    }
    for (const Inst* phi : join->insts) {
      if (phi->op != Op::phi) break;
      if (!phi->users.empty() && !same_without_lanes(phi, phi->operands[from_body], phi->operands[from_body ^ 1], mask))
        return false;
    }
    if (cost > (is_body(block, join) ? kMaxLoopCost : kMaxCost)) return false;

    const auto take = [&](Block* from) {
      for (Inst* inst : from->insts) {
        if (inst->parent == nullptr) continue;
        inst->parent = block;
        block->insts.push_back(inst);
      }
      from->insts.clear();
    };
    function_.count(Rule::block_flattened);
    block->insts.pop_back();
    function_.unlink(branch);
    function_.unlink(body->insts.back());
    take(body);
    for (Inst* phi : join->insts) {
      if (phi->op != Op::phi) break;
      function_.replace_all_uses(phi, phi->operands[from_body]);
      function_.unlink(phi);
    }
    take(join);
    block->successors = join->successors;
    for (Block* successor : block->successors)
      std::replace(successor->predecessors.begin(), successor->predecessors.end(), join, block);
    for (Block* gone : {body, join}) {
      gone->successors.clear();
      gone->predecessors.clear();
    }
    return true;
  }

  Function& function_;
  Dominators dominators_;
  std::vector<Loop> loops_;
};

}  // namespace

PassResult flatten(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  const bool changed = Flattener(function).run();
  if (changed) function.sweep();
  return {.changed = changed || dropped};
}

}  // namespace wavejit::ir::passes
