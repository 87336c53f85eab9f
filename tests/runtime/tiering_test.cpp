// Launches that begin in the interpreter and go on in translated code.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

const TestEngine kAuto = auto_engine();
constexpr const char* kTieringTarget = "gfx906";

// Every work-item adds its number `trips` times to a running value, and meets the others of its group at a barrier in
// between. Registers of all kinds live through the loop: VGPRs, SCC's counter, VCC, LDS and a partial EXEC.
KernelSource mixer(unsigned trips, unsigned group) {
  return {.name = "mixer",
          .body = fmt::format(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 m0, -1
  s_mul_i32 s6, s2, {1}
  v_mov_b32_e32 v9, 0
  v_lshlrev_b32_e32 v8, 2, v0
  v_cmp_gt_u32_e32 vcc, 17, v0
  s_mov_b64 s[10:11], vcc
  s_mov_b32 s7, {0}
.Lagain:
  v_add_u32_e32 v9, v9, v0
  v_mul_lo_u32 v9, v9, 3
  s_mov_b64 s[12:13], exec
  s_and_b64 exec, exec, s[10:11]
  v_xor_b32_e32 v9, 5, v9
  s_mov_b64 exec, s[12:13]
  s_sub_u32 s7, s7, 1
  s_cmp_lg_u32 s7, 0
  s_cbranch_scc1 .Lagain
  ds_write_b32 v8, v9
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32_e32 v10, 4, v8
  ds_read_b32 v11, v10
  v_add_u32_e32 v1, s6, v0
  v_lshlrev_b32_e32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v1
  addc v7, v4, v5
  store v[6:7], v11
)",
                              trips, group),
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"out"}},
          .lds = 4096};
}

// What the mixer leaves for work-item `item` of a group.
uint32_t mixed(uint32_t item, unsigned trips) {
  const uint32_t id = item ^ 1;
  uint32_t value = 0;
  for (unsigned i = 0; i < trips; ++i) {
    value = (value + id) * 3;
    if (id < 17) value ^= 5;
  }
  return value;
}

void expect_mixed(const Buffer<uint32_t>& out, unsigned group, unsigned trips) {
  std::vector<uint32_t> expected;
  for (unsigned i = 0; i < group; ++i) expected.push_back(mixed(i, trips));
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], expected[i % group]) << i;
}

// Enough work-groups for the translation to come in between, over and over: it comes at another place each time.
TEST(Tiering, WorkGroupsGoOnInTranslatedCode) {
  constexpr unsigned kTrips = 20;
  uint64_t interpreted = 0, all = 0;
  for (unsigned round = 0; round < 20; ++round)
    for (const unsigned group : {64u, 100u, 256u}) {
      const Module module = load(kTieringTarget, {mixer(kTrips, group)});
      Kernel kernel = module.kernel("mixer");
      Buffer<uint32_t> out(size_t{group} * 1000);
      kernel.set_args(out);
      const LaunchStats stats =
          kernel.launch(launch_options(kAuto, static_cast<uint32_t>(out.size()), group, 1 + round % 3));
      EXPECT_EQ(stats.engine, WAVEJIT_ENGINE_JIT);
      EXPECT_EQ(stats.workgroups, 1000u);
      EXPECT_LE(stats.interpreted_workgroups, stats.workgroups);
      EXPECT_EQ(stats.guest_instructions, 0u) << "not all were counted";
      interpreted += stats.interpreted_workgroups;
      all += stats.workgroups;
      expect_mixed(out, group, kTrips);
      // By now it is translated, or will be before long.
      while (kernel.launch(launch_options(kAuto, group, group)).interpreted_workgroups) std::this_thread::yield();
      const LaunchStats later = kernel.launch(launch_options(kAuto, static_cast<uint32_t>(out.size()), group));
      EXPECT_EQ(later.interpreted_workgroups, 0u);
      EXPECT_EQ(later.translations, 0u);
      expect_mixed(out, group, kTrips);
    }
  EXPECT_GT(interpreted, 0u) << "nothing starts at once";
  EXPECT_LT(interpreted, all);
}

