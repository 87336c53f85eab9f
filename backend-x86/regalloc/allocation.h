// Register allocation for the code that the emitters produce. Replaces asmjit's pass.
//
// The method is asmjit's. First each virtual register is assigned a home, a host register in which no other live range
// overlaps its own; registers with the most uses per length of their live range come first. Then instructions are
// processed in order: values that are not where an instruction needs them are moved, reloaded or spilled. At a merge
// point the first predecessor processed decides the assignment. Uses count more in loops and less in cold code. The
// value that is needed last is spilled first. The time grows with the size of the code, not with the product of blocks
// and registers.
#pragma once

#include <asmjit/x86.h>

namespace wavejit::backend {

// Allocates registers and inserts prologue and epilogue. asmjit's pass must not run afterwards.
[[nodiscard]] asmjit::Error allocate_registers(asmjit::x86::Compiler& compiler, asmjit::FuncNode& function);

}  // namespace wavejit::backend
