// Waves and work-groups that wait for each other by loading again and again, without s_sleep or barriers
// (docs/limits.md, "Forward progress").
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "failing_allocations.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

class Progress : public testing::TestWithParam<TestEngine> {
 protected:
  [[nodiscard]] LaunchOptions options(uint32_t global, uint32_t local, uint32_t threads = 1) const {
    LaunchOptions result = launch_options(GetParam(), global, local, threads);
    result.timeout_ns = 60'000'000'000;
    return result;
  }
};

// Of the work-group's waves, s8 is this one's number. `rounds` times the waves count a word in turn, the last one first
// if `backwards`. The word is in LDS or in memory.
KernelSource ring(const char* name, bool lds, bool backwards, unsigned waves, unsigned rounds) {
  const std::string load = lds ? "  ds_read_b32 v3, v2\n" : "  flat_load_dword v3, v[6:7]\n";
  const std::string store = lds ? "  ds_write_b32 v2, v4\n" : "  flat_store_dword v[6:7], v4\n";
  return {.name = name,
          .body = fmt::format(R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_mov_b32 m0, -1
  v_readfirstlane_b32 s8, v0
  s_lshr_b32 s8, s8, 6
  {0}
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v4, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v6, s6
  v_mov_b32_e32 v7, s7
  ds_write_b32 v2, v4
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_mov_b32 s9, 0
.Lround{5}:
.Lspin{5}:
{1}
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_readfirstlane_b32 s10, v3
  s_cmp_lg_u32 s10, s8
  s_cbranch_scc1 .Lspin{5}
  s_add_u32 s10, s10, 1
  v_mov_b32_e32 v4, s10
{2}
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_add_u32 s8, s8, {3}
  s_add_u32 s9, s9, 1
  s_cmp_lg_u32 s9, {4}
  s_cbranch_scc1 .Lround{5}
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v1
  addc v7, v4, v5
  v_mov_b32_e32 v3, s8
  store v[6:7], v3
)",
                              backwards ? fmt::format("s_sub_u32 s8, {}, s8", waves - 1) : std::string(), load, store,
                              waves, rounds, name),
          .args = {{"out"}, {"word"}},
          .lds = 4};
}

TEST_P(Progress, WavesOfAGroupInTurn) {
  constexpr unsigned kRounds = 40;
  for (const char* target : {"gfx803", "gfx906"}) {
    for (const unsigned waves : {2u, 5u, 16u}) {
      const Module module = load(
          target, {ring("lds", true, false, waves, kRounds), ring("lds_back", true, true, waves, kRounds),
                   ring("memory", false, false, waves, kRounds), ring("memory_back", false, true, waves, kRounds)});
      for (const char* name : {"lds", "lds_back", "memory", "memory_back"}) {
        SCOPED_TRACE(fmt::format("{}, {}, {} waves", target, name, waves));
        Kernel kernel = module.kernel(name);
        Buffer<uint32_t> out(waves * 64), word(1);
        kernel.set_args(out, word);
        (void)kernel.launch(options(waves * 64, waves * 64));
        for (unsigned w = 0; w < waves; ++w) {
          const unsigned own = std::string_view(name).ends_with("back") ? waves - 1 - w : w;
          ASSERT_EQ(out[w * 64], own + waves * kRounds) << w;
        }
      }
    }
  }
}

// Each work-group waits for the next one, or at a barrier of all.
constexpr const char* kNext = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_lshl_b32 s8, s2, 2
  v_mov_b32_e32 v1, 0
  s_waitcnt lgkmcnt(0)
  s_add_u32 s4, s4, s8
  s_addc_u32 s5, s5, 0
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  v_mov_b32_e32 v8, 4
  v_mov_b32_e32 v9, s5
  add_co v6, s4, v8
  addc v7, v9, v1
  s_sub_u32 s6, s6, 1
  v_mov_b32_e32 v5, 1
  s_cmp_eq_u32 s2, s6
  s_cbranch_scc1 .Llast
.Lwait:
  flat_load_dword v4, v[6:7] glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_readfirstlane_b32 s9, v4
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 .Lwait
  s_add_u32 s9, s9, 1
  v_mov_b32_e32 v5, s9
.Llast:
  flat_store_dword v[2:3], v5 glc
)";

KernelSource next() {
  return {.name = "next",
          .body = kNext,
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"words"}, {"groups", 8, "by_value"}}};
}

