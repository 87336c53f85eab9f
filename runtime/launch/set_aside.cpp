#include "runtime/launch/set_aside.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/launch/errors.h"

namespace wavejit::runtime {

bool SetAsideGroups::any_released() const {
  return std::any_of(groups_.begin(), groups_.end(), [this](const auto& group) {
    return !group->waiting.empty() && sync().any_released(group->waiting);
  });
}

bool SetAsideGroups::any_can_go_on() const {
  return std::any_of(groups_.begin(), groups_.end(), [this](const auto& group) {
    return group->waiting.empty() || sync().any_released(group->waiting);
  });
}

void SetAsideGroups::make_room() {
  if (groups_.size() == groups_.capacity()) groups_.reserve(2 * groups_.size() + 8);
}

bool SetAsideGroups::put(std::unique_ptr<WorkGroup> group) {
  groups_.push_back(std::move(group));
  WorkGroup& last = *groups_.back();
  last.waiting.clear();
  last.waiting = last.waiting_at_sync();
  // GlobalSync counts the others.
  if (last.waiting.empty()) shared_.waves_aside.fetch_add(last.count, std::memory_order_relaxed);
  return !last.waiting.empty();
}

std::unique_ptr<WorkGroup> SetAsideGroups::take() {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [this](const auto& group) {
    return group->waiting.empty() || sync().any_released(group->waiting);
  });
  if (found == groups_.end()) return nullptr;
  std::unique_ptr<WorkGroup> group = std::move(*found);
  groups_.erase(found);
  if (group->waiting.empty()) shared_.waves_aside.fetch_sub(group->count, std::memory_order_relaxed);
  return group;
}

std::unique_ptr<WorkGroup> SetAsideGroups::drop() {
  if (groups_.empty()) return nullptr;
  std::unique_ptr<WorkGroup> group = std::move(groups_.back());
  groups_.pop_back();
  return group;
}

void SetAsideGroups::wait_for_release() {
  std::vector<const WaveState*> waiting;
  for (const auto& group : groups_) waiting.insert(waiting.end(), group->waiting.begin(), group->waiting.end());
  if (sync().wait(waiting, shared_.watch.stop_flag()) != GlobalSync::Wake::deadlock) return;
  const WaveState& wave = *waiting.front();
  shared_.fail({.code = ErrorCode::kTimeout,
                .message = fmt::format("Kernel '{}' cannot end: {} waves wait at global wave sync or ordered counts, "
                                       "and nothing is running that could release them. One is behind {}.",
                                       kernel_name(shared_), waiting.size(), where(shared_, wave)),
                .pc = wave.pc});
}

}  // namespace wavejit::runtime
