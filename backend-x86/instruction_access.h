// How instructions use their operands, as asmjit's tables have it, remembered by form.
#pragma once

#include <asmjit/x86.h>

#include <array>
#include <cstdint>

namespace wavejit::backend {

struct OperandAccess {
  uint16_t flags = 0, base_flags = 0, index_flags = 0;  // RegisterUse::Flags
  uint8_t fixed = 0xff;                                 // host register, if only that one will do
  uint8_t memory_size = 0;                              // of the memory operand that it could be
  uint64_t written = 0, zeroed = 0;                     // bytes of the register
};

struct InstructionAccess {
  static constexpr size_t kMaxOperands = 6;
  std::array<OperandAccess, kMaxOperands> operands;
  asmjit::InstControlFlow flow = asmjit::InstControlFlow::kRegular;
  asmjit::InstSameRegHint same_register = asmjit::InstSameRegHint::kNone;
  uint32_t vector_mask = ~0u;  // host registers that can be named
  bool is_move = false;        // a copy of a register to another of the kind
  bool transformable = false;  // can name more than 16 vector registers under another name
};

// Null if asmjit does not know the instruction, or it needs what is not provided for. Valid until the thread's next
// call.
[[nodiscard]] const InstructionAccess* instruction_access(const asmjit::InstNode& node);

}  // namespace wavejit::backend
