// Errors of the register allocator's parts are asmjit's, passed on.
#pragma once

#include <asmjit/core.h>

namespace wavejit::backend {

// What must not be: a mistake of the allocator, or code that it does not know.
constexpr asmjit::Error kBroken = asmjit::kErrorInvalidState;

}  // namespace wavejit::backend

#define WAVEJIT_TRY(expression)                                   \
  do {                                                            \
    if (const asmjit::Error error_ = (expression)) return error_; \
  } while (false)
