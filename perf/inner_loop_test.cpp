#include "inner_loop.h"

#include <gtest/gtest.h>

namespace wavejit::perf {
namespace {

// A loop of four instructions in a loop of six.
constexpr const char* kGcn = R"(k: ; gfx906, 28 bytes
  00001900  00000000                    s_mov_b32 s0, 0
L0:
  00001904  00000000                    s_mov_b32 s1, 0
L1:
  00001908  00000000                    v_add_u32_e32 v0, v0, v1
  0000190c  00000000                    s_add_u32 s1, s1, 1
  00001910  00000000                    s_cmp_lt_u32 s1, 9
  00001914  bf85fffc                    s_cbranch_scc1 65532  ; -> L1
  00001918  bf85fffa                    s_cbranch_scc0 65530  ; -> L0
  0000191c  bf810000                    s_endpgm
)";

TEST(InnerLoop, CountsWhatIsNestedDeepest) {
  const char* x86 = R"(; k for AVX-512: 13 instructions, 321 bytes, for the code at 0x7f0000003900
.section .text {#0}
push rbp
L1:
000001  br b1 @0x7f0000003904
mov eax, 1
L2:
000002  %1:v32 = add %2, %3 @0x7f0000003908
vpaddd zmm0, zmm0, zmm1
vpaddd zmm2, zmm2, zmm1
000004  cond_br %5, b1, b2 @0x7f0000003914
add eax, 1
jb L2
000007  cond_br %5, b1, b2 @0x7f0000003918
jb L1
ret
000008  cold: %1:v32 = add %2, %3 @0x7f0000003908
L9:
vpaddd zmm0, zmm0, zmm1
jmp L2
)";
  const InnerLoop loop = inner_loop(kGcn, x86);
  EXPECT_EQ(loop.guest, 4u);
  EXPECT_EQ(loop.host, 4u);
  EXPECT_EQ(code_bytes(x86), 321u);
}

// The loop stands there twice, and has a loop over lanes in it.
TEST(InnerLoop, CountsAllPassesOfALoop) {
  const char* x86 = R"(; k for AVX2: 12 instructions, 99 bytes, for the code at 0x3900
000001  br b1 @0x3904
mov eax, 1
L2:
000002  %1:v32 = add %2, %3 @0x3908
L3:
vpaddd ymm0, ymm0, ymm1
jb L3
000004  cond_br %5, b1, b2 @0x3914
jb L2
000007  br b1 @0x3904
mov eax, 1
L4:
000008  %1:v32 = add %2, %3 @0x3908
vpaddd ymm2, ymm2, ymm1
00000a  cond_br %5, b1, b2 @0x3914
jb L4
ret
)";
  const InnerLoop loop = inner_loop(kGcn, x86);
  EXPECT_EQ(loop.guest, 4u);
  EXPECT_EQ(loop.host, 5u);
}

TEST(InnerLoop, TakesTheWholeKernelWithoutLoops) {
  const InnerLoop loop = inner_loop("k: ; gfx906, 4 bytes\n  00001900  bf810000                    s_endpgm\n",
                                    "; k for AVX2: 2 instructions, 9 bytes, for the code at 0x3900\nmov eax, 1\nret\n");
  EXPECT_EQ(loop.guest, 1u);
  EXPECT_EQ(loop.host, 2u);
}

}  // namespace
}  // namespace wavejit::perf
