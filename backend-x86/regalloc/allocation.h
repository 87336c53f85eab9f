// Register allocation.
//
// First each virtual register is assigned a home, a host register in which no other live range
// overlaps its own; registers with the most uses per length of their live range come first. Then instructions are
// processed in order: values that are not where an instruction needs them are moved, reloaded or spilled. At a merge
// point the first predecessor processed decides the assignment. Uses count more in loops and less in cold code. The
// value that is needed last is spilled first. The time grows with the size of the code, not with the product of blocks
// and registers.
#pragma once

#include "backend-x86/lir/function.h"

namespace wavejit::backend {

// Replaces virtual registers by host registers and variables by places on the stack, and inserts prologue and epilogue. An
// error if the function has something that the allocator does not know; the function is of no use then.
[[nodiscard]] asmjit::Error allocate_registers(lir::Function& function);

}  // namespace wavejit::backend
