#include "ir/profile.h"

#include <cmath>

namespace wavejit::ir {

void LaneSample::add(const LaneSample& other) {
  executed += other.executed;
  lanes += other.lanes;
  groups += other.groups;
  same += other.same;
  consecutive += other.consecutive;
}

double active_lanes(const LaneSample& sample) {
  return sample.executed == 0 ? 0 : static_cast<double>(sample.lanes) / static_cast<double>(sample.executed);
}

namespace {

constexpr uint64_t kLeastGroups = 32;  // that say something

double share_in_order(const LaneSample& sample) {
  return static_cast<double>(sample.same + sample.consecutive) / static_cast<double>(sample.groups);
}

}  // namespace

bool is_scattered(const LaneSample& sample) {
  // Where order is that rare, looking for it costs more than it gains (docs/performance.md, "Profiles").
  constexpr double kRare = 1.0 / 16;
  return sample.groups >= kLeastGroups && share_in_order(sample) < kRare;
}

bool suggests_other_code(const LaneSample& before, const LaneSample& now) {
  constexpr double kMuch = 0.25;
  constexpr uint64_t kLeastExecuted = 16;
  if (before.groups >= kLeastGroups && now.groups >= kLeastGroups && is_scattered(before) != is_scattered(now) &&
      std::abs(share_in_order(before) - share_in_order(now)) >= kMuch)
    return true;
  return before.executed >= kLeastExecuted && now.executed >= kLeastExecuted &&
         active_lanes(now) < kMuch * active_lanes(before);
}

}  // namespace wavejit::ir
