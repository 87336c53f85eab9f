// The pass fold_loads: text in, text out, and by result.
#include "backend-x86/lir/passes/fold_loads.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "tests/backend/lir_runner.h"

namespace wavejit::backend {
namespace {

constexpr std::string_view kHead =
    "function stack 64\n"
    "registers v0:r64 v1:r64 v2:r64 v3:r64 v4:ymm v5:ymm\n"
    "variable v6 64 align 64\n"
    "arguments v0 v1\n"
    "L0:\n";

// A function with the body, which leaves the result in v1.
std::string function_of(std::string_view body) {
  return std::string(kHead) + std::string(body) + "  result v1\nexit L1:\n";
}

std::string folded(std::string_view body) {
  lir::Function function;
  const auto parsed = lir::parse(function_of(body), function);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  EXPECT_EQ(lir::verify(function), std::nullopt);
  lir::fold_loads(function);
  EXPECT_EQ(lir::verify(function), std::nullopt);
  const std::string text = lir::print(function);
  const size_t begin = text.find("L0:\n") + 4;
  return text.substr(begin, text.find("  result v1") - begin);
}

TEST(FoldLoads, TheOnlyUseTakesTheMemory) {
  constexpr std::string_view kBody = "  mov v2, [v0 + 8]:8\n  add v1, v2\n";
  EXPECT_EQ(folded(kBody), "  add v1, [v0 + 8]:8\n");
  std::array<uint64_t, 2> data{3, 40};
  EXPECT_EQ(run_lir(function_of(kBody), data.data(), 2, [](lir::Function& f) { EXPECT_EQ(lir::fold_loads(f), 1u); }),
            42u);
}

TEST(FoldLoads, DataBehindLabels) {
  EXPECT_EQ(folded("  vmovdqu v4, [L9]:32\n  vmovdqu [v0]:32, v5\n  vpaddd v5, v5, v4\n"),
            "  vmovdqu [v0]:32, v5\n  vpaddd v5, v5, [L9]:32\n");
}

TEST(FoldLoads, OverStoresElsewhere) {
  EXPECT_EQ(folded("  mov v2, [v0 + 8]:8\n  mov [v0 + 16]:8, v1\n  mov [v6 + 8]:8, v1\n  add v1, v2\n"),
            "  mov [v0 + 16]:8, v1\n  mov [v6 + 8]:8, v1\n  add v1, [v0 + 8]:8\n");
}

TEST(FoldLoads, OnlyOneOperand) {
  EXPECT_EQ(folded("  vmovdqu v4, [v0]:32\n  vmovdqu v5, [v0 + 32]:32\n  vpaddd v4, v4, v5\n  vmovdqu [v0]:32, v4\n"),
            "  vmovdqu v4, [v0]:32\n  vpaddd v4, v4, [v0 + 32]:32\n  vmovdqu [v0]:32, v4\n");
}

// Only the last loads of a long block are looked at.
TEST(FoldLoads, ManyLoadsBeforeTheirUses) {
  std::string body, uses;
  for (int i = 0; i < 40; ++i) {
    body += fmt::format("  mov v{}, [v0 + {}]:8\n", 7 + i, 8 * i);
    uses += fmt::format("  add v1, v{}\n", 7 + i);
  }
  std::string text = function_of(body + uses);
  std::string registers = "variable v6 64 align 64\nregisters";
  for (int i = 0; i < 40; ++i) registers += fmt::format(" v{}:r64", 7 + i);
  text.replace(text.find("variable"), std::string_view("variable v6 64 align 64").size(), registers);
  std::array<uint64_t, 40> data;
  std::iota(data.begin(), data.end(), 1);
  EXPECT_EQ(run_lir(text, data.data(), 0, [](lir::Function& f) { EXPECT_EQ(lir::fold_loads(f), 32u); }), 820u);
}

// What stays as it is.
class Unfolded : public testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(Unfolded, Stays) {
  const std::string body = GetParam().second;
  EXPECT_EQ(folded(body), body);
}
INSTANTIATE_TEST_SUITE_P(
    FoldLoads, Unfolded,
    testing::Values(std::pair("TwoUses", "  mov v2, [v0]:8\n  add v1, v2\n  add v1, v2\n"),
                    std::pair("TwoDefinitions", "  mov v2, [v0]:8\n  add v1, v2\n  mov v2, 1\n"),
                    std::pair("StoreBetween", "  mov v2, [v0 + 8]:8\n  mov [v0 + 12]:4, v1.r32\n  add v1, v2\n"),
                    std::pair("StoreToWhoKnowsWhere", "  mov v2, [v0 + v1*1]:8\n  mov [v0 + 64]:8, v1\n  add v1, v2\n"),
                    std::pair("StoreToTheVariable", "  mov v2, [v6 + 8]:8\n  mov [v6 + 12]:4, v1.r32\n  add v1, v2\n"),
                    std::pair("AnotherAddress", "  mov v2, [v0 + 8]:8\n  add v0, 8\n  add v1, v2\n"),
                    std::pair("LabelBetween", "  mov v2, [v0]:8\n  jmp L2\nL2:\n  add v1, v2\n"),
                    std::pair("FenceBetween", "  mov v2, [v0]:8\n  mfence\n  add v1, v2\n"),
                    std::pair("CallBetween", "  mov v2, [v0]:8\n  call [L9]:8 (v1)\n  add v1, v2\n"),
                    std::pair("Marked", "  mov v2, [v0]:8 !mark 1\n  add v1, v2\n"),
                    std::pair("Written", "  mov v2, [v0]:8\n  add v2, v1\n"),
                    std::pair("FixedRegister", "  mov v2, [v0]:8\n  shl v1, v2.r8\n"),
                    std::pair("PartOfIt", "  mov v2, [v0]:8\n  add v1.r32, v2.r32\n"),
                    std::pair("BitNumber", "  mov v2, [v0]:8\n  bt v2, v1\n  adc v1, 0\n"),
                    std::pair("AnotherElement",
                              "  vmovdqu v4, [v0]:32\n  vpbroadcastd v5, v4.xmm\n  vmovdqu [v0]:32, v5\n")),
    [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace wavejit::backend
