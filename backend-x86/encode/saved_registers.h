// Text of assembly for stubs that save all registers: vector registers and masks from the stack pointer on, in the order of
// their numbers; loaded from there by R8.
#pragma once

#define EACH_16(m) m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10) m(11) m(12) m(13) m(14) m(15)
#define EACH_UPPER_16(m) m(16) m(17) m(18) m(19) m(20) m(21) m(22) m(23) m(24) m(25) m(26) m(27) m(28) m(29) m(30) m(31)
#define EACH_MASK(m) m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7)
#define SAVE_YMM(n) "vmovdqu %%ymm" #n ", 32*" #n "(%%rsp)\n"
#define LOAD_YMM(n) "vmovdqu 32*" #n "(%%r8), %%ymm" #n "\n"
#define SAVE_ZMM(n) "vmovdqu64 %%zmm" #n ", 64*" #n "(%%rsp)\n"
#define LOAD_ZMM(n) "vmovdqu64 64*" #n "(%%r8), %%zmm" #n "\n"
#define SAVE_MASK(n) "kmovq %%k" #n ", 2048+8*" #n "(%%rsp)\n"
#define LOAD_MASK(n) "kmovq 2048+8*" #n "(%%r8), %%k" #n "\n"
#define SAVE_AVX2 EACH_16(SAVE_YMM)
#define LOAD_AVX2 EACH_16(LOAD_YMM)
#define SAVE_AVX512 EACH_16(SAVE_ZMM) EACH_UPPER_16(SAVE_ZMM) EACH_MASK(SAVE_MASK)
#define LOAD_AVX512 EACH_16(LOAD_ZMM) EACH_UPPER_16(LOAD_ZMM) EACH_MASK(LOAD_MASK)

// The body of a naked function with one argument, on the stack, which it pops. It calls the function with that name, and keeps
// all registers but the flags.
#define KEEPING_STUB(function, save, load)                                                                    \
  "push %%rax\n push %%rcx\n push %%rdx\n push %%rsi\n push %%rdi\n push %%r8\n push %%r9\n push %%r10\n"     \
  "push %%r11\n push %%rbp\n"                                                                                 \
  "mov 88(%%rsp), %%rdi\n"                                                                                    \
  "mov %%rsp, %%rbp\n"                                                                                        \
  "sub $2112, %%rsp\n"                                                                                        \
  "and $-64, %%rsp\n" save                                                                                    \
  "vzeroupper\n"                                                                                              \
  "call " function                                                                                            \
  "\n"                                                                                                        \
  "mov %%rsp, %%r8\n" load                                                                                    \
  "mov %%rbp, %%rsp\n"                                                                                        \
  "pop %%rbp\n pop %%r11\n pop %%r10\n pop %%r9\n pop %%r8\n pop %%rdi\n pop %%rsi\n pop %%rdx\n pop %%rcx\n" \
  "pop %%rax\n"                                                                                               \
  "ret $8"
