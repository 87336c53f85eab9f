#include "runtime/launch/lane_ways.h"

#include <memory>

#include "runtime/translate/lane_choice.h"

namespace wavejit::runtime {

uint64_t lane_ways_of_thread() {
  if (lane_choice() == LaneChoice::never) return 0;
  // Not in the thread's own storage: a library that is loaded late has little of it.
  thread_local const auto owned = std::make_unique<LaneWays>();
  LaneWays& table = *owned;
  if (lane_choice() == LaneChoice::always)
    for (LaneWay& way : table.records) way.fixed = way.lanes = 1;
  else if (table.records[0].fixed != 0)  // by a schedule that was drawn
    table = {};
  return reinterpret_cast<uint64_t>(&table);
}

void draw_lane_ways(uint64_t table, Draw& draw) {
  if (table == 0 || lane_choice() == LaneChoice::always) return;
  for (LaneWay& way : reinterpret_cast<LaneWays*>(table)->records) {
    way.fixed = 1;
    way.lanes = draw.below(2);
  }
}

}  // namespace wavejit::runtime
