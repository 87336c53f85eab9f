// How host instructions access their operands, from asmjit's tables, cached by instruction form.
#pragma once

#include <asmjit/x86.h>

#include <array>
#include <cstdint>

namespace wavejit::backend {

struct OperandAccess {
  uint16_t flags = 0, base_flags = 0, index_flags = 0;  // RegisterUse::Flags
  uint8_t fixed = 0xff;                                 // host register, if only that one will do
  uint8_t memory_size = 0;                              // of the memory operand that it could be
  uint64_t read = 0, written = 0, zeroed = 0;           // bytes of the register
};

struct InstructionAccess {
  static constexpr size_t kMaxOperands = 6;
  std::array<OperandAccess, kMaxOperands> operands;
  asmjit::InstControlFlow flow = asmjit::InstControlFlow::kRegular;
  asmjit::InstSameRegHint same_register = asmjit::InstSameRegHint::kNone;
  uint32_t vector_mask = ~0u;  // vector registers that the encoding can name
  bool is_move = false;        // copies a register to another one of the same kind
  bool transformable = false;  // another instruction does the same and can name more than 16 vector registers
};

// Null if asmjit does not know the instruction or the allocator does not support it. Valid until the thread's next
// call.
[[nodiscard]] const InstructionAccess* instruction_access(const asmjit::InstNode& node);

// Instructions whose form with memory does something else than the form with a register: bits are counted on past the
// operand, or the element is another.
[[nodiscard]] bool differs_in_memory(const asmjit::InstNode& node);

}  // namespace wavejit::backend
