// The last steps of register allocation: lays out the stack frame and rewrites the instructions.
#pragma once

#include <bit>
#include <utility>

#include "backend-x86/lir/builder.h"
#include "backend-x86/regalloc/lives.h"

namespace wavejit::backend {

// Calls visit(number) for each bit that is set.
template <typename Visit>
void for_each_bit(uint32_t mask, Visit&& visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<uint32_t>(std::countr_zero(mask)));
}

// An argument: the host register that it arrives in, the one that it is wanted in, and its virtual register.
struct Argument {
  uint32_t from, to, reg;
};

class StackFrame {
 public:
  StackFrame(lir::Builder& builder, Lives& lives);

  // The spill slot of a register, as an operand of `size` bytes. Callers note() the instructions that use it.
  [[nodiscard]] x86::Mem slot(uint32_t reg, uint32_t size);
  void note(lir::Node* node) { nodes_.push_back(node); }

  // Lays out the frame, inserts prologue and epilogue, and resolves the addresses of all slot operands.
  // changed_general: the general host registers that the function writes.
  asmjit::Error finish(uint32_t changed_general, std::vector<Argument> arguments);

 private:
  struct Slot {
    uint32_t reg;
    int32_t offset = 0;
  };
  void need(uint32_t reg);
  // Returns the size of all slots and their alignment.
  [[nodiscard]] std::pair<uint32_t, uint32_t> place_slots();
  void move_arguments(std::vector<Argument> arguments);
  asmjit::Error resolve(lir::Node& node);

  lir::Builder& builder_;
  lir::Function& function_;
  Lives& lives_;
  std::vector<uint32_t> slot_of_;  // by register: index in slots_
  std::vector<Slot> slots_;
  std::vector<lir::Node*> nodes_;  // instructions that got slot operands here
};

// Replaces an instruction's virtual registers with their assigned host registers and deletes a move that became a no-op.
[[nodiscard]] asmjit::Error rewrite(lir::Function& function, const Lives& lives, const Instruction& inst);
// Replaces the function's result, whose value is in its host register, by a jump to the exit, which it returns. Null if the
// exit follows: then no jump is needed.
lir::Node* rewrite_result(lir::Builder& builder, lir::Node& result);

}  // namespace wavejit::backend
