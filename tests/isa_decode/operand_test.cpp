// What the printed text does not show: constants expanded by type, implicit operands made explicit, directions,
// modifiers. Encodings were assembled with llvm-mc; each is followed by its text.
#include <gtest/gtest.h>

#include "decode_helper.h"
#include "frontend/isa/info.h"

namespace wavejit::isa::test {
namespace {

TEST(InlineConstant, ExpandsByOperandType) {
  // v_add_f32_e32 v0, 1.0, v0
  EXPECT_EQ(decoded(Target::gfx900, {0x020000f2}).get(Slot::src0).value, 0x3f800000u);
  // v_add_f16_e32 v0, 1.0, v0
  EXPECT_EQ(decoded(Target::gfx900, {0x3e0000f2}).get(Slot::src0).value, 0x3c00u);
  // v_add_f64 v[0:1], 1.0, v[0:1]
  EXPECT_EQ(decoded(Target::gfx900, {0xd2800000, 0x000200f2}).get(Slot::src0).value, 0x3ff0000000000000u);
  // s_mov_b64 s[0:1], 1.0
  EXPECT_EQ(decoded(Target::gfx900, {0xbe8001f2}).get(Slot::src0).value, 0x3ff0000000000000u);
  // v_add_f64 v[0:1], 0.15915494309189532, v[0:1]
  EXPECT_EQ(decoded(Target::gfx900, {0xd2800000, 0x000200f8}).get(Slot::src0).value, 0x3fc45f306dc9c882u);
  // v_add_u32_e32 v0, -1, v0
  EXPECT_EQ(decoded(Target::gfx900, {0x680000c1}).get(Slot::src0).value, 0xffffffffu);
  // v_add_u16_e32 v0, -1, v0
  EXPECT_EQ(decoded(Target::gfx900, {0x4c0000c1}).get(Slot::src0).value, 0xffffu);
  // s_and_b64 s[0:1], s[0:1], -16
  EXPECT_EQ(decoded(Target::gfx900, {0x8680d000}).get(Slot::src1).value, 0xfffffffffffffff0u);
  // v_lshlrev_b64 v[0:1], 64, v[0:1]: the shift amount is 32 bits
  EXPECT_EQ(decoded(Target::gfx900, {0xd28f0000, 0x000200c0}).get(Slot::src0).value, 64u);
}

TEST(InlineConstant, PackedOperandsHoldBothHalves) {
  // v_pk_add_f16 v0, 1.0, v0 op_sel_hi:[0,1]
  const Instruction fp = decoded(Target::gfx900, {0xd38f0000, 0x100200f2});
  EXPECT_EQ(fp.get(Slot::src0).value, 0x00003c00u);
  EXPECT_EQ(fp.op_sel_hi & 3, 2);
  // v_pk_add_i16 v0, -1, v0
  EXPECT_EQ(decoded(Target::gfx900, {0xd3820000, 0x180200c1}).get(Slot::src0).value, 0xffffffffu);
}

TEST(Literal, ExpandsByOperandType) {
  // s_mov_b32 s0, 0x12345678
  const Instruction b32 = decoded(Target::gfx900, {0xbe8000ff, 0x12345678});
  EXPECT_EQ(b32.size, 8);
  EXPECT_TRUE(b32.get(Slot::src0).is_literal);
  EXPECT_EQ(b32.get(Slot::src0).value, 0x12345678u);
  // s_mov_b64 s[0:1], 0xfffffffe: zero-extended
  EXPECT_EQ(decoded(Target::gfx900, {0xbe8001ff, 0xfffffffe}).get(Slot::src0).value, 0xfffffffeu);
  // s_ashr_i64 s[0:1], 0xfffffffe, s0: sign-extended
  EXPECT_EQ(decoded(Target::gfx900, {0x908000ff, 0xfffffffe}).get(Slot::src0).value, 0xfffffffffffffffeu);
  // v_trunc_f64_e32 v[0:1], 0x3ff00000: the high half
  EXPECT_EQ(decoded(Target::gfx900, {0x7e002eff, 0x3ff00000}).get(Slot::src0).value, 0x3ff0000000000000u);
  // v_add_f16_e32 v0, 0x3c01, v0 with rubbish above
  EXPECT_EQ(decoded(Target::gfx900, {0x3e0000ff, 0xabcd3c01}).get(Slot::src0).value, 0x3c01u);
}

TEST(Literal, MultiplyAddConstants) {
  // v_madmk_f32 v0, v2, 0x41000000, v3
  const Instruction mk = decoded(Target::gfx900, {0x2e000702, 0x41000000});
  EXPECT_EQ(mk.get(Slot::literal).value, 0x41000000u);
  EXPECT_EQ(mk.get(Slot::src1).reg, 3);
  // v_madak_f32 v0, v2, v3, 0x41000000
  EXPECT_EQ(decoded(Target::gfx900, {0x30000702, 0x41000000}).get(Slot::literal).value, 0x41000000u);
  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0xf0
  const Instruction setreg = decoded(Target::gfx900, {0xba001801, 0xf0});
  EXPECT_EQ(setreg.get(Slot::simm16).value, 0x1801u);
  EXPECT_EQ(setreg.get(Slot::src0).value, 0xf0u);
}

TEST(ImplicitVcc, IsAnExplicitOperand) {
  // v_add_co_u32_e32 v0, vcc, v1, v2
  const Instruction add = decoded(Target::gfx900, {0x32000501});
  ASSERT_NE(add.find(Slot::sdst), nullptr);
  EXPECT_EQ(add.get(Slot::sdst).reg, 106);
  EXPECT_EQ(add.get(Slot::sdst).type, Type::mask64);
  EXPECT_TRUE(add.get(Slot::sdst).is_dst);
  // v_addc_co_u32_e32 v0, vcc, v1, v2, vcc
  const Instruction addc = decoded(Target::gfx900, {0x38000501});
  EXPECT_EQ(addc.get(Slot::src2).reg, 106);
  EXPECT_TRUE(addc.get(Slot::src2).is_src);
  // v_cndmask_b32_e32 v0, v1, v2, vcc
  EXPECT_EQ(decoded(Target::gfx900, {0x00000501}).get(Slot::src2).reg, 106);
  // v_cmp_lt_f32_e32 vcc, v1, v2
  EXPECT_EQ(decoded(Target::gfx900, {0x7c820501}).get(Slot::sdst).reg, 106);
  // v_cmp_lt_f32_e64 s[4:5], v1, v2
  const Instruction cmp = decoded(Target::gfx900, {0xd0410004, 0x00020501});
  EXPECT_TRUE(cmp.is_e64);
  EXPECT_EQ(cmp.opcode, Opcode::v_cmp_lt_f32);
  EXPECT_EQ(cmp.get(Slot::sdst).reg, 4);
  // v_add_co_u32_e64 v0, s[6:7], v1, v2
  const Instruction e64 = decoded(Target::gfx900, {0xd1190600, 0x00020501});
  EXPECT_EQ(e64.format, Format::vop3b);
  EXPECT_EQ(e64.get(Slot::sdst).reg, 6);
}

TEST(Gfx8Names, FollowTheMeaning) {
  // v_add_u32_e32 v0, vcc, v1, v2 on GFX8 carries; on GFX9 the same number is v_add_co_u32
  const Instruction add = decoded(Target::gfx803, {0x32000501});
  EXPECT_EQ(add.opcode, Opcode::v_add_co_u32);
  EXPECT_EQ(disassemble(add), "v_add_u32_e32 v0, vcc, v1, v2");
  // v_mad_f16 v0, v1, v2, v3
  const Instruction mad = decoded(Target::gfx803, {0xd1ea0000, 0x040e0501});
  EXPECT_EQ(mad.opcode, Opcode::v_mad_legacy_f16);
  EXPECT_EQ(disassemble(mad), "v_mad_f16 v0, v1, v2, v3");
  // v_mul_legacy_f32 on gfx90a has only the VOP3 encoding
  const Instruction mul = decoded(Target::gfx90a, {0xd2a10000, 0x00020501});
  EXPECT_EQ(mul.opcode, Opcode::v_mul_legacy_f32);
  EXPECT_EQ(disassemble(mul), "v_mul_legacy_f32 v0, v1, v2");
}

TEST(Directions, ReadModifyWrite) {
  // v_mac_f32_e32 v0, v1, v2
  const Operand mac = decoded(Target::gfx900, {0x2c000501}).get(Slot::vdst);
  EXPECT_TRUE(mac.is_dst && mac.is_src);
  // v_writelane_b32 v0, s1, s2
  const Operand lane = decoded(Target::gfx900, {0xd28a0000, 0x00000401}).get(Slot::vdst);
  EXPECT_TRUE(lane.is_dst && lane.is_src);
  // v_readlane_b32 s0, v1, s2
  const Instruction read = decoded(Target::gfx900, {0xd2890000, 0x00000501});
  EXPECT_EQ(read.get(Slot::sdst).kind, OperandKind::sgpr);
  // v_swap_b32 v0, v1
  const Instruction swap = decoded(Target::gfx900, {0x7e00a301});
  EXPECT_TRUE(swap.get(Slot::vdst).is_src && swap.get(Slot::src0).is_dst);
  // s_addk_i32 s0, 0x10
  const Operand addk = decoded(Target::gfx900, {0xb7000010}).get(Slot::sdst);
  EXPECT_TRUE(addk.is_dst && addk.is_src);
  // s_cmpk_eq_i32 s0, 0x10
  const Operand cmpk = decoded(Target::gfx900, {0xb1000010}).get(Slot::src0);
  EXPECT_TRUE(!cmpk.is_dst && cmpk.is_src);
}

TEST(Directions, AtomicResultOnlyWithGlc) {
  // global_atomic_add v[2:3], v4, off / global_atomic_add v1, v[2:3], v4, off glc
  const Instruction plain = decoded(Target::gfx900, {0xdd088000, 0x007f0402});
  EXPECT_EQ(plain.find(Slot::vdst), nullptr);
  EXPECT_EQ(plain.get(Slot::vdata).reg, 4);
  const Instruction returning = decoded(Target::gfx900, {0xdd098000, 0x017f0402});
  EXPECT_EQ(returning.get(Slot::vdst).reg, 1);
  EXPECT_TRUE(returning.glc);
  // buffer_atomic_add v1, off, s[4:7], 0 glc: one register, both directions
  const Operand buffer = decoded(Target::gfx900, {0xe1084000, 0x80010100}).get(Slot::vdata);
  EXPECT_TRUE(buffer.is_dst && buffer.is_src);
}

TEST(Modifiers, Vop3) {
  // v_fma_f32 v0, -v1, |v2|, -|v3| clamp mul:2
  const Instruction fma = decoded(Target::gfx900, {0xd1cb8600, 0xac0e0501});
  EXPECT_TRUE(fma.get(Slot::src0).neg && !fma.get(Slot::src0).abs);
  EXPECT_TRUE(!fma.get(Slot::src1).neg && fma.get(Slot::src1).abs);
  EXPECT_TRUE(fma.get(Slot::src2).neg && fma.get(Slot::src2).abs);
  EXPECT_TRUE(fma.clamp);
  EXPECT_EQ(fma.omod, 1);
}

TEST(Modifiers, MixSourcesAreTypedByOpSelHi) {
  // v_fma_mix_f32 v0, v1, -v2, |v3| op_sel:[0,1,0] op_sel_hi:[0,1,0]
  const Instruction mix = decoded(Target::gfx906, {0xd3a01400, 0x540e0501});
  EXPECT_EQ(mix.get(Slot::src0).type, Type::f32);
  EXPECT_EQ(mix.get(Slot::src1).type, Type::f16);
  EXPECT_TRUE(mix.get(Slot::src1).neg);
  EXPECT_TRUE(mix.get(Slot::src2).abs);
  EXPECT_EQ(mix.op_sel, 2);
}

TEST(Modifiers, Sdwa) {
  // v_add_f32_sdwa v0, -v1, |v2| dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_3
  const Instruction sdwa = decoded(Target::gfx900, {0x020004f9, 0x23151101});
  EXPECT_TRUE(sdwa.is_sdwa);
  EXPECT_EQ(sdwa.size, 8);
  EXPECT_EQ(sdwa.sdwa_dst_sel, SdwaSelect::byte_1);
  EXPECT_EQ(sdwa.sdwa_dst_unused, SdwaUnused::preserve);
  EXPECT_EQ(sdwa.get(Slot::src0).sdwa_sel, SdwaSelect::word_1);
  EXPECT_TRUE(sdwa.get(Slot::src0).neg);
  EXPECT_EQ(sdwa.get(Slot::src1).sdwa_sel, SdwaSelect::byte_3);
  EXPECT_TRUE(sdwa.get(Slot::src1).abs);
  // v_cmp_eq_f32_sdwa s[8:9], v0, s3 src0_sel:DWORD src1_sel:DWORD
  const Instruction cmp = decoded(Target::gfx900, {0x7c8406f9, 0x86068800});
  EXPECT_EQ(cmp.get(Slot::sdst).reg, 8);
  EXPECT_EQ(cmp.get(Slot::src1).kind, OperandKind::sgpr);
}

TEST(Modifiers, Dpp) {
  // v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xa bank_mask:0xf bound_ctrl:1
  const Instruction dpp = decoded(Target::gfx803, {0x7e0002fa, 0xaf091101});
  EXPECT_TRUE(dpp.is_dpp);
  EXPECT_EQ(dpp.dpp.ctrl, 0x111);
  EXPECT_EQ(dpp.dpp.row_mask, 0xa);
  EXPECT_EQ(dpp.dpp.bank_mask, 0xf);
  EXPECT_TRUE(dpp.dpp.bound_ctrl);
}

TEST(Memory, FlatForms) {
  // global_load_dwordx2 v[1:2], v3, s[4:5] offset:-8
  const Instruction load = decoded(Target::gfx900, {0xdc549ff8, 0x01040003});
  EXPECT_EQ(load.get(Slot::vdst).dwords, 2);
  EXPECT_EQ(load.get(Slot::vaddr).dwords, 1);
  EXPECT_EQ(load.get(Slot::saddr).reg, 4);
  EXPECT_EQ(load.offset, -8);
  // global_load_dword v1, v[3:4], off
  const Instruction off = decoded(Target::gfx900, {0xdc508000, 0x017f0003});
  EXPECT_EQ(off.get(Slot::saddr).kind, OperandKind::off);
  EXPECT_EQ(off.get(Slot::vaddr).dwords, 2);
  // scratch_store_dword off, v2, s5 offset:4
  const Instruction scratch = decoded(Target::gfx900, {0xdc704004, 0x00050200});
  EXPECT_EQ(scratch.get(Slot::vaddr).kind, OperandKind::off);
  EXPECT_EQ(scratch.get(Slot::saddr).dwords, 1);
}

TEST(Memory, ScalarOffsets) {
  // s_load_dword s0, s[2:3], s4 offset:0x10
  const Instruction both = decoded(Target::gfx900, {0xc0024001, 0x08000010});
  EXPECT_TRUE(both.offset_is_sgpr);
  EXPECT_EQ(both.get(Slot::soffset).reg, 4);
  EXPECT_EQ(both.offset, 0x10);
  // s_load_dword s0, s[2:3], -0x4
  EXPECT_EQ(decoded(Target::gfx900, {0xc0020001, 0x001ffffc}).offset, -4);
  // GFX8 offsets are 20 bits, unsigned
  EXPECT_EQ(decoded(Target::gfx803, {0xc0020001, 0x000ffffc}).offset, 0xffffc);
}

TEST(Memory, D16DataIsUnpackedOnGfx8) {
  // buffer_load_format_d16_xyz v1, off, s[4:7], 0
  EXPECT_EQ(decoded(Target::gfx803, {0xe0280000, 0x80010100}).get(Slot::vdata).dwords, 3);
  EXPECT_EQ(decoded(Target::gfx900, {0xe0280000, 0x80010100}).get(Slot::vdata).dwords, 2);
}

TEST(Memory, AccumulationRegisters) {
  // flat_load_dword a1, v[2:3] / v_mfma_f32_4x4x1f32 a[0:3], a1, v2, a[4:7]
  EXPECT_EQ(decoded(Target::gfx90a, {0xdc500000, 0x01800002}).get(Slot::vdst).kind, OperandKind::agpr);
  const Instruction mfma = decoded(Target::gfx908, {0xd3c20000, 0x0c120501});
  EXPECT_EQ(mfma.get(Slot::vdst).kind, OperandKind::agpr);
  EXPECT_EQ(mfma.get(Slot::src0).kind, OperandKind::agpr);
  EXPECT_EQ(mfma.get(Slot::src1).kind, OperandKind::vgpr);
  EXPECT_EQ(mfma.get(Slot::src2).kind, OperandKind::agpr);
  EXPECT_EQ(mfma.get(Slot::src2).dwords, 4);
}

TEST(Branches, DistanceIsFromTheNextInstruction) {
  // s_cbranch_scc1 65534
  const Instruction branch = decoded(Target::gfx900, {0xbf85fffe}, 0x1000);
  EXPECT_EQ(static_cast<int64_t>(branch.get(Slot::target).value), -8);
  EXPECT_EQ(branch.next_pc(), 0x1004u);
  EXPECT_EQ(branch_target(branch), 0xffcu);
  EXPECT_EQ(branch_target(decoded(Target::gfx900, {0xbf8a0000}, 0x1000)), std::nullopt);  // s_barrier
  EXPECT_EQ(info(branch.opcode).control_flow, ControlFlow::cond_branch);
  EXPECT_TRUE(info(branch.opcode).implicit.reads_scc);
}

TEST(Status, TruncatedAndIllegal) {
  Instruction inst;
  EXPECT_EQ(decode(Target::gfx900, {}, 0, inst), DecodeStatus::truncated);
  EXPECT_EQ(decode_words(Target::gfx900, {0xbe8000ff}, inst), DecodeStatus::truncated);  // literal missing
  EXPECT_EQ(decode_words(Target::gfx900, {0xdc500000}, inst), DecodeStatus::truncated);  // second word missing
  EXPECT_EQ(decode_words(Target::gfx900, {0xffffffff, 0, 0}, inst), DecodeStatus::illegal);
  EXPECT_EQ(inst.opcode, Opcode::kCount);
  EXPECT_EQ(describe(inst), "unknown instruction (0xffffffff)");
  // v_dot2_f32_f16 needs gfx906
  EXPECT_EQ(decode_words(Target::gfx900, {0xd3a30000, 0x1c0e0501}, inst), DecodeStatus::illegal);
  EXPECT_EQ(decode_words(Target::gfx906, {0xd3a30000, 0x1c0e0501}, inst), DecodeStatus::ok);
  // v_mac_f32 is not in gfx940
  EXPECT_EQ(decode_words(Target::gfx940, {0x2c000000}, inst), DecodeStatus::illegal);
  // v255 has no second half: v_add_f64 v[255:256]
  EXPECT_EQ(decode_words(Target::gfx900, {0xd28000ff, 0x00020101}, inst), DecodeStatus::illegal);
}

TEST(Status, SizeNeverExceedsTheInput) {
  Instruction inst;
  ASSERT_EQ(decode_words(Target::gfx900, {0xbf810000, 0x12345678}, inst), DecodeStatus::ok);
  EXPECT_EQ(inst.size, 4);
  EXPECT_EQ(inst.words[1], 0u);
}

}  // namespace
}  // namespace wavejit::isa::test
