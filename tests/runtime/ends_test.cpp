// How waves end, wait and fail: s_endpgm and its relatives, s_barrier, s_sendmsghalt, s_setkill, s_sethalt, s_trap and
// what only trap handlers may execute.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

struct Parameter {
  std::string target;
  TestEngine engine;
};

class Ends : public testing::TestWithParam<Parameter> {
 protected:
  // Stores 1, executes `instructions`, stores 2.
  static KernelSource around(std::string_view instructions) {
    return {.name = "k",
            .body = fmt::format("{}  v_mov_b32_e32 v8, 1\n  store v[6:7], v8\n  s_waitcnt vmcnt(0)\n{}\n"
                                "  v_mov_b32_e32 v8, 2\n  store v[6:7], v8\n",
                                kOwnAddress, instructions),
            .args = {{"out"}}};
  }
  // What the lanes have stored; `message` takes the error's.
  static uint32_t run(std::string_view instructions, wavejit_status expected, std::string* message = nullptr) {
    SCOPED_TRACE(instructions);
    const Module module = load(GetParam().target, {around(instructions)});
    Kernel kernel = module.kernel("k");
    Buffer<uint32_t> out(64);
    kernel.set_args(out);
    try {
      (void)kernel.launch(launch_options(GetParam().engine, 64, 64));
      EXPECT_EQ(expected, WAVEJIT_OK) << "it ended";
    } catch (const Exception& e) {
      EXPECT_EQ(e.status(), expected) << e.what();
      EXPECT_EQ(e.kernel(), "k");
      EXPECT_TRUE(e.pc()) << e.what();
      if (message) *message = e.what();
    }
    for (unsigned i = 1; i < 64; ++i) EXPECT_EQ(out[i], out[0]) << i;
    return out[0];
  }
};

TEST_P(Ends, Waves) {
  EXPECT_EQ(run("  s_nop 0", WAVEJIT_OK), 2u);
  EXPECT_EQ(run("  s_endpgm", WAVEJIT_OK), 1u);
  EXPECT_EQ(run("  s_endpgm_saved", WAVEJIT_OK), 1u);
  if (GetParam().target != "gfx803") {
    EXPECT_EQ(run("  s_endpgm_ordered_ps_done", WAVEJIT_OK), 1u);
  }
  EXPECT_EQ(run("  s_setkill 1", WAVEJIT_OK), 1u);
  EXPECT_EQ(run("  s_setkill 0", WAVEJIT_OK), 2u);
}

// A message that nothing comes of; the wave halts, and nobody continues it.
TEST_P(Ends, SendAndHalt) {
  EXPECT_EQ(run("  s_sendmsghalt sendmsg(MSG_INTERRUPT)", WAVEJIT_OK), 1u);
  EXPECT_EQ(run("  s_sendmsg sendmsg(MSG_INTERRUPT)", WAVEJIT_OK), 2u);
  std::string message;
  EXPECT_EQ(run("  s_sendmsghalt sendmsg(MSG_GS_DONE, GS_OP_NOP)", WAVEJIT_UNSUPPORTED, &message), 1u);
  EXPECT_NE(message.find("s_sendmsghalt"), std::string::npos) << message;
}

// AMDGPUUsage, "Trap Handler ABI": 2 is llvm.trap, 3 llvm.debugtrap, which goes on without a debugger.
TEST_P(Ends, Traps) {
  EXPECT_EQ(run("  s_trap 3", WAVEJIT_OK), 2u);
  for (const unsigned id : {0u, 1u, 2u, 4u, 255u}) {
    std::string message;
    EXPECT_EQ(run(fmt::format("  s_trap {}", id), WAVEJIT_GUEST_TRAP, &message), 1u);
    EXPECT_NE(message.find(fmt::format("s_trap {}", id)), std::string::npos) << message;
  }
}

TEST_P(Ends, Halts) {
  EXPECT_EQ(run("  s_sethalt 0", WAVEJIT_OK), 2u);
  std::string message;
  EXPECT_EQ(run("  s_sethalt 1", WAVEJIT_UNSUPPORTED, &message), 1u);
  EXPECT_NE(message.find("s_sethalt"), std::string::npos) << message;
}

// "May only be used within a trap handler" (MI300 ISA); there is none.
TEST_P(Ends, PrivilegedInstructions) {
  for (const char* name : {"s_rfe_b64 s[10:11]", "s_rfe_restore_b64 s[10:11], s12"}) {
    std::string message;
    EXPECT_EQ(run(fmt::format("  {}", name), WAVEJIT_UNSUPPORTED, &message), 1u);
    EXPECT_NE(message.find(std::string_view(name).substr(0, 8)), std::string::npos) << message;
    EXPECT_NE(message.find("trap handlers"), std::string::npos) << message;
  }
}

// Waves that have ended are not waited for; the others all are, each time.
TEST_P(Ends, Barriers) {
  const KernelSource k{.name = "k",
                       .body = fmt::format(R"({}
  s_mov_b32 m0, -1
  v_readfirstlane_b32 s8, v0
  s_lshr_b32 s8, s8, 6
  s_cmp_eq_u32 s8, 2
  s_cbranch_scc1 .Lout
  s_mov_b32 s9, 0
.Lagain:
  v_add_u16_e32 v8, s9, v0
  v_lshlrev_b32_e32 v9, 2, v0
  ds_write_b32 v9, v8
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32_e32 v9, 0x300, v9
  ds_read_b32 v10, v9
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_addk_i32 s9, 1
  s_cmp_lt_u32 s9, 5
  s_cbranch_scc1 .Lagain
  store v[6:7], v10
.Lout:
)",
                                           kOwnAddress),
                       .args = {{"out"}},
                       .lds = 1024};
  const Module module = load(GetParam().target, {k});
  Kernel kernel = module.kernel("k");
  Buffer<uint32_t> out(256);
  kernel.set_args(out);
  (void)kernel.launch(launch_options(GetParam().engine, 256, 256));
  // Waves 0 and 3 exchange; wave 1 reads what wave 2 would have written.
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_EQ(out[i], (i ^ 192) + 4) << i;
    EXPECT_EQ(out[192 + i], i + 4) << i;
  }
}

std::vector<Parameter> parameters() {
  std::vector<Parameter> all;
  for (const TestEngine& engine : engines_and_auto())
    for (const char* target : {"gfx803", "gfx900", "gfx90a"}) all.push_back({target, engine});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Ends, testing::ValuesIn(parameters()),
                         [](const auto& info) { return info.param.target + "_" + info.param.engine.name; });

}  // namespace
}  // namespace wavejit::test