// Waves that would be interpreted for minutes do not wait for their end.
TEST(Tiering, LongLoopsMoveToTranslatedCode) {
  constexpr unsigned kTrips = 3'000'000;
  for (const unsigned group : {64u, 200u}) {
    SCOPED_TRACE(group);
    const Module module = load(kTieringTarget, {mixer(kTrips, group)});
    Kernel kernel = module.kernel("mixer");
    Buffer<uint32_t> out(group);
    kernel.set_args(out);
    const LaunchStats stats = kernel.launch(launch_options(kAuto, group, group));
    // All waves that were interpreted have moved, unless the machine is so slow that translation came first.
    EXPECT_EQ(stats.moved_waves, stats.interpreted_workgroups * ((group + 63) / 64));
    expect_mixed(out, group, kTrips);
  }
}

// The work-group's id is overwritten in front of the barrier, where nobody reads it any more. So translated code leaves it in
// the register, and behind the barrier computes the work-item's number of it. The interpreter does not leave it there. Lanes
// part in the first loop, and lanes that are off keep what they had. v12 is only read in lanes in which it was written, and
// these hold the same, but the first lane is not among them.
KernelSource overwritten_id(unsigned group) {
  return {.name = "overwritten_id",
          .body = fmt::format(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 m0, -1
  s_mul_i32 s6, s2, {0}
  v_add_u32_e32 v1, s6, v0
  s_mov_b32 s2, 0x12345
  s_mov_b32 s6, 0x54321
  v_mov_b32_e32 v9, 3
  v_mov_b32_e32 v2, 1
  v_mov_b32_e32 v12, v1
  v_lshlrev_b32_e32 v8, 2, v0
  ds_write_b32 v8, v1
  s_mov_b32 s7, 9
.Lfirst:
  v_cmp_lt_u32_e32 vcc, 20, v0
  s_and_saveexec_b64 s[12:13], vcc
  v_mov_b32_e32 v2, s7
  v_add_u32_e32 v9, v9, v2
  s_or_b64 exec, exec, s[12:13]
  s_sub_u32 s7, s7, 1
  s_cmp_lg_u32 s7, 0
  s_cbranch_scc1 .Lfirst
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32_e32 v10, 4, v8
  ds_read_b32 v11, v10
  s_mov_b32 s7, 12
  v_mov_b32_e32 v3, 7
  s_lshr_b32 s8, s4, 31
  s_or_b32 s8, s8, 1
  v_cmp_lt_u32_e64 s[10:11], 20, v0
  s_and_saveexec_b64 s[12:13], s[10:11]
  v_mov_b32_e32 v12, s8
  s_or_b64 exec, exec, s[12:13]
  s_waitcnt lgkmcnt(0)
.Lsecond:
  v_add_u32_e32 v9, v9, v11
  v_add_u32_e32 v3, v3, v3
  v_xor_b32_e32 v9, v9, v1
  s_and_saveexec_b64 s[12:13], s[10:11]
  v_add_u32_e32 v9, v9, v12
  s_or_b64 exec, exec, s[12:13]
  s_sub_u32 s7, s7, 1
  s_cmp_lg_u32 s7, 0
  s_cbranch_scc1 .Lsecond
  v_add_u32_e32 v9, v9, v2
  v_add_u32_e32 v9, v9, v3
  v_lshlrev_b32_e32 v1, 2, v1
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v1
  addc v7, v4, v5
  store v[6:7], v9
)",
                              group),
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"out"}},
          .lds = 4096};
}

