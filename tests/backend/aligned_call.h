// Calls of code whose stack pointer must be aligned (lir::Function::stack_alignment).
#pragma once

#include <cstdint>

namespace wavejit::backend {

// Calls code of up to two integer arguments. The stack pointer is a multiple of 64 where it is called. The upper halves
// of vector registers are clear behind it.
__attribute__((naked, noinline)) inline uint64_t call_aligned(const void* /*code*/, uint64_t /*a*/ = 0,
                                                              uint64_t /*b*/ = 0) {
  __asm__(
      "push %rbp\n"
      ".cfi_adjust_cfa_offset 8\n"
      ".cfi_rel_offset %rbp, 0\n"
      "mov %rsp, %rbp\n"
      ".cfi_def_cfa_register %rbp\n"
      "and $-64, %rsp\n"
      "mov %rdi, %rax\n"
      "mov %rsi, %rdi\n"
      "mov %rdx, %rsi\n"
      "call *%rax\n"
      "vzeroupper\n"
      "leave\n"
      ".cfi_def_cfa %rsp, 8\n"
      "ret\n");
}

}  // namespace wavejit::backend
