// Analyses: lane shapes, known bits, dominators, mask facts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>
#include <vector>

#include "internal/key_table.h"
#include "ir/analysis/divergent_loop.h"
#include "ir/analysis/known_bits.h"
#include "ir/analysis/lane_period.h"
#include "ir/analysis/lane_shape.h"
#include "ir/analysis/lane_table.h"
#include "ir/analysis/mask_facts.h"
#include "ir/interpret.h"
#include "ir/text.h"
#include "random_function.h"

namespace wavejit::ir {
namespace {

struct Parsed {
  std::unique_ptr<Function> function;
  std::map<uint32_t, const Inst*> values;

  explicit Parsed(std::string_view text) {
    auto parsed = parse(text);
    EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
    function = std::move(*parsed);
    EXPECT_EQ(verify(*function), "");
    for (const auto& block : function->blocks) {
      for (const Inst* inst : block->insts) values[inst->id] = inst;
    }
  }
};

constexpr LaneShape kUniform{64, 0};
constexpr LaneShape kUnknown{};
constexpr LaneShape affine(int64_t stride, unsigned group = 64) {
  return {static_cast<uint8_t>(group), stride};
}

TEST(IrLanePeriod, RepeatedGroupsOfLanes) {
  const Parsed p(R"(function "f"
entry 0x0 b0
block b0
  %0:v32 = lane_id
  %1:i32 = get_sgpr #4
  %2:v32 = splat %1
  %3:v32 = const #15
  %4:v32 = and %0, %3
  %5:v32 = const #4
  %6:v32 = shl %4, %5
  %7:v32 = add %0, %2
  %8:v32 = and %3, %7
  %9:v32 = add %6, %2
  %10:v32 = lshr %0, %5
  %11:v32 = and %10, %3
  %12:v32 = const #28
  %13:v32 = shl %0, %12
  %14:v32 = get_vgpr #0
  %15:v32 = and %14, %3
  %16:v32 = const #48
  %17:v32 = and %0, %16
  %18:v32 = xor %6, %17
  %19:v32 = lshr %6, %5
  %20:v32 = const #40
  %21:v32 = shl %0, %20
  %22:v32 = const #1
  %23:v32 = lshr %13, %22
  %24:v32 = const #0x80000003
  %25:v32 = and %0, %24
  exit.end
)");
  const LaneShapes shapes(*p.function);
  // By the number of the value.
  const std::map<uint32_t, unsigned> expected = {{0, 64},  {2, 1},   {3, 1},   {4, 16},  {6, 16},  {7, 64},
                                                 {8, 16},  {9, 16},  {11, 64}, {13, 16}, {14, 64}, {15, 64},
                                                 {17, 64}, {18, 64}, {19, 16}, {21, 64}, {23, 16}, {25, 64}};
  for (const auto& [id, period] : expected) EXPECT_EQ(lane_period(shapes, *p.values.at(id)), period) << "%" << id;
}

TEST(IrLaneShape, StridesAndUniformValues) {
  const Parsed p(R"(function "f"
entry 0x0 b0
block b0
  %0:v32 = lane_id
  %1:i32 = get_sgpr #4
  %2:v32 = splat %1
  %3:v32 = const #4
  %4:v32 = mul %0, %3
  %5:v32 = add %4, %2
  %6:v32 = const #2
  %7:v32 = shl %5, %6
  %8:v32 = sub %2, %0
  %9:v32 = get_vgpr #0
  %10:v32 = add %9, %2
  %11:v32 = and %0, %3
  %12:v32 = fadd.f32 attr 0xc %2, %2
  %13:mask = get_mask #126
  %14:v32 = select %13, %5, %7
  %15:v32 = load [lds lds_offset 4x1] %13, %2
  %16:mask = const #0xffffffffffffffff
  %17:v32 = mbcnt %16
  %18:v32 = sub %4, %4
  %19:i64 = get_sgpr64 #6
  %20:v64 = splat64 %19
  %21:v64 = pack64 %2, %2
  %22:v64 = zext64 %0
  exit.end
)");
  const LaneShapes shapes(*p.function);
  const std::map<uint32_t, LaneShape> expected = {
      {0, affine(1)},  {1, kUniform},   {2, kUniform},   {3, kUniform},  {4, affine(4)},
      {5, affine(4)},  {7, affine(16)}, {8, affine(-1)}, {9, kUnknown},  {10, kUnknown},
      {11, kUnknown},  {12, kUniform},  {13, kUnknown},  {14, kUnknown}, {15, kUnknown},
      {17, affine(1)}, {18, kUniform},  {20, kUniform},  {21, kUniform}, {22, affine(1)},
  };
  for (const auto& [id, shape] : expected) EXPECT_EQ(shapes.of(p.values.at(id)), shape) << print(*p.values.at(id));
}

// Work-item numbers as a wave of a work-group sees them, and addresses made from them.
TEST(IrLaneShape, GroupsOfLanes) {
  const Parsed p(R"(function "f"
entry 0x0 b0
block b0
  %0:v32 = lane_id
  %1:v32 = const #15
  %2:v32 = const #4
  %3:v32 = and %0, %1
  %4:v32 = lshr %0, %2
  %5:i32 = get_sgpr #4
  %6:i32 = const #2
  %7:i32 = shl %5, %6
  %8:i32 = const #12
  %9:i32 = and %7, %8
  %10:v32 = splat %9
  %11:v32 = add %10, %4
  %12:i32 = get_sgpr #5
  %13:i32 = const #4
  %14:i32 = shl %12, %13
  %15:v32 = splat %14
  %16:v32 = add %15, %3
  %17:v32 = splat %5
  %18:v32 = mul %11, %17
  %19:v32 = add %18, %16
  %20:v64 = sext64 %16
  %21:v64 = sext64 %19
  %22:v32 = const #0xffff
  %23:v32 = and %18, %22
  %24:v32 = add %23, %16
  %25:v64 = zext64 %24
  %26:v32 = const #6
  %27:v32 = shl %11, %26
  %28:v32 = or %27, %3
  %29:v32 = const #10
  %30:v32 = shl %11, %29
  %31:v32 = or %30, %3
  %32:v32 = bfe_u %31, %29, %29
  %33:v32 = const #0x3ff
  %34:v32 = and %31, %33
  %35:v32 = add %17, %0
  %36:v32 = const #0x3fffff
  %37:v32 = and %35, %36
  %38:v64 = zext64 %35
  %39:mask = icmp.ult %11, %17
  %40:v32 = select %39, %3, %16
  %41:v32 = select %39, %0, %17
  %42:i32 = const #0xffffff00
  %43:i32 = and %5, %42
  %44:v32 = splat %43
  %45:v32 = add %44, %0
  %46:v64 = zext64 %45
  %47:mask = const #0xffff0000ffff
  %48:v32 = const #26
  %49:v32 = shl %0, %48
  %50:v32 = ashr %49, %48
  exit.end
)");
  const LaneShapes shapes(*p.function);
  const std::map<uint32_t, LaneShape> expected = {
      {3, affine(1, 16)},  {4, affine(0, 16)},  {11, affine(0, 16)}, {16, affine(1, 16)}, {18, affine(0, 16)},
      {19, affine(1, 16)}, {20, affine(1, 16)}, {21, kUnknown},      {25, kUnknown},      {28, affine(1, 16)},
      {31, affine(1, 16)}, {32, affine(0, 16)}, {34, affine(1, 16)}, {35, affine(1)},     {37, kUnknown},
      {38, kUnknown},      {39, affine(0, 16)}, {40, affine(1, 16)}, {41, kUnknown},      {46, affine(1)},
      {47, affine(0, 16)}, {50, affine(1, 32)},  // the sign is copied in the others
  };
  for (const auto& [id, shape] : expected) EXPECT_EQ(shapes.of(p.values.at(id)), shape) << print(*p.values.at(id));
}

// Random integer expressions of lane numbers and uniform values, loops included: what the analyses say holds in every
// lane of what the evaluator computes.
TEST(IrLaneShape, HoldsForRandomExpressions) {
  unsigned strided = 0, bounded = 0, aligned = 0, tables = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    const auto function = test::random_lane_expressions(seed);
    ASSERT_EQ(verify(*function), "") << print(*function);
    const LaneShapes shapes(*function);
    LaneTables lane_tables(*function, shapes);
    std::map<uint64_t, const Inst*> saved;  // by register
    for (const auto& block : function->blocks) {
      for (const Inst* inst : block->insts) {
        if (inst->op == Op::set_vgpr) saved[inst->imm] = inst->operands[0];
      }
    }
    const auto run = interpret(*function, 0, seed);
    ASSERT_TRUE(run.has_value()) << run.error().message;
    std::map<uint64_t, std::vector<uint64_t>> rows;
    for (const std::string& event : run->events) {
      if (event[0] != 'v') continue;
      std::istringstream words(event.substr(1));
      uint64_t row = 0, word = 0;
      words >> row >> std::hex;
      while (words >> word) rows[row].push_back(word);
    }
    for (const auto& [row, value] : saved) {
      std::vector<uint64_t> lanes = rows.at(row);
      ASSERT_EQ(lanes.size(), 64u);
      const Inst* inst = value;
      if (value->op == Op::hi32) continue;
      const Inst* high = saved.contains(row + 1) ? saved[row + 1] : nullptr;
      if (value->op == Op::lo32 && high != nullptr && high->op == Op::hi32 && high->operands[0] == value->operands[0]) {
        inst = value->operands[0];
        for (unsigned l = 0; l < 64; ++l) lanes[l] |= rows.at(row + 1)[l] << 32;
      }
      const uint64_t all = inst->type.bits() == 32 ? 0xffffffff : ~uint64_t{0};
      const LaneShape shape = shapes.of(inst);
      if (const LaneTable* table = lane_tables.of(inst)) {
        tables += shape.group != 64;
        const uint64_t common = (lanes[0] - table->step[0]) & all;
        EXPECT_EQ(table->zeros < 64 ? common & ((uint64_t{1} << table->zeros) - 1) : common, 0u)
            << "seed " << seed << " " << print(*inst) << "\n"
            << print(*function);
        for (unsigned l = 0; l < 64; ++l) {
          EXPECT_EQ(lanes[l], (common + table->step[l]) & all)
              << "seed " << seed << " lane " << l << " of " << print(*inst) << "\n"
              << print(*function);
        }
      }
      strided += shape.known() && !shape.is_uniform();
      bounded += shapes.bits().of(inst).maximum < all;
      aligned += shapes.bits().of(inst, 64).possible != shapes.bits().of(inst).possible;
      for (unsigned l = 0; l < 64; ++l) {
        const uint64_t first = lanes[l - l % shape.group];
        EXPECT_EQ(lanes[l], (first + static_cast<uint64_t>(shape.stride) * (l % shape.group)) & all)
            << "seed " << seed << " lane " << l << " of " << print(*inst) << "\n"
            << print(*function);
        for (unsigned group = 1; group <= 64; group *= group == 1 ? 8 : 2) {
          if (l % group != 0) continue;
          const BitFacts facts = shapes.bits().of(inst, group);
          EXPECT_EQ(lanes[l] & ~facts.possible, 0u) << "seed " << seed << " " << print(*inst) << "\n"
                                                    << print(*function);
          EXPECT_LE(lanes[l], facts.maximum) << "seed " << seed << " " << print(*inst) << "\n" << print(*function);
        }
      }
      if (testing::Test::HasFailure()) return;
    }
  }
  // The expressions are such that there is something to say about them.
  EXPECT_GT(strided, 1000u);
  EXPECT_GT(bounded, 1000u);
  EXPECT_GT(aligned, 1000u);
  EXPECT_GT(tables, 300u);
}

TEST(IrLaneShape, LoopsAreOptimistic) {
  const Parsed p(R"(function "f"
entry 0x0 b0
block b0
  %0:v32 = lane_id
  %1:v32 = const #64
  %2:v32 = const #1
  br b1
block b1 preds b0 b1
  %3:v32 = phi %0, %6
  %4:v32 = phi %1, %7
  %5:v32 = phi %0, %8
  %6:v32 = add %3, %1
  %7:v32 = add %4, %2
  %8:v32 = add %5, %5
  %9:i1 = get_scc
  cond_br %9, b1, b2
block b2 preds b1
  exit.end
)");
  const LaneShapes shapes(*p.function);
  EXPECT_EQ(shapes.of(p.values.at(3)), affine(1));
  EXPECT_EQ(shapes.of(p.values.at(4)), kUniform);
  EXPECT_EQ(shapes.of(p.values.at(5)), kUnknown);  // the stride doubles with every turn
}

TEST(IrKnownBits, BoundsOfLocalFacts) {
  const Parsed p(R"(function "f"
entry 0x0 b0
block b0
  %0:v32 = lane_id
  %1:v32 = get_vgpr #0
  %2:v32 = const #255
  %3:v32 = and %1, %2
  %4:v32 = const #2
  %5:v32 = shl %3, %4
  %6:v32 = add %5, %0
  %7:v64 = zext64 %6
  %8:v32 = const #24
  %9:v32 = lshr %1, %8
  %10:v32 = mul %3, %3
  %11:v32 = add %1, %1
  %12:v32 = umin %1, %2
  %13:mask = get_mask #126
  %14:v32 = load [lds lds_offset 1x1] %13, %0
  %15:v32 = load [lds lds_offset 2x1 sext] %13, %0
  exit.end
)");
  EXPECT_EQ(unsigned_maximum(p.values.at(0)), 63u);
  EXPECT_EQ(possible_bits(p.values.at(5)), 0x3fcu);
  EXPECT_EQ(unsigned_maximum(p.values.at(6)), 0x3fcu + 63u);
  EXPECT_EQ(unsigned_maximum(p.values.at(7)), 0x3fcu + 63u);
  EXPECT_EQ(unsigned_maximum(p.values.at(9)), 255u);
  EXPECT_EQ(unsigned_maximum(p.values.at(10)), 255u * 255u);
  EXPECT_EQ(unsigned_maximum(p.values.at(11)), 0xffffffffu);
  EXPECT_EQ(unsigned_maximum(p.values.at(12)), 255u);
  EXPECT_EQ(unsigned_maximum(p.values.at(14)), 255u);
  EXPECT_EQ(unsigned_maximum(p.values.at(15)), 0xffffffffu);
}

// x - x / c * c, as compilers write it for bounded x: with a factor that is exact for all of them, and with others.
TEST(IrKnownBits, RemaindersOfDivisionsByConstants) {
  const auto largest = [](unsigned bits, uint32_t factor, unsigned shift, uint32_t divisor, uint32_t quotient_mask) {
    const Parsed p(fmt::format(R"(function "f"
entry 0x0 b0
block b0
  %0:v32 = get_vgpr #0
  %1:v32 = const #{}
  %2:v32 = and %0, %1
  %3:v32 = const #{}
  %4:v32 = mulhi_u %2, %3
  %5:v32 = const #{}
  %6:v32 = lshr %4, %5
  %7:v32 = const #{}
  %8:v32 = and %6, %7
  %9:v32 = const #{}
  %10:v32 = mul %8, %9
  %11:v32 = sub %2, %10
  exit.end
)",
                               (uint64_t{1} << bits) - 1, factor, shift, quotient_mask, divisor));
    return unsigned_maximum(p.values.at(11));
  };
  EXPECT_EQ(largest(8, 0xaaaaaab, 1, 48, 0xffffff), 47u);
  EXPECT_EQ(largest(16, 0xcccccccd, 2, 5, 0xffffff), 4u);
  EXPECT_EQ(largest(32, 0xcccccccd, 2, 5, 0xffffffff), 4u);
  const uint64_t unknown = 0xffffffff;
  EXPECT_EQ(largest(16, 0xcccccccd, 2, 5, 0xfff), unknown);       // the quotient is cut
  EXPECT_EQ(largest(8, 0xaaaaaaa, 1, 48, 0xffffff), unknown);     // rounded down: 48 leaves 48
  EXPECT_EQ(largest(32, 0x2aaaaaab, 0, 6, 0xffffffff), unknown);  // from 2^31 on some quotients are too large
  EXPECT_EQ(largest(16, 0xcccccccd, 2, 7, 0xffffff), unknown);
  // What the bounds say, by all values.
  for (uint32_t x = 0; x < 65536; ++x) {
    EXPECT_LE(x - static_cast<uint32_t>(uint64_t{x} * 0xcccccccd >> 34) * 5, 4u);
    const uint32_t byte = x % 256;
    EXPECT_LE(byte - static_cast<uint32_t>(uint64_t{byte} * 0xaaaaaab >> 33) * 48, 47u);
  }
}