KernelSource grid_barrier(unsigned rounds) {
  return {.name = "grid_barrier",
          .body = fmt::format(R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s8, v0
  v_mov_b32_e32 v5, 1
  s_mov_b32 s9, 0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s10, s6
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
.Lround:
  s_barrier
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lthere
  s_mov_b64 s[12:13], exec
  s_mov_b64 exec, 1
  flat_atomic_add v[2:3], v5
  s_waitcnt vmcnt(0) lgkmcnt(0)
.Lwait:
  flat_load_dword v4, v[2:3] glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_readfirstlane_b32 s11, v4
  s_cmp_lt_u32 s11, s6
  s_cbranch_scc1 .Lwait
  s_mov_b64 exec, s[12:13]
.Lthere:
  s_barrier
  s_add_u32 s6, s6, s10
  s_add_u32 s9, s9, 1
  s_cmp_lg_u32 s9, {}
  s_cbranch_scc1 .Lround
)",
                              rounds),
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"count"}, {"groups", 8, "by_value"}}};
}

TEST_P(Progress, WorkGroupsThatWaitForLaterOnes) {
  const Module module = load("gfx906", {next()});
  Kernel kernel = module.kernel("next");
  for (const unsigned threads : {1u, 2u, 3u}) {
    for (const unsigned groups : {2u, 7u, 240u}) {
      SCOPED_TRACE(fmt::format("{} work-groups, {} threads", groups, threads));
      Buffer<uint32_t> words(groups);
      kernel.set_args(words, uint64_t{groups});
      (void)kernel.launch(options(groups * 64, 64, threads));
      for (unsigned g = 0; g < groups; ++g) ASSERT_EQ(words[g], groups - g);
    }
  }
}

TEST_P(Progress, BarriersOfTheWholeGrid) {
  constexpr unsigned kRounds = 6;
  for (const char* target : {"gfx803", "gfx906", "gfx90a"}) {
    const Module module = load(target, {grid_barrier(kRounds)});
    Kernel kernel = module.kernel("grid_barrier");
    for (const unsigned threads : {1u, 2u}) {
      for (const auto& [groups, size] : {std::pair(240u, 64u), {240u, 256u}, {24u, 1024u}}) {
        SCOPED_TRACE(fmt::format("{}, {} work-groups of {}, {} threads", target, groups, size, threads));
        Buffer<uint32_t> count(1);
        kernel.set_args(count, uint64_t{groups});
        const LaunchStats stats = kernel.launch(options(groups * size, size, threads));
        EXPECT_EQ(count[0], groups * kRounds);
        EXPECT_EQ(stats.workgroups, groups);
      }
    }
  }
}

