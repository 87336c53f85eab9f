// Hand-written loops for pass lane-loops, each with one thing by which it shows if the copy is made that must not be, or does what
// lockstep does not do.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/pass.h"
#include "ir/text.h"
#include "lane_loop_runs.h"

namespace wavejit::ir::test {
namespace {

constexpr std::string_view kStays = "  %50:mask = and %20, %47\n";
// A loop whose header is b1, and whose only latch is `latch`. `body` begins in b1 and ends in the latch, `staying` computes %50 of %20,
// the lanes that are in, and %47, those that are to stay, and `behind` is what is done with the results in the end.
std::string loop(unsigned latch, std::string_view body, std::string_view staying = kStays,
                 std::string_view behind = "") {
  return fmt::format(R"(function "f"
entry 0x100 b0
block b0
  %0:v32 = get_vgpr #0
  %1:i64 = get_sgpr64 #40
  %2:mask = get_mask #126
  %3:v32 = const #0
  %4:v32 = const #1
  %5:v32 = const #3
  %6:i32 = const #0
  %7:i32 = const #1
  %8:v32 = get_vgpr #1
  %9:v32 = and %8, %5
  %10:v32 = get_vgpr #2
  %11:mask = const #0
  %60:mask = const #0xffffffffffffffff
  %12:v32 = lane_id
  %13:v32 = const #64
  %14:v32 = mul %12, %13
  %15:v32 = const #4
  br b1
block b1 preds b0 b{}
  %20:mask = phi %2, %50
  %21:v32 = phi %3, %49
{}  %46:v32 = add %21, %4
  %49:v32 = select %20, %46, %21
  %47:mask = icmp.ule %21, %9
{}  %51:i1 = mask_any %50
  cond_br %51, b1, b9
block b9 preds b{}
  set_vgpr #3 %49
{}  exit.yield #0x200
)",
                     latch, body, staying, latch, behind);
}

// The function leaves the same registers and the same memory after the pass, which may refuse it, whatever is in them at first.
void expect_alike(std::string_view text) {
  const auto before = parse(text);
  const auto after = parse(text);
  ASSERT_TRUE(before.has_value()) << before.error().message << "\n" << text;
  (void)copies_lane_loops(**after);
  ASSERT_EQ(verify(**after), "");
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    const std::vector<std::string> expected = registers(**before, seed, MemoryModel::bytes);
    ASSERT_FALSE(expected[0].starts_with("error")) << expected[0];
    ASSERT_EQ(registers(**after, seed, MemoryModel::bytes), expected) << "seed " << seed << "\n" << print(**after);
  }
}

