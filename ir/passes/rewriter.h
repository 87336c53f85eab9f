// Walks a function once and lets a visitor replace each instruction; keeps blocks and users in order at linear cost.
#pragma once

#include <initializer_list>
#include <vector>

#include "internal/key_table.h"
#include "internal/stop_scope.h"
#include "ir/function.h"
#include "ir/pass.h"
#include "ir/rules.h"

namespace wavejit::ir::passes {

// What an instruction is replaced by, and the rule that says so. Without a value the instruction stays.
class Replacement {
 public:
  Replacement(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): rules return nullptr where they do not apply
  Replacement(Rule rule, Inst* value) : value_(value), rule_(rule) {}

  explicit operator bool() const { return value_ != nullptr; }
  [[nodiscard]] Inst* value() const { return value_; }
  [[nodiscard]] Rule rule() const { return rule_; }

 private:
  Inst* value_ = nullptr;
  Rule rule_{};
};

class Rewriter {
 public:
  explicit Rewriter(Function& function) : function_(function) {}

  // Calls visit(inst) -> Replacement for every instruction, in reverse post-order. A replacement takes all uses of the
  // instruction. The visitor may create instructions (they come before the visited one, after the phis when it is a
  // phi), and may change operands and attributes in place if it calls note_change(). Returns whether another
  // walk may find more, or clean() may: also after what was created in vain.
  template <typename Visitor>
  bool run(Visitor&& visit);

  // Walks the function, and cleans it, until nothing changes, `rounds` times at most.
  template <typename Visitor>
  PassResult repeat(int rounds, Visitor&& visit);

  // With the type inferred and constants and identities folded, like Builder::op.
  Inst* make(Op op, std::initializer_list<Inst*> operands, uint32_t attr = 0, uint64_t imm = 0);
  // Same, with the attributes of an instruction that does the same thing on other types.
  Inst* make_like(const Inst* model, const std::vector<Inst*>& operands);
  Inst* constant(Type type, uint64_t bits);
  void note_change(Rule rule) {
    function_.count(rule);
    changed_ = touched_ = true;
  }
  // The same, but no reason to walk the function once more.
  void note_small_change(Rule rule) {
    function_.count(rule);
    changed_ = true;
  }
  // Removes dead code. Returns whether the function differs from what it was before run(): what was created in vain and
  // is gone again is no difference.
  bool clean();
  // Whether the last run() has changed the function, dead code aside.
  [[nodiscard]] bool changed() const { return changed_; }
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
  size_t created_ = 0;
  bool changed_ = false;  // by a replacement or in place
  bool touched_ = false;
  std::vector<Inst*> after_phis_;  // created while a phi was visited
  KeyTable<Inst*> constants_[7];   // of the current block, by TypeKind and bits
};

template <typename Visitor>
bool Rewriter::run(Visitor&& visit) {
  touched_ = false;
  created_ = 0;
  std::vector<Inst*> old;
  for (Block* block : begin()) {
    old.clear();
    old.swap(block->insts);
    enter(block);
    for (Inst* inst : old) {
      StopScope::check();
      if (inst->parent == nullptr) continue;
      if (in_phis_ && inst->op != Op::phi) finish_phis();
      guest_pc_ = inst->guest_pc;
      const Replacement replacement = visit(inst);
      if (!replacement || replacement.value() == inst) {
        block->insts.push_back(inst);
        if (inst->is_const()) {
          Inst*& known = constants_[static_cast<unsigned>(inst->type.kind)].at(inst->imm);
          if (known == nullptr) known = inst;
        }
        continue;
      }
      note_change(replacement.rule());
      function_.replace_all_uses(inst, replacement.value());
      if (is_pure(inst->op)) {
        function_.unlink(inst);
      } else {
        block->insts.push_back(inst);
      }
    }
    finish_phis();
  }
  return touched_;
}

template <typename Visitor>
PassResult Rewriter::repeat(int rounds, Visitor&& visit) {
  PassResult result;
  for (int round = 0; round < rounds && !result.settled; ++round) {
    const bool again = run(visit);
    const bool different = again ? clean() : changed_;
    result.changed |= different;
    result.settled = !different;
    if (!again) break;
  }
  return result;
}

}  // namespace wavejit::ir::passes
