// Machine code -> Instruction, from the instruction tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "frontend/isa/instruction.h"
#include "frontend/isa/target.h"

namespace wavejit::isa {

enum class DecodeStatus : uint8_t {
  ok,
  truncated,  // the encoding needs more bytes than are left
  illegal,    // no instruction of this target has this encoding
};

// Decodes the instruction at the start of `code` (little-endian, at least 4 bytes wanted) for `target`; `pc` is stored
// in the result and used for branch targets. Thread-safe, allocates nothing. On failure `out.words` and `out.size`
// still tell what was looked at, and `out.opcode` is kCount unless the opcode number itself is known.
[[nodiscard]] DecodeStatus decode(Target target, std::span<const uint8_t> code, uint64_t pc, Instruction& out);

// LLVM assembly syntax ("v_add_f32_e32 v0, v1, v2"), without leading tab.
[[nodiscard]] std::string disassemble(const Instruction& instruction);

// "v_foo_b32 (0xd1234567 0x89abcdef)" for error messages: mnemonic and encoding.
[[nodiscard]] std::string describe(const Instruction& instruction);

}  // namespace wavejit::isa
