// Lines in the syntax of LLVM 15, with the words that every assembler has to make of them for GFX9.
#include "tests/support/assembler_syntax.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/assembler.h"

namespace wavejit::test {
namespace {

struct Line {
  const char* text;
  uint64_t words;
};
constexpr Line kLines[] = {
    {"buffer_load_dword v8, v0, s[8:11], 0 idxen offset:4 tfe", 0x80820800'e0502004},
    {"buffer_load_dwordx3 v[8:10], v0, s[8:11], 0 idxen offset:4 tfe", 0x80820800'e0582004},
    {"buffer_load_dword v8, v0, s[8:11], 0 idxen offset:4", 0x80020800'e0502004},
    {"image_sample_c_d v[24:27], v[0:15], s[8:15], s[16:19] dmask:0xf", 0x00821800'f0a80f00},
    {"image_sample_c_d_o v[24:27], v[0:15], s[8:15], s[16:19] dmask:0xf da", 0x00821800'f0e84f00},
    {"v_cndmask_b32_sdwa v12, sext(v0), v4, vcc dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 "
     "src1_sel:BYTE_3",
     0x030d1500'001808f9},
    {"v_cndmask_b32_sdwa v255, v254, sext(v4), vcc dst_sel:BYTE_3 dst_unused:UNUSED_SEXT src0_sel:WORD_0 "
     "src1_sel:BYTE_2",
     0x0a040bfe'01fe08f9},
    {"v_cndmask_b32_sdwa v60, sext(v48), sext(v52), vcc dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD "
     "src1_sel:DWORD",
     0x0e0e0630'007868f9},
    {"v_cndmask_b32_sdwa v60, v48, v52, vcc dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD",
     0x06010630'007868f9},
};

TEST(AssemblerSyntax, MeansTheSameToAllVersions) {
  for (const Line& line : kLines) {
    SCOPED_TRACE(line.text);
    for (const auto assembler : {assemble, assemble_by_llvm19}) {
      const auto bytes = assembler(isa::Target::gfx900, line.text);
      ASSERT_TRUE(bytes) << bytes.error().message;
      uint64_t words = 0;
      ASSERT_EQ(bytes->size(), sizeof words);
      std::memcpy(&words, bytes->data(), sizeof words);
      EXPECT_EQ(words, line.words) << std::hex << words;
    }
  }
}

TEST(AssemblerSyntax, LeavesOtherLinesAlone) {
  constexpr std::string_view kText =
      "s_nop 0\nimage_sample_d v[0:3], v[8:16], s[0:7], s[8:11]\nv_mov_b32_sdwa v1, sext(v2)\n";
  EXPECT_EQ(in_syntax_of(17, kText), kText);
  EXPECT_EQ(in_syntax_of(15, "buffer_load_dword v8, v0, s[8:11], 0 tfe"), "buffer_load_dword v8, v0, s[8:11], 0 tfe");
}

}  // namespace
}  // namespace wavejit::test
