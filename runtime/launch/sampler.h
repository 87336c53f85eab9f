// Samples what waves do in the interpreter, so that their translation can choose by it.
#pragma once

#include <cstdint>

#include "frontend/interp/profile.h"
#include "runtime/kernel/kernel_times.h"
#include "runtime/translate/lane_samples.h"

namespace wavejit::runtime {

// Of one host thread and launch; the kernel's counts and samples belong to all. A turn of a wave is sampled or not. The
// first one is, and later ones so that a sixteenth of all instructions is; a turn that is sampled takes two to three times
// as long.
class Sampler {
 public:
  static constexpr uint64_t kTurn = 512;  // instructions, at most

  Sampler(KernelTimes& times, LaneSamples& samples) : times_(times), samples_(samples) {}

  [[nodiscard]] bool is_due() const {
    const uint64_t sampled = times_.sampled.load(std::memory_order_relaxed);
    return sampled < kMost && sampled * kOneIn <= times_.interpreted.load(std::memory_order_relaxed);
  }
  // For the interpreter, in a turn that is sampled.
  [[nodiscard]] interp::Profile& profile() { return profile_; }
  // Says that a turn has executed so many instructions.
  void count(uint64_t instructions, bool sampled) {
    times_.interpreted.fetch_add(instructions, std::memory_order_relaxed);
    if (sampled) times_.sampled.fetch_add(instructions, std::memory_order_relaxed);
  }
  // Gives the samples to translations that begin from now on.
  void hand_over();

 private:
  static constexpr uint64_t kOneIn = 16, kMost = 1 << 16;

  KernelTimes& times_;
  LaneSamples& samples_;
  interp::Profile profile_;
};

}  // namespace wavejit::runtime
