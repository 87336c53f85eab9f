// What profiles say of a kernel of which every count is known.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

// Lanes 0 to 15 go round a loop three times, the others skip it; all store their number at 8 * number.
KernelSource loop_of_some() {
  return {.name = "loop_of_some",
          .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 m0, -1
  v_lshlrev_b32_e32 v1, 3, v0
  v_cmp_gt_u32_e32 vcc, 16, v0
  s_mov_b64 s[10:11], exec
  s_mov_b32 s7, 3
  s_and_b64 exec, exec, vcc
  s_cbranch_execz .Lbehind
.Lagain:
  v_add_u32_e32 v2, 1, v2
  ds_write_b32 v1, v2
  s_sub_u32 s7, s7, 1
  s_cmp_lg_u32 s7, 0
  s_cbranch_scc1 .Lagain
.Lbehind:
  s_mov_b64 exec, s[10:11]
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v1
  addc v7, v4, v5
  store v[6:7], v0
)",
          .args = {{"out"}},
          .lds = 4096};
}

TEST(Profiles, CountsWhatWavesDo) {
  const Module module = load("gfx906", {loop_of_some()});
  Kernel kernel = module.kernel("loop_of_some");
  Buffer<uint32_t> out(512);
  kernel.set_args(out);
  const Profile profile;
  // Two work-groups of four waves, of which the first three go past the loop's branch with some lanes, or none.
  LaunchOptions options = launch_options(auto_engine(), 512, 256, 2);
  options.profile = profile.handle();
  const LaunchStats stats = kernel.launch(options);
  EXPECT_EQ(stats.engine, WAVEJIT_ENGINE_INTERP);
  for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(out[2 * i], i);
  const std::vector<wavejit_profile_entry> entries = profile.entries(kernel);
  uint64_t executed = 0, branches = 0, accesses = 0, in_lds = 0;
  for (const wavejit_profile_entry& at : entries) {
    executed += at.executed;
    EXPECT_LE(at.lanes, 64 * at.executed);
    accesses += at.accesses;
    if (at.accesses != 0) {
      EXPECT_EQ(at.strided, 8u);
      EXPECT_EQ(at.stride, 8);
      EXPECT_EQ(at.lines, 8u * 8);
      EXPECT_EQ(at.access_lanes, 512u);
    }
    if (at.lds_accesses != 0) {
      in_lds += at.lds_accesses;
      EXPECT_EQ(at.executed, 6u);
      EXPECT_EQ(at.lanes, 6 * 16u);
      EXPECT_EQ(at.lds_halves, 6u);
      EXPECT_EQ(at.lds_cycles, 6u);  // 16 lanes at every second bank
    }
    branches += at.taken;
  }
  EXPECT_EQ(executed, stats.guest_instructions);
  EXPECT_EQ(accesses, 8u);
  EXPECT_EQ(in_lds, 6u);
  EXPECT_EQ(branches, 6u + 2 * 2);  // six waves skip the loop, two go back in it twice
  // Another launch adds to it.
  (void)kernel.launch(options);
  EXPECT_EQ(profile.entries(kernel)[0].executed, 2 * entries[0].executed);
  const std::string text = profile.text(kernel);
  EXPECT_NE(text.find("            16   64.0  "), std::string::npos) << text;
  EXPECT_NE(text.find("            12   16.0  "), std::string::npos) << text;
  EXPECT_NE(text.find("; taken 75.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("; taken 66.7 %"), std::string::npos) << text;
  EXPECT_NE(text.find("; 4 B a lane, 8.0 lines of 64 B, stride 8 B\n"), std::string::npos) << text;
  EXPECT_NE(text.find("; LDS without bank conflicts\n"), std::string::npos) << text;
}

TEST(Profiles, AreMadeByTheInterpreterAlone) {
  const Module module = load("gfx906", {loop_of_some()});
  Kernel kernel = module.kernel("loop_of_some");
  Buffer<uint32_t> out(512);
  kernel.set_args(out);
  const Profile profile;
  for (const TestEngine& engine : engines()) {
    LaunchOptions options = launch_options(engine, 512, 256);
    options.profile = profile.handle();
    if (engine.engine == WAVEJIT_ENGINE_INTERP) {
      (void)kernel.launch(options);
      continue;
    }
    try {
      (void)kernel.launch(options);
      FAIL() << "launched";
    } catch (const Exception& e) {
      EXPECT_EQ(e.status(), WAVEJIT_INVALID_ARGUMENT);
    }
  }
  const Module other = load("gfx906", {loop_of_some()});
  EXPECT_TRUE(profile.entries(other.kernel("loop_of_some")).empty());
}

}  // namespace
}  // namespace wavejit::test
