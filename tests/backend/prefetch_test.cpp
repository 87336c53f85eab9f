// Prefetches of what a work-group loads in the next round, when it comes back from the barrier.
#include <fmt/format.h>

#include "runner.h"

namespace wavejit::backend {
namespace {

class RoundPrefetches : public testing::TestWithParam<Tier> {
 protected:
  static std::string listing_of(const std::string& text) {
    const auto function = ir::parse(text);
    if (!function) {
      ADD_FAILURE() << function.error().message;
      return {};
    }
    const auto code = compile_or_fail(**function, GetParam(), true);
    return code ? code->listing() : "";
  }
  // A round loads 16 bytes a lane at s[8:9] + v0 and changes the base by `writes`. How many prefetches its code has.
  static size_t prefetches(std::string_view writes) {
    const std::string text = fmt::format(R"(
function "rounds"
entry 0x100 b0
entry 0x200 b1 resumed
block b0
  exit.barrier #0x200
block b1
  %0:mask = const #0xffffffffffffffff
  %1:i64 = get_sgpr64 #8
  %2:i64 = get_sgpr64 #6
  %3:i32 = get_sgpr #7
  %4:i32 = get_sgpr #8
  %5:v32 = get_vgpr #0
  %6:v32x4 = load [global base_offset 4x4] %0, %1, %5
  %7:v32 = extract #0 %6
  set_vgpr #1 %7
{}
  exit.barrier #0x200
)",
                                         writes);
    const std::string listing = listing_of(text);
    size_t count = 0;
    for (size_t at = 0; (at = listing.find("prefetcht0", at)) != std::string::npos; ++at) ++count;
    return count;
  }
};
INSTANTIATE_TEST_SUITE_P(Tiers, RoundPrefetches, testing::ValuesIn(kTiers), [](const auto& info) {
  return info.param == Tier::avx2 ? std::string("avx2") : std::string("avx512");
});

TEST_P(RoundPrefetches, FindTheStepOfTheBase) {
  if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
  // Whole, by a half of another pair.
  EXPECT_NE(prefetches("  %8:i32 = hi32 %2\n  %9:i64 = zext64 %8\n  %10:i64 = add %1, %9\n  set_sgpr64 #8 %10"), 0u);
  // The lower half alone, of the pair or read by itself, by a register or a number.
  EXPECT_NE(prefetches("  %8:i32 = lo32 %1\n  %9:i32 = add %8, %3\n  set_sgpr #8 %9"), 0u);
  EXPECT_NE(prefetches("  %8:i32 = add %4, %3\n  set_sgpr #8 %8"), 0u);
  EXPECT_NE(prefetches("  %8:i32 = const #0x80\n  %9:i32 = add %4, %8\n  set_sgpr #8 %9"), 0u);
}

// A step that is half of a phi whose first operand is the phi itself.
TEST_P(RoundPrefetches, EndWherePhisGoRound) {
  if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
  const std::string listing = listing_of(R"(
function "rounds"
entry 0x100 b0
entry 0x200 b1 resumed
block b0
  exit.barrier #0x200
block b1
  %0:i64 = get_sgpr64 #8
  %1:i64 = get_sgpr64 #6
  br b2
block b2 preds b2 b1
  %2:i64 = phi %2, %1
  %3:i32 = hi32 %2
  %4:i64 = zext64 %3
  %5:i64 = add %0, %4
  %6:i1 = icmp.eq %5, %2
  cond_br %6, b2, b3
block b3 preds b2
  set_sgpr64 #8 %5
  exit.barrier #0x200
)");
  EXPECT_NE(listing, "");
}

TEST_P(RoundPrefetches, NoneWhereNoStepIsKnown) {
  if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
  EXPECT_EQ(prefetches("  set_sgpr #20 %4"), 0u);
  EXPECT_EQ(prefetches("  set_sgpr64 #8 %2"), 0u);
  EXPECT_EQ(prefetches("  %8:i32 = add %3, %3\n  set_sgpr #8 %8"), 0u);
  EXPECT_EQ(prefetches("  %8:i32 = mul %4, %3\n  set_sgpr #8 %8"), 0u);
}

// Returns how many prefetches a function has that loads from several addresses, `distances` bytes apart. Each load covers 16
// lanes, and the next work-group's load begins where it ends.
size_t row_prefetches(Tier tier, const std::vector<int>& distances) {
  std::string loads;
  unsigned id = 20;
  for (const int distance : distances) {
    loads += fmt::format("  %{}:v32 = const #{:#x}\n  %{}:v32 = add %12, %{}\n", id, static_cast<uint32_t>(distance),
                         id + 1, id);
    loads += fmt::format("  %{}:v32 = load [global base_offset 4x1] %0, %1, %{}\n  set_vgpr #{} %{}\n", id + 2, id + 1,
                         id, id + 2);
    id += 3;
  }
  auto function = ir::parse(fmt::format(R"(
function "rows"
entry 0x100 b0
block b0
  %0:mask = const #0xffffffffffffffff
  %1:i64 = get_sgpr64 #6
  %2:v32 = lane_id
  %3:v32 = const #0xf
  %4:v32 = and %2, %3
  %5:v32 = const #0x2
  %6:v32 = shl %4, %5
  %7:v32 = const #0x4
  %8:v32 = lshr %2, %7
  %9:v32 = const #0xc
  %10:v32 = shl %8, %9
  %11:v32 = add %6, %10
  %13:i32 = get_sgpr #8
  %14:i32 = const #0x6
  %15:i32 = shl %13, %14
  %16:v32 = splat %15
  %12:v32 = add %11, %16
{}  exit.end #0x200
)",
                                        loads));
  if (!function) {
    ADD_FAILURE() << function.error().message;
    return 0;
  }
  (*function)->group_id_sgpr = 8;
  const auto code = compile_or_fail(**function, tier, true);
  size_t count = 0;
  for (size_t at = 0; code && (at = code->listing().find("prefetcht0", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST_P(RoundPrefetches, NeighboursPrefetchALineOnce) {
  if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
  const size_t one = row_prefetches(GetParam(), {0});
  EXPECT_NE(one, 0u);
  EXPECT_EQ(row_prefetches(GetParam(), {0, 4, -4}), one);
  EXPECT_EQ(row_prefetches(GetParam(), {0, 1024}), 2 * one);
}

}  // namespace
}  // namespace wavejit::backend
