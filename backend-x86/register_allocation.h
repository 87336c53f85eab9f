// What asmjit's register allocator is spared or does in another way.
//
// The allocator keeps bit sets and assignments of all of a function's virtual registers per block, so what it costs
// grows with the product of the two. Emitters make a virtual register for every temporary, thousands of which live
// for a few instructions only.
#pragma once

#include <asmjit/x86.h>

namespace wavejit::backend {

// Makes temporaries of a large function whose lives do not meet share virtual registers. To be called when all of the
// function's code is there, before registers are allocated.
void share_virtual_registers(asmjit::x86::Compiler& compiler, asmjit::FuncNode& function);

}  // namespace wavejit::backend
