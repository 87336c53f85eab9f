// How loops whose lanes part are executed: for all lanes in lockstep, or for one lane after the other (ir pass lane-loops).
// Both ways give the same results. Which one is faster depends on what lanes do, so that both are timed now and then.
//
// Translated code addresses the members by offsetof. A table belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavejit {

inline constexpr unsigned kLaneWays = 256;

// The record of a loop, or of several ones that happen to have the same number.
struct LaneWay {
  int32_t countdown = 0;  // executions until one is timed
  uint32_t lanes = 0;     // 1: one lane after the other
  uint32_t timed = 0;     // 1: the execution that goes on is timed
  uint32_t rounds = 0;    // executions that were timed
  uint32_t fixed = 0;     // 1: `lanes` stays as it is
  uint64_t start = 0;     // of the one that is timed, in ticks of the time stamp counter
  uint64_t ticks[2] = {0, 0};  // of an execution, by `lanes`: a moving average; 0: not known
};

struct LaneWays {
  LaneWay records[kLaneWays];
};

// For the beginning of an execution that is timed: decides which way it goes.
void begin_timed(LaneWay& way);
// For its end: decides which way the next ones go.
void end_timed(LaneWay& way);

}  // namespace wavejit
