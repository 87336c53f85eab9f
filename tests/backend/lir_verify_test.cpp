// The verifier of LIR: each rule by text that breaks it, next to text that does not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backend-x86/lir/builder.h"
#include "backend-x86/lir/text.h"
#include "backend-x86/lir/verify.h"

namespace wavejit::backend::lir {
namespace {

using testing::HasSubstr;
namespace I = x86::Inst;

std::optional<std::string> verify_text(const std::string& text) {
  Function function;
  const auto done = parse(text, function);
  if (!done) return "no text: " + done.error().message;
  return verify(function);
}

// A function around the line, which is in the hot code.
std::string around(std::string_view line) {
  return fmt::format(
      "function avx512\n"
      "registers v0:r64 v1:r32 v2:zmm v3:ymm v4:mask16 v5:xmm v6:r8 v7:r64\n"
      "variable v8 64 align 16\n"
      "arguments v0 v1\n"
      "L0:\n"
      "  jnz L2\n"
      "  {}\n"
      "  result v0\n"
      "exit L1:\n"
      "L2:\n"
      "  result v1\n",
      line);
}

TEST(LirVerify, LinesThatBreakARule) {
  struct Case {
    const char *good, *bad, *message;
  };
  const Case cases[] = {
      // labels and jumps
      {"L3:", "L2:", "L2:: the label is bound twice"},
      {"jmp L2", "jmp L3", "jmp L3: the jump's target is not bound"},
      {"jnz L2", "jnz L3", "jnz L3: the jump's target is not bound"},
      {"jmp L2", "jmp v0", "jmp v0: the jump's target is no label"},
      {"jmp L2", "jmp [v0]:8", "jmp [v0]:8: the jump's target is no label"},
      {"jmp L2", "jmp L0", "jmp L0: a jump to the beginning"},
      {"jmp L2", "jmp L1", "jmp L1: only results lead to the exit"},
      // registers and their views
      {"mov v0, v7", "mov v0, rax", "mov v0, rax: a host register, before allocation"},
      {"mov v0, [v7]", "mov v0, [rax]", "a host register, before allocation"},
      {"mov v0, [v7 + v0*8]", "mov v0, [v7 + rcx*8]", "a host register, before allocation"},
      {"mov v0, [L9]", "mov v0, [rip + 8]", "a host register, before allocation"},
      {"vaddps v2{v4}, v2, v2", "vaddps v2{k1}, v2, v2", "a host register, before allocation"},
      {"kmovw v4, v1", "kmovw v4.ymm, v1", "kmovw v4.ymm, v1: a view of another group than v4's"},
      {"mov v0, v7", "mov v0, v2.r64", "a view of another group than v2's"},
      {"mov v0, [v7]", "mov v0, [v2.r64]", "a view of another group than v2's"},
      {"vaddps v3, v3, v2.ymm", "vaddps v3.zmm, v2, v2", "a view is wider than its register"},
      {"vaddps v3, v3, v3", "vaddps v3, v3, v5.ymm", "a view is wider than its register"},
      {"mov v1, v0.r32", "mov v1.r64, v0", "mov v1.r64, v0: a view is wider than its register"},
      {"mov v6, 1", "mov v6.r16, 1", "a view is wider than its register"},
      {"lea v1, [v1.r64 + v1.r64*2]", "lea v1.r64, [v1.r64 + v1.r64*2]", "a view is wider than its register"},
      {"mov v0, [v7]", "mov v0, v8.r64", "v8 is a variable, not a register"},
      // variables
      {"mov [v8]:8, v0", "mov [v8.r64]:8, v0", "v8 is a variable, not a register"},
      {"mov v0, [v7]", "mov v0, [v7 + v8.r64*1]", "v8 is a variable, not a register"},
      {"mov [v8 + 56]:8, v0", "mov [v8 + 57]:8, v0", "mov [v8 + 57]:8, v0: an access outside of 64 bytes"},
      {"mov v0, [v8]:8", "mov v0, [v8 - 1]:8", "an access outside of 64 bytes"},
      {"mov v0, [v8 + 63]", "mov v0, [v8 + 64]", "an access outside of 64 bytes"},
      {"mov v0, [v8 + v7*1 + 64]", "mov v0, [v8 + 64]", "an access outside of 64 bytes"},
      {"lea v0, [v8 + 64]", "lea v0, [v8 + 65]", "an access outside of 64 bytes"},
      {"mov v0, [v7]", "mov v0, [home v7]", "a register's place on the stack, before allocation"},
      // instructions
      {"vaddps v2, v2, v2", "vaddps v2, v3, v2", "vaddps v2, v3, v2: asmjit does not know the instruction"},
      {"add v0, v7", "add v0", "asmjit does not know the instruction"},
      {"add v0, v7", "add v2, v2", "asmjit does not know the instruction"},
      {"vaddps v2, v2, [L9]:4{1to16}", "vaddps v2, v2, [L9]:4{1to8}", "asmjit does not know the instruction"},
      {"vaddps v2, v2, [L9]:64", "vaddps v2, v2, [L9]:4", "asmjit does not know the instruction"},
      {"mov v6, v1.r8", "mov v6, v1.r8h", "asmjit does not know the instruction"},
      {"vpcmpd v4{v4}, v2, v2, 1", "vpcmpd v4{v4}, v2, v3, 1", "asmjit does not know the instruction"},
      {"vpcmpd v4{v4}, v2, v2, 1", "vpcmpd v4{v4}{z}, v2, v2, 1", "asmjit does not know the instruction"},
      {"lea v0, [L9]:128", "lea v0, v7", "asmjit does not know the instruction"},
      {"vaddps v2{v4}{z}, v2, v2", "vaddps v2{v1}, v2, v2", "vaddps v2{v1}, v2, v2: the mask is no mask register"},
      // calls
      {"call [L9]:8", "call [v0]:8", "call [v0]:8: the call's target is not fixed"},
      {"call 5", "call v0", "call v0: the call's target is not fixed"},
      {"call 5 ()", "ret", "ret: a return is a result"},
      {"call [L9]:8 ()", "call [v0]:8 ()", "call [v0]:8 (): the call's target is not fixed"},
      {"call [L9]:8 ()", "call [L9 + v0*8]:8 ()", "the call's target is not fixed"},
      {"call 5 ()", "call v0 ()", "the call's target is not fixed"},
      {"call 5 ()", "call L2 ()", "the call's target is not fixed"},
      {"call 5 (v0, v1)", "call 5 (v0, v2)", "the call's argument is no general register"},
      {"call 5 (v0, v1)", "call 5 (v0, 7)", "the call's argument is no general register"},
      {"call 5 (v0)", "call 5 (rdi)", "a host register, before allocation"},
      {"call 5 () -> v1", "call 5 () -> v4", "the call's result is no general register"},
      {"call 5 () -> v7", "call 5 () -> [v7]", "the call's result is no general register"},
      {"call 5 () -> v1", "call 5 () -> v1.r64", "a view is wider than its register"},
      // ends
      {"result v1", "result v2", "result v2: the result is no general register"},
      {"result v1", "result 5", "result 5: the result is no general register"},
      {"result v1", "result rax", "a host register, before allocation"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.bad);
    EXPECT_EQ(verify_text(around(one.good)), std::nullopt);
    const auto wrong = verify_text(around(one.bad));
    ASSERT_TRUE(wrong);
    EXPECT_THAT(*wrong, HasSubstr(one.message));
  }
}

TEST(LirVerify, FunctionsThatBreakARule) {
  struct Case {
    const char *text, *message;  // no message: right
  };
  const Case cases[] = {
      {"registers v0:r64\narguments v0\nresult v0\nexit L1:", nullptr},
      {"registers v0:r64\narguments v0\njmp L2\nexit L1:\nL2:\nresult v0", nullptr},
      {"registers v0:r64\nresult v0", "the function has no exit"},
      {"exit L1:", "there is no code before the exit"},
      {"registers v0:r64\nexit L1:\nresult v0", "there is no code before the exit"},
      {"registers v0:r64\nmov v0, 1\nexit L1:", "mov v0, 1: code falls through to the exit"},
      {"registers v0:r64\nresult v0\nL2:\njnz L2\nexit L1:", "jnz L2: code falls through to the exit"},
      {"registers v0:r64\njmp L2\nexit L1:\nL2:\nmov v0, 1", "mov v0, 1: code falls through behind the end"},
      {"registers v0:r64\njmp L2\nexit L1:\nL2:\njnz L2\n; end", "jnz L2: code falls through behind the end"},
      {"registers v0:mask16\narguments v0\nresult v0\nexit L1:", "an argument of the function is no general register"},
      {"registers v0:r64\narguments v0.r32\nresult v0\nexit L1:", "an argument of the function is no general register"},
      {"registers v0:r64\narguments rdi\nresult v0\nexit L1:", "an argument of the function is no general register"},
      {"registers v0:r64\narguments v0 v0 v0 v0 v0 v0 v0\nresult v0\nexit L1:", "too many arguments"},
      {"function avx512\nregisters v0:r64 v1:zmm\nvmovdqu32 v1, [v0]\nresult v0\nexit L1:", nullptr},
      {"registers v0:r64 v1:zmm\nvmovdqu32 v1, [v0]\nresult v0\nexit L1:", "a register of AVX-512"},
      {"registers v0:r64 v1:mask16\nkmovw v1, v0.r32\nresult v0\nexit L1:", "a register of AVX-512"},
      {"function stack 64\nregisters v0:r64\nvariable v1 64 align 64\nresult v0\nexit L1:", nullptr},
      {"function stack 16\nregisters v0:r64\nvariable v1 64 align 64\nresult v0\nexit L1:",
       "v1 is a variable with more alignment than the stack has"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    const auto wrong = verify_text(one.text);
    if (one.message == nullptr) {
      EXPECT_EQ(wrong, std::nullopt);
    } else {
      ASSERT_TRUE(wrong);
      EXPECT_THAT(*wrong, HasSubstr(one.message));
    }
  }
}

// What text cannot say.
class LirVerifyNodes : public testing::Test {
 protected:
  LirVerifyNodes() {
    cc.mov(g, 1);
    node = cc.cursor();
    cc.ret(g);
    cc.finish();
  }
  Function function;
  Builder cc{function};
  const x86::Gp g = cc.new_gp64();
  Node* node;
};

TEST_F(LirVerifyNodes, AreRight) {
  EXPECT_EQ(verify(function), std::nullopt);
}

TEST_F(LirVerifyNodes, RegistersThatDoNotExist) {
  node->operands[0] = x86::Gp(g, asmjit::Operand::indexToVirtId(1));
  EXPECT_EQ(verify(function), "mov v1.r64, 1: v1 does not exist");
}

TEST_F(LirVerifyNodes, LabelsThatDoNotExist) {
  node->operands[1] = x86::Mem(asmjit::Label(2), 0, 8);
  EXPECT_EQ(verify(function), "mov v0, [L2]:8: the function does not have the label");
  node->operands[1] = asmjit::Label(2);
  EXPECT_EQ(verify(function), "mov v0, L2: the function does not have the label");
  node->operands[1] = asmjit::imm(1);
  EXPECT_EQ(verify(function), std::nullopt);
  cc.set_cursor(function.last());
  cc.bind(asmjit::Label(2));
  EXPECT_EQ(verify(function), "L2:: the function does not have the label");
}

TEST_F(LirVerifyNodes, InstructionsThatDoNotExist) {
  node->id = I::_kIdCount;
  const auto wrong = verify(function);
  ASSERT_TRUE(wrong);
  EXPECT_THAT(*wrong, HasSubstr("asmjit does not know the instruction"));
}

TEST_F(LirVerifyNodes, AnExitThatIsNotInTheFunction) {
  Node* exit = function.exit;
  function.remove(exit);
  function.exit = exit;
  EXPECT_EQ(verify(function), "the function has no exit");
}

}  // namespace
}  // namespace wavejit::backend::lir
