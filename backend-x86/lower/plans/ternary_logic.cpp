// Trees of bitwise operations on up to three values as one vpternlogd each.
#include "backend-x86/lower/plans/ternary_logic.h"

#include <algorithm>
#include <set>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/fusions.h"

namespace wavejit::backend {
namespace {

constexpr size_t kMaxNodes = 8;  // of one tree

bool is_bitwise(const Inst& inst) {
  if (inst.type != ir::kV32 && inst.type != ir::kV64) return false;
  switch (inst.op) {
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::andn:
    case Op::not_:
    case Op::bfi:
      return true;
    default:
      return false;
  }
}

// The values of a leaf for all combinations of the three operands' bits.
constexpr uint8_t kLeafTables[3] = {0xf0, 0xcc, 0xaa};

struct Tree {
  std::set<const Inst*> nodes;      // the root and what is computed with it
  std::vector<const Inst*> leaves;  // at most three

  // Which operand a leaf is. The second of two is the last, which may be in memory.
  [[nodiscard]] size_t place(size_t leaf) const { return leaf == 1 && leaves.size() == 2 ? 2 : leaf; }

  [[nodiscard]] uint8_t table(const Inst* value) const {
    if (!nodes.contains(value)) {
      const auto at = static_cast<size_t>(std::find(leaves.begin(), leaves.end(), value) - leaves.begin());
      return kLeafTables[place(at)];
    }
    const auto operand = [&](unsigned i) { return table(value->operands[i]); };
    unsigned bits = 0;
    switch (value->op) {
      case Op::and_:
        bits = operand(0) & operand(1);
        break;
      case Op::or_:
        bits = operand(0) | operand(1);
        break;
      case Op::xor_:
        bits = operand(0) ^ operand(1);
        break;
      case Op::andn:
        bits = operand(0) & ~operand(1);
        break;
      case Op::not_:
        bits = ~operand(0);
        break;
      default: {
        const unsigned choice = operand(0);
        bits = (choice & operand(1)) | (~choice & operand(2));
        break;
      }
    }
    return static_cast<uint8_t>(bits);
  }

  // With some of the leaves as nodes; empty if that makes too many leaves.
  [[nodiscard]] std::vector<const Inst*> leaves_without(std::initializer_list<const Inst*> inner) const {
    std::vector<const Inst*> all;
    const auto add = [&](const Inst* value) {
      if (nodes.contains(value) || std::find(inner.begin(), inner.end(), value) != inner.end()) return;
      if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
    };
    for (const Inst* value : leaves) add(value);
    for (const Inst* node : inner) {
      for (const Inst* value : node->operands) add(value);
    }
    return all.size() <= 3 ? all : std::vector<const Inst*>{};
  }

  // Makes nodes of leaves for which `absorbs` holds: one, or two that have their operands in common, as in the majority
  // (a & (b ^ c)) ^ (b & c).
  template <typename Absorbs>
  bool grow(Absorbs&& absorbs) {
    for (const Inst* first : leaves) {
      if (!absorbs(first)) continue;
      for (const Inst* second : leaves) {
        if (first != second && !absorbs(second)) continue;
        std::vector<const Inst*> with = leaves_without({first, second});
        if (with.empty()) continue;
        nodes.insert({first, second});
        leaves = std::move(with);
        return true;
      }
    }
    return false;
  }
};

}  // namespace

TernaryLogic plan_ternary_logic(const Lowering& ctx, Fusions& fusions) {
  TernaryLogic logic;
  if (!ctx.on(Optimisation::ternary_logic) || !ctx.isa->has_ternary_logic()) return logic;
  const auto eligible = [&](const Inst& inst) {
    return is_bitwise(inst) && !fusions.has(&inst) && !ctx.lane_addresses.is_scalar(&inst) &&
           !ctx.indexed_addresses.is_absorbed(&inst);
  };
  for (const auto& block : ctx.function.blocks) {
    for (auto at = block->insts.rbegin(); at != block->insts.rend(); ++at) {
      const Inst& root = **at;
      if (!eligible(root)) continue;
      Tree tree{.nodes = {&root}, .leaves = {}};
      for (const Inst* value : root.operands) {
        if (std::find(tree.leaves.begin(), tree.leaves.end(), value) == tree.leaves.end()) tree.leaves.push_back(value);
      }
      const auto absorbs = [&](const Inst* leaf) {
        if (!eligible(*leaf) || leaf->type != root.type || !can_sink(ctx, fusions, *leaf, root)) return false;
        return std::all_of(leaf->users.begin(), leaf->users.end(),
                           [&](const Inst* user) { return tree.nodes.contains(user); });
      };
      while (tree.nodes.size() < kMaxNodes && tree.grow(absorbs)) {
      }
      // One operation has an instruction of its own, unless it is a choice.
      if (tree.nodes.size() == 1 && root.op != Op::bfi) continue;
      Ternary plan;
      // A value that nothing else uses comes first, as its register is written, and a constant last, where it can be in
      // memory.
      std::stable_sort(tree.leaves.begin(), tree.leaves.end(), [](const Inst* one, const Inst* other) {
        const auto rank = [](const Inst* leaf) { return leaf->is_const() ? 2 : leaf->users.size() == 1 ? 0 : 1; };
        return rank(one) < rank(other);
      });
      if (tree.leaves.empty() || tree.leaves[0]->is_const()) continue;
      plan.table = tree.table(&root);
      plan.operands.fill(tree.leaves[0]);
      for (size_t i = 0; i < tree.leaves.size(); ++i) plan.operands[tree.place(i)] = tree.leaves[i];
      for (const Inst* node : tree.nodes) {
        if (node != &root) fusions.fused[node->id] = true;
      }
      logic.trees.emplace(root.id, plan);
    }
  }
  return logic;
}

}  // namespace wavejit::backend
