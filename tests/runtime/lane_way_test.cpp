// Which way a loop is executed, by times that the test makes up.
#include "internal/lane_way.h"

#include <gtest/gtest.h>

#include <array>

namespace wavejit {
namespace {

// Executions of a loop that takes so many ticks in lockstep, and for one lane after the other.
class Executions {
 public:
  explicit Executions(std::array<uint64_t, 2> ticks) : ticks_(ticks) {}
  void set_ticks(std::array<uint64_t, 2> ticks) { ticks_ = ticks; }

  // As translated code does it. Returns how many of them went lane by lane.
  unsigned run(unsigned count) {
    unsigned lanes = 0;
    for (unsigned i = 0; i < count; ++i) {
      LaneTiming timing{.way = &way_};
      if (--way_.countdown < 0) begin_timed(timing, now_);
      const uint32_t chosen = way_.lanes;
      now_ += ticks_[chosen];
      lanes += chosen;
      if (timing.start != 0) end_timed(timing, now_);
    }
    return lanes;
  }

  LaneWay& way() { return way_; }

 private:
  std::array<uint64_t, 2> ticks_;
  uint64_t now_ = 1000;
  LaneWay way_;
};

TEST(LaneWay, TakesTheFasterWay) {
  EXPECT_EQ(Executions({1000, 5000}).run(1000), 2u);  // tried twice
  EXPECT_GE(Executions({5000, 1000}).run(1000), 990u);
  // Hardly slower: tried more often.
  const unsigned close = Executions({100'000, 110'000}).run(10'000);
  EXPECT_GT(close, 10u);
  EXPECT_LT(close, 500u);
}

// A first time that finds nothing in the caches, and a wave with more work than others.
TEST(LaneWay, TriesAgainSoon) {
  Executions loop({1'000'000, 9'000'000});
  loop.run(3);
  loop.set_ticks({1'000'000, 1'500'000});
  loop.run(1);
  loop.set_ticks({1'000'000, 500'000});
  EXPECT_GE(loop.run(30), 10u);
}

// Both early tries of the faster way are interrupted.
TEST(LaneWay, RecoversFromAccidents) {
  Executions loop({1'000'000, 9'000'000});
  loop.run(4);
  loop.set_ticks({1'000'000, 500'000});
  EXPECT_GE(loop.run(400), 100u);
}

TEST(LaneWay, FollowsTheData) {
  Executions loop({100'000, 50'000});
  loop.run(1000);
  EXPECT_EQ(loop.way().lanes, 1u);
  loop.set_ticks({100'000, 400'000});
  loop.run(2000);
  EXPECT_EQ(loop.way().lanes, 0u);
  EXPECT_LT(loop.run(1000), 20u);
  loop.set_ticks({100'000, 20'000});
  loop.run(40'000);
  EXPECT_EQ(loop.way().lanes, 1u);
}

TEST(LaneWay, ShortLoopsAreTimedRarely) {
  Executions loop({100, 200});
  loop.run(1'000'000);
  EXPECT_LT(loop.way().rounds, 200u);
}

// A wave may be suspended in a loop, and others enter it meanwhile; it may never come back.
TEST(LaneWay, ExecutionsOverlap) {
  LaneWay way;
  LaneTiming timings[8];
  for (uint64_t i = 0; i < 8; ++i) {
    timings[i].way = &way;
    begin_timed(timings[i], 1000 + i);
  }
  for (uint64_t i = 0; i < 7; ++i) end_timed(timings[i], 50'000);
  EXPECT_NEAR(static_cast<double>(way.ticks[0]), 49'000, 100);
  EXPECT_NEAR(static_cast<double>(way.ticks[1]), 49'000, 100);
}

TEST(LaneWay, TimeOfInterruptionsDoesNotCount) {
  const ThreadTime from{.wall = 5000, .thread = 700};
  EXPECT_EQ(without_interruptions(9000, from, {.wall = 8000, .thread = 3700}), 9000u);
  EXPECT_EQ(without_interruptions(9000, from, {.wall = 8000, .thread = 1700}), 3000u);
  // Clocks that do not go on at the same moments.
  EXPECT_EQ(without_interruptions(9000, from, {.wall = 8000, .thread = 3701}), 9000u);
  EXPECT_EQ(without_interruptions(9000, from, from), 9000u);
}

TEST(LaneWay, LooksForInterruptionsOfLongExecutions) {
  Executions quick({1000, 2000}), slow({1'000'000, 2'000'000});
  EXPECT_TRUE(may_be_interrupted(quick.way()));  // nothing is known
  quick.run(100);
  slow.run(100);
  EXPECT_FALSE(may_be_interrupted(quick.way()));
  EXPECT_TRUE(may_be_interrupted(slow.way()));
}

TEST(LaneWay, StaysAsItIsIfFixed) {
  for (const uint32_t lanes : {0u, 1u}) {
    Executions loop({1000, 1000});
    loop.way().fixed = 1;
    loop.way().lanes = lanes;
    EXPECT_EQ(loop.run(1000), lanes * 1000);
    EXPECT_EQ(loop.way().rounds, 0u);
  }
}

}  // namespace
}  // namespace wavejit
