// Control flow, exits, hardware registers, VCCZ, indexed registers, and what the interpreter says about what it cannot
// run.
#include <gtest/gtest.h>

#include <string>

#include "frontend/isa/info.h"
#include "tests/interp/machine.h"

namespace wavejit::test {
namespace {

TEST(Control, ExitReasonsAndResumption) {
  Machine m(isa::Target::gfx906);
  EXPECT_EQ(m.run("s_mov_b32 s0, 1\ns_barrier\ns_mov_b32 s0, 2"), ExitReason::kBarrier);
  EXPECT_EQ(m.wave().pc, m.code_base() + 8);
  EXPECT_EQ(m.s(0), 1u);
  EXPECT_EQ(m.run("s_sleep 1\ns_nop 0"), ExitReason::kYield);
  EXPECT_EQ(m.wave().pc, m.code_base() + 4);
  EXPECT_EQ(m.run("s_nop 0\ns_trap 2"), ExitReason::kTrap);
  EXPECT_EQ(m.wave().pc, m.code_base() + 4);
  EXPECT_EQ(m.wave().trap_id, 2u);
  EXPECT_EQ(m.wave().exit_reason, ExitReason::kTrap);
}

TEST(Control, UnsupportedAndIllegalSayWhat) {
  Machine m(isa::Target::gfx906);
  const uint64_t before = m.wave().instructions;
  EXPECT_EQ(m.run("s_nop 0\nexp mrt0 v0, v0, v0, v0 done"), ExitReason::kUnsupported);
  EXPECT_EQ(m.wave().pc, m.code_base() + 4);
  EXPECT_EQ(m.wave().instructions, before + 1);
  const Error unsupported = m.error();
  EXPECT_EQ(unsupported.code, ErrorCode::kUnsupported);
  EXPECT_NE(unsupported.message.find("exp"), std::string::npos) << unsupported.message;
  EXPECT_NE(unsupported.message.find("0xc400"), std::string::npos) << unsupported.message;
  EXPECT_EQ(unsupported.pc, m.code_base() + 4);

  EXPECT_EQ(m.run(".long 0xbfffffff"), ExitReason::kIllegal);
  EXPECT_EQ(m.error().code, ErrorCode::kIllegalInstruction);
  EXPECT_NE(m.error().message.find("0xbfffffff"), std::string::npos) << m.error().message;

  // Jumps out of the code, also to where nothing is mapped.
  m.wave().set_sgpr64(4, 0x1000);
  EXPECT_EQ(m.run("s_setpc_b64 s[4:5]"), ExitReason::kIllegal);
  EXPECT_EQ(m.wave().pc, 0x1000u);
  EXPECT_EQ(m.error().code, ErrorCode::kIllegalInstruction);
  EXPECT_EQ(m.run("s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, 2\ns_setpc_b64 s[4:5]"), ExitReason::kIllegal);
}

TEST(Control, BudgetAndStopFlagEndLoops) {
  Machine m(isa::Target::gfx906);
  m.set_budget(1001);
  EXPECT_EQ(m.run("s_mov_b32 s0, 0\nL:\ns_add_u32 s0, s0, 1\ns_branch L"), ExitReason::kYield);
  EXPECT_EQ(m.s(0), 500u);
  EXPECT_EQ(m.wave().instructions, 1001u);
  const volatile uint32_t stop = 1;
  m.wave().stop_flag = &stop;
  m.set_budget(UINT64_MAX);
  EXPECT_EQ(m.run("L:\ns_branch L"), ExitReason::kStopped);
}

TEST(Control, CallsAndJumps) {
  Machine m(isa::Target::gfx906);
  ASSERT_EQ(
      m.run("s_mov_b32 s0, 0\ns_getpc_b64 s[4:5]\ns_add_u32 s4, s4, F-.Lpc\n.set .Lpc, .-8\ns_addc_u32 s5, s5, 0\n"
            "s_swappc_b64 s[6:7], s[4:5]\ns_call_b64 s[6:7], F\ns_branch E\nF:\ns_add_u32 s0, s0, 5\ns_setpc_b64 "
            "s[6:7]\nE:"),
      ExitReason::kEnd)
      << m.error().message;
  EXPECT_EQ(m.s(0), 10u);
}

// The SALU's writes of one half of VCC update VCCZ, v_readlane leaves it.
TEST(Control, VcczBehindWritesOfOneHalf) {
  constexpr const char* kBranch =
      "s_mov_b32 s0, 0\ns_cbranch_vccz L\ns_mov_b32 s0, 1\nL:\ns_mov_b64 vcc, vcc\n"
      "s_mov_b32 s1, 0\ns_cbranch_vccz M\ns_mov_b32 s1, 1\nM:";
  for (const isa::Target target : compute_targets()) {
    Machine m(target);
    ASSERT_EQ(m.run(std::string("s_mov_b64 vcc, 0\ns_mov_b32 vcc_lo, 1\n") + kBranch), ExitReason::kEnd);
    EXPECT_EQ(m.s(0), 1u) << isa::to_string(target);
    EXPECT_EQ(m.s(1), 1u) << isa::to_string(target);
    ASSERT_EQ(m.run(std::string("v_mov_b32 v0, 1\ns_mov_b64 vcc, 0\nv_readlane_b32 vcc_lo, v0, 0\n") + kBranch),
              ExitReason::kEnd);
    EXPECT_EQ(m.s(0), 0u) << isa::to_string(target);
    EXPECT_EQ(m.s(1), 1u) << isa::to_string(target);
  }
}

TEST(Control, ExeczIsCurrent) {
  Machine m(isa::Target::gfx900);
  ASSERT_EQ(m.run("s_mov_b32 s0, 0\ns_mov_b32 exec_lo, 0\ns_cbranch_execz L\ns_mov_b32 s0, 1\nL:\ns_mov_b32 exec_hi, "
                  "0\ns_cbranch_execnz M\n"
                  "s_add_u32 s0, s0, 2\nM:"),
            ExitReason::kEnd);
  EXPECT_EQ(m.s(0), 3u);
}

TEST(Control, HardwareRegisters) {
  Machine m(isa::Target::gfx900);
  m.wave().hw_id = 0x12345678;
  m.wave().set_exec(0);
  m.wave().scc = 1;
  ASSERT_EQ(m.run("s_getreg_b32 s0, hwreg(HW_REG_MODE)\ns_getreg_b32 s1, hwreg(HW_REG_HW_ID, 8, 8)\ns_getreg_b32 s2, "
                  "hwreg(HW_REG_STATUS, 9, 1)\n"
                  "s_getreg_b32 s3, hwreg(HW_REG_SH_MEM_BASES, 16, 16)\ns_getreg_b32 s4, hwreg(HW_REG_STATUS, 0, 1)\n"
                  "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\ns_getreg_b32 s5, hwreg(HW_REG_MODE)\n"
                  "s_mov_b64 s[6:7], src_shared_base\ns_mov_b64 s[8:9], src_private_limit"),
            ExitReason::kEnd);
  EXPECT_EQ(m.s(0), kModeKeepDenormals);
  EXPECT_EQ(m.s(1), 0x56u);
  EXPECT_EQ(m.s(2), 1u);
  EXPECT_EQ(m.s(3) << 16, kSharedApertureHi);
  EXPECT_EQ(m.s(4), 1u);
  EXPECT_EQ(m.s(5), kModeFlushDenormals);
  EXPECT_EQ(m.s(6), 0u);
  EXPECT_EQ(m.s(7), kSharedApertureHi);
  EXPECT_EQ(m.s(8), 0xffffffffu);
  EXPECT_EQ(m.s(9), kPrivateApertureHi);
}

TEST(Control, ModeIsObeyedAtOnce) {
  Machine m(isa::Target::gfx900);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    m.v(0)[l] = 0x00000003;
    m.set_v64(2, l, 3);
  }
  // f32 denormals flushed, f64's kept; then rounding up.
  ASSERT_EQ(
      m.run(
          "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xc0\nv_add_f32 v1, v0, v0\nv_add_f64 v[4:5], v[2:3], v[2:3]\n"
          "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\nv_mov_b32 v6, 1.0\nv_mov_b32 v7, 0x30000000\nv_add_f32 v8, "
          "v6, v7\n"
          "v_mad_f32 v9, v6, v6, v7"),
      ExitReason::kEnd);
  EXPECT_EQ(m.v(1)[0], 0u);
  EXPECT_EQ(m.v64(4, 0), 6u);
  EXPECT_EQ(m.v(8)[0], 0x3f800001u);
  EXPECT_EQ(m.v(9)[0], 0x3f800001u);
}

TEST(Control, GprIndexing) {
  Machine m(isa::Target::gfx906);
  for (unsigned r = 0; r < 16; ++r)
    for (unsigned l = 0; l < kWaveSize; ++l) m.v(r)[l] = 100 * r + l;
  m.s(4) = 3;
  ASSERT_EQ(m.run("s_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32 v20, v1\ns_set_gpr_idx_off\ns_mov_b32 s5, 2\n"
                  "s_set_gpr_idx_on s5, gpr_idx(DST)\nv_mov_b32 v20, v8\ns_set_gpr_idx_off\nv_mov_b32 v24, v1"),
            ExitReason::kEnd);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    EXPECT_EQ(m.v(20)[l], 400 + l);
    EXPECT_EQ(m.v(22)[l], 800 + l);
    EXPECT_EQ(m.v(24)[l], 100 + l);
  }
  Machine old(isa::Target::gfx803);
  for (unsigned r = 0; r < 16; ++r)
    for (unsigned l = 0; l < kWaveSize; ++l) old.v(r)[l] = 100 * r + l;
  ASSERT_EQ(old.run("s_mov_b32 m0, 5\nv_movrels_b32 v20, v2\nv_movreld_b32 v20, v3"), ExitReason::kEnd);
  EXPECT_EQ(old.v(20)[9], 709u);
  EXPECT_EQ(old.v(25)[9], 309u);
}

