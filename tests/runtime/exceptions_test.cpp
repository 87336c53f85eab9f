// Exceptions in TRAPSTS: recorded by kernels whose code can tell, trapping where MODE.EXCP_EN says so. What raises what
// is in tests/isa/exceptions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

class Exceptions : public testing::TestWithParam<TestEngine> {
 protected:
  // Runs the kernel; the message if it fails.
  static std::string run(const KernelSource& k, Buffer<uint32_t>& out, wavejit_status expected = WAVEJIT_OK,
                         unsigned group = 64) {
    const Module module = load("gfx906", {k});
    Kernel kernel = module.kernel(k.name);
    kernel.set_args(out);
    try {
      (void)kernel.launch(launch_options(GetParam(), static_cast<uint32_t>(out.size()), group));
      EXPECT_EQ(expected, WAVEJIT_OK) << "it ended";
      return {};
    } catch (const Exception& e) {
      EXPECT_EQ(e.status(), expected) << e.what();
      return e.what();
    }
  }
};

// Each wave has a TRAPSTS of its own, which keeps what has been raised until somebody clears it.
TEST_P(Exceptions, AreStickyAndOfTheirWave) {
  Buffer<uint32_t> out(256);
  const KernelSource k{.name = "sticky",
                       .body = fmt::format(R"({}
  v_readfirstlane_b32 s8, v0
  s_cmp_eq_u32 s8, 64
  s_cbranch_scc0 .Lother
  v_mov_b32_e32 v8, 0
  v_rcp_f32_e32 v9, v8
  s_branch .Lboth
.Lother:
  v_mov_b32_e32 v8, 1.0
  v_mov_b32_e32 v9, 0x33000000
  v_add_f32_e32 v9, v8, v9
.Lboth:
  s_barrier
  v_mov_b32_e32 v8, 2.0
  v_mul_f32_e32 v9, v8, v8
  s_getreg_b32 s10, hwreg(HW_REG_TRAPSTS, 0, 9)
  v_clrexcp
  s_getreg_b32 s11, hwreg(HW_REG_TRAPSTS, 0, 9)
  s_lshl_b32 s11, s11, 16
  s_or_b32 s10, s10, s11
  v_mov_b32_e32 v10, s10
  store v[6:7], v10
)",
                                           kOwnAddress),
                       .args = {{"out"}}};
  run(k, out, WAVEJIT_OK, 256);
  for (unsigned i = 0; i < 256; ++i) ASSERT_EQ(out[i], i / 64 == 1 ? 4u : 32u) << i;
}

// The read is in a function that is called through a register.
TEST_P(Exceptions, AreSeenByFunctions) {
  Buffer<uint32_t> out(64);
  const KernelSource k{.name = "calls",
                       .body = fmt::format(R"({}
  v_mov_b32_e32 v8, -1.0
  v_sqrt_f32_e32 v9, v8
  s_getpc_b64 s[20:21]
.Lhere:
  s_add_u32 s20, s20, .Lfunction-.Lhere
  s_addc_u32 s21, s21, 0
  s_swappc_b64 s[30:31], s[20:21]
  v_mov_b32_e32 v10, s10
  store v[6:7], v10
  s_endpgm
.Lfunction:
  s_getreg_b32 s10, hwreg(HW_REG_TRAPSTS, 0, 9)
  s_setpc_b64 s[30:31]
)",
                                           kOwnAddress),
                       .args = {{"out"}}};
  run(k, out);
  EXPECT_EQ(out[0], 1u);
}

// The read is where a branch of Tensile's kind goes, whose distance is too large for a branch instruction.
TEST_P(Exceptions, AreSeenBehindLongBranches) {
  Buffer<uint32_t> out(64);
  const KernelSource k{.name = "far",
                       .body = fmt::format(R"({}
  v_mov_b32_e32 v8, -1.0
  v_sqrt_f32_e32 v9, v8
  s_mov_b32 s10, 0
  s_cmp_eq_u32 s10, 0
  s_cbranch_scc0 .Lnear
  s_getpc_b64 s[20:21]
.Lhere:
  s_add_i32 s22, .Lfar-.Lhere-4, 4
  s_add_u32 s20, s20, s22
  s_addc_u32 s21, s21, 0
  s_setpc_b64 s[20:21]
.Lnear:
  .fill 40000, 4, 0xbf800000
.Lfar:
  s_getreg_b32 s10, hwreg(HW_REG_TRAPSTS, 0, 9)
  v_mov_b32_e32 v10, s10
  store v[6:7], v10
)",
                                           kOwnAddress),
                       .args = {{"out"}}};
  run(k, out);
  for (unsigned i = 0; i < 64; ++i) ASSERT_EQ(out[i], 1u) << i;
}

