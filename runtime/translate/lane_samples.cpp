#include "runtime/translate/lane_samples.h"

namespace wavejit::runtime {

void LaneSamples::add(const interp::Profile& profile) {
  const std::lock_guard lock(mutex_);
  for (const auto& [pc, at] : profile)
    sum_[pc].add({.executed = at.executed,
                  .lanes = at.lanes,
                  .groups = at.groups.count,
                  .same = at.groups.same,
                  .consecutive = at.groups.consecutive});
}

std::shared_ptr<const ir::Profile> LaneSamples::all() const {
  const std::lock_guard lock(mutex_);
  return sum_.empty() ? nullptr : std::make_shared<const ir::Profile>(sum_);
}

}  // namespace wavejit::runtime
