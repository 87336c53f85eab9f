// LIR text by its results: what allocation and encoder make of it does what the text says.
#include <array>
#include <cstdint>

#include "backend-x86/compiler.h"
#include "tests/backend/lir_runner.h"

namespace wavejit::backend {
namespace {

TEST(LirRun, Loop) {
  constexpr std::string_view kSum = R"(
    function
    registers v0:r64 v1:r64 v2:r64
    arguments v0 v1
      xor v2, v2
      test v1, v1
      jz L2
    L1:
      add v2, v1
      sub v1, 1
      jnz L1
    L2:
      result v2
    exit L3:
  )";
  EXPECT_EQ(run_lir(kSum, nullptr, 0), 0u);
  EXPECT_EQ(run_lir(kSum, nullptr, 1), 1u);
  EXPECT_EQ(run_lir(kSum, nullptr, 100), 5050u);
}

TEST(LirRun, CodeBehindTheExit) {
  constexpr std::string_view kText = R"(
    function
    registers v0:r64 v1:r64 v2:r64
    arguments v0 v1
      mov v2, 3
      cmp v1, 10
      ja L1
      jz L3
    L2:
      add v2, v1
      result v2
    exit L4:
    L1:
      imul v2, v1, 5
      jmp L2
    L3:
      result v1
  )";
  EXPECT_EQ(run_lir(kText, nullptr, 9), 12u);
  EXPECT_EQ(run_lir(kText, nullptr, 10), 10u);
  EXPECT_EQ(run_lir(kText, nullptr, 11), 66u);
}

TEST(LirRun, Mask) {
  if (!host_supports(Tier::avx512)) GTEST_SKIP() << "the CPU has no AVX-512";
  constexpr std::string_view kText = R"(
    function avx512
    registers v0:r64 v1:r64 v2:zmm v3:zmm v4:mask16 v5:r32
    arguments v0 v1
      vmovdqu32 v2, [v0]:64
      vpbroadcastd v3, v1.r32
      vpcmpud v4, v2, v3, 6
      vpaddd v2{v4}, v2, v3
      vmovdqu32 [v0]:64, v2
      vmovdqu32 v2{v4}{z}, v3
      vmovdqu32 [v0 + 64]:64, v2
      kmovw v5, v4
      result v5
    exit L1:
  )";
  std::array<uint32_t, 32> data{};
  for (uint32_t lane = 0; lane < 16; ++lane) data[lane] = lane * 7 % 16;
  uint32_t mask = 0;
  std::array<uint32_t, 32> expected{};
  for (uint32_t lane = 0; lane < 16; ++lane) {
    const bool above = data[lane] > 5;
    mask |= above ? 1u << lane : 0;
    expected[lane] = data[lane] + (above ? 5 : 0);
    expected[lane + 16] = above ? 5 : 0;
  }
  EXPECT_EQ(static_cast<uint32_t>(run_lir(kText, data.data(), 5)), mask);
  EXPECT_EQ(data, expected);
}

// More values than there are general and vector registers, all alive at once.
TEST(LirRun, Spilling) {
  constexpr unsigned kValues = 20;
  std::string text = "function stack 32\nregisters v0:r64 v1:r64 v2:r64\narguments v0 v1\n";
  for (unsigned i = 0; i < kValues; ++i) text += fmt::format("registers v{}:r64 v{}:ymm\n", 3 + 2 * i, 4 + 2 * i);
  for (unsigned i = 0; i < kValues; ++i) {
    text += fmt::format("imul v{}, v1, {}\n", 3 + 2 * i, i + 1);
    text += fmt::format("vmovdqu v{}, [v0 + {}]:32\n", 4 + 2 * i, 32 * i);
  }
  // Each value weighs differently, so that the result tells them apart. The rows are written in reverse.
  text += "xor v2, v2\n";
  for (unsigned i = 0; i < kValues; ++i) {
    text += fmt::format("lea v2, [v2 + v2*2]\nadd v2, v{}\n", 3 + 2 * i);
    text += fmt::format("vmovdqu [v0 + {}]:32, v{}\n", 32 * (kValues - 1 - i), 4 + 2 * i);
  }
  text += "result v2\nexit L1:\n";

  constexpr uint64_t kNumber = 0x123456789;
  uint64_t expected = 0;
  for (unsigned i = 0; i < kValues; ++i) expected = expected * 3 + kNumber * (i + 1);
  std::array<std::array<uint64_t, 4>, kValues> rows{}, reversed{};
  for (unsigned i = 0; i < kValues; ++i)
    for (unsigned j = 0; j < 4; ++j) reversed[kValues - 1 - i][j] = rows[i][j] = (4 * i + j + 1) * 0x9e3779b97f4a7c15u;
  EXPECT_EQ(run_lir(text, rows.data(), kNumber), expected);
  EXPECT_EQ(rows, reversed);
}

