// What a host thread does while all that it has begun waits for others.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/launch/launch_state.h"
#include "runtime/launch/wave_runner.h"

namespace wavejit::runtime {

class Patience {
 public:
  Patience(LaunchState& shared, const WaveRunner& runner) : shared_(shared), runner_(runner) {}

  // Something has changed: the launch gets on.
  void note_change() { changed_ = true; }
  // There is no memory for another work-group, and why; or there is again. While there is none, ten seconds without a change
  // end the launch (kOutOfMemory).
  void note_lack(std::string why);
  void note_memory() { lack_ = false; }
  // Lets other threads run.
  void wait_a_moment();

 private:
  LaunchState& shared_;
  const WaveRunner& runner_;
  uint64_t moments_ = 0;
  bool changed_ = true;  // since it has been looked at
  Clock::time_point unchanged_since_;
  bool lack_ = false;
  std::string why_;
};

}  // namespace wavejit::runtime
