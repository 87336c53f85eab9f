// Runs LIR text: parse, verify, passes under test, register allocation, encode, call.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

#include "backend-x86/encode/code_memory.h"
#include "backend-x86/encode/encode.h"
#include "backend-x86/lir/text.h"
#include "backend-x86/lir/verify.h"
#include "backend-x86/regalloc/allocation.h"
#include "backend-x86/regalloc/checker.h"
#include "tests/backend/aligned_call.h"

namespace wavejit::backend {

// A pass, or several. The function is verified before and after it.
using LirPass = std::function<void(lir::Function&)>;

constexpr uint32_t kLirStackAlignment = 64;  // of call_aligned()

// The code of a function with a pointer and a number as arguments at most. `behind_allocation` is run on the function when its
// registers are those of the host. Memory behind labels is that of jump tables alone.
[[nodiscard]] inline Expected<CodeBlock> place_lir(std::string_view text, const LirPass& pass = {},
                                                   const LirPass& behind_allocation = {}) {
  struct Errors : asmjit::ErrorHandler {
    void handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) override {
      if (first.empty()) first = message;
    }
    std::string first;
  };
  const auto failed = [](std::string_view stage, std::string_view why) {
    return make_error(ErrorCode::kInternal, fmt::format("{}: {}", stage, why));
  };
  lir::Function function;
  if (auto parsed = lir::parse(text, function); !parsed) return tl::make_unexpected(parsed.error());
  if (function.stack_alignment > kLirStackAlignment) return failed("stack", "more alignment than there is");
  if (const auto wrong = lir::verify(function)) return failed("verify", *wrong);
  if (pass) {
    pass(function);
    if (const auto wrong = lir::verify(function)) return failed("verify behind the pass", *wrong);
  }
  AllocationChecker checker(function);
  if (const asmjit::Error error = allocate_registers(function))
    return failed("allocate", asmjit::DebugUtils::errorAsString(error));
  if (const auto wrong = checker.check()) return failed("allocation", *wrong);
  if (behind_allocation) behind_allocation(function);
  asmjit::CodeHolder code;
  if (const asmjit::Error error = code.init(asmjit::Environment(asmjit::Arch::kX64)))
    return failed("init", asmjit::DebugUtils::errorAsString(error));
  Errors errors;
  code.setErrorHandler(&errors);
  x86::Assembler assembler(&code);
  static_cast<void>(encode(function, assembler));
  if (!errors.first.empty()) return failed("encode", errors.first + '\n' + lir::print(function));
  return CodeBlock::create(code);
}

// The function's result; a failure of the test, and 0, if it does not get that far.
inline uint64_t run_lir(std::string_view text, void* data, uint64_t number, const LirPass& pass = {}) {
  const auto block = place_lir(text, pass);
  if (!block) {
    ADD_FAILURE() << block.error().message;
    return 0;
  }
  return call_aligned(block->begin(), reinterpret_cast<uintptr_t>(data), number);
}

}  // namespace wavejit::backend