uint64_t mix(uint64_t a, uint64_t b) {
  return a * 10 + b;
}

// Values that live across the call, and its arguments in any registers.
TEST(LirRun, Call) {
  const std::string text = fmt::format(R"(
    function stack 32
    registers v0:r64 v1:r64 v2:r64 v3:r64 v4:ymm
    arguments v0 v1
      vmovdqu v4, [v0]:32
      lea v2, [v1 + 1]
      call {:#x} (v2, v1) -> v3
      call {:#x} (v3, v3) -> v2
      vmovdqu [v0 + 32]:32, v4
      add v2, v1
      result v2
    exit L1:
  )",
                                       reinterpret_cast<uintptr_t>(&mix), reinterpret_cast<uintptr_t>(&mix));
  std::array<uint64_t, 8> data{1, 2, 3, 4};
  EXPECT_EQ(run_lir(text, data.data(), 7), mix(mix(8, 7), mix(8, 7)) + 7);
  EXPECT_EQ(data, (std::array<uint64_t, 8>{1, 2, 3, 4, 1, 2, 3, 4}));
}

// Two variables: written by index, read by constant offsets and through the address.
TEST(LirRun, VariablesOnTheStack) {
  constexpr std::string_view kText = R"(
    function stack 64
    registers v0:r64 v1:r64 v2:r64 v3:r64 v4:r64
    variable v5 64 align 64
    variable v6 16 align 8
    arguments v0 v1
      mov [v6 + 8]:8, v1
      xor v2, v2
    L1:
      imul v3, v2, 3
      mov [v5 + v2*8]:8, v3
      add v2, 1
      cmp v2, 8
      jnz L1
      lea v4, [v5]
      mov v3, [v4 + 8]:8
      imul v3, v3, 100
      add v3, [v5 + 56]:8
      imul v3, v3, 100
      add v3, [v6 + 8]:8
      and v4, 63
      imul v4, v4, 1000000
      add v3, v4
      result v3
    exit L2:
  )";
  EXPECT_EQ(run_lir(kText, nullptr, 42), 32142u);
}

// What the runner refuses.
TEST(LirRun, PassesAreVerified) {
  constexpr std::string_view kText = "registers v0:r64\narguments v0\nmov v0, 5\nresult v0\nexit L1:\n";
  EXPECT_EQ(run_lir(kText, nullptr, 0), 5u);
  EXPECT_EQ(
      run_lir(kText, nullptr, 0, [](lir::Function& function) { function.begin()->next->operands[1] = asmjit::imm(6); }),
      6u);
  const auto broken = place_lir(kText, [](lir::Function& function) { function.begin()->next->operands[0] = x86::rax; });
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message, "verify behind the pass: mov rax, 5: a host register, before allocation");
}

// A value that moves to a register that the caller keeps, and is never written there by an instruction.
TEST(LirRun, RegistersThatTheCallerKeeps) {
  constexpr std::string_view kText = R"(
function stack 64
registers v0:r64 v1:r64 v2:r64 v3:r64 v4:r64
arguments v0
L0:
  mov v3, [v0 + 8]:8
  mov v4, [v0]:8
  rdtsc v1.r32, v2.r32
  lock cmpxchg [v0 + 16]:8, v3, v4
  mov [v0 + 24]:8, v4
  mov [v0 + 32]:8, v1
  result v2
exit L1:
)";
  std::array<uint64_t, 5> data{7, 1, 1, 0, 0};
  (void)run_lir(kText, data.data(), 0);
  EXPECT_EQ(data[3], 1u);  // what the exchange has found
}

}  // namespace
}  // namespace wavejit::backend
