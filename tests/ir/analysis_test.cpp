// Analyses: lane shapes, known bits, dominators, mask facts.
#include <gtest/gtest.h>

#include <map>

#include "ir/analysis/known_bits.h"
#include "ir/analysis/lane_shape.h"
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

constexpr LaneShape kUniform{LaneShapeKind::uniform, 0};
constexpr LaneShape kUnknown{};
constexpr LaneShape affine(int64_t stride) {
  return {LaneShapeKind::affine, stride};
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
      {0, affine(1)},  {1, kUniform},   {2, kUniform},  {3, kUniform},  {4, affine(4)}, {5, affine(4)}, {7, affine(16)},
      {8, affine(-1)}, {9, kUnknown},   {10, kUnknown}, {11, kUnknown}, {12, kUniform}, {13, kUnknown}, {14, kUnknown},
      {15, kUnknown},  {17, affine(1)}, {18, kUniform}, {20, kUniform}, {21, kUniform}, {22, kUnknown},
  };
  for (const auto& [id, shape] : expected) EXPECT_EQ(shapes.of(p.values.at(id)), shape) << print(*p.values.at(id));
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
  EXPECT_TRUE(facts.covered({v(0)}, {v(3), v(4)}));
  EXPECT_TRUE(facts.covered({v(0)}, {v(4), v(6), v(5)}));  // if, else if, else
  EXPECT_FALSE(facts.covered({v(0)}, {v(4), v(5)}));
  EXPECT_FALSE(facts.covered({v(2)}, {v(3), v(4)}));
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

}  // namespace
}  // namespace wavejit::ir
