// Work-groups that a host thread has begun and set aside. No wave of them can continue before other work-groups act:
// their waves wait (GlobalSync), or seem to (polls).
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
  // Returns true if a work-group can certainly continue: its condition holds.
  [[nodiscard]] bool any_released() const;
  // Returns true if a work-group may be able to continue.
  [[nodiscard]] bool any_can_go_on() const;

  // Reserves memory for the next put().
  void make_room();
  // Adds a work-group, sets its `waiting`, and returns true if that is not empty. Adds it even if memory runs out
  // meanwhile.
  [[nodiscard]] bool put(std::unique_ptr<WorkGroup> group);
  // Removes and returns the work-group that can continue and has waited longest; nullptr if none can.
  [[nodiscard]] std::unique_ptr<WorkGroup> take();
  // Removes and returns any work-group, after the launch has failed; nullptr if none is left.
  [[nodiscard]] std::unique_ptr<WorkGroup> drop();

  // Waits for other threads, when this one has nothing else to do. If no thread is left to act, the launch fails.
  void wait_for_release();

 private:
  [[nodiscard]] GlobalSync& sync() const { return shared_.request.device->sync(); }

  LaunchState& shared_;
  std::vector<std::unique_ptr<WorkGroup>> groups_;  // the one that has waited longest first
};

}  // namespace wavejit::runtime