// In a drawn order waves move at any loop, before the barrier and behind it.
TEST(Tiering, WhatMovedWavesHoldIsWhatTheInterpreterLeaves) {
  for (const unsigned group : {2u, 32u, 64u, 90u, 192u}) {
    SCOPED_TRACE(group);
    const Module module = load(kTieringTarget, {overwritten_id(group)});
    Kernel kernel = module.kernel("overwritten_id");
    Buffer<uint32_t> out(size_t{group} * 40);
    kernel.set_args(out);
    uint64_t moved = 0;
    for (uint64_t seed = 1; seed <= 120; ++seed) {
      std::fill_n(out.data(), out.size(), 0);
      LaunchOptions options = launch_options(kAuto, static_cast<uint32_t>(out.size()), group);
      options.schedule = seed * 1'000'003;
      moved += kernel.launch(options).moved_waves;
      for (uint32_t i = 0; i < out.size(); ++i) {
        const uint32_t item = i % group, neighbour = i - item + (item ^ 1);
        uint32_t expected = 3 + (item > 20 ? 45u : 0u);
        for (unsigned k = 0; k < 12; ++k) expected = ((expected + neighbour) ^ i) + (item > 20 ? 1 : 0);
        expected += 1 + (7u << 12);  // in lanes that were on in the first loop, its last s7, which is 1, too
        ASSERT_EQ(out[i], expected) << "item " << i << ", schedule " << seed;
      }
    }
    EXPECT_GT(moved, 100u);
  }
}

// v12 is written in some lanes in front of the barrier, and behind it only these are looked at. Translated code may leave
// anything in the others; the interpreter does not.
KernelSource some_lanes_across_a_barrier() {
  return {.name = "some_lanes",
          .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v1, v0
  v_mov_b32_e32 v9, 3
  v_mov_b32_e32 v12, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, 3
  s_mov_b32 s7, 9
.Lfirst:
  s_mul_i32 s8, s8, 3
  s_sub_u32 s7, s7, 1
  s_cmp_lg_u32 s7, 0
  s_cbranch_scc1 .Lfirst
  s_or_b32 s8, s8, 1
  v_mbcnt_lo_u32_b32 v8, -1, 0
  v_mbcnt_hi_u32_b32 v8, -1, v8
  v_cmp_lt_u32_e64 s[10:11], 20, v8
  s_and_saveexec_b64 s[12:13], s[10:11]
  v_mov_b32_e32 v12, s8
  s_or_b64 exec, exec, s[12:13]
  s_mov_b32 s8, 0
  s_barrier
  s_mov_b32 s7, 300
.Lsecond:
  v_mbcnt_lo_u32_b32 v8, -1, 0
  v_mbcnt_hi_u32_b32 v8, -1, v8
  v_cmp_lt_u32_e64 s[10:11], 20, v8
  s_and_saveexec_b64 s[12:13], s[10:11]
  v_add_u32_e32 v9, v9, v12
  s_or_b64 exec, exec, s[12:13]
  s_sub_u32 s7, s7, 1
  s_cmp_lg_u32 s7, 0
  s_cbranch_scc1 .Lsecond
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v1
  addc v7, v4, v5
  store v[6:7], v9
)",
          .args = {{"out"}}};
}

TEST(Tiering, LanesThatNobodyLooksAtAreTheInterpreters) {
  const Module module = load(kTieringTarget, {some_lanes_across_a_barrier()});
  Kernel kernel = module.kernel("some_lanes");
  Buffer<uint32_t> out(128);
  kernel.set_args(out);
  uint64_t moved = 0;
  for (uint64_t seed = 1; seed <= 240; ++seed) {
    LaunchOptions options = launch_options(kAuto, 128, 128);
    options.schedule = seed * 1'000'003;
    moved += kernel.launch(options).moved_waves;
    for (uint32_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], i % 64 > 20 ? 3 + 300 * 59049u : 3u) << "item " << i << ", schedule " << seed;
  }
  EXPECT_GT(moved, 10u);
}

// Counted in both kinds of code, each instruction is counted once.
TEST(Tiering, CountsInstructionsOnce) {
  constexpr unsigned kGroup = 128;
  const auto count = [&](const TestEngine& engine, unsigned trips) {
    const Module module = load(kTieringTarget, {mixer(trips, kGroup)});
    Kernel kernel = module.kernel("mixer");
    Buffer<uint32_t> out(kGroup * 200);
    kernel.set_args(out);
    LaunchOptions options = launch_options(engine, kGroup * 200, kGroup, 2);
    options.count_instructions = 1;
    return kernel.launch(options).guest_instructions;
  };
  for (const unsigned trips : {3u, 30u, 300u}) EXPECT_EQ(count(kAuto, trips), count(engines()[0], trips)) << trips;
}

