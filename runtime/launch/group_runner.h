// Schedules the waves of one work-group: gives each its turn.
#pragma once

#include <cstdint>

#include "runtime/launch/launch_state.h"
#include "runtime/launch/patience.h"
#include "runtime/launch/wave_runner.h"
#include "runtime/launch/work_group.h"

namespace wavejit::runtime {

class GroupRunner {
 public:
  // The host thread's other work.
  class Others {
   public:
    // Calls the other threads of the launch: work-groups that have not begun may do what waves wait for.
    virtual void call() = 0;
    // Returns true if the thread has other work than to resume this work-group.
    [[nodiscard]] virtual bool could_go_on() = 0;

   protected:
    ~Others() = default;
  };

  enum class Progress : uint8_t { ended, waits };

  GroupRunner(LaunchState& shared, WaveRunner& waves, Others& others, Patience& patience)
      : shared_(shared), waves_(waves), others_(others), patience_(patience) {}

  // Resumes the waves in turn until all have ended, or until the work-group should be set aside: all of its waves wait
  // for other work-groups, or seem to wait while another work-group can continue. `resumed`: it was set aside before.
  // Runs inside run_guest(). Returns `ended` if the launch stops meanwhile.
  Progress run(WorkGroup& group, bool resumed);
  // Ends the launch with the error of a wave.
  void fail(const WaveState& wave, ExitReason reason);

 private:
  // One turn of each wave: how many had one, how their turns ended, and how many waited for others already.
  struct Round {
    unsigned ready = 0;
    unsigned arrived = 0, yielded = 0, idle = 0, trapped = 0;
    unsigned at_barrier = 0, at_sync = 0;
  };
  // Returns false if the launch stops.
  [[nodiscard]] bool turn(WorkGroup& group, unsigned wave, Round& round);
  [[nodiscard]] bool synchronise(WaveState& wave, WaveSlot& slot);
  void end_with(Error error);
  [[nodiscard]] GlobalSync& sync() const { return shared_.request.device->sync(); }

  LaunchState& shared_;
  WaveRunner& waves_;
  Others& others_;
  Patience& patience_;
};

}  // namespace wavejit::runtime
