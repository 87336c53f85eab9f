// The pass make_jump_tables: by result, for all numbers that a tree looks at and for others.
#include "backend-x86/lir/passes/jump_tables.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/backend/lir_runner.h"

namespace wavejit::backend {
namespace {

// A function of a pointer and a number, with eight ways from a tree of comparisons of v2. `behind` is what they lead to, and gets
// another v3 from each.
std::string tree_of(std::string_view in_front, std::string_view in_between, std::string_view behind,
                    const std::array<const char*, 3>& conditions) {
  std::string text =
      "function stack 64\nregisters v0:r64 v1:r64 v2:r32 v3:r64 v4:r64 v5:r64\narguments v0 v1\nL0:\n  mov v2, "
      "v1.r32\n";
  text += in_front;
  const auto [low, middle, high] = conditions;
  text += fmt::format("  cmp v2, 3\n  {} L20\n", middle) + std::string(in_between);
  text += fmt::format("  cmp v2, 1\n  {} L21\n  test v2, v2\n  {} L11\n  mov v3, 10\n  jmp L30\n", low, high);
  text += fmt::format("L21:\n  cmp v2, 2\n  {} L13\n  mov v3, 12\n  jmp L30\n", high);
  text += fmt::format("L20:\n  cmp v2, 5\n  {} L22\n  cmp v2, 4\n  {} L15\n  mov v3, 14\n  jmp L30\n", low, high);
  text += fmt::format("L22:\n  cmp v2, 6\n  {} L17\n  mov v3, 16\n  jmp L30\n", high);
  for (const int way : {11, 13, 15, 17}) text += fmt::format("L{0}:\n  mov v3, {0}\n  jmp L30\n", way);
  return text + "L30:\n" + std::string(behind) + "  mov v1, v3\n  result v1\nexit L1:\n";
}

constexpr std::array<const char*, 3> kSigned{"jg", "jg", "jg"}, kUnsigned{"ja", "ja", "ja"}, kMixed{"jge", "ja", "jne"};
constexpr std::array<int64_t, 18> kNumbers{0,  1,  2,  3,  4,   5,         6,         7,  8,
                                           15, 16, 62, 63, 100, INT32_MAX, INT32_MIN, -1, int64_t{1} << 32 | 3};

// How many tables the pass makes, after the results have been found to be the same.
size_t tables_in(const std::string& text) {
  size_t tables = 0;
  const auto plain = place_lir(text);
  const auto with_tables = place_lir(text, {}, [&](lir::Function& function) {
    lir::make_jump_tables(function);
    tables = function.jump_tables.size();
  });
  EXPECT_TRUE(plain && with_tables) << (plain ? with_tables.error().message : plain.error().message);
  if (!plain || !with_tables) return 0;
  std::array<uint64_t, 8> data{5, 6, 7, 8};
  const auto pointer = reinterpret_cast<uintptr_t>(data.data());
  for (const int64_t number : kNumbers)
    EXPECT_EQ(call_aligned(with_tables->begin(), pointer, static_cast<uint64_t>(number)),
              call_aligned(plain->begin(), pointer, static_cast<uint64_t>(number)))
        << number << '\n'
        << text;
  return tables;
}

TEST(JumpTables, LeadWhereTheTreeDoes) {
  for (const auto& conditions : {kSigned, kUnsigned, kMixed}) EXPECT_EQ(tables_in(tree_of("", "", "", conditions)), 1u);
}

// What the ways read stays as it was.
TEST(JumpTables, KeepWhatIsReadBehind) {
  EXPECT_EQ(tables_in(tree_of("  mov v4, [v0]:8\n  mov v5, [v0 + 8]:8\n", "", "  add v3, v4\n  sub v3, v5\n", kSigned)),
            1u);
}

// The tree with so many values that all of its ways read, and code behind it.
std::string crowded_tree(int values, std::string_view behind) {
  std::string declared, loads, sums;
  for (int i = 6; i < 6 + values; ++i) {
    declared += fmt::format(" v{}:r64", i);
    loads += fmt::format("  mov v{}, [v0 + {}]:8\n", i, i % 8 * 8);
    sums += fmt::format("  add v3, v{}\n", i);
  }
  std::string text = tree_of(loads, "", sums + std::string(behind), kSigned);
  text.insert(text.find(" v5:r64") + 7, declared);
  return text;
}

// A table takes two registers that no way reads: the number's may be one of them. Registers that the function does not use
// otherwise are its caller's.
TEST(JumpTables, NotWithoutFreeRegisters) {
  constexpr const char* kReadsTheNumber = "  add v3.r32, v2\n";
  EXPECT_EQ(tables_in(crowded_tree(8, kReadsTheNumber)), 1u);
  EXPECT_EQ(tables_in(crowded_tree(9, kReadsTheNumber)), 0u);
  EXPECT_EQ(tables_in(crowded_tree(9, "")), 1u);
  EXPECT_EQ(tables_in(crowded_tree(11, "")), 0u);
}

// The tree ends where something else is in between; what is left is too small.
TEST(JumpTables, OfComparisonsAlone) {
  EXPECT_EQ(tables_in(tree_of("", "  add v1, 1\n", "", kSigned)), 0u);
}

// A way that looks at the flags of the last comparison.
TEST(JumpTables, NotWhereFlagsAreRead) {
  std::string text = tree_of("", "", "", kSigned);
  text.replace(text.find("  mov v3, 16\n"), 13, "  mov v3, 16\n  sete v3.r8\n");
  EXPECT_EQ(tables_in(text), 0u);
}

}  // namespace
}  // namespace wavejit::backend