// At the edge of the grid, with code of their own that is translated in the background, too.
TEST(Tiering, PartialWorkGroups) {
  KernelSource k{.name = "ids",
                 .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mul_i32 s6, s2, 100
  v_add_u32_e32 v1, s6, v0
  v_lshlrev_b32_e32 v2, 2, v1
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v2
  addc v7, v4, v5
  store v[6:7], v1
)",
                 .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
                 .args = {{"out"}}};
  for (const uint32_t grid : {30u, 100u, 130u, 100'000u, 1'000'070u}) {
    SCOPED_TRACE(grid);
    const Module module = load(kTieringTarget, {k});
    Kernel kernel = module.kernel("ids");
    Buffer<uint32_t> out(grid);
    kernel.set_args(out);
    (void)kernel.launch(launch_options(kAuto, grid, 100, 2));
    for (uint32_t i = 0; i < grid; ++i) ASSERT_EQ(out[i], i);
  }
}

// The translation under way keeps what it reads.
TEST(Tiering, ModulesMayGoWhileTheyAreTranslated) {
  for (unsigned round = 0; round < 50; ++round) {
    Buffer<uint32_t> out(64);
    {
      const Module module = load(kTieringTarget, {mixer(2, 64)});
      Kernel kernel = module.kernel("mixer");
      kernel.set_args(out);
      (void)kernel.launch(launch_options(kAuto, 64, 64));
    }
    expect_mixed(out, 64, 2);
  }
}

// A process that is forked while the thread translates has neither the thread nor what it holds.
TEST(Tiering, ForkedProcessesExit) {
  if (kSignalsAreHeldBack) GTEST_SKIP() << "ThreadSanitizer does not follow forks of processes with threads";
  // Quick to interpret, as it jumps over what takes long to translate.
  KernelSource slow{.name = "slow",
                    .body = "  s_load_dword s6, s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n  s_cmp_eq_u32 s6, 1\n"};
  slow.body += "  s_cbranch_scc0 .Lend\n";
  for (unsigned i = 0; i < 3000; ++i) slow.body += fmt::format("  v_mul_lo_u32 v{}, v{}, v{}\n", i % 7, i % 5, i % 11);
  slow.body += "  v_mov_b32_e32 v20, 0\n  v_mov_b32_e32 v21, 0\n";
  for (unsigned i = 0; i < 11; ++i) slow.body += fmt::format("  store v[20:21], v{}\n", i);
  slow.body += ".Lend:\n";
  slow.args = {{"count", 4, "by_value"}};
  for (unsigned round = 0; round < 5; ++round) {
    const Module module = load(kTieringTarget, {slow});
    Kernel kernel = module.kernel("slow");
    kernel.set_args(0);
    (void)kernel.launch(launch_options(kAuto, 64, 64));
    std::fflush(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) std::exit(7);
    int status = 0;
    pid_t ended = 0;
    for (unsigned waited = 0; waited < 20'000 && ended == 0; ++waited) {  // less than the test's time limit
      ended = waitpid(child, &status, WNOHANG);
      if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (ended == 0) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      FAIL() << "the child does not exit";
    }
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
}

TEST(Tiering, LaunchesInParallelShareATranslation) {
  constexpr unsigned kTrips = 50, kLaunches = 4;
  const Module module = load(kTieringTarget, {mixer(kTrips, 64)});
  std::vector<std::thread> threads;
  std::vector<std::optional<Buffer<uint32_t>>> outs(kLaunches);
  for (auto& out : outs)
    threads.emplace_back([&] {
      Kernel kernel = module.kernel("mixer");
      out.emplace(64 * 500);
      kernel.set_args(*out);
      (void)kernel.launch(launch_options(kAuto, 64 * 500, 64));
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& out : outs) expect_mixed(*out, 64, kTrips);
}

}  // namespace
}  // namespace wavejit::test
