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
