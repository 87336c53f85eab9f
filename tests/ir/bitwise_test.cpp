// Bitwise expressions of few values, so that operands often are the same value, or parts of each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_map>

#include "ir/fold.h"
#include "ir/interpret.h"
#include "ir/pass.h"
#include "ir/text.h"

namespace wavejit::ir {
namespace {

constexpr Op kPairs[] = {Op::and_, Op::or_, Op::xor_, Op::andn};

// The result for all combinations of three bits.
uint8_t table(Op op, uint8_t a, uint8_t b) {
  switch (op) {
    case Op::and_:
      return a & b;
    case Op::or_:
      return a | b;
    case Op::xor_:
      return a ^ b;
    default:
      return static_cast<uint8_t>(a & ~b);
  }
}

// All expressions of three values and the constants with up to three operations, and one level more with a value.
TEST(IrFold, BitwiseExpressionsKeepTheirMeaning) {
  Function f("f");
  std::unordered_map<const Inst*, uint8_t> meaning;
  std::vector<Inst*> leaves;
  const auto leaf = [&](Op op, uint64_t imm, uint8_t bits) {
    Inst* inst = f.create(op, kMask);
    inst->imm = imm;
    meaning[inst] = bits;
    leaves.push_back(inst);
  };
  leaf(Op::get_mask, 0, 0xf0);
  leaf(Op::get_mask, 2, 0xcc);
  leaf(Op::get_mask, 4, 0xaa);
  leaf(Op::const_, 0, 0);
  leaf(Op::const_, ~uint64_t{0}, 0xff);
  const auto check = [&](Inst* inst, uint8_t bits) {
    const Inst* folded = fold_to_existing(*inst);
    if (folded == nullptr) return true;
    EXPECT_EQ(meaning.at(folded), bits) << print(*inst) << " is not " << print(*folded);
    return false;
  };
  const auto grow = [&](const std::vector<Inst*>& left, const std::vector<Inst*>& right) {
    std::vector<Inst*> made;
    for (Inst* a : left)
      for (Inst* b : right)
        for (const Op op : kPairs) {
          Inst* inst = f.create(op, kMask, {a, b});
          meaning[inst] = table(op, meaning[a], meaning[b]);
          if (check(inst, meaning[inst])) made.push_back(inst);
        }
    return made;
  };
  std::vector<Inst*> small = leaves;
  for (Inst* a : leaves) {
    Inst* inverse = f.create(Op::not_, kMask, {a});
    meaning[inverse] = static_cast<uint8_t>(~meaning[a]);
    if (check(inverse, meaning[inverse])) small.push_back(inverse);
  }
  const std::vector<Inst*> pairs = grow(small, small);
  small.insert(small.end(), pairs.begin(), pairs.end());
  const std::vector<Inst*> large = grow(small, small);
  EXPECT_GT(large.size(), 10000u);
  grow(large, {leaves[0], leaves[1]});
}

std::vector<std::string> observe(const Function& function, uint64_t seed) {
  const auto result = interpret(function, 0, seed);
  return result ? result->events : std::vector<std::string>{result.error().message};
}

TEST(IrPasses, BitwiseExpressionsKeepTheirMeaning) {
  constexpr unsigned kOperations = 24;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    std::mt19937_64 random(seed);
    Function f("f");
    Block* block = f.add_block();
    f.entries.push_back({0, block});
    const auto add = [&](Op op, Type type, const std::vector<Inst*>& operands, uint64_t imm = 0) {
      Inst* inst = f.create(op, type, operands);
      inst->imm = imm;
      inst->parent = block;
      block->insts.push_back(inst);
      return inst;
    };
    const bool masks = seed % 2 == 0;
    const Type type = masks ? kMask : kI64;
    std::vector<Inst*> values;
    for (unsigned i = 0; i < 2 + seed % 3; ++i)
      values.push_back(add(masks ? Op::get_mask : Op::get_sgpr64, type, {}, 2 * i));
    values.push_back(add(Op::const_, type, {}, 0));
    values.push_back(add(Op::const_, type, {}, ~uint64_t{0}));
    const auto any = [&] { return values[random() % values.size()]; };
    const auto recent = [&] { return values[values.size() - 1 - random() % std::min<size_t>(6, values.size())]; };
    for (unsigned i = 0; i < kOperations; ++i) {
      if (random() % 6 == 0)
        values.push_back(add(Op::not_, type, {recent()}));
      else
        values.push_back(add(kPairs[random() % std::size(kPairs)], type, {random() % 2 ? any() : recent(), recent()}));
    }
    for (unsigned i = 0; i < kOperations; ++i)
      add(masks ? Op::set_mask : Op::set_sgpr64, kNone, {values[values.size() - 1 - i]}, 40 + 2 * i);
    add(Op::exit, kNone, {}, 0x100)->attr = static_cast<uint32_t>(ExitReason::kBarrier);
    ASSERT_EQ(verify(f), "") << print(f);
    const std::vector<std::string> expected = observe(f, seed);
    for (const Pass& pass : pipeline()) {
      const std::string before = print(f);
      pass.run(f, PassContext{});
      ASSERT_EQ(observe(f, seed), expected) << pass.name << " of seed " << seed << "\n" << before << print(f);
    }
  }
}

}  // namespace
}  // namespace wavejit::ir
