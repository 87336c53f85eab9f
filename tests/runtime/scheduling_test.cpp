// Barriers, spin-waits, time limits, many groups on many threads, launches in parallel.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

class Scheduling : public testing::TestWithParam<TestEngine> {};
constexpr const char* kTarget = "gfx906";

// Work-items of a group exchange values through LDS over a barrier: out[i] = n - 1 - i within the group.
KernelSource reverse(unsigned group) {
  return {.name = "reverse",
          .body = fmt::format(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 m0, -1
  v_lshlrev_b32_e32 v1, 2, v0
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_sub_u32_e32 v2, {0}, v0
  v_lshlrev_b32_e32 v2, 2, v2
  ds_read_b32 v3, v2
  s_mul_i32 s6, s2, {1}
  v_add_u32_e32 v1, s6, v1
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v1
  addc v7, v4, v5
  store v[6:7], v3
)",
                              group - 1, group * 4),
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"out"}},
          .lds = group * 4};
}

TEST_P(Scheduling, BarrierBetweenAllWavesOfAGroup) {
  for (const unsigned group : {64u, 256u, 1024u}) {
    SCOPED_TRACE(group);
    // Constants above 64 are literals, which VOP2 takes as src0.
    const Module module = load(kTarget, {reverse(group)});
    Kernel kernel = module.kernel("reverse");
    Buffer<uint32_t> out(group * 37);
    kernel.set_args(out);
    (void)kernel.launch(launch_options(GetParam(), group * 37, group, 3));
    for (unsigned i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], group - 1 - i % group) << i;
  }
}

// Behind a barrier the first wave replaces a word in LDS by one from memory, and the others read the word: on hardware they are done
// long before the load is. Kernels rely on that.
TEST_P(Scheduling, TheFirstWaveIsLastBehindABarrier) {
  KernelSource k{.name = "first_last",
                 .body = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_mov_b32 m0, -1
  v_readfirstlane_b32 s8, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 7
  ds_write_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lread
  v_mov_b32_e32 v4, s6
  v_mov_b32_e32 v5, s7
  flat_load_dword v3, v[4:5]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_write_b32 v1, v3
.Lread:
  ds_read_b32 v3, v1
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v1
  addc v7, v4, v5
  s_waitcnt lgkmcnt(0)
  store v[6:7], v3
)",
                 .args = {{"out"}, {"word"}},
                 .lds = 4};
  for (const char* target : {"gfx803", "gfx906"}) {
    const Module module = load(target, {k});
    Kernel kernel = module.kernel("first_last");
    Buffer<uint32_t> out(256), word(1);
    word[0] = 9;
    kernel.set_args(out, word);
    (void)kernel.launch(launch_options(GetParam(), 256, 256));
    for (unsigned i = 0; i < 256; ++i) ASSERT_EQ(out[i], i < 64 ? 9u : 7u) << i;
  }
}

// EXEC is partial at one barrier and full again at the next: what was done in between holds for some lanes only.
TEST_P(Scheduling, PartialExecBetweenBarriers) {
  KernelSource k{.name = "partial",
                 .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, v1
  v_mov_b32_e32 v3, 7
  s_mov_b64 exec, 0xffff
  s_barrier
  v_lshlrev_b32_e32 v2, 3, v0
  v_mov_b32_e32 v3, 9
  s_mov_b64 exec, -1
  s_barrier
  v_add_u32_e32 v2, v2, v3
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v1
  addc v7, v4, v5
  store v[6:7], v2
)",
                 .args = {{"out"}}};
  const Module module = load(kTarget, {k});
  Kernel kernel = module.kernel("partial");
  Buffer<uint32_t> out(256);
  kernel.set_args(out);
  (void)kernel.launch(launch_options(GetParam(), 256, 128));
  for (unsigned i = 0; i < 256; ++i) {
    const uint32_t l = i % 128, expected = l % 64 < 16 ? 8 * l + 9 : 4 * l + 7;
    // Both groups write to the same addresses.
    if (i < 128) {
      ASSERT_EQ(out[i], expected) << i;
    }
  }
}

