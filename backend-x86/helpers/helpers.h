// Out-of-line vector operations that are too rare or too long to emit inline. They work on rows in memory, of a whole
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
// The MXCSR of helpers that do not depend on the guest's MODE: round to nearest, keep denormals.
constexpr uint32_t kHelperEnv = rounding::kNeutralMxcsr;
// Returns the mask result, if the operation has one. The caller has set MXCSR for the operation.
using HelperFn = uint64_t (*)(const HelperArgs* args);

// Null when the operation has no helper.
[[nodiscard]] HelperFn find_helper(const ir::Inst& inst);

// All functions that translated code may call: helpers, the clock, interrupts. The order is the same in every process
// that runs this build, so a position identifies a function.
[[nodiscard]] std::span<const uintptr_t> callable_functions();

}  // namespace wavejit::backend
