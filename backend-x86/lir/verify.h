// Verifier of LIR before register allocation.
#pragma once

#include <optional>
#include <string>

#include "backend-x86/lir/function.h"

namespace wavejit::backend::lir {

// The rules that hold between passes, as long as registers are virtual:
//  - Each label is bound at most once. Jumps have a label as their target, which is bound, and neither the beginning
//    nor the exit. A memory operand may name a label that is not bound: data is placed behind the code.
//  - Operands name virtual registers of the function. A view is of the register's group. It is not wider than the
//    register, except that general registers may be read wider: the bits above the register are undefined.
//  - Variables are named by memory operands only, as the base, and accesses stay inside if nothing is added to the base
//    but a constant. Their alignment is at most the stack's. No memory operand is the place of a register on the stack.
//  - asmjit knows the instructions with these operands. Masks are mask registers; these and zmm registers need AVX-512.
//  - A call's target does not depend on registers, whether the call is a node of its kind or an instruction, which
//    calls code that keeps all registers. Arguments and results are general registers. No instruction returns.
//  - There is one exit. Code before and behind it ends with a jump or a result.
// Returns the first violation with the text of its node, or nothing.
[[nodiscard]] std::optional<std::string> verify(const Function& function);

}  // namespace wavejit::backend::lir
