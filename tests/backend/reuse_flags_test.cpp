// The pass reuse_flags: text in, text out, and by result for numbers that conditions tell apart.
#include "backend-x86/lir/passes/reuse_flags.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/backend/lir_runner.h"

namespace wavejit::backend {
namespace {

// A function of a pointer and a number, which leaves the result in v5.
std::string function_of(std::string_view body) {
  return "function stack 64\n"
         "registers v0:r64 v1:r64 v2:r32 v3:r32 v4:r32 v5:r64 v6:r32\n"
         "arguments v0 v1\n"
         "L0:\n"
         "  mov v5, 1\n" +
         std::string(body) + "  result v5\nexit L9:\n";
}

// The body behind the pass.
std::string changed(std::string_view body) {
  lir::Function function;
  const auto parsed = lir::parse(function_of(body), function);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  lir::reuse_flags(function);
  EXPECT_EQ(lir::verify(function), std::nullopt);
  const std::string text = lir::print(function);
  const size_t begin = text.find("  mov v5, 1\n") + 12;
  return text.substr(begin, text.find("  result v5") - begin);
}

// How many tests are left out, after the results have been found to be the same.
uint32_t left_out(std::string_view body) {
  uint32_t count = 0;
  const std::string text = function_of(body);
  const auto plain = place_lir(text);
  const auto with_pass = place_lir(text, [&](lir::Function& function) { count = lir::reuse_flags(function); });
  EXPECT_TRUE(plain && with_pass) << (plain ? with_pass.error().message : plain.error().message);
  if (!plain || !with_pass) return 0;
  std::array<uint64_t, 8> data{};
  const auto pointer = reinterpret_cast<uintptr_t>(data.data());
  for (const int64_t number : {0, 1, 6, 7, 8, 255, 256, -1, INT32_MAX, INT32_MIN})
    EXPECT_EQ(call_aligned(with_pass->begin(), pointer, static_cast<uint64_t>(number)),
              call_aligned(plain->begin(), pointer, static_cast<uint64_t>(number)))
        << number << '\n'
        << body;
  return count;
}

constexpr std::array<const char*, 10> kConditions{"e", "ne", "b", "ae", "be", "a", "l", "ge", "le", "g"};

TEST(ReuseFlags, EachConditionAndItsOpposite) {
  for (const char* condition : kConditions)
    for (const char* reader : {"je L1", "jne L1"}) {
      const std::string body = fmt::format(
          "  cmp v1.r32, 7\n  set{0} v2.r8\n  movzx v3, v2.r8\n  mov v4, 40\n  test v3, v3\n  {1}\n  mov v5, 2\nL1:\n",
          condition, reader);
      EXPECT_EQ(left_out(body), 1u) << body;
    }
}

TEST(ReuseFlags, WhatOnlyTheTestHasReadGoes) {
  EXPECT_EQ(changed("  cmp v1.r32, 7\n  setb v2.r8\n  movzx v3, v2.r8\n  test v3, v3\n  jne L1\n  mov v5, 2\nL1:\n"),
            "  cmp v1.r32, 7\n  jb L1\n  mov v5, 2\nL1:\n");
  EXPECT_EQ(changed("  cmp v1.r32, 7\n  setb v2.r8\n  test v2.r8, v2.r8\n  je L1\n  mov v5, 2\nL1:\n"),
            "  cmp v1.r32, 7\n  jae L1\n  mov v5, 2\nL1:\n");
  // The number is part of the result.
  EXPECT_EQ(changed("  cmp v1.r32, 7\n  setb v2.r8\n  movzx v3, v2.r8\n  test v3, v3\n  jne L1\n  mov v5, 2\nL1:\n"
                    "  add v5.r32, v3\n"),
            "  cmp v1.r32, 7\n  setb v2.r8\n  movzx v3, v2.r8\n  jb L1\n  mov v5, 2\nL1:\n  add v5.r32, v3\n");
}

TEST(ReuseFlags, SeveralReaders) {
  constexpr std::string_view kBody =
      "  mov v4, 10\n  mov v6, 20\n"
      "  cmp v1.r32, 7\n  setg v2.r8\n  movzx v3, v2.r8\n  test v3, v3\n"
      "  cmovne v4, v6\n  cmove v6, v3\n  setne v2.r8\n"
      "  movzx v2, v2.r8\n  add v2, v4\n  shl v2, 8\n  add v2, v6\n  mov v5.r32, v2\n";
  EXPECT_EQ(left_out(kBody), 1u);
}

// Flags of another instruction, another number, other conditions, a place that is reached by two ways, and bits above the byte.
TEST(ReuseFlags, NotWhereTheTestSaysMore) {
  for (const char* body : {
           "  cmp v1.r32, 7\n  setb v2.r8\n  movzx v3, v2.r8\n  add v5, 5\n  test v3, v3\n  jne L1\n  mov v5, 2\nL1:\n",
           "  cmp v1.r32, 7\n  setb v2.r8\n  movzx v3, v2.r8\n  mov v3, v1.r32\n  test v3, v3\n  jne L1\n  mov v5, "
           "2\nL1:\n",
           "  cmp v1.r32, 7\n  setb v2.r8\n  movzx v3, v2.r8\n  test v3, v3\n  jg L1\n  mov v5, 2\nL1:\n",
           "  mov v3, 0\n  cmp v1.r32, 7\n  ja L1\n  setb v2.r8\n  movzx v3, v2.r8\nL1:\n  test v3, v3\n  jne L2\n  "
           "mov v5, 2\nL2:\n",
           "  mov v3, v1.r32\n  cmp v1.r32, 7\n  setb v3.r8\n  test v3, v3\n  jne L1\n  mov v5, 2\nL1:\n",
           "  cmp v1.r32, 7\n  setb v2.r8\n  movzx v3, v2.r8\n  test v3, v3\n  jne L1\n  mov v5, 2\nL1:\n  jns L2\n  "
           "mov v5, 3\nL2:\n",
       })
    EXPECT_EQ(left_out(body), 0u) << body;
}

}  // namespace
}  // namespace wavejit::backend