// A function called between barriers changes registers that were known.
TEST_P(Scheduling, CallsBetweenBarriers) {
  KernelSource k{.name = "calls",
                 .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, v1
  s_barrier
  s_getpc_b64 s[20:21]
  s_add_u32 s20, s20, .Lfunction-.Lhere
  s_addc_u32 s21, s21, 0
.Lhere:
  s_add_u32 s20, s20, 12
  s_addc_u32 s21, s21, 0
  s_swappc_b64 s[30:31], s[20:21]
  s_barrier
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v1
  addc v7, v4, v5
  store v[6:7], v2
  s_endpgm
.Lfunction:
  s_barrier
  v_add_u32_e32 v2, 1, v2
  s_barrier
  s_setpc_b64 s[30:31]
)",
                 .args = {{"out"}}};
  const Module module = load(kTarget, {k});
  Kernel kernel = module.kernel("calls");
  Buffer<uint32_t> out(128);
  kernel.set_args(out);
  (void)kernel.launch(launch_options(GetParam(), 128, 128));
  for (unsigned i = 0; i < 128; ++i) ASSERT_EQ(out[i], 4 * i + 1) << i;
}

TEST_P(Scheduling, WavesThatEndedDoNotHoldUpABarrier) {
  // The first wave ends; the others pass two barriers and store.
  KernelSource k{.name = "early",
                 .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 64, v0
  s_cbranch_vccz .Lgo
  s_endpgm
.Lgo:
  s_barrier
  s_barrier
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v1
  addc v7, v4, v5
  store v[6:7], v0
)",
                 .args = {{"out"}}};
  const Module module = load(kTarget, {k});
  Kernel kernel = module.kernel("early");
  Buffer<uint32_t> out(256);
  for (uint32_t& value : out) value = 0xffffffff;
  kernel.set_args(out);
  (void)kernel.launch(launch_options(GetParam(), 256, 256));
  for (unsigned i = 0; i < 256; ++i) ASSERT_EQ(out[i], i < 64 ? 0xffffffff : i);
}

// Wave 0 waits in a spin loop until wave 1 has set a flag in memory.
KernelSource spinning(bool sleep) {
  return {.name = "spin",
          .body = fmt::format(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 64, v0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v6, s4
  v_mov_b32_e32 v7, s5
  v_mov_b32_e32 v8, 1
  s_cbranch_vccz .Lset
.Lwait:
  {}
  flat_load_dword v9, v[6:7] glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_readfirstlane_b32 s6, v9
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc1 .Lwait
  s_endpgm
.Lset:
  store v[6:7], v8
)",
                              sleep ? "s_sleep 1" : ""),
          .args = {{"flag"}}};
}

TEST_P(Scheduling, SpinWaitWithSleepBetweenWaves) {
  const Module module = load(kTarget, {spinning(true)});
  Kernel kernel = module.kernel("spin");
  Buffer<uint32_t> flag(1);
  kernel.set_args(flag);
  LaunchOptions options = launch_options(GetParam(), 128, 128);
  options.timeout_ns = 20'000'000'000;
  (void)kernel.launch(options);
  EXPECT_EQ(flag[0], 1u);
}

// Work-group g waits until cell g - 1 is not 0 any more, then makes its own of it: a chain over all threads. Each wave
// of a group takes its part, handing on through LDS.
TEST_P(Scheduling, WorkGroupsWaitForTheirPredecessors) {
  KernelSource k{.name = "chain",
                 .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 m0, -1
  s_lshl_b32 s6, s2, 2
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v10, 0
  v_cmp_gt_u32_e32 vcc, 64, v0
  s_waitcnt lgkmcnt(0)
  s_add_u32 s6, s4, s6
  s_addc_u32 s7, s5, 0
  v_mov_b32_e32 v6, s6
  v_mov_b32_e32 v7, s7
  s_cbranch_vccz .Lsecond
  ds_write_b32 v10, v10
  s_barrier
.Lwait:
  s_sleep 1
  flat_load_dword v9, v[6:7] glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_readfirstlane_b32 s8, v9
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 .Lwait
  s_add_u32 s8, s8, s2
  v_mov_b32_e32 v11, s8
  ds_write_b32 v10, v11
  s_endpgm
.Lsecond:
  s_barrier
.Lwait_for_first:
  s_sleep 1
  ds_read_b32 v9, v10
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s8, v9
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 .Lwait_for_first
  v_add_u32_e32 v9, 3, v9
  v_mov_b32_e32 v12, 4
  add_co v6, v6, v12
  v_mov_b32_e32 v12, 0
  addc v7, v7, v12
  store v[6:7], v9
)",
                 .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
                 .args = {{"cells"}},
                 .lds = 4};
  const Module module = load(kTarget, {k});
  constexpr unsigned kGroups = 60;
  for (const uint32_t threads : {1u, 2u, 5u}) {
    Kernel kernel = module.kernel("chain");
    Buffer<uint32_t> cells(kGroups + 1);
    cells[0] = 7;
    kernel.set_args(cells);
    LaunchOptions options = launch_options(GetParam(), kGroups * 128, 128, threads);
    options.timeout_ns = 60'000'000'000;
    (void)kernel.launch(options);
    uint32_t expected = 7;
    for (unsigned g = 0; g < kGroups; ++g) {
      expected += g + 3;
      ASSERT_EQ(cells[g + 1], expected) << "work-group " << g << ", " << threads << " threads";
    }
  }
}

