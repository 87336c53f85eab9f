#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "lockstep_case.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

const std::vector<LockstepCase>& all_cases() {
  static const std::vector<LockstepCase> all = [] {
    std::vector<LockstepCase> cases = exchange_cases();
    for (LockstepCase& c : scalar_state_cases()) cases.push_back(std::move(c));
    return cases;
  }();
  return all;
}

KernelSource source(const LockstepCase& c) {
  return {.name = c.name,
          .body = fmt::format(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 m0, -1
  s_mul_i32 s6, s2, {}
  v_mov_b32_e32 v1, s6
  v_or_b32_e32 v3, 0, v0
  addu v1, v1, v3
  v_lshlrev_b32_e32 v2, 2, v0
  s_waitcnt lgkmcnt(0)
)",
                              c.group_size) +
                  c.body,
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"data"}},
          .lds = c.lds};
}

Memory initial_data(const LockstepCase& c) {
  Memory data(c.words);
  uint32_t state = 12345;
  for (uint32_t& word : data) {
    state = state * 1664525 + 1013904223;
    word = state >> 25;  // 0..127
  }
  if (c.prepare) c.prepare(data);
  return data;
}

}  // namespace

void PrintTo(const LockstepCase& c, std::ostream* os) {
  *os << c.name;
}

namespace {

class Lockstep : public testing::TestWithParam<std::tuple<std::string, LockstepCase>> {};

TEST_P(Lockstep, MatchesTheReferenceOnEveryEngine) {
  const auto& [target, c] = GetParam();
  KernelSource kernel_source = source(c);
  kernel_source.body = lockstep_macros(target) + kernel_source.body;
  const Module module = load(target, {kernel_source});
  const Memory initial = initial_data(c);
  Memory expected = initial;
  for (unsigned group = 0; group < c.groups; ++group) c.reference(expected, group);
  ASSERT_NE(expected, initial) << "the case does nothing";
  for (const TestEngine& engine : engines()) {
    SCOPED_TRACE(engine.name);
    Kernel kernel = module.kernel(c.name);
    Buffer<uint32_t> data(initial);
    kernel.set_args(data);
    (void)kernel.launch(launch_options(engine, c.groups * c.group_size, c.group_size));
    unsigned shown = 0;
    for (size_t i = 0; i < expected.size() && shown < 8; ++i) {
      if (data[i] == expected[i]) continue;
      ADD_FAILURE() << "word " << i << " (slot " << (i < 1024 ? -1 : static_cast<int>(i - 1024) / 256) << ", item "
                    << i % 256 << "): expected " << expected[i] << ", got " << data[i] << ", was " << initial[i];
      ++shown;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Lockstep,
                         testing::Combine(testing::Values("gfx803", "gfx906", "gfx90a"),
                                          testing::ValuesIn(all_cases())),
                         [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param).name; });

}  // namespace
}  // namespace wavejit::test
