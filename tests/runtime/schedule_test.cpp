// Orders that are drawn from a seed: each is one that hardware could choose, and can be had again.
#include "runtime/launch/schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

TEST(Schedule, AllWorkGroupsBeginAndEarlierWindowsFirst) {
  for (const uint64_t groups : {1u, 5u, 63u, 64u, 65u, 1000u}) {
    for (const unsigned waves : {1u, 4u, 16u}) {
      const runtime::Schedule schedule(99, groups, waves, 2560);
      std::vector<bool> seen(groups);
      for (uint64_t turn = 0; turn < groups; ++turn) {
        const uint64_t group = schedule.group(turn);
        ASSERT_LT(group, groups);
        EXPECT_LT(group < turn ? turn - group : group - turn, 64u);
        EXPECT_FALSE(seen[group]);
        seen[group] = true;
      }
    }
  }
  const runtime::Schedule none(0, 1000, 1, 2560);
  for (uint64_t turn = 0; turn < 1000; ++turn) EXPECT_EQ(none.group(turn), turn);
}

class Schedules : public testing::TestWithParam<TestEngine> {};

// Each wave of each work-group takes a number, then behind a barrier another one.
KernelSource numbers() {
  return {.name = "numbers",
          .body = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s8, v0
  s_lshr_b32 s8, s8, 6
  s_lshl_b32 s9, s2, 2
  s_add_u32 s8, s8, s9
  s_lshl_b32 s8, s8, 3
  v_mov_b32_e32 v5, 1
  s_waitcnt lgkmcnt(0)
  s_add_u32 s6, s6, s8
  s_addc_u32 s7, s7, 0
  s_mov_b64 exec, 1
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  flat_atomic_add v4, v[2:3], v5 glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_mov_b32_e32 v6, s6
  v_mov_b32_e32 v7, s7
  store v[6:7], v4
  s_barrier
  flat_atomic_add v4, v[2:3], v5 glc
  s_add_u32 s6, s6, 4
  s_addc_u32 s7, s7, 0
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_mov_b32_e32 v6, s6
  v_mov_b32_e32 v7, s7
  store v[6:7], v4
)",
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"next"}, {"numbers"}}};
}

std::vector<uint32_t> order(const Module& module, const TestEngine& engine, uint64_t seed) {
  constexpr unsigned kGroups = 20;
  Kernel kernel = module.kernel("numbers");
  Buffer<uint32_t> next(1), numbers(kGroups * 4 * 2);
  kernel.set_args(next, numbers);
  LaunchOptions options = launch_options(engine, kGroups * 256, 256, 1);
  options.schedule = seed;
  (void)kernel.launch(options);
  std::vector<uint32_t> result(numbers.begin(), numbers.end());
  std::vector<uint32_t> sorted = result;
  std::sort(sorted.begin(), sorted.end());
  for (uint32_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
  for (unsigned g = 0; g < kGroups; ++g) {
    uint32_t last = 0;
    for (unsigned w = 0; w < 4; ++w) last = std::max(last, result[8 * g + 2 * w]);
    for (unsigned w = 0; w < 4; ++w) EXPECT_GT(result[8 * g + 2 * w + 1], last) << "a barrier is passed too early";
  }
  return result;
}

TEST_P(Schedules, AreDrawnAndCanBeHadAgain) {
  const Module module = load("gfx906", {numbers()});
  std::set<std::vector<uint32_t>> all;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    all.insert(order(module, GetParam(), seed));
    EXPECT_EQ(order(module, GetParam(), seed), order(module, GetParam(), seed));
  }
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(order(module, GetParam(), 0), order(module, GetParam(), 0));
}

INSTANTIATE_TEST_SUITE_P(All, Schedules, testing::ValuesIn(engines()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wavejit::test