// The lanes that skip block b3 are none of the mask in this iteration of the inner loop, but may be of the mask in the next one, where
// they look at what b3 has changed.
TEST(LaneLoops, DoNotTakeMasksOfTheNextInnerIterationForKnown) {
  expect_alike(loop(5, R"(  br b2
block b2 preds b1 b4
  %30:v32 = phi %0, %42
  %31:i32 = phi %6, %43
  %32:v32 = xor %9, %5
  %33:v32 = splat %31
  %34:mask = icmp.eq %32, %33
  %35:mask = and %20, %34
  store [scratch scratch_base 4x1] %35, %1, %30
  br b6
block b6 preds b2
  %39:i1 = mask_any %35
  cond_br %39, b3, b4
block b3 preds b6
  br b4
block b4 preds b6 b3
  %42:v32 = phi %30, %10
  %43:i32 = add %31, %7
  %44:i32 = const #4
  %45:i1 = icmp.ult %43, %44
  cond_br %45, b2, b5
block b5 preds b4
)"));
}

// In the third iteration of the inner loop the lanes that have skipped block b2 are in the mask: it is found to have none only as long as
// the mask of the iteration before is taken to have none.
TEST(LaneLoops, DoNotTakeMasksForEmptyThatRestOnOneWithLanes) {
  expect_alike(loop(5, R"(  %24:mask = icmp.eq %9, %21
  %25:mask = and %20, %24
  %26:i1 = mask_any %25
  cond_br %26, b2, b3
block b2 preds b1
  br b3
block b3 preds b1 b2
  %30:v32 = phi %0, %10
  br b4
block b4 preds b3 b4
  %31:i32 = phi %6, %40
  %33:mask = phi %11, %34
  %34:mask = phi %11, %20
  %35:mask = and %33, %34
  store [scratch scratch_base 4x1] %35, %1, %30
  %40:i32 = add %31, %7
  %41:i32 = const #4
  %42:i1 = icmp.ult %40, %41
  cond_br %42, b4, b5
block b5 preds b4
)"));
}

// A loop on the skipped way changes its value in the second iteration.
TEST(LaneLoops, DoNotTakeValuesForKeptThatALoopChangesLater) {
  expect_alike(loop(3, R"(  %22:v32 = phi %0, %40
  %24:mask = icmp.eq %9, %21
  %25:mask = and %20, %24
  %26:i1 = mask_any %25
  cond_br %26, b2, b3
block b2 preds b1 b2
  %30:v32 = phi %22, %32
  %31:i32 = phi %6, %33
  %32:v32 = add %30, %4
  %33:i32 = add %31, %7
  %34:i32 = const #3
  %35:i1 = icmp.ult %33, %34
  cond_br %35, b2, b3
block b3 preds b1 b2
  %38:v32 = phi %22, %30
  %39:v32 = load [global base_offset 4x1] %20, %1, %38
  %40:v32 = select %20, %39, %22
)",
                    kStays, "  set_vgpr #4 %40\n"));
}

// Two words for the whole wave. The second one is the first word of the first array, which the lane stores an iteration before.
TEST(LaneLoops, SeeStoresInTheSecondWordOfAScalarLoad) {
  expect_alike(loop(1, R"(  %22:v32 = phi %14, %33
  %23:v32 = phi %3, %28
  %24:i32x2 = load_scalar #0xfffffffffffffffc %1
  %25:i32 = extract #1 %24
  %26:v32 = splat %25
  %27:v32 = add %23, %26
  %28:v32 = select %20, %27, %23
  store [global base_offset 4x1] %20, %1, %22, %8
  %32:v32 = add %22, %15
  %33:v32 = select %20, %32, %22
)",
                    kStays, "  set_vgpr #4 %28\n"));
}

// The scratch of lane 0, loaded for the whole wave.
TEST(LaneLoops, DoNotLoadScratchForTheWholeWave) {
  expect_alike(loop(1, R"(  %23:v32 = phi %3, %28
  %24:i32 = load_scalar %1
  %26:v32 = splat %24
  %27:v32 = add %23, %26
  %28:v32 = select %20, %27, %23
  store [scratch scratch_base 4x1] %20, %1, %28
)",
                    kStays, "  set_vgpr #4 %28\n"));
}

// Lanes stay whatever they have noted, so that the note of the iteration before is not known.
TEST(LaneLoops, DoNotTakeNotesOfTheIterationBeforeForKnown) {
  expect_alike(loop(3, R"(  %22:mask = phi %11, %41
  %23:v32 = phi %3, %40
  %24:mask = icmp.eq %9, %21
  %25:mask = and %20, %24
  %26:i1 = mask_any %25
  cond_br %26, b2, b3
block b2 preds b1
  br b3
block b3 preds b1 b2
  %30:mask = phi %22, %11
  %37:v32 = add %23, %23
  %38:v32 = add %37, %4
  %39:v32 = select %30, %38, %37
  %40:v32 = select %20, %39, %23
  store [scratch scratch_base 4x1] %20, %1, %40
  %63:v32 = and %10, %5
  %41:mask = icmp.ne %63, %21
)",
                    kStays));
}

