// A sample of scripts/decode-sweep.sh.
#include "sweep.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "assembler_oracle.h"
#include "frontend/isa/row.h"

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

// scripts/decode-sweep.sh tries all texts; a sample of mnemonics, chosen by the seed.
class TextSweep : public ::testing::TestWithParam<Target> {};

TEST_P(TextSweep, WhatLlvmAssemblesIsDecoded) {
  auto exceptions = load_exceptions(WAVEJIT_DECODE_EXCEPTIONS);
  const SweepOptions options{.seed = 20'261'122, .encodings = 800'000};
  const TextSweepResult result = sweep_texts(GetParam(), options, exceptions);
  for (const Mismatch& m : result.examples)
    ADD_FAILURE() << fmt::format("{}: {:08x} {:08x} {:08x} {}\n  llvm:    {}\n  wavejit: {}", m.source, m.words[0],
                                 m.words[1], m.words[2], m.kind, m.expected, m.actual);
  EXPECT_EQ(result.mismatches, 0u);
  EXPECT_GT(result.mnemonics, 2000u);
  EXPECT_GT(result.accepted_mnemonics, 150u);
  EXPECT_GT(result.accepted, 20'000u);
}

INSTANTIATE_TEST_SUITE_P(Targets, TextSweep, ::testing::Values(Target::gfx600, Target::gfx700),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// The mnemonics that wavejit prints for GFX6 to GFX90A are LLVM's.
TEST(AssemblerMnemonics, AreFoundInTheLibrary) {
  const std::vector<std::string> all = assembler_mnemonics();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_GT(all.size(), 2000u);
  for (unsigned i = 0; i < kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    for (const Target target : {Target::gfx600, Target::gfx700, Target::gfx803, Target::gfx900, Target::gfx906,
                                Target::gfx908, Target::gfx90a}) {
      if (!available(opcode, target)) continue;
      const std::string name(printed_name(opcode, family_of(target)));
      EXPECT_TRUE(std::binary_search(all.begin(), all.end(), name)) << name;
    }
  }
}

}  // namespace
}  // namespace wavejit::isa::test
