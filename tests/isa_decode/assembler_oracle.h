// LLVM's assembler as the oracle for processors that its disassembler does not know (GFX6 and GFX7).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/isa/target.h"

namespace wavejit::isa::test {

struct Assembled {
  std::vector<uint8_t> code;  // empty where LLVM rejects the line, or the line names a symbol
  std::string error;          // why
  std::string text;           // the instruction as LLVM prints it; empty where LLVM says that an operand is invalid
  unsigned machine_opcode = 0;
};

struct KnownInstruction {
  std::vector<uint8_t> code;
  std::string text;
};

// One processor. Not thread-safe.
class AssemblerOracle {
 public:
  explicit AssemblerOracle(Target target);
  ~AssemblerOracle();
  AssemblerOracle(const AssemblerOracle&) = delete;
  AssemblerOracle& operator=(const AssemblerOracle&) = delete;

  // The encoding of each line.
  [[nodiscard]] std::vector<Assembled> assemble(std::span<const std::string> lines);

  // Machine instructions (MCInstrInfo's numbers and names) with an encoding of this generation.
  [[nodiscard]] const std::map<unsigned, std::string>& machine_opcodes() const;

  // Every machine instruction that LLVM's tables have for the processor, `each` times with random registers and
  // constants, as LLVM encodes and prints it.
  [[nodiscard]] std::vector<KnownInstruction> instructions(uint64_t seed, unsigned each);

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

// The mnemonics that LLVM's assembler knows, of all generations: the table in which it looks them up, without the
// suffixes _e32, _e64, _dpp and _sdwa, which it takes off before.
[[nodiscard]] std::vector<std::string> assembler_mnemonics();

}  // namespace wavejit::isa::test