// In the iteration before, the lanes that skip the way now may have been on it, and stay for that reason.
TEST(LaneLoops, DoNotTakeLanesForThoseThatSkippedBefore) {
  expect_alike(loop(
      3, R"(  %22:mask = phi %60, %41
  %23:v32 = phi %3, %40
  %62:v32 = and %10, %5
  %24:mask = icmp.ule %21, %62
  %25:mask = and %20, %24
  %26:i1 = mask_any %25
  cond_br %26, b2, b3
block b2 preds b1
  br b3
block b3 preds b1 b2
  %30:mask = phi %22, %60
  %37:v32 = add %23, %23
  %38:v32 = add %37, %4
  %39:v32 = select %30, %38, %37
  %40:v32 = select %20, %39, %23
  store [scratch scratch_base 4x1] %20, %1, %40
  %63:v32 = and %10, %5
  %41:mask = icmp.ne %63, %21
)",
      "  %42:mask = and %20, %47\n  %43:mask = and %41, %42\n  %44:mask = and %25, %42\n  %50:mask = or %43, %44\n"));
}

// A lane stores twice to one place, so that the loop is executed in lockstep from its beginning: nothing may have gone to scratch.
TEST(LaneLoops, DoNotStoreToScratchBeforeTheyBeginAgain) {
  expect_alike(loop(1, R"(  %22:v32 = phi %14, %33
  %16:i64 = const #0x100000
  %17:i64 = add %1, %16
  %24:v32 = load [scratch scratch_base 4x1] %20, %17
  %25:v32 = add %24, %4
  store [scratch scratch_base 4x1] %20, %17, %25
  store [global base_offset 4x1] %20, %1, %22, %24
  store [global base_offset 4x1] %20, %1, %22, %8
  %32:v32 = add %22, %15
  %33:v32 = select %20, %32, %22
)"));
}

// Lanes of two kinds. Where there is none of the first kind all are of the second, and control goes past the test for those. A lane of
// the second kind is followed on the way of the first: what it is in comes from masks that are computed in front of the branch.
TEST(LaneLoops, FollowMasksInFrontOfABranch) {
  const std::string text = loop(6, R"(  %22:v32 = phi %0, %45
  %23:v32 = and %22, %4
  %24:mask = icmp.eq %23, %3
  %25:mask = and %20, %24
  %26:mask = andn %20, %24
  %27:i1 = mask_any %25
  cond_br %27, b2, b3
block b2 preds b1
  %30:v32 = add %22, %5
  %31:v32 = select %25, %30, %22
  %32:i1 = mask_any %26
  cond_br %32, b4, b5
block b3 preds b1
  br b4
block b4 preds b2 b3
  %34:mask = phi %26, %20
  %35:v32 = phi %31, %22
  %36:v32 = shl %35, %4
  %37:v32 = select %34, %36, %35
  br b6
block b5 preds b2
  br b6
block b6 preds b4 b5
  %45:v32 = phi %37, %31
)",
                                kStays, "  set_vgpr #4 %45\n");
  const auto function = parse(text);
  ASSERT_TRUE(function.has_value()) << function.error().message;
  EXPECT_TRUE(copies_lane_loops(**function));
  expect_alike(text);
}

// Where there are lanes of block b2, the others leave the loop.
TEST(LaneLoops, NoticeThatTheWaveLeavesALaneBehind) {
  expect_alike(loop(3, R"(  %24:mask = icmp.eq %9, %21
  %25:mask = and %20, %24
  %26:i1 = mask_any %25
  cond_br %26, b2, b3
block b2 preds b1
  br b3
block b3 preds b1 b2
  %30:mask = phi %20, %25
)",
                    "  %50:mask = and %30, %47\n"));
}

// Control comes to block b2 if no lane is in the first mask. It is lanes that are not in it that store what b3 changes.
TEST(LaneLoops, TakeMasksForEmptyWhereNoLaneOfThemLed) {
  expect_alike(loop(6, R"(  %24:mask = icmp.eq %9, %5
  %25:mask = and %20, %24
  %26:i1 = mask_any %25
  cond_br %26, b5, b2
block b2 preds b1
  %27:mask = icmp.eq %9, %21
  %28:mask = and %20, %27
  %29:i1 = mask_any %28
  cond_br %29, b3, b4
block b3 preds b2
  %30:v32 = select %28, %0, %10
  br b4
block b4 preds b2 b3
  %31:v32 = phi %0, %30
  br b6
block b5 preds b1
  br b6
block b6 preds b4 b5
  %32:v32 = phi %31, %0
  %33:mask = andn %20, %24
  store [scratch scratch_base 4x1] %33, %1, %32
)",
                    "  %48:mask = andn %47, %24\n  %50:mask = and %20, %48\n"));
}

