#include "runtime/translate/lane_samples.h"

#include <algorithm>

namespace wavejit::runtime {

void InstructionSample::add(const InstructionSample& other) {
  lanes.add(other.lanes);
  taken += other.taken;
  accesses += other.accesses;
  strided += other.strided;
  if (other.strided != 0) stride = other.stride;
}

InstructionSample sampled(const interp::InstructionProfile& at) {
  return {.lanes = {.executed = at.executed,
                    .lanes = at.lanes,
                    .groups = at.groups.count,
                    .same = at.groups.same,
                    .consecutive = at.groups.consecutive},
          .taken = at.taken,
          .accesses = at.memory.count,
          .strided = at.memory.strided,
          .stride = at.memory.stride};
}

ir::Profile profile_of(const SampledCode& code) {
  ir::Profile profile;
  for (const auto& [pc, at] : code) profile.emplace(pc, at.lanes);
  return profile;
}

void LaneSamples::add(const interp::Profile& profile) {
  const std::lock_guard lock(mutex_);
  is_sampled_ |= !profile.empty();
  for (const auto& [pc, at] : profile) sum_[pc].add(sampled(at));
}

bool LaneSamples::replace_if_other(const SampledCode& later) {
  const std::lock_guard lock(mutex_);
  const bool is_other = std::any_of(later.begin(), later.end(), [&](const auto& at) {
    const auto before = sum_.find(at.first);
    return before != sum_.end() && ir::suggests_other_code(before->second.lanes, at.second.lanes);
  });
  if (!is_other) return false;
  for (const auto& [pc, at] : later) sum_[pc] = at;
  is_sampled_ = true;
  return true;
}

void LaneSamples::add_kept(uint64_t root, const SampledCode& kept) {
  const std::lock_guard lock(mutex_);
  if (!kept_roots_.insert(root).second) return;
  for (const auto& [pc, at] : kept) sum_[pc].add(at);
}

bool LaneSamples::lacks_kept(uint64_t root) const {
  const std::lock_guard lock(mutex_);
  return !kept_roots_.contains(root);
}

std::shared_ptr<const ir::Profile> LaneSamples::all() const {
  const std::lock_guard lock(mutex_);
  return sum_.empty() ? nullptr : std::make_shared<const ir::Profile>(profile_of(sum_));
}

SampledCode LaneSamples::worth_keeping() const {
  const std::lock_guard lock(mutex_);
  return is_sampled_ ? sum_ : SampledCode();
}

}  // namespace wavejit::runtime
