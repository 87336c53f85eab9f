// LLVM's assembler as the oracle for processors that its disassembler does not know (GFX6 and GFX7).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/isa/target.h"

namespace wavejit::isa::test {

struct Assembled {
  std::vector<uint8_t> code;  // empty where LLVM rejects the line
  std::string error;          // why
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

  // Every machine instruction that LLVM's tables have for the processor, `each` times with random registers and
  // constants, as LLVM encodes and prints it.
  [[nodiscard]] std::vector<KnownInstruction> instructions(uint64_t seed, unsigned each);

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace wavejit::isa::test
