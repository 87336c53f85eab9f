// Collects new instructions by their place in a block and inserts them all at the end. For passes that replace phis.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "ir/function.h"

namespace wavejit::ir::passes {

[[nodiscard]] inline Inst* first_behind_phis(const Block& block) {
  return *std::ranges::find_if(block.insts, [](const Inst* inst) { return inst->op != Op::phi; });
}

class PhiEditor {
 public:
  explicit PhiEditor(Function& function) : function_(function) {}

  Inst* new_phi(Block* block, Type type) {
    Inst* phi = function_.create(Op::phi, type);
    phi->parent = block;
    phi->guest_pc = block->guest_pc;
    phis_[block].push_back(phi);
    return phi;
  }
  Inst* behind_phis(Block* block, Op op, Type type, std::vector<Inst*> operands) {
    Inst* inst = function_.create(op, type, std::move(operands));
    inst->parent = block;
    behind_phis_[block].push_back(inst);
    return inst;
  }
  Inst* at_end(Block* block, Op op, Type type, std::vector<Inst*> operands, uint64_t imm = 0) {
    Inst* inst = function_.create(op, type, std::move(operands));
    inst->parent = block;
    inst->imm = imm;
    at_end_[block].push_back(inst);
    return inst;
  }
  void add_operand(Inst* phi, Inst* value) {
    phi->operands.push_back(value);
    value->users.push_back(phi);
  }
  void flush() {
    for (const auto& block : function_.blocks) {
      const auto take = [&](auto& table) -> std::vector<Inst*> {
        const auto it = table.find(block.get());
        return it == table.end() ? std::vector<Inst*>() : it->second;
      };
      const std::vector<Inst*> phis = take(phis_);
      const std::vector<Inst*> behind = take(behind_phis_);
      const std::vector<Inst*> end = take(at_end_);
      std::vector<Inst*>& insts = block->insts;
      if (!end.empty()) insts.insert(insts.end() - 1, end.begin(), end.end());
      if (!behind.empty()) {
        const auto place =
            std::find_if(insts.begin(), insts.end(), [](const Inst* inst) { return inst->op != Op::phi; });
        insts.insert(place, behind.begin(), behind.end());
      }
      if (!phis.empty()) insts.insert(insts.begin(), phis.begin(), phis.end());
    }
  }

 private:
  Function& function_;
  std::unordered_map<Block*, std::vector<Inst*>> phis_, behind_phis_, at_end_;
};

}  // namespace wavejit::ir::passes