// Loops that wait for the host, or for another launch, by a function that they call.
TEST_P(Progress, LaunchesThatWaitForTheHostAndForEachOther) {
  KernelSource source{.name = "pass",
                      .body = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
.Lspin:
  s_getpc_b64 s[14:15]
  s_add_u32 s14, s14, .Lload - .Lspin - 4
  s_addc_u32 s15, s15, 0
  s_swappc_b64 s[16:17], s[14:15]
  s_cmp_lg_u32 s10, s6
  s_cbranch_scc1 .Lspin
  s_add_u32 s10, s10, 1
  v_mov_b32_e32 v4, s10
  s_mov_b64 exec, 1
  flat_store_dword v[2:3], v4 glc
  s_endpgm
.Lload:
  flat_load_dword v4, v[2:3] glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_readfirstlane_b32 s10, v4
  s_setpc_b64 s[16:17]
)",
                      .args = {{"word"}, {"turn", 8, "by_value"}}};
  const Module module = load("gfx906", {source});
  Buffer<uint32_t> word(1);
  std::vector<std::thread> launches;
  for (const uint64_t turn : {3, 2, 1}) {
    launches.emplace_back([&, turn] {
      Kernel kernel = module.kernel("pass");
      kernel.set_args(word, turn);
      (void)kernel.launch(options(64, 64));
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::atomic_ref(word[0]).store(1);
  for (std::thread& launch : launches) launch.join();
  EXPECT_EQ(word[0], 4u);
}

// Two launches count a word in turn, and all lanes store it: one store for others, who answer it at once.
TEST_P(Progress, StoresOfAllLanesToOnePlace) {
  constexpr uint32_t kRounds = 100;
  KernelSource source{.name = "count",
                      .body = fmt::format(R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_movk_i32 s8, {}
.Lspin:
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  flat_load_dword v4, v[2:3] glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_readfirstlane_b32 s10, v4
  s_cmp_lg_u32 s10, s6
  s_cbranch_scc1 .Lspin
  s_add_u32 s10, s10, 1
  v_mov_b32_e32 v4, s10
  flat_store_dword v[2:3], v4 glc
  s_add_u32 s6, s6, 2
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lspin
)",
                                          kRounds),
                      .args = {{"word"}, {"first", 8, "by_value"}}};
  for (const char* target : {"gfx803", "gfx906"}) {
    SCOPED_TRACE(target);
    const Module module = load(target, {source});
    Buffer<uint32_t> word(1);
    std::vector<std::thread> launches;
    for (const uint64_t first : {1, 0}) {
      launches.emplace_back([&, first] {
        Kernel kernel = module.kernel("count");
        kernel.set_args(word, first);
        LaunchOptions limited = options(64, 64);
        limited.timeout_ns = 60'000'000'000;  // a lost answer is waited for for ever
        EXPECT_NO_THROW((void)kernel.launch(limited));
      });
    }
    for (std::thread& launch : launches) launch.join();
    EXPECT_EQ(word[0], 2 * kRounds);
  }
}

// A work-group that never ends is stopped together with those that are set aside.
TEST_P(Progress, TheTimeLimitHoldsForThoseThatAreSetAside) {
  if (kSignalsAreHeldBack) GTEST_SKIP() << "ThreadSanitizer";
  const Module module = load("gfx906", {next()});
  Kernel kernel = module.kernel("next");
  Buffer<uint32_t> words(101);
  kernel.set_args(words, uint64_t{101});  // the last of 100 waits for one that is not there
  LaunchOptions limited = options(100 * 64, 64, 2);
  limited.timeout_ns = 100'000'000;
  try {
    (void)kernel.launch(limited);
    FAIL() << "ended";
  } catch (const Exception& e) {
    EXPECT_EQ(e.status(), WAVEJIT_TIMEOUT) << e.what();
  }
  // Everything is usable afterwards.
  kernel.set_args(words, uint64_t{100});
  (void)kernel.launch(options(100 * 64, 64, 2));
  EXPECT_EQ(words[0], 100u);
}

// One lane of a work-group that waits accesses memory that is not there.
TEST_P(Progress, FaultsBehindAPoll) {
  KernelSource source = next();
  source.body += "  v_mov_b32_e32 v6, 0x40\n  v_mov_b32_e32 v7, 0\n  flat_store_dword v[6:7], v5\n";
  const Module module = load("gfx906", {source});
  Kernel kernel = module.kernel("next");
  Buffer<uint32_t> words(20);
  kernel.set_args(words, uint64_t{20});
  for (int round = 0; round < 3; ++round) {
    try {
      (void)kernel.launch(options(20 * 64, 64, 2));
      FAIL() << "ended";
    } catch (const Exception& e) {
      EXPECT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
      EXPECT_NE(std::string_view(e.what()).find("0x40"), std::string_view::npos) << e.what();
    }
  }
}

// There is address space for two work-groups at a time: the first two wait for the host, and the others begin later.
void launch_with_little_address_space(const LaunchOptions& options) {
  KernelSource source{.name = "hold",
                      .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
.Lwait:
  flat_load_dword v4, v[2:3] glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_readfirstlane_b32 s8, v4
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 .Lwait
  s_mov_b64 exec, 1
  v_mov_b32_e32 v5, 1
  flat_atomic_add v[2:3], v5
)",
                      .args = {{"word"}}};
  const Module module = load("gfx906", {source});
  Kernel kernel = module.kernel("hold");
  Buffer<uint32_t> word(1);
  kernel.set_args(word);
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = static_cast<rlim_t>(pages) * 4096 + (rlim_t{10} << 30);
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(3);
  std::thread host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::atomic_ref(word[0]).store(1);
  });
  try {
    (void)kernel.launch(options);
  } catch (const Exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    _exit(2);
  }
  host.join();
  _exit(word[0] == 1 + 20 ? 0 : 1);
}

TEST_P(Progress, WithLittleAddressSpace) {
  if (kSignalsAreHeldBack || !kAllocationsFail) GTEST_SKIP() << "sanitizers take address space themselves";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(launch_with_little_address_space(options(20 * 64, 64)), testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(All, Progress, testing::ValuesIn(engines_and_auto()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wavejit::test
