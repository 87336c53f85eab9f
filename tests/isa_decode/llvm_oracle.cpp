#include "llvm_oracle.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace wavejit::isa::test {

LlvmOracle::LlvmOracle(std::string_view cpu) {
  static const bool initialized = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    return true;
  }();
  (void)initialized;
  context_ = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", std::string(cpu).c_str(), nullptr, 0, nullptr, nullptr);
  if (context_ == nullptr) {
    std::fprintf(stderr, "LLVM has no disassembler for %.*s\n", static_cast<int>(cpu.size()), cpu.data());
    std::abort();
  }
}

LlvmOracle::~LlvmOracle() {
  LLVMDisasmDispose(context_);
}

std::optional<OracleResult> LlvmOracle::disassemble(std::span<const uint8_t> code) {
  std::array<char, 512> buffer;
  const size_t size =
      LLVMDisasmInstruction(context_, const_cast<uint8_t*>(code.data()), code.size(), 0, buffer.data(), buffer.size());
  if (size == 0) return std::nullopt;
  std::string text = buffer.data();
  // Warnings about unaligned registers follow as a comment.
  if (const size_t comment = text.find(';'); comment != std::string::npos) text.resize(comment);
  const size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  if (first == std::string::npos) return std::nullopt;
  text = text.substr(first, last - first + 1);
  if (text.find("/*") != std::string::npos || text.find("invalid_") != std::string::npos) return std::nullopt;
  return OracleResult{std::move(text), static_cast<unsigned>(size)};
}

}  // namespace wavejit::isa::test
