// Walks a function once and lets a visitor replace each instruction; keeps blocks and users in order at linear cost.
#pragma once

#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "ir/function.h"

namespace wavejit::ir::passes {

class Rewriter {
 public:
  explicit Rewriter(Function& function) : function_(function) {}

  // Calls visit(inst) -> Inst* for every instruction, in reverse post-order. A result other than null replaces all uses
  // of the instruction. The visitor may create instructions (they come before the visited one, after the phis when it
  // is a phi), and may change operands and attributes in place if it calls note_change(). Returns whether anything
  // changed.
  template <typename Visitor>
  bool run(Visitor&& visit);

  // With the type inferred and constants and identities folded, like Builder::op.
  Inst* make(Op op, std::initializer_list<Inst*> operands, uint32_t attr = 0, uint64_t imm = 0);
  // Same, with the attributes of an instruction that does the same thing on other types.
  Inst* make_like(const Inst* model, const std::vector<Inst*>& operands);
  Inst* constant(Type type, uint64_t bits);
  // A phi of the current block without operands yet; only while visiting phis or from outside run().
  void note_change() { changed_ = true; }
  [[nodiscard]] Function& function() const { return function_; }

 private:
  Inst* place(Inst* inst);
  void finish_phis();
  std::vector<Block*> begin();
  void enter(Block* block);

  Function& function_;
  Block* block_ = nullptr;
  uint64_t guest_pc_ = 0;
  bool in_phis_ = false;
  bool changed_ = false;
  std::vector<Inst*> after_phis_;                     // created while a phi was visited
  std::unordered_map<uint64_t, Inst*> constants_[7];  // of the current block, by TypeKind
};

template <typename Visitor>
bool Rewriter::run(Visitor&& visit) {
  changed_ = false;
  std::vector<Inst*> old;
  for (Block* block : begin()) {
    old.clear();
    old.swap(block->insts);
    enter(block);
    for (Inst* inst : old) {
      if (inst->parent == nullptr) continue;
      if (in_phis_ && inst->op != Op::phi) finish_phis();
      guest_pc_ = inst->guest_pc;
      Inst* replacement = visit(inst);
      if (replacement == nullptr || replacement == inst) {
        block->insts.push_back(inst);
        if (inst->is_const()) constants_[static_cast<unsigned>(inst->type.kind)].emplace(inst->imm, inst);
        continue;
      }
      changed_ = true;
      function_.replace_all_uses(inst, replacement);
      if (is_pure(inst->op)) {
        function_.unlink(inst);
      } else {
        block->insts.push_back(inst);
      }
    }
    finish_phis();
  }
  return changed_;
}

}  // namespace wavejit::ir::passes