TEST(IrMaskFacts, InclusionAndCovering) {
  const Parsed p(R"(function "f"
entry 0x0 b0
block b0
  %0:mask = get_mask #126
  %1:mask = get_mask #106
  %2:mask = get_mask #108
  %3:mask = and %0, %1
  %4:mask = andn %0, %3
  %5:mask = and %3, %2
  %6:mask = andn %3, %5
  %7:mask = or %3, %2
  %8:i1 = get_scc
  cond_br %8, b1, b2
block b1
  br b2
block b2 preds b0 b1
  %9:mask = phi %3, %5
  %10:mask = phi %4, %2
  exit.end
)");
  const Dominators dominators(*p.function);
  MaskFacts facts(dominators);
  const auto v = [&](uint32_t id) { return p.values.at(id); };
  EXPECT_TRUE(facts.implies(v(3), v(0)));
  EXPECT_TRUE(facts.implies(v(5), v(0)));
  EXPECT_FALSE(facts.implies(v(0), v(3)));
  EXPECT_FALSE(facts.implies(v(7), v(0)));
  EXPECT_TRUE(facts.implies(v(9), v(0)));
  EXPECT_FALSE(facts.implies(v(10), v(0)));
  EXPECT_TRUE(facts.disjoint(v(3), v(4)));
  EXPECT_TRUE(facts.disjoint(v(5), v(4)));
  EXPECT_FALSE(facts.disjoint(v(1), v(4)));
  using Masks = std::vector<const Inst*>;
  const auto covered = [&](const Masks& conjunction, const Masks& masks) { return facts.covered(conjunction, masks); };
  EXPECT_TRUE(covered({v(0)}, {v(3), v(4)}));
  EXPECT_TRUE(covered({v(0)}, {v(4), v(6), v(5)}));  // if, else if, else
  EXPECT_FALSE(covered({v(0)}, {v(4), v(5)}));
  EXPECT_FALSE(covered({v(2)}, {v(3), v(4)}));
}