// Lane 0 waits for a word that lane 1 stores in its second iteration, where it was not predicted to store.
constexpr std::string_view kWaitingLoop = R"(function "f"
entry 0x100 b0
block b0
  %0:i64 = get_sgpr64 #40
  %1:v32 = lane_id
  %2:mask = const #3
  %3:v32 = const #0
  %4:v32 = const #1
  %5:v32 = const #2
  %6:v32 = const #4
  %7:v32 = const #7
  %8:v32 = const #32
  %9:v32 = const #0x1fffe0
  %10:v32 = mul %1, %8
  %11:v32 = mul %1, %6
  %12:mask = icmp.eq %1, %4
  %13:v32 = select %12, %9, %6
  store [global base_offset 4x1 imm 1048576] %2, %0, %11, %13
  store [global base_offset 4x1 imm 2097152] %2, %0, %3, %3
  br b1
block b1 preds b0 b1
  %20:v32 = phi %10, %28
  %21:mask = phi %2, %32
  %22:v32 = phi %3, %29
  %23:mask = icmp.ult %22, %5
  %24:mask = and %21, %23
  store [global base_offset 4x1] %24, %0, %20, %7
  %25:v32 = load [global base_offset 4x1 imm 1048576] %21, %0, %11
  %26:v32 = add %20, %25
  %28:v32 = select %21, %26, %20
  %27:v32 = add %22, %4
  %29:v32 = select %21, %27, %22
  %30:v32 = load [global base_offset 4x1 imm 2097152] %21, %0, %3
  %31:mask = icmp.eq %30, %7
  %32:mask = andn %21, %31
  %33:i1 = mask_any %32
  cond_br %33, b1, b2
block b2 preds b1
  set_vgpr #0 %28
  exit.yield #0x200
)";

TEST(LaneLoops, DoNotWaitForLanesThatHaveNotBegun) {
  const auto function = parse(kWaitingLoop);
  ASSERT_TRUE(function.has_value()) << function.error().message;
  const std::vector<std::string> expected = registers(**function, 1, MemoryModel::bytes);
  ASSERT_FALSE(expected[0].starts_with("error")) << expected[0];
  ASSERT_TRUE(copies_lane_loops(**function));
  for (uint64_t run = 1; run < 4; ++run)
    EXPECT_EQ(registers(**function, run, MemoryModel::bytes).back(), expected.back()) << run;
}

constexpr std::string_view kStoringLoop = R"(function "f"
entry 0x100 b0
block b0
  %0:v32 = get_vgpr #0
  %1:i64 = get_sgpr64 #4
  %2:mask = get_mask #126
  %3:v32 = const #0
  br b1
block b1 @0x104 preds b0 b1
  %10:v32 = phi %0, %13
  %11:mask = phi %2, %20
  %13:v32 = load [global base_offset 4x1] %11, %1, %10 @0x104
  store [global base_offset 4x1] %11, %1, %10, %13 @0x10c
  %19:mask = icmp.eq %13, %3
  %20:mask = andn %11, %19
  %21:i1 = mask_any %20
  cond_br %21, b1, b2
block b2 preds b1
  exit.end
)";

TEST(LaneLoops, SayWhatStandsAgainstACopy) {
  const auto function = parse(kStoringLoop);
  ASSERT_TRUE(function.has_value()) << function.error().message;
  std::vector<std::string> remarks;
  PassContext context;
  context.loop_remark = [&](const LoopRemark& remark) {
    remarks.emplace_back(remark.obstacle);
    ASSERT_NE(remark.at, nullptr);
    EXPECT_EQ(remark.at->guest_pc, 0x10cu);
    EXPECT_EQ(remark.header->guest_pc, 0x104u);
  };
  optimise(**function, context);
  EXPECT_EQ(remarks, std::vector<std::string>{"store"});
}

}  // namespace
}  // namespace wavejit::ir::test
