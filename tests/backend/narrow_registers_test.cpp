// The pass narrow_registers: text in, text out, and by result.
#include "backend-x86/lir/passes/narrow_registers.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/backend/lir_runner.h"

namespace wavejit::backend {
namespace {

// A function with the body, which leaves the result in v1.
std::string function_of(std::string_view body) {
  return "function stack 64\n"
         "registers v0:r64 v1:r64 v2:ymm v3:ymm v4:ymm v5:ymm\n"
         "arguments v0 v1\n"
         "L0:\n" +
         std::string(body) + "  result v1\nexit L1:\n";
}

// The registers and the body behind the pass.
std::string narrowed(std::string_view body) {
  lir::Function function;
  const auto parsed = lir::parse(function_of(body), function);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  EXPECT_EQ(lir::verify(function), std::nullopt);
  lir::narrow_registers(function);
  EXPECT_EQ(lir::verify(function), std::nullopt);
  std::string text = lir::print(function);
  const size_t begin = text.find("v2:"), end = text.find("arguments");
  const std::string registers = text.substr(begin, end - begin);
  text.erase(0, text.find("L0:\n") + 4);
  return registers + text.substr(0, text.find("  result v1"));
}

TEST(NarrowRegisters, CopiesLoadsAndZeros) {
  constexpr std::string_view kBody =
      "  vmovdqu v2, [v0]:32\n"
      "  vpxor v3, v3, v3\n"
      "  vpbroadcastd v4, [v0 + 16]:4\n"
      "  vmovdqa v5, v2\n"
      "  vpaddd v5.xmm, v5.xmm, v4.xmm\n"
      "  vpaddd v5.xmm, v5.xmm, v3.xmm\n"
      "  vmovd v1.r32, v5.xmm\n";
  EXPECT_EQ(narrowed(kBody),
            "v2:xmm v3:xmm v4:xmm v5:xmm\n"
            "  vmovdqu v2, [v0]:16\n"
            "  vpxor v3, v3, v3\n"
            "  vpbroadcastd v4, [v0 + 16]:4\n"
            "  vmovdqa v5, v2\n"
            "  vpaddd v5, v5, v4\n"
            "  vpaddd v5, v5, v3\n"
            "  vmovd v1.r32, v5\n");
  std::array<uint64_t, 4> data{3, 0, 40, 0};
  for (const bool pass : {false, true}) {
    const auto change = [&](lir::Function& f) {
      if (pass) {
        EXPECT_EQ(lir::narrow_registers(f), 4u);
      }
    };
    EXPECT_EQ(run_lir(function_of(kBody), data.data(), 2, change), 43u);
  }
}

// All of v5 is stored, and so all of what is copied to it matters.
TEST(NarrowRegisters, NotWhatIsReadAsAWhole) {
  EXPECT_EQ(narrowed("  vpbroadcastd v2, [v0 + 8]:4\n"
                     "  vmovdqa v3, v2\n"
                     "  vmovdqa v5, v3\n"
                     "  vpbroadcastd v4, [v0 + 4]:4\n"
                     "  vpaddd v4.xmm, v4.xmm, v2.xmm\n"
                     "  vmovd v1.r32, v4.xmm\n"
                     "  vmovdqu [v0]:32, v5\n"),
            "v2:ymm v3:ymm v4:xmm v5:ymm\n"
            "  vpbroadcastd v2, [v0 + 8]:4\n"
            "  vmovdqa v3, v2\n"
            "  vmovdqa v5, v3\n"
            "  vpbroadcastd v4, [v0 + 4]:4\n"
            "  vpaddd v4, v4, v2.xmm\n"
            "  vmovd v1.r32, v4\n"
            "  vmovdqu [v0]:32, v5\n");
}

// A gather's data, mask and index; a sum of all elements.
TEST(NarrowRegisters, NotWhatOtherInstructionsName) {
  EXPECT_EQ(narrowed("  vmovdqu v2, [v0]:32\n"
                     "  vpcmpeqd v4, v4, v4\n"
                     "  vpgatherdd v3, [v0 + v2 * 4]:4, v4\n"
                     "  vmovdqu v5, [v0]:32\n"
                     "  vpaddd v5, v5, v3\n"
                     "  vmovd v1.r32, v5.xmm\n"),
            "v2:ymm v3:ymm v4:ymm v5:ymm\n"
            "  vmovdqu v2, [v0]:32\n"
            "  vpcmpeqd v4, v4, v4\n"
            "  vpgatherdd v3, [v0 + v2*4]:4, v4\n"
            "  vmovdqu v5, [v0]:32\n"
            "  vpaddd v5, v5, v3\n"
            "  vmovd v1.r32, v5.xmm\n");
}

// A load whose faults are looked for in the code keeps its size, and so does one that keeps some elements.
TEST(NarrowRegisters, NotWhatFaultsOrIsMerged) {
  EXPECT_EQ(narrowed("  vmovdqu v2, [v0]:32 !mark 7\n"
                     "  vmovdqu v3, [v0]:32\n"
                     "  vpaddd v3.xmm, v3.xmm, v2.xmm\n"
                     "  vmovd v1.r32, v3.xmm\n"),
            "v2:ymm v3:xmm v4:xmm v5:xmm\n"
            "  vmovdqu v2, [v0]:32 !mark 7\n"
            "  vmovdqu v3, [v0]:16\n"
            "  vpaddd v3, v3, v2.xmm\n"
            "  vmovd v1.r32, v3\n");
  lir::Function function;
  const auto parsed = lir::parse(
      "function avx512 stack 64\nregisters v0:r64 v1:r64 v2:zmm v3:zmm v4:mask16\narguments v0 v1\n"
      "L0:\n  kmovw v4, v1.r32\n  vmovdqu32 v2, [v0]:64\n  vmovdqa32 v3 {v4}, v2\n"
      "  vmovd v1.r32, v3.xmm\n  result v1\nexit L1:\n",
      function);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(lir::narrow_registers(function), 0u);
}

}  // namespace
}  // namespace wavejit::backend
