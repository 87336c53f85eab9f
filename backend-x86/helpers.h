// Out-of-line vector operations: what is too rare or too long to emit inline. They work on rows in memory, of a whole
// wave or of a chunk.
#pragma once

#include <cstdint>
#include <span>

#include "internal/semantics/rounding.h"
#include "ir/function.h"

namespace wavejit::backend {

// Rows in lane order: 32 bits per lane, or 64 for v64 operands and results.
struct HelperArgs {
  const void* in[3];
  void* out;
  uint64_t mask;  // mask operand
  uint32_t attr;
  uint32_t lanes;
};
// The MXCSR of helpers that have no environment of the guest's: to nearest, denormals kept.
constexpr uint32_t kHelperEnv = rounding::kNeutralMxcsr;
// Returns the mask result, if the operation has one. MXCSR is as the operation wants it.
using HelperFn = uint64_t (*)(const HelperArgs* args);

// Null when the operation has no helper.
[[nodiscard]] HelperFn find_helper(const ir::Inst& inst);

// The functions that translated code may call: all helpers, the clock, interrupts. In the same order in every process
// that runs this build, so that their positions can stand for their addresses.
[[nodiscard]] std::span<const uintptr_t> callable_functions();

}  // namespace wavejit::backend
