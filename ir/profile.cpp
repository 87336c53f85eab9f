#include "ir/profile.h"

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

bool is_scattered(const LaneSample& sample) {
  // Where order is that rare, looking for it costs more than it gains (docs/performance.md, "Profiles").
  constexpr uint64_t kLeastGroups = 32, kRare = 16;
  return sample.groups >= kLeastGroups && (sample.same + sample.consecutive) * kRare < sample.groups;
}

}  // namespace wavejit::ir
