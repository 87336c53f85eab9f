// Work-groups that a host thread has begun and in which no wave can go on before other work-groups do something: they wait
// for it (GlobalSync), or seem to (polls).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/launch/launch_state.h"
#include "runtime/launch/work_group.h"

namespace wavejit::runtime {

class SetAsideGroups {
 public:
  explicit SetAsideGroups(LaunchState& shared) : shared_(shared) {}

  [[nodiscard]] bool empty() const { return groups_.empty(); }
  [[nodiscard]] size_t size() const { return groups_.size(); }
  // Whether one is known to be able to go on: what it waits for has been done.
  [[nodiscard]] bool any_released() const;
  // Whether one can go on, as far as is known.
  [[nodiscard]] bool any_can_go_on() const;

  // So that the next put() has a place.
  void make_room();
  // Sets its `waiting`, and answers whether there is any. Where memory runs out meanwhile, it is among the groups all the
  // same.
  [[nodiscard]] bool put(std::unique_ptr<WorkGroup> group);
  // The one that can go on and has waited for longest; nullptr if there is none.
  [[nodiscard]] std::unique_ptr<WorkGroup> take();
  // Any one, of a launch that has failed; nullptr if none is left.
  [[nodiscard]] std::unique_ptr<WorkGroup> drop();

  // Nothing is left to do but to wait for what other threads do. Where nobody is left to do it, the launch fails.
  void wait_for_release();

 private:
  [[nodiscard]] GlobalSync& sync() const { return shared_.request.device->sync(); }

  LaunchState& shared_;
  std::vector<std::unique_ptr<WorkGroup>> groups_;  // who has waited for longest first
};

}  // namespace wavejit::runtime
