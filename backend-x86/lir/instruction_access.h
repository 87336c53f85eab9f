// How host instructions access their operands, from asmjit's tables, cached by instruction form.
#pragma once

#include <array>
#include <cstdint>

#include "backend-x86/lir/function.h"

namespace wavejit::backend::lir {

struct OperandAccess {
  enum Flags : uint16_t {
    read = 1,
    write = 2,
    use = 4,          // has a value before (read, or read and written)
    out = 8,          // is given a value whatever it held
    use_memory = 16,  // could be a memory operand
  };
  uint16_t flags = 0, base_flags = 0, index_flags = 0;
  uint8_t fixed = 0xff;                              // host register, if only that one will do
  uint8_t memory_size = 0;                           // of the memory operand that it could be
  uint64_t read_bytes = 0, written = 0, zeroed = 0;  // bytes of the register
};

struct InstructionAccess {
  static constexpr size_t kMaxOperands = Node::kMaxOperands;
  std::array<OperandAccess, kMaxOperands> operands;
  asmjit::InstControlFlow flow = asmjit::InstControlFlow::kRegular;
  asmjit::InstSameRegHint same_register = asmjit::InstSameRegHint::kNone;
  uint32_t vector_mask = ~0u;  // vector registers that the encoding can name
  bool writes_memory = false;  // has an operand in memory that it writes
  bool is_move = false;        // copies a register to another one of the same kind
  bool transformable = false;  // another instruction does the same and can name more than 16 vector registers
};

// Null if asmjit does not know the instruction or the allocator does not support it. Valid until the thread's next
// call.
[[nodiscard]] const InstructionAccess* instruction_access(const Node& node);

// Moves that copy a whole register or memory operand unchanged.
[[nodiscard]] bool is_plain_move(asmjit::InstId id);

// Instructions whose form with memory does something else than the form with a register, or is none: bits are counted on
// past the operand, the element is another, or it is the result that may be in memory.
[[nodiscard]] bool differs_in_memory(const Node& node);

}  // namespace wavejit::backend::lir
