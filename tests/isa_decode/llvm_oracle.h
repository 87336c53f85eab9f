// LLVM's AMDGPU disassembler as the oracle for decoding and syntax: the LLVM of hipcc (15 or 17), and LLVM 19 for
// GFX940, of which these know too little.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wavejit::isa::test {

struct OracleResult {
  std::string text;
  unsigned size = 0;
};

// One processor. Not thread-safe.
class LlvmOracle {
 public:
  explicit LlvmOracle(std::string_view cpu);
  ~LlvmOracle();
  LlvmOracle(const LlvmOracle&) = delete;
  LlvmOracle& operator=(const LlvmOracle&) = delete;

  // nullopt: LLVM rejects the encoding, or accepts it and then prints that it is invalid ("/*invalid immediate*/").
  [[nodiscard]] std::optional<OracleResult> disassemble(std::span<const uint8_t> code);

 private:
  struct Library;  // the C API of one LLVM
  const Library* library_;
  void* context_;
};

}  // namespace wavejit::isa::test
