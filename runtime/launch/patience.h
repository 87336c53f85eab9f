// Idle strategy of a host thread while all of its work-groups wait for others.
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

  // Reports progress of the launch.
  void note_change() { changed_ = true; }
  // Reports that memory for another work-group is missing, with the reason, or available again. While it is missing,
  // ten seconds without progress end the launch (kOutOfMemory).
  void note_lack(std::string why);
  void note_memory() { lack_ = false; }
  // Yields to other threads.
  void wait_a_moment();

 private:
  LaunchState& shared_;
  const WaveRunner& runner_;
  uint64_t moments_ = 0;
  bool changed_ = true;  // since the last check
  Clock::time_point unchanged_since_;
  bool lack_ = false;
  std::string why_;
};

}  // namespace wavejit::runtime
