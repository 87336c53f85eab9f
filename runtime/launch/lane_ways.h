// Records of how loops whose lanes part are executed (internal/lane_way.h): a table for each host thread, which outlives
// launches.
#pragma once

#include <cstdint>

#include "internal/lane_way.h"
#include "runtime/launch/schedule.h"

namespace wavejit::runtime {

// The address of the calling thread's table, as WaveState::lane_ways wants it. WAVEJIT_LANE_LOOPS=always and =never leave no
// choice; a schedule that is drawn draws the ways.
[[nodiscard]] uint64_t lane_ways_of_thread();
// Draws the way of each loop.
void draw_lane_ways(uint64_t table, Draw& draw);

}  // namespace wavejit::runtime