TEST(Control, MxcsrIsRestored) {
  const unsigned before = __builtin_ia32_stmxcsr();
  Machine m(isa::Target::gfx906);
  m.wave().mode = kModeFlushDenormals | 3;
  ASSERT_EQ(m.run("v_add_f32 v0, v0, v0\nv_rcp_f32 v1, v0"), ExitReason::kEnd);
  EXPECT_EQ(__builtin_ia32_stmxcsr() & 0xffc0, before & 0xffc0);
}

// Everything compute kernels may contain has a handler; the exceptions are listed.
TEST(Control, Coverage) {
  unsigned missing = 0;
  for (unsigned i = 0; i < isa::kNumOpcodes; ++i) {
    const auto op = static_cast<isa::Opcode>(i);
    const isa::OpcodeInfo& info = isa::info(op);
    if (info.is_graphics || info.format == isa::Format::mimg || interp::Interpreter::supports(op)) continue;
    const std::string name(info.name);
    const auto starts = [&](const char* prefix) { return name.rfind(prefix, 0) == 0; };
    const bool expected =
        starts("ds_gws_") || starts("tbuffer_") || starts("buffer_load_format_") || starts("buffer_store_format_") ||
        name.find("_src2_") != std::string::npos || starts("s_buffer_atomic_") || starts("s_scratch_") ||
        starts("s_atc_probe") || starts("s_rfe") || name == "s_cbranch_g_fork" || name == "s_cbranch_i_fork" ||
        name == "s_cbranch_join" || name == "s_setvskip" || name == "s_endpgm_ordered_ps_done" ||
        name == "ds_ordered_count" || name == "ds_condxchg32_rtn_b64" || name == "buffer_store_lds_dword" ||
        name == "v_screen_partition_4se_b32" || name == "v_cvt_pkaccum_u8_f32";
    EXPECT_TRUE(expected) << name;
    ++missing;
  }
  EXPECT_LE(missing, 117u);
}

}  // namespace
}  // namespace wavejit::test
