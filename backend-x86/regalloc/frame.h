// The last steps of register allocation: lays out the stack frame and rewrites the instructions.
#pragma once

#include <bit>
#include <utility>

#include "backend-x86/regalloc/lives.h"

namespace wavejit::backend {

// Calls visit(number) for each bit that is set.
template <typename Visit>
void for_each_bit(uint32_t mask, Visit&& visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<uint32_t>(std::countr_zero(mask)));
}

class StackFrame {
 public:
  StackFrame(x86::Compiler& compiler, asmjit::FuncNode& function, Lives& lives);

  // The spill slot of a register, as an operand of `size` bytes. Callers note() the instructions that use it.
  [[nodiscard]] x86::Mem slot(uint32_t reg, uint32_t size);
  void note(asmjit::InstNode* node) { nodes_.push_back(node); }

  // Lays out the frame, inserts prologue and epilogue, and resolves the addresses of all slot operands.
  asmjit::Error finish(const std::array<uint32_t, kGroups>& changed, asmjit::FuncArgsAssignment& arguments);

 private:
  struct Slot {
    uint32_t reg;
    int32_t offset = 0;
  };
  void need(uint32_t reg);
  // Returns the size of all slots and their alignment.
  [[nodiscard]] std::pair<uint32_t, uint32_t> place_slots();
  asmjit::Error resolve(asmjit::InstNode& node);

  x86::Compiler& cc_;
  asmjit::FuncNode& function_;
  Lives& lives_;
  std::vector<uint32_t> slot_of_;  // by register: index in slots_
  std::vector<Slot> slots_;
  std::vector<asmjit::InstNode*> nodes_;  // instructions that got slot operands here
};

// Replaces virtual registers with their assigned host registers and deletes moves that became no-ops.
asmjit::Error rewrite_instructions(x86::Compiler& compiler, asmjit::FuncNode& function, Lives& lives);

}  // namespace wavejit::backend
