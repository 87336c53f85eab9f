#include <gtest/gtest.h>

#include "decode_helper.h"

namespace wavejit::isa::test {
namespace {

std::string text(Target target, std::initializer_list<uint32_t> words) {
  return disassemble(decoded(target, words));
}

TEST(Printer, ProgramControl) {
  EXPECT_EQ(text(Target::gfx900, {0xbf810000}), "s_endpgm");
  EXPECT_EQ(text(Target::gfx900, {0xbf8c0070}), "s_waitcnt vmcnt(0) lgkmcnt(0)");
  EXPECT_EQ(text(Target::gfx900, {0xbf8cc07f}), "s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(text(Target::gfx803, {0xbf8c0f7f}), "s_waitcnt vmcnt(15) expcnt(7) lgkmcnt(15)");
  EXPECT_EQ(text(Target::gfx900, {0xbf820005}), "s_branch 5");
  EXPECT_EQ(text(Target::gfx900, {0xb8801801}), "s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 4)");
  EXPECT_EQ(text(Target::gfx900, {0xbf900013}), "s_sendmsg sendmsg(MSG_GS_DONE, GS_OP_CUT, 0)");
  EXPECT_EQ(text(Target::gfx900, {0xbf110500}), "s_set_gpr_idx_on s0, gpr_idx(SRC0,SRC2)");
}

TEST(Printer, VectorForms) {
  EXPECT_EQ(text(Target::gfx900, {0x02000501}), "v_add_f32_e32 v0, v1, v2");
  EXPECT_EQ(text(Target::gfx900, {0xd1010000, 0x40020501}), "v_add_f32_e64 v0, v1, -v2");
  EXPECT_EQ(text(Target::gfx900, {0x020000fa, 0x12091301}),
            "v_add_f32_dpp v0, v1, v0 row_shr:3 row_mask:0x1 bank_mask:0x2 bound_ctrl:1");
  EXPECT_EQ(text(Target::gfx900, {0xd38f0000, 0x180202f0}), "v_pk_add_f16 v0, 0.5, v1");
}

TEST(Printer, Swizzle) {
  EXPECT_EQ(text(Target::gfx900, {0xd87a8055, 0x05000001}), "ds_swizzle_b32 v5, v1 offset:swizzle(QUAD_PERM,1,1,1,1)");
  EXPECT_EQ(text(Target::gfx900, {0xd87a0104, 0x05000001}),
            "ds_swizzle_b32 v5, v1 offset:swizzle(BITMASK_PERM,\"01p00\")");
}

TEST(Printer, DescribeNamesMnemonicAndEncoding) {
  EXPECT_EQ(describe(decoded(Target::gfx900, {0xd1010000, 0x40020501})), "v_add_f32 (0xd1010000 0x40020501)");
}

}  // namespace
}  // namespace wavejit::isa::test