// What is remembered of one question, and of what was assumed on the way, does not change the answer to another.
TEST(IrMaskFacts, AnswersDoNotDependOnEarlierQuestions) {
  constexpr MaskFacts::Limits kFar{.depth = 1000, .steps = 1'000'000};
  unsigned proven = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const auto function = test::random_function(seed, 120);
    const Dominators dominators(*function);
    std::vector<const Inst*> masks;
    for (const auto& block : function->blocks)
      for (const Inst* inst : block->insts)
        if (inst->type == kMask) masks.push_back(inst);
    MaskFacts facts(dominators, kFar);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 2000 && masks.size() > 1; ++i) {
      const Inst* a = masks[random() % masks.size()];
      const Inst* b = masks[random() % masks.size()];
      const bool implied = MaskFacts(dominators, kFar).implies(a, b);
      const bool apart = MaskFacts(dominators, kFar).disjoint(a, b);
      ASSERT_EQ(facts.implies(a, b), implied) << seed << ": %" << a->id << " in %" << b->id;
      ASSERT_EQ(facts.disjoint(a, b), apart) << seed << ": %" << a->id << " apart from %" << b->id;
      proven += (implied && a != b) + apart;
    }
  }
  EXPECT_GT(proven, 1000u);
}

TEST(KeyTable, FindsWhatWasSetLast) {
  KeyTable<int> table;
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    std::map<uint64_t, int> expected;
    for (int i = 0; i < 300; ++i) {
      // Keys that differ in their lower half, or their upper one, only.
      const uint64_t key = (random() % 64) << (random() % 2 * 32);
      const auto known = expected.find(key);
      const int* found = table.find(key);
      ASSERT_EQ(found != nullptr, known != expected.end());
      if (found != nullptr) {
        ASSERT_EQ(*found, known->second);
      }
      table.set(key, expected[key] = i);
    }
    table.clear();
    for (const auto& [key, value] : expected) ASSERT_EQ(table.find(key), nullptr);
  }
}

