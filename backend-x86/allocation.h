// Register allocation for the code that the emitters produce, instead of asmjit's.
//
// The method is that of asmjit's pass: every virtual register gets a home among the host's if its life does not meet
// that of another one there, those used most for the length of their lives first; then instruction by instruction
// whatever is not where it is needed is moved, loaded or spilled, and where control flow meets, the first way there
// decides. Uses count for more in loops and for less in cold code, and what is spilled is what is wanted last. The time
// it takes grows with the code only, not with the product of blocks and registers.
#pragma once

#include <asmjit/x86.h>

namespace wavejit::backend {

// Allocates, and inserts prologue and epilogue. asmjit's pass must not run behind it.
[[nodiscard]] asmjit::Error allocate_registers(asmjit::x86::Compiler& compiler, asmjit::FuncNode& function);

}  // namespace wavejit::backend
