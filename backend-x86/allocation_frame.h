// What the register allocator does when everything has its place: the stack frame, and the instructions as they will
// be.
#pragma once

#include <bit>
#include <utility>

#include "backend-x86/allocation_lives.h"

namespace wavejit::backend {

// Calls visit(number) for each bit that is set.
template <typename Visit>
void for_each_bit(uint32_t mask, Visit&& visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<uint32_t>(std::countr_zero(mask)));
}

class StackFrame {
 public:
  StackFrame(x86::Compiler& compiler, asmjit::FuncNode& function, Lives& lives);

  // The stack slot of a register, as an operand of `size` bytes. Instructions that have it are to be noted.
  [[nodiscard]] x86::Mem slot(uint32_t reg, uint32_t size);
  void note(asmjit::InstNode* node) { nodes_.push_back(node); }

  // Lays the frame out, inserts prologue and epilogue and gives all operands their addresses.
  asmjit::Error finish(const std::array<uint32_t, kGroups>& changed, asmjit::FuncArgsAssignment& arguments);

 private:
  struct Slot {
    uint32_t reg;
    int32_t offset = 0;
  };
  void need(uint32_t reg);
  // Returns the size of all slots, and the alignment that they want.
  [[nodiscard]] std::pair<uint32_t, uint32_t> place_slots();
  asmjit::Error resolve(asmjit::InstNode& node);

  x86::Compiler& cc_;
  asmjit::FuncNode& function_;
  Lives& lives_;
  std::vector<uint32_t> slot_of_;  // by register: index in slots_
  std::vector<Slot> slots_;
  std::vector<asmjit::InstNode*> nodes_;  // with slots as operands, besides those that had them before
};

// Puts host registers in the places of virtual ones, and removes what does nothing then.
asmjit::Error rewrite_instructions(x86::Compiler& compiler, asmjit::FuncNode& function, Lives& lives);

}  // namespace wavejit::backend
