// Which way a loop is executed: internal/lane_way.h.
#include "internal/lane_way.h"

#include <algorithm>
#include <bit>

namespace wavejit {
namespace {

// Between timed executions: at least so many others, and as many as take so many ticks.
constexpr uint64_t kUntimed = 15, kMostUntimed = 1 << 16, kUntimedTicks = 1 << 20;
// Lockstep twice, then lane by lane twice: the first time finds nothing in the caches, code included.
constexpr uint32_t kFirstRounds = 4;
// Waves have different work, so that a few more tries follow soon.
constexpr uint32_t kEarlyRounds = 12, kEarly = 4;
// Of the timed executions, one in so many goes the way that was slower: much slower or not much. Much slower ones are tried after
// 8, 16 and 32, too: a time may have been that of an interrupted thread.
constexpr uint32_t kRarely = 64, kOften = 8;
constexpr uint64_t kMuchSlower = 3;
// Executions of fewer ticks are not asked about interruptions: the answer takes about a thousand.
constexpr uint64_t kLong = 1 << 15;

}  // namespace

bool may_be_interrupted(const LaneWay& way) {
  return way.ticks[0] == 0 || way.ticks[1] == 0 || std::min(way.ticks[0], way.ticks[1]) >= kLong;
}

uint64_t without_interruptions(uint64_t ticks, const ThreadTime& from, const ThreadTime& to) {
  const uint64_t wall = to.wall - from.wall, thread = to.thread - from.thread;
  if (thread >= wall) return ticks;
  return static_cast<uint64_t>(static_cast<double>(ticks) * static_cast<double>(thread) / static_cast<double>(wall));
}

void begin_timed(LaneTiming& timing, uint64_t now) {
  LaneWay& way = *timing.way;
  if (way.fixed != 0) {
    way.countdown = INT32_MAX;
    return;
  }
  const uint32_t round = way.rounds++;
  if (round < kFirstRounds || way.ticks[0] == 0 || way.ticks[1] == 0) {
    way.lanes = round % kFirstRounds < 2 ? 0 : 1;
    way.countdown = 0;
  } else {
    const uint32_t faster = way.ticks[1] < way.ticks[0] ? 1 : 0;
    const bool much = way.ticks[1 - faster] > kMuchSlower * way.ticks[faster];
    const bool early = round < kEarlyRounds && !much;
    const bool due =
        much ? round % kRarely == 0 || (round >= kOften && std::has_single_bit(round)) : round % kOften == 0;
    const bool slower = early ? round % kEarly == kEarly - 1 : due;
    way.lanes = slower ? 1 - faster : faster;
    way.countdown =
        early ? 1 : static_cast<int32_t>(std::clamp(kUntimedTicks / way.ticks[faster], kUntimed, kMostUntimed));
  }
  timing.start = (now | 1) ^ (way.lanes ^ 1);
}

void end_timed(const LaneTiming& timing, uint64_t now) {
  LaneWay& way = *timing.way;
  uint64_t& average = way.ticks[timing.start & 1];
  const uint64_t ticks = std::max<uint64_t>(now - timing.start, 4);
  // The first executions are not like those that follow, and early ones count more. So do short times: only long ones are accidents.
  if (average == 0 || way.rounds <= kFirstRounds) {
    average = average == 0 ? ticks : std::min(average, ticks);
  } else {
    const uint64_t part = way.rounds <= kEarlyRounds || ticks < average ? 2 : 4;
    average = average - average / part + ticks / part;
    // Faster than the other way: the next executions go this one, and show what there is to it.
    const uint64_t other = way.ticks[1 - (timing.start & 1)];
    if (ticks < other) average = std::min(average, ticks + (other - ticks) / 2);
  }
  if (way.ticks[0] != 0 && way.ticks[1] != 0) way.lanes = way.ticks[1] < way.ticks[0] ? 1 : 0;
}

}  // namespace wavejit