// Kernels that have been short: the next launch begins with one thread. Work-group 0 waits, if `waits` is not 0, until
// work-group 1 has been there, which another thread has to run. Everybody then counts to `count`.
KernelSource short_so_far(const char* name, bool sleep) {
  return {.name = name,
          .body = fmt::format(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v6, s4
  v_mov_b32_e32 v7, s5
  v_mov_b32_e32 v8, 1
  s_cmp_lg_u32 s2, 1
  s_cbranch_scc1 .Lfirst{0}
  store v[6:7], v8
.Lfirst{0}:
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 .Lcount{0}
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc1 .Lcount{0}
.Lwait{0}:
  {1}
  flat_load_dword v9, v[6:7] glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_readfirstlane_b32 s8, v9
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 .Lwait{0}
.Lcount{0}:
  s_cmp_eq_u32 s7, 0
  s_cbranch_scc1 .Lend{0}
  s_sub_u32 s7, s7, 1
  s_branch .Lcount{0}
.Lend{0}:
)",
                              name, sleep ? "s_sleep 1" : ""),
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"flag"}, {"waits", 4, "by_value"}, {"count", 4, "by_value"}}};
}

LaunchStats launch_short(Kernel& kernel, uint32_t groups, uint32_t waits, uint32_t count, const TestEngine& engine) {
  Buffer<uint32_t> flag(1);
  kernel.set_args(flag, waits, count);
  LaunchOptions options = launch_options(engine, groups * 64, 64, 2);
  options.timeout_ns = 60'000'000'000;
  return kernel.launch(options);
}

TEST_P(Scheduling, WorkGroupsThatWaitAfterShortLaunches) {
  const Module module = load(kTarget, {short_so_far("sleepy", true), short_so_far("busy", false)});
  for (const char* name : {"sleepy", "busy"}) {
    SCOPED_TRACE(name);
    Kernel kernel = module.kernel(name);
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 10; ++i) (void)launch_short(kernel, 2, 0, 0, GetParam());
      // Both on one thread, or on two.
      EXPECT_EQ(launch_short(kernel, 2, 1, 0, GetParam()).workgroups, 2u);
    }
  }
}

TEST_P(Scheduling, LongLaunchesAfterShortOnes) {
  if (GetParam().engine == WAVEJIT_ENGINE_INTERP) GTEST_SKIP() << "always long";
  const Module module = load(kTarget, {short_so_far("counts", false)});
  Kernel kernel = module.kernel("counts");
  for (int i = 0; i < 20; ++i) (void)launch_short(kernel, 4, 0, 0, GetParam());
  // A millisecond or so for each work-group: time enough for another thread to come, unless the machine is very busy.
  while (launch_short(kernel, 200, 0, 2'000'000, GetParam()).threads != 2) {
  }
}

