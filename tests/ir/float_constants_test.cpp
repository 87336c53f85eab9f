// Constants of f32 operations: the host's results, whatever rounding the embedding program has chosen for itself.
#include "ir/float_constants.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

namespace wavejit::ir {
namespace {

std::optional<uint64_t> run(Op op, std::vector<uint64_t> values, uint32_t attr = 0) {
  Inst inst;
  inst.op = op;
  inst.type = kV32;
  inst.attr = attr;
  const int before = std::fegetround();
  std::fesetround(FE_UPWARD);
  const std::optional<uint64_t> result = evaluate_f32(inst, values);
  std::fesetround(before);
  return result;
}

uint64_t bits(float x) {
  return std::bit_cast<uint32_t>(x);
}

struct Operation {
  Op op;
  unsigned operands;
  float (*host)(float, float, float);
};
constexpr Operation kOperations[] = {
    {Op::fadd_f32, 2, [](float a, float b, float) { return a + b; }},
    {Op::fmul_f32, 2, [](float a, float b, float) { return a * b; }},
    {Op::fma_f32, 3, [](float a, float b, float c) { return std::fma(a, b, c); }},
    {Op::frcp_f32, 1, [](float a, float, float) { return 1 / a; }},
    {Op::ftrunc_f32, 1, [](float a, float, float) { return std::trunc(a); }},
};

TEST(FloatConstants, AreTheHostsToNearest) {
  std::mt19937_64 random{1};
  for (const Operation& o : kOperations) {
    unsigned known = 0;
    for (unsigned round = 0; round < 200'000; ++round) {
      // Of any size, or near each other; short ones, whose results are exact or ties.
      const auto draw = [&] {
        auto x = static_cast<uint32_t>(random());
        if (round % 2 != 0) x = (x & 0x80ffffff) + 0x3e000000;
        if (round % 3 == 0) x &= ~0u << random() % 24;
        return x;
      };
      float x[3] = {};
      std::vector<uint64_t> values;
      for (unsigned i = 0; i < o.operands; ++i) {
        values.push_back(draw());
        x[i] = std::bit_cast<float>(static_cast<uint32_t>(values[i]));
      }
      const std::optional<uint64_t> result = run(o.op, values);
      if (!result) continue;
      ++known;
      ASSERT_EQ(*result, bits(o.host(x[0], x[1], x[2])))
          << op_info(o.op).name << " " << x[0] << " " << x[1] << " " << x[2];
    }
    EXPECT_GT(known, 90'000u) << op_info(o.op).name;
  }
}

TEST(FloatConstants, Conversions) {
  std::mt19937_64 random{2};
  for (unsigned round = 0; round < 100'000; ++round) {
    const auto number = static_cast<uint32_t>(random()) >> random() % 32;
    ASSERT_EQ(run(Op::cvt_f32_u32, {number}), bits(static_cast<float>(number))) << number;
    const auto x =
        static_cast<float>(std::ldexp(static_cast<double>(random() % 0x1000000), static_cast<int>(random() % 32) - 24));
    ASSERT_EQ(run(Op::cvt_u32_f32, {bits(x)}), static_cast<uint32_t>(x)) << x;
  }
  EXPECT_EQ(run(Op::cvt_f32_u32, {0}), 0u);
  EXPECT_EQ(run(Op::cvt_u32_f32, {0x80000000}), 0u);
  EXPECT_EQ(run(Op::cvt_u32_f32, {bits(-0.75F)}), 0u);
}

TEST(FloatConstants, WhatModeDecidesIsNotKnown) {
  constexpr uint64_t kInf = 0x7f800000, kNan = 0x7fc00000, kDenormal = 1;
  for (const uint64_t odd : {kInf, kNan, kDenormal}) {
    EXPECT_FALSE(run(Op::fadd_f32, {odd, bits(1)})) << odd;
    EXPECT_FALSE(run(Op::fmul_f32, {bits(1), odd})) << odd;
    EXPECT_FALSE(run(Op::frcp_f32, {odd})) << odd;
    EXPECT_FALSE(run(Op::cvt_u32_f32, {odd})) << odd;
  }
  EXPECT_FALSE(run(Op::frcp_f32, {0}));
  EXPECT_FALSE(run(Op::frcp_f32, {bits(0x1p127F)}));                  // a denormal
  EXPECT_FALSE(run(Op::fmul_f32, {bits(0x1p-63F), bits(0x1p-63F)}));  // the smallest normal number
  EXPECT_FALSE(run(Op::fmul_f32, {bits(0x1p64F), bits(0x1p64F)}));
  EXPECT_FALSE(run(Op::fadd_f32, {bits(0.0F), bits(-0.0F)}));
  EXPECT_FALSE(run(Op::cvt_u32_f32, {bits(-1)}));
  EXPECT_FALSE(run(Op::cvt_u32_f32, {bits(0x1p32F)}));
  for (const uint32_t rounding : {1u, 2u, 3u}) {
    EXPECT_FALSE(run(Op::fadd_f32, {bits(1), bits(1)}, rounding));
    EXPECT_FALSE(run(Op::cvt_f32_u32, {1}, rounding));
  }
  EXPECT_FALSE(run(Op::fsqrt_f32, {bits(1)}));
}

}  // namespace
}  // namespace wavejit::ir
