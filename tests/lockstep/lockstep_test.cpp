#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "lockstep_case.h"
#include "test_kernels.h"

namespace wavejit::test {

void PrintTo(const LockstepCase& c, std::ostream* os) {
  *os << c.name;
}

namespace {

class Lockstep : public testing::TestWithParam<std::tuple<std::string, LockstepCase>> {};

TEST_P(Lockstep, MatchesTheReferenceOnEveryEngine) {
  const auto& [target, c] = GetParam();
  const Module module = load(target, {lockstep_source(c, target)});
  const Memory initial = lockstep_data(c);
  Memory expected = initial;
  if (c.reference) {
    for (unsigned group = 0; group < c.groups; ++group) c.reference(expected, group);
  } else {
    Kernel kernel = module.kernel(c.name);
    Buffer<uint32_t> data(initial);
    kernel.set_args(data);
    (void)kernel.launch(launch_options(engines()[0], c.groups * c.group_size, c.group_size));
    expected.assign(data.begin(), data.end());
  }
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

const auto kTargets = testing::Values("gfx803", "gfx906", "gfx90a");
constexpr auto kName = [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param).name; };
INSTANTIATE_TEST_SUITE_P(All, Lockstep, testing::Combine(kTargets, testing::ValuesIn(all_lockstep_cases())), kName);
INSTANTIATE_TEST_SUITE_P(Waiting, Lockstep, testing::Combine(kTargets, testing::ValuesIn(waiting_cases())), kName);

}  // namespace
}  // namespace wavejit::test