TEST_P(Scheduling, EndlessLoopsEndAtTheTimeLimit) {
  if (kSignalsAreHeldBack && GetParam().engine != WAVEJIT_ENGINE_INTERP) GTEST_SKIP() << "ThreadSanitizer";
  KernelSource tight{.name = "tight", .body = ".Lagain:\n  s_branch .Lagain\n", .args = {}};
  KernelSource busy{.name = "busy",
                    .body = ".Lagain2:\n  v_add_u32_e32 v0, 1, v0\n  v_mul_f32_e32 v1, v0, v1\n  s_branch .Lagain2\n",
                    .args = {}};
  KernelSource sleepy{.name = "sleepy", .body = ".Lagain3:\n  s_sleep 1\n  s_branch .Lagain3\n", .args = {}};
  KernelSource deadlock{
      .name = "deadlock",
      .body =
          "  v_cmp_gt_u32_e32 vcc, 64, v0\n  s_cbranch_vccz .Lspin\n  s_barrier\n  s_endpgm\n.Lspin:\n"
          "  s_sleep 1\n  s_branch .Lspin\n",
      .args = {}};
  const Module module = load(kTarget, {tight, busy, sleepy, deadlock, reverse(64)});
  for (const char* name : {"tight", "busy", "sleepy", "deadlock"}) {
    SCOPED_TRACE(name);
    Kernel kernel = module.kernel(name);
    LaunchOptions options = launch_options(GetParam(), 1024, 128, 3);
    options.timeout_ns = 100'000'000;
    const auto start = std::chrono::steady_clock::now();
    try {
      (void)kernel.launch(options);
      FAIL() << "ended";
    } catch (const Exception& e) {
      EXPECT_EQ(e.status(), WAVEJIT_TIMEOUT) << e.what();
      EXPECT_EQ(e.kernel(), name);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_GE(seconds, 0.1);
  }
  Kernel kernel = module.kernel("reverse");
  Buffer<uint32_t> out(64);
  kernel.set_args(out);
  (void)kernel.launch(launch_options(GetParam(), 64, 64));
  EXPECT_EQ(out[0], 63u);
}

// The thread that watches time limits does not live on in a forked process, and may have held its lock.
TEST_P(Scheduling, ForkedProcessesKeepTimeLimits) {
  if (kSignalsAreHeldBack) GTEST_SKIP() << "ThreadSanitizer does not follow forks of processes with threads";
  const KernelSource endless{.name = "endless", .body = ".Lagain:\n  s_nop 0\n  s_branch .Lagain\n", .args = {}};
  const Module module = load(kTarget, {endless});
  const auto ends_in_time = [&] {
    Kernel kernel = module.kernel("endless");
    LaunchOptions options = launch_options(GetParam(), 64, 64, 1);
    options.timeout_ns = 20'000'000;
    try {
      (void)kernel.launch(options);
    } catch (const Exception& e) {
      return e.status() == WAVEJIT_TIMEOUT;
    }
    return false;
  };
  ASSERT_TRUE(ends_in_time());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    _exit(ends_in_time() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_P(Scheduling, AGenerousTimeLimitChangesNothing) {
  const Module module = load(kTarget, {reverse(64)});
  Kernel kernel = module.kernel("reverse");
  Buffer<uint32_t> out(64 * 100);
  kernel.set_args(out);
  LaunchOptions options = launch_options(GetParam(), 64 * 100, 64, 2);
  options.timeout_ns = UINT64_MAX;
  const LaunchStats stats = kernel.launch(options);
  EXPECT_EQ(stats.workgroups, 100u);
  EXPECT_EQ(stats.waves, 100u);
  if (GetParam().engine == WAVEJIT_ENGINE_INTERP) {
    EXPECT_EQ(stats.guest_instructions, 100u * 18);
  }
}

TEST_P(Scheduling, LaunchesInParallel) {
  const Module module = load(kTarget, {reverse(128)});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      Kernel kernel = module.kernel("reverse");
      Buffer<uint32_t> out(128 * 50);
      kernel.set_args(out);
      for (int round = 0; round < 5; ++round) {
        for (uint32_t& value : out) value = 0;
        (void)kernel.launch(launch_options(GetParam(), 128 * 50, 128, 1 + round % 3));
        for (unsigned i = 0; i < out.size(); ++i) wrong += out[i] != 127 - i % 128;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// The second report has the kernel end.
TEST_P(Scheduling, ProgressIsReported) {
  if (kSignalsAreHeldBack && GetParam().engine != WAVEJIT_ENGINE_INTERP) GTEST_SKIP() << "ThreadSanitizer";
  const Module module = load(kTarget, {short_so_far("waits", false)});
  Kernel kernel = module.kernel("waits");
  struct Reports {
    Buffer<uint32_t> flag{1};
    int calls = 0;
  } reports;
  kernel.set_args(reports.flag, uint32_t{1}, uint32_t{0});
  LaunchOptions options = launch_options(GetParam(), 64, 64);
  options.progress_user = &reports;
  options.progress = [](void* user, uint64_t done, uint64_t total) {
    auto& r = *static_cast<Reports*>(user);
    if (++r.calls > 2) return;  // the launch may end later on a busy machine
    EXPECT_EQ(done, 0u);
    EXPECT_EQ(total, 1u);
    if (r.calls == 2) std::atomic_ref(r.flag[0]).store(1);
  };
  const auto start = std::chrono::steady_clock::now();
  (void)kernel.launch(options);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_GE(reports.calls, 2);
}

// The first three settings of a tier: everything on, everything off, some off.
std::vector<TestEngine> with_auto() {
  std::vector<TestEngine> all = engines_with_switches(1);
  all.push_back(auto_engine());
  return all;
}
INSTANTIATE_TEST_SUITE_P(
    All, Scheduling, testing::ValuesIn(with_auto()), [](const testing::TestParamInfo<TestEngine>& info) {
      const std::string& disabled = info.param.disabled;
      return info.param.name + std::string(disabled.empty() ? "" : disabled == "all" ? "_none" : "_some");
    });

}  // namespace
}  // namespace wavejit::test
