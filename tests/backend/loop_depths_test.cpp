// Loops of control-flow graphs that are written down as edges.
#include "backend-x86/regalloc/loop_depths.h"

#include <gtest/gtest.h>

#include <utility>

namespace wavejit::backend {
namespace {

constexpr uint32_t kNone = kNoIndex;

std::vector<uint32_t> depths_of(const std::vector<std::pair<uint32_t, uint32_t>>& edges) {
  std::vector<FlowBlock> blocks(edges.size());
  for (size_t i = 0; i < edges.size(); ++i) {
    blocks[i].next = edges[i].first;
    blocks[i].target = edges[i].second;
  }
  return loop_depths(blocks);
}

using Depths = std::vector<uint32_t>;

TEST(LoopDepths, NoLoop) {
  EXPECT_EQ(depths_of({{1, 2}, {2, kNone}, {kNone, kNone}}), (Depths{0, 0, 0}));
}

TEST(LoopDepths, LoopsInsideLoops) {
  // 1 to 5 are a loop, 2 and 3 one inside, of which 3 is one by itself.
  EXPECT_EQ(depths_of({{1, kNone}, {2, kNone}, {3, kNone}, {4, 3}, {5, 2}, {6, 1}, {kNone, kNone}}),
            (Depths{0, 1, 2, 3, 2, 1, 0}));
}

TEST(LoopDepths, LoopsWithOneHead) {
  EXPECT_EQ(depths_of({{1, kNone}, {2, kNone}, {3, 1}, {4, 1}, {kNone, kNone}}), (Depths{0, 1, 1, 1, 0}));
}

// The way out of a loop stands in front of it in the code.
TEST(LoopDepths, JumpBackThatIsNoLoop) {
  EXPECT_EQ(depths_of({{kNone, 2}, {kNone, 4}, {3, 1}, {4, 2}, {kNone, kNone}}), (Depths{0, 0, 1, 1, 0}));
}

// A part of the loop stands behind other code, and jumps back into the middle.
TEST(LoopDepths, LoopInTwoPlaces) {
  EXPECT_EQ(depths_of({{1, kNone}, {2, 5}, {3, 1}, {4, kNone}, {kNone, kNone}, {kNone, 2}}),
            (Depths{0, 1, 1, 0, 0, 1}));
}

// Of a loop with two entries one counts as the head.
TEST(LoopDepths, TwoEntries) {
  EXPECT_EQ(depths_of({{1, 2}, {2, kNone}, {3, 1}, {kNone, kNone}}), (Depths{0, 1, 1, 0}));
}

TEST(LoopDepths, UnreachableBlocksAreInNone) {
  EXPECT_EQ(depths_of({{kNone, kNone}, {1, 1}}), (Depths{0, 0}));
}

}  // namespace
}  // namespace wavejit::backend
