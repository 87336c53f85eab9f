// Tests of numbers that conditions have set, where the flags behind which they were set are still there.
//
//   setne v1               setne v1
//   movzx v2, v1           movzx v2, v1
//   test v2, v2            jne L1
//   jne L1
//
// The first two go as well if nothing else uses the number. Before register allocation.
#pragma once

#include <cstdint>

#include "backend-x86/lir/function.h"

namespace wavejit::backend::lir {

// Returns how many tests it has left out.
uint32_t reuse_flags(Function& function);

}  // namespace wavejit::backend::lir
