// The parts of the register allocator return asmjit's error codes.
#pragma once

#include <asmjit/core.h>

namespace wavejit::backend {

// An internal error of the allocator, or code that it does not support.
constexpr asmjit::Error kBroken = asmjit::kErrorInvalidState;

}  // namespace wavejit::backend

#define WAVEJIT_TRY(expression)                                   \
  do {                                                            \
    if (const asmjit::Error error_ = (expression)) return error_; \
  } while (false)