// Dominance by definition: without the block nothing else is reached.
TEST(IrDominators, AgreeWithRemovingBlocks) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const auto function = test::random_function(seed, 120);
    const Dominators dominators(*function);
    for (const auto& removed : function->blocks) {
      std::vector<bool> reached(function->num_block_ids(), false);
      std::vector<const Block*> work;
      const auto reach = [&](const Block* block) {
        if (block == removed.get() || reached[block->id]) return;
        reached[block->id] = true;
        work.push_back(block);
      };
      for (const Entry& entry : function->entries) reach(entry.block);
      while (!work.empty()) {
        const Block* block = work.back();
        work.pop_back();
        for (const Block* successor : block->successors) reach(successor);
      }
      for (const auto& block : function->blocks) {
        EXPECT_EQ(dominators.dominates(removed.get(), block.get()), !reached[block->id]) << "seed " << seed;
      }
    }
  }
}

// A loop that counts v0 down by `staying`, and what is done behind it; `merged`: the value that the loop carries on.
std::string countdown(std::string_view merged, std::string_view staying, std::string_view behind,
                      std::string_view more = "") {
  return fmt::format(R"(function "f"
entry 0x0 b0
block b0
  %0:v32 = get_vgpr #0
  %1:v32 = const #0
  %2:v32 = const #1
  %3:mask = get_mask #126
  %4:i32 = const #0
  %5:i32 = const #1
  %6:i64 = get_sgpr64 #4
  %7:mask = const #0xffffffffffffffff
  br b1
block b1 preds b0 b1
  %10:v32 = phi %0, %20
  %11:mask = phi %3, %22
  %12:v32 = phi %1, %21
  %13:i32 = phi %4, %23
  %20:v32 = sub %10, %2
  %14:v32 = add %12, %20
  %15:v32 = splat %13
  %16:v32 = xor %14, %15
  %17:v32 = select %11, %16, %12
  %21:v32 = {}
  %18:mask = icmp.ne %20, %1
  %22:mask = {}
  %23:i32 = add %13, %5
{}  %24:i1 = mask_any %22
  cond_br %24, b1, b2
block b2 preds b1
{}  exit.end #0
)",
                     merged, staying, more, behind);
}

