// A sample of scripts/decode-sweep.sh.
#include "sweep.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wavejit::isa::test {
namespace {

class DecodeSweep : public ::testing::TestWithParam<Target> {};

TEST_P(DecodeSweep, AgreesWithLlvm) {
  auto exceptions = load_exceptions(WAVEJIT_DECODE_EXCEPTIONS);
  const SweepOptions options{.seed = 20'230'601, .encodings = 60'000};
  const SweepResult result = sweep(GetParam(), options, exceptions);
  for (const Mismatch& m : result.examples)
    ADD_FAILURE() << fmt::format("seed {}: {:08x} {:08x} {:08x} {}\n  llvm:    {}\n  wavejit: {}", options.seed,
                                 m.words[0], m.words[1], m.words[2], m.kind, m.expected, m.actual);
  EXPECT_EQ(result.mismatches, 0u);
  EXPECT_GE(result.encodings, options.encodings);
  // The generator must reach legal encodings, and exceptions must stay exceptional.
  EXPECT_GT(result.accepted, result.encodings / 3);
  EXPECT_LT(result.excepted, result.accepted / 20);
}

INSTANTIATE_TEST_SUITE_P(Targets, DecodeSweep,
                         ::testing::Values(Target::gfx600, Target::gfx700, Target::gfx803, Target::gfx900,
                                           Target::gfx906, Target::gfx908, Target::gfx90a, Target::gfx942),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace wavejit::isa::test
