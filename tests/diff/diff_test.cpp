// A bounded sample of the differential fuzz (tests/diff/fuzz_main.cpp runs it at length): short sequences and
// programs (claims_test.cpp has each instruction alone). Seeds are fixed and printed with each failure.
#include <gtest/gtest.h>

#include "tests/diff/diff_engines.h"

namespace wavejit::test {
namespace {

class DiffTest : public testing::TestWithParam<isa::Target> {};

TEST_P(DiffTest, Sequences) {
  const DiffOptions options{.target = GetParam(), .length = 12, .states = 1};
  const auto pool = candidates(options.target);
  ASSERT_GT(pool.size(), 400u);
  unsigned failures = 0;
  for (uint64_t seed = 1; seed <= 250 && failures < 5; ++seed) {
    const std::string report = diff_once(options, pool, seed);
    if (!report.empty()) {
      ADD_FAILURE() << report;
      ++failures;
    }
  }
}

TEST_P(DiffTest, Programs) {
  const DiffOptions options{.target = GetParam(), .states = 2};
  const auto pool = candidates(options.target);
  unsigned failures = 0;
  for (uint64_t seed = 1; seed <= 150 && failures < 3; ++seed) {
    const std::string report = program_once(options, pool, seed);
    if (!report.empty()) {
      ADD_FAILURE() << report;
      ++failures;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DiffTest,
                         testing::Values(isa::Target::gfx600, isa::Target::gfx700, isa::Target::gfx803,
                                         isa::Target::gfx900, isa::Target::gfx906, isa::Target::gfx908,
                                         isa::Target::gfx90a, isa::Target::gfx942),
                         [](const auto& param) { return std::string(isa::to_string(param.param)); });

}  // namespace
}  // namespace wavejit::test
