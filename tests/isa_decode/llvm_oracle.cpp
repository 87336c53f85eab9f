#include "llvm_oracle.h"

#include <dlfcn.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace wavejit::isa::test {

struct LlvmOracle::Library {
  decltype(&LLVMCreateDisasmCPU) create;
  decltype(&LLVMDisasmInstruction) disassemble;
  decltype(&LLVMDisasmDispose) dispose;

  static const Library& linked() {
    static const Library library = [] {
      LLVMInitializeAMDGPUTargetInfo();
      LLVMInitializeAMDGPUTargetMC();
      LLVMInitializeAMDGPUDisassembler();
      return Library{LLVMCreateDisasmCPU, LLVMDisasmInstruction, LLVMDisasmDispose};
    }();
    return library;
  }

  // The C API of the disassembler is the same in LLVM 19; its symbols have versions, so both can be in one process.
  static const Library& llvm19() {
    static const Library library = [] {
      void* handle = dlopen(WAVEJIT_LLVM19_LIBRARY, RTLD_NOW | RTLD_LOCAL);
      if (handle == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::abort();
      }
      const auto symbol = [&](const char* name) { return dlsym(handle, name); };
      for (const char* name :
           {"LLVMInitializeAMDGPUTargetInfo", "LLVMInitializeAMDGPUTargetMC", "LLVMInitializeAMDGPUDisassembler"})
        reinterpret_cast<void (*)()>(symbol(name))();
      return Library{reinterpret_cast<decltype(create)>(symbol("LLVMCreateDisasmCPU")),
                     reinterpret_cast<decltype(Library::disassemble)>(symbol("LLVMDisasmInstruction")),
                     reinterpret_cast<decltype(dispose)>(symbol("LLVMDisasmDispose"))};
    }();
    return library;
  }
};

LlvmOracle::LlvmOracle(std::string_view cpu)
    : library_(cpu.starts_with("gfx94") ? &Library::llvm19() : &Library::linked()) {
  context_ = library_->create("amdgcn-amd-amdhsa", std::string(cpu).c_str(), nullptr, 0, nullptr, nullptr);
  if (context_ == nullptr) {
    std::fprintf(stderr, "LLVM has no disassembler for %.*s\n", static_cast<int>(cpu.size()), cpu.data());
    std::abort();
  }
}

LlvmOracle::~LlvmOracle() {
  library_->dispose(context_);
}

std::optional<OracleResult> LlvmOracle::disassemble(std::span<const uint8_t> code) {
  std::array<char, 512> buffer;
  const size_t size =
      library_->disassemble(context_, const_cast<uint8_t*>(code.data()), code.size(), 0, buffer.data(), buffer.size());
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