TEST_P(Exceptions, Trap) {
  struct Case {
    const char* body;
    const char* directives;
    const char* instruction;  // null: nothing traps
  };
  const char* const overflow = "  v_mov_b32_e32 v8, 0x7f000000\n  v_mul_f32_e32 v9, v8, v8\n";
  const std::string enabled = std::string("  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 9), 8\n") + overflow;
  const std::string by_register =
      std::string("  s_movk_i32 s8, 8\n  s_setreg_b32 hwreg(HW_REG_MODE, 12, 9), s8\n") + overflow;
  const std::string others = std::string("  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 9), 0x57\n") + overflow;
  const Case cases[] = {
      {overflow, "", nullptr},
      {overflow, "  .amdhsa_exception_fp_ieee_overflow 1\n", "v_mul_f32"},
      {overflow, "  .amdhsa_exception_fp_ieee_div_zero 1\n", nullptr},
      {"  v_mov_b32_e32 v8, 0\n  v_rcp_iflag_f32_e32 v9, v8\n", "  .amdhsa_exception_int_div_zero 1\n",
       "v_rcp_iflag_f32"},
      {enabled.c_str(), "", "v_mul_f32"},
      {by_register.c_str(), "", "v_mul_f32"},
      {others.c_str(), "", nullptr},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{}{}", c.directives, c.body));
    Buffer<uint32_t> out(64);
    const KernelSource k{.name = "traps",
                         .body = fmt::format("{}{}  v_mov_b32_e32 v10, 5\n  store v[6:7], v10\n", kOwnAddress, c.body),
                         .directives = c.directives,
                         .args = {{"out"}}};
    const std::string message = run(k, out, c.instruction ? WAVEJIT_GUEST_TRAP : WAVEJIT_OK);
    EXPECT_EQ(out[3], c.instruction ? 0u : 5u);
    if (c.instruction) {
      EXPECT_NE(message.find(c.instruction), std::string::npos) << message;
      EXPECT_NE(message.find("raised an exception"), std::string::npos) << message;
    }
  }
}

// MODE reads as it has been written, whatever waves keep there for themselves.
TEST_P(Exceptions, ModeIsUntouched) {
  Buffer<uint32_t> out(64);
  const KernelSource k{.name = "mode",
                       .body = fmt::format(R"({}
  s_getreg_b32 s11, hwreg(HW_REG_TRAPSTS)
  s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0x3f0
  s_getreg_b32 s10, hwreg(HW_REG_MODE)
  v_mov_b32_e32 v10, s10
  store v[6:7], v10
)",
                                           kOwnAddress),
                       .args = {{"out"}}};
  run(k, out);
  EXPECT_EQ(out[0], 0x3f0u);
}

// Whether a kernel can tell is asked of its own code: branches to elsewhere, which nobody takes here, are not followed.
TEST_P(Exceptions, AreNotLookedForOutsideOfTheCode) {
  const KernelSource observer{
      .name = "observer", .body = "  s_getreg_b32 s10, hwreg(HW_REG_TRAPSTS, 0, 9)\n", .args = {}};
  const KernelSource far{.name = "far",
                         .body = fmt::format(R"({}
  store v[6:7], v0
  s_cmp_lg_u32 0, 0
  s_cbranch_scc1 32767
  s_cbranch_scc1 -32768
)",
                                             kOwnAddress),
                         .args = {{"out"}}};
  const Module module = load("gfx906", {far, observer});
  Kernel kernel = module.kernel("far");
  Buffer<uint32_t> out(64);
  kernel.set_args(out);
  (void)kernel.launch(launch_options(GetParam(), 64, 64));
  for (unsigned i = 0; i < 64; ++i) ASSERT_EQ(out[i], i);
}

INSTANTIATE_TEST_SUITE_P(All, Exceptions, testing::ValuesIn(engines_and_auto()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wavejit::test
