// How loops whose lanes part are executed: for all lanes in lockstep, or for one lane after the other (ir pass lane-loops).
// Both ways give the same results. Which one is faster depends on what lanes do, so that both are timed now and then.
//
// Translated code addresses the members by offsetof. A table belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavejit {

inline constexpr unsigned kLaneWays = 1024;

// The record of a loop, or of several ones that happen to have the same number.
struct LaneWay {
  int32_t countdown = 0;       // executions until one is timed
  uint32_t lanes = 0;          // 1: one lane after the other
  uint32_t rounds = 0;         // executions that were timed
  uint32_t fixed = 0;          // 1: `lanes` stays as it is
  uint64_t ticks[2] = {0, 0};  // of an execution, by `lanes`: a moving average; 0: not known
};

struct LaneWays {
  LaneWay records[kLaneWays];
  std::byte* buffers =
      nullptr;  // kStreamBufferBytes for stores that are kept back (internal/lane_streams.h); null: none
};

// A time, as a thread sees it.
struct ThreadTime {
  uint64_t wall = 0;    // in ns, of a clock that always goes on
  uint64_t thread = 0;  // in ns that the thread has executed
};

// An execution that is timed: in the frame of the code, as waves may be suspended in the middle of a loop.
struct LaneTiming {
  LaneWay* way = nullptr;
  uint64_t table = 0;  // the LaneWays that has it; another one, if another thread goes on with the wave, gets no time
  uint64_t start = 0;  // in ticks of the time stamp counter; bit 0 is the way that was chosen. 0: it is not timed
  ThreadTime began;    // all zero: interruptions are not looked for
};

// Whether executions of the loop are long enough for the thread to be interrupted in them now and then, as far as is known.
bool may_be_interrupted(const LaneWay& way);
// What is left of `ticks` without the time in which the thread was interrupted.
uint64_t without_interruptions(uint64_t ticks, const ThreadTime& from, const ThreadTime& to);

// At the beginning of an execution that is timed, `now` in ticks: decides which way it goes.
void begin_timed(LaneTiming& timing, uint64_t now);
// At its end: decides which way the next ones go.
void end_timed(const LaneTiming& timing, uint64_t now);

}  // namespace wavejit
