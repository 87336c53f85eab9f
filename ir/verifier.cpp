#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dominators.h"
#include "ir/signature.h"
#include "ir/text.h"

namespace wavejit::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Function& function) : function_(function) {}

  std::string run() {
    if (collect() && check_edges() && check_blocks() && check_rows() && check_uses() && check_dominance()) return "";
    return message_;
  }

 private:
  bool fail(std::string why) {
    message_ = std::move(why);
    return false;
  }
  bool fail(const Inst* inst, std::string_view why) { return fail(fmt::format("{}: {}", print(*inst), why)); }
  bool fail(const Block* block, std::string_view why) { return fail(fmt::format("block b{}: {}", block->id, why)); }

  // Ids are unique and in range, so that later checks may index by them.
  bool collect() {
    std::vector<bool> block_ids(function_.num_block_ids(), false);
    for (const auto& block : function_.blocks) {
      if (block->id >= block_ids.size() || block_ids[block->id]) return fail(block.get(), "block id is not unique");
      block_ids[block->id] = true;
      blocks_.insert(block.get());
    }
    position_.assign(function_.num_values(), -1);
    for (const auto& block : function_.blocks) {
      int position = 0;
      for (const Inst* inst : block->insts) {
        if (inst->id >= position_.size() || position_[inst->id] >= 0) return fail(inst, "instruction id is not unique");
        if (inst->parent != block.get()) return fail(inst, "parent is another block");
        position_[inst->id] = position++;
      }
    }
    if (function_.entries.empty()) return fail("the function has no entry");
    for (const Entry& entry : function_.entries) {
      if (!blocks_.contains(entry.block)) return fail("an entry's block is not in the function");
      if (!entry.block->predecessors.empty()) return fail(entry.block, "an entry block has predecessors");
    }
    return true;
  }

  // Each row is accessed by get_vgpr and set_vgpr, or by read_row and write_row. Their numbers are in range (check_blocks).
  bool check_rows() {
    std::bitset<kNumVgprs + kNumAgprs> plain, resident;
    for (const auto& block : function_.blocks) {
      for (const Inst* inst : block->insts) {
        const bool is_resident = inst->op == Op::read_row || inst->op == Op::write_row;
        if (!is_resident && inst->op != Op::get_vgpr && inst->op != Op::set_vgpr) continue;
        (is_resident ? resident : plain).set(inst->imm);
        if (plain[inst->imm] && resident[inst->imm])
          return fail(inst, "other accesses to the row are of the other kind");
      }
    }
    return true;
  }

  bool check_edges() {
    std::unordered_map<const Block*, std::vector<const Block*>> arriving;
    for (const auto& block : function_.blocks) {
      for (const Block* successor : block->successors) {
        if (!blocks_.contains(successor)) return fail(block.get(), "successor is not in the function");
        arriving[successor].push_back(block.get());
      }
    }
    for (const auto& block : function_.blocks) {
      std::vector<const Block*> stated(block->predecessors.begin(), block->predecessors.end());
      std::vector<const Block*>& actual = arriving[block.get()];
      std::sort(stated.begin(), stated.end());
      std::sort(actual.begin(), actual.end());
      if (stated != actual) return fail(block.get(), "predecessors do not match the edges that arrive");
    }
    return true;
  }

  bool check_blocks() {
    for (const auto& block : function_.blocks) {
      if (block->insts.empty()) return fail(block.get(), "empty block");
      bool phis = true;
      for (const Inst* inst : block->insts) {
        if (static_cast<unsigned>(inst->op) >= kNumOps) return fail(block.get(), "unknown operation");
        const bool last = inst == block->insts.back();
        if (is_terminator(inst->op) != last)
          return fail(inst, last ? "block does not end in a terminator" : "terminator inside a block");
        if (inst->op == Op::phi) {
          if (!phis) return fail(inst, "phi after another instruction");
          if (inst->operands.size() != block->predecessors.size())
            return fail(inst, "phi operands do not match the predecessors");
        } else {
          phis = false;
        }
        for (const Inst* operand : inst->operands) {
          if (operand == nullptr) return fail(block.get(), "null operand");
          if (operand->parent == nullptr || !blocks_.contains(operand->parent)) {
            return fail(inst, fmt::format("operand %{} is not in the function", operand->id));
          }
        }
        if (const std::string why = check_signature(*inst); !why.empty()) return fail(inst, why);
      }
      const Op op = block->terminator()->op;
      const size_t wanted = op == Op::br ? 1 : op == Op::cond_br ? 2 : 0;
      if (block->successors.size() != wanted) return fail(block->terminator(), "number of successors");
    }
    return true;
  }

  bool check_uses() {
    std::vector<uint32_t> uses(function_.num_values(), 0);
    size_t stated = 0;
    size_t actual = 0;
    for (const auto& block : function_.blocks) {
      for (const Inst* inst : block->insts) {
        for (const Inst* operand : inst->operands) ++uses[operand->id];
        actual += inst->operands.size();
        stated += inst->users.size();
      }
    }
    for (const auto& block : function_.blocks) {
      for (const Inst* inst : block->insts) {
        if (inst->users.size() != uses[inst->id]) {
          return fail(inst, fmt::format("{} users listed, {} uses", inst->users.size(), uses[inst->id]));
        }
        for (const Inst* user : inst->users) {
          if (std::find(user->operands.begin(), user->operands.end(), inst) == user->operands.end()) {
            return fail(inst, fmt::format("%{} is listed as user but does not use it", user->id));
          }
        }
      }
    }
    return stated == actual || fail("lists of users do not add up");
  }

  bool check_dominance() {
    const Dominators dominators(function_);
    for (const auto& block : function_.blocks) {
      if (!dominators.reachable(block.get())) continue;
      for (const Inst* inst : block->insts) {
        for (size_t i = 0; i < inst->operands.size(); ++i) {
          const Inst* operand = inst->operands[i];
          const bool phi = inst->op == Op::phi;
          const Block* use = phi ? block->predecessors[i] : block.get();
          if (phi && !dominators.reachable(use)) continue;
          const bool available = operand->parent == use ? phi || position_[operand->id] < position_[inst->id]
                                                        : dominators.dominates(operand->parent, use);
          if (!available) return fail(inst, fmt::format("operand %{} does not dominate the use", operand->id));
        }
      }
    }
    return true;
  }

  const Function& function_;
  std::unordered_set<const Block*> blocks_;
  std::vector<int> position_;  // in its block, by instruction id
  std::string message_;
};

}  // namespace

std::string verify(const Function& function) {
  return Verifier(function).run();
}

}  // namespace wavejit::ir
