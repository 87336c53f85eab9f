// The pass straighten_jumps: text in, text out.
#include "backend-x86/lir/passes/straighten_jumps.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "backend-x86/lir/passes/decisions.h"
#include "tests/backend/lir_runner.h"

namespace wavejit::backend {
namespace {

std::vector<lir::Node*> jumps_of(const lir::Function& function) {
  std::vector<lir::Node*> jumps;
  for (lir::Node* node = function.begin(); node != nullptr; node = node->next)
    if (lir::goes_to_label(*node)) jumps.push_back(node);
  return jumps;
}

std::string straightened(std::string_view body) {
  lir::Function function;
  const std::string text = "function stack 64\nregisters v0:r64 v1:r64 v2:r64 v3:r64\narguments v0 v1\nL0:\n" +
                           std::string(body) + "  result v1\nexit L1:\n";
  const auto parsed = lir::parse(text, function);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  EXPECT_EQ(lir::verify(function), std::nullopt);
  function.jumps = jumps_of(function);  // as register allocation leaves them
  lir::straighten_jumps(function);
  EXPECT_EQ(function.jumps, jumps_of(function));
  EXPECT_EQ(lir::verify(function), std::nullopt);
  const std::string printed = lir::print(function);
  const size_t begin = printed.find("L0:\n") + 4;
  return printed.substr(begin, printed.find("  result v1") - begin);
}

class Jumps : public testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(Jumps, AreStraight) {
  EXPECT_EQ(straightened(GetParam().first), GetParam().second);
}
INSTANTIATE_TEST_SUITE_P(
    Cases, Jumps,
    testing::Values(
        // A branch around a jump.
        std::pair("L2:\n  cmp v0, v1\n  jb L3\n  jmp L2\nL3:\n  add v1, 1\n",
                  "L2:\n  cmp v0, v1\n  jae L2\nL3:\n  add v1, 1\n"),
        // Something else is in between.
        std::pair("L2:\n  cmp v0, v1\n  jb L3\n  mov v0, v1\n  jmp L2\nL3:\n  add v1, 1\n",
                  "L2:\n  cmp v0, v1\n  jb L3\n  mov v0, v1\n  jmp L2\nL3:\n  add v1, 1\n"),
        std::pair("L2:\n  cmp v0, v1\n  jb L3\nL4:\n  jmp L2\nL3:\n  add v1, 1\n  ja L4\n",
                  "L2:\n  cmp v0, v1\n  jb L3\nL4:\n  jmp L2\nL3:\n  add v1, 1\n  ja L2\n"),
        // To a jump, to the second of two, and to what follows.
        std::pair("  cmp v0, v1\n  jb L2\n  add v1, 1\n  jmp L4\nL2:\n  jmp L3\nL4:\n  add v1, 2\nL3:\n",
                  "  cmp v0, v1\n  jb L3\n  add v1, 1\n  jmp L4\nL2:\n  jmp L3\nL4:\n  add v1, 2\nL3:\n"),
        std::pair("  cmp v0, v1\n  jb L2\n  add v1, 1\nL2:\n  jmp L3\nL3:\n  jmp L4\nL4:\n",
                  "  cmp v0, v1\n  jb L4\n  add v1, 1\nL2:\nL3:\nL4:\n"),
        std::pair("  cmp v0, v1\n  jb L3\n  jmp L2\nL2:\nL3:\n  add v1, 1\n", "  cmp v0, v1\nL2:\nL3:\n  add v1, 1\n"),
        // The move in front of the jump decides the comparison behind it: the branch is taken, and it is not.
        std::pair("  cmp v0, v1\n  jb L2\n  mov v2, 1\n  mov v3, 7\n  jmp L3\nL2:\n  mov v2, v1\nL3:\n  test v2, v2\n"
                  "  jne L4\n  add v1, 1\nL4:\n  add v1, 2\n",
                  "  cmp v0, v1\n  jb L2\n  mov v2, 1\n  mov v3, 7\n  jmp L4\nL2:\n  mov v2, v1\nL3:\n  test v2, v2\n"
                  "  jne L4\n  add v1, 1\nL4:\n  add v1, 2\n"),
        std::pair("  cmp v0, v1\n  jb L2\n  mov v2, -1\n  jmp L3\nL2:\n  mov v2, v1\nL3:\n  cmp v2, 5\n"
                  "  jb L4\n  add v1, 1\nL4:\n  add v1, 2\n",
                  "  cmp v0, v1\n  jb L2\n  mov v2, -1\n  jmp L5\nL2:\n  mov v2, v1\nL3:\n  cmp v2, 5\n"
                  "  jb L4\nL5:\n  add v1, 1\nL4:\n  add v1, 2\n"),
        // The register has another number, its half has, or the flags are looked at behind the branch.
        std::pair("  cmp v0, v1\n  jb L2\n  mov v2, 1\n  mov v2, v1\n  jmp L3\nL2:\n  mov v2, v1\nL3:\n  test v2, v2\n"
                  "  jne L4\n  add v1, 1\nL4:\n  add v1, 2\n",
                  "  cmp v0, v1\n  jb L2\n  mov v2, 1\n  mov v2, v1\n  jmp L3\nL2:\n  mov v2, v1\nL3:\n  test v2, v2\n"
                  "  jne L4\n  add v1, 1\nL4:\n  add v1, 2\n"),
        std::pair("  cmp v0, v1\n  jb L2\n  mov v2.r32, 1\n  jmp L3\nL2:\n  mov v2, v1\nL3:\n  test v2, v2\n"
                  "  jne L4\n  add v1, 1\nL4:\n  add v1, 2\n",
                  "  cmp v0, v1\n  jb L2\n  mov v2.r32, 1\n  jmp L3\nL2:\n  mov v2, v1\nL3:\n  test v2, v2\n"
                  "  jne L4\n  add v1, 1\nL4:\n  add v1, 2\n"),
        std::pair("  cmp v0, v1\n  jb L2\n  mov v2, 1\n  jmp L3\nL2:\n  mov v2, v1\nL3:\n  cmp v2, 1\n"
                  "  je L4\n  add v1, 1\nL4:\n  mov v3, v1\n  cmovb v1, v0\n",
                  "  cmp v0, v1\n  jb L2\n  mov v2, 1\n  jmp L3\nL2:\n  mov v2, v1\nL3:\n  cmp v2, 1\n"
                  "  je L4\n  add v1, 1\nL4:\n  mov v3, v1\n  cmovb v1, v0\n"),
        // Around in a circle.
        std::pair("  cmp v0, v1\n  jb L2\n  jmp L4\nL2:\n  jmp L3\nL3:\n  jmp L2\nL4:\n",
                  "  cmp v0, v1\n  jae L4\nL2:\n  jmp L2\nL3:\n  jmp L2\nL4:\n")));

}  // namespace
}  // namespace wavejit::backend
