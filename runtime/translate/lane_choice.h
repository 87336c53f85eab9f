// WAVEJIT_LANE_LOOPS: how loops whose lanes part are executed (ir pass lane-loops).
#pragma once

#include <cstdint>

namespace wavejit::runtime {

enum class LaneChoice : uint8_t {
  timed,   // as it turns out to be faster: the default
  always,  // for one lane after the other wherever that is sound, for tests
  never,   // in lockstep
};

// What the environment says when it is first asked.
[[nodiscard]] LaneChoice lane_choice();

}  // namespace wavejit::runtime
