// Gives the waves of one work-group their turns.
#pragma once

#include <cstdint>

#include "runtime/launch/launch_state.h"
#include "runtime/launch/patience.h"
#include "runtime/launch/wave_runner.h"
#include "runtime/launch/work_group.h"

namespace wavejit::runtime {

class GroupRunner {
 public:
  // What the host thread has besides the work-group that runs.
  class Others {
   public:
    // What waves wait for may be done by work-groups that have not begun: has the launch's other threads come.
    virtual void call() = 0;
    // Whether the thread has something else to do than to resume the work-group.
    [[nodiscard]] virtual bool could_go_on() = 0;

   protected:
    ~Others() = default;
  };

  enum class Progress : uint8_t { ended, waits };

  GroupRunner(LaunchState& shared, WaveRunner& waves, Others& others, Patience& patience)
      : shared_(shared), waves_(waves), others_(others), patience_(patience) {}

  // Resumes the waves in turn until all have ended, or until the work-group is better set aside: all waves wait for
  // other work-groups, or seem to while another one could go on. `resumed`: it has been set aside before. Inside
  // run_guest(). Where the launch stops meanwhile, the answer is `ended`.
  Progress run(WorkGroup& group, bool resumed);
  // Ends the launch: a wave that an engine has left for no ordinary reason.
  void fail(const WaveState& wave, ExitReason reason);

 private:
  // Of all waves, in one round of turns.
  struct Round {
    unsigned ready = 0, yielded = 0, idle = 0, at_barrier = 0, at_sync = 0;
  };
  // False: the launch stops.
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