bool leaves(const std::string& text) {
  const Parsed p(text);
  const Dominators dominators(*p.function);
  const std::vector<Loop> loops = find_loops(dominators);
  EXPECT_EQ(loops.size(), 1u);
  return leaves_lane_by_lane(loops[0]);
}

TEST(IrDivergentLoop, LanesLeaveWhereNothingOfTheirsChanges) {
  const std::string kept = "select %11, %16, %12", cut = "and %11, %18", use = "  set_vgpr #1 %21\n";
  EXPECT_TRUE(leaves(countdown(kept, cut, use)));
  EXPECT_TRUE(leaves(countdown(kept, "andn %11, %18", use)));
  // Functions of what is kept, and masks that are empty in the end.
  EXPECT_TRUE(leaves(countdown(kept, cut, "  set_vgpr #1 %25\n  set_mask #10 %22\n", "  %25:v32 = add %21, %0\n")));
  // What nobody uses may change.
  EXPECT_TRUE(leaves(countdown("add %16, %2", cut, "")));
  EXPECT_FALSE(leaves(countdown("add %16, %2", cut, use)));
  EXPECT_FALSE(leaves(countdown(kept, cut, "  set_vgpr #1 %20\n")));
  EXPECT_FALSE(leaves(countdown(kept, cut, "  set_vgpr #1 %12\n")));
  // Merged under another mask.
  EXPECT_FALSE(leaves(countdown("select %3, %16, %12", cut, use)));
  // Scalars say how many iterations the slowest lane took.
  EXPECT_FALSE(leaves(countdown(kept, cut, "  set_sgpr #8 %23\n")));
  // Lanes that come back.
  EXPECT_FALSE(leaves(countdown(kept, "or %11, %18", use)));
  EXPECT_FALSE(leaves(countdown(kept, "and %3, %18", use)));
  // Accesses for lanes that have left.
  EXPECT_TRUE(leaves(countdown(kept, cut, use, "  %26:v32 = load [global base_offset 4x1] %11, %6, %20\n")));
  EXPECT_FALSE(leaves(countdown(kept, cut, use, "  %26:v32 = load [global base_offset 4x1] %7, %6, %20\n")));
  EXPECT_FALSE(leaves(countdown(kept, cut, use, "  %26:v32 = load [global base_offset 4x1] %3, %6, %20\n")));
}

}  // namespace
}  // namespace wavejit::ir
