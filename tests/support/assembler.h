// Assembles GCN source with LLVM, for tests.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "frontend/isa/target.h"
#include "internal/error.h"

namespace wavejit::test {

// The bytes of .text. The error has the assembler's messages. Runs the clang that hipcc has (WAVEJIT_TEST_CLANG),
// and clang-19 for GFX940. The source is in the syntax of LLVM 15 (assembler_syntax.h).
[[nodiscard]] Expected<std::vector<uint8_t>> assemble(isa::Target target, std::string_view source);
[[nodiscard]] Expected<std::vector<uint8_t>> assemble_by_llvm19(isa::Target target, std::string_view source);

}  // namespace wavejit::test
