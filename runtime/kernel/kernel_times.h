// Measures how long work-groups of a kernel take, in order to estimate the time of a launch.
#pragma once

#include <atomic>

namespace wavejit::runtime {

// Of one kernel. Any thread; what is measured at the same time may get lost.
class GroupTime {
 public:
  // On one thread; 0 before the first measurement.
  [[nodiscard]] float ns() const { return ns_.load(std::memory_order_relaxed); }
  // Threads are interrupted, so short times are worth more than long ones.
  void add(float measured) {
    const float before = ns();
    ns_.store(before == 0 || measured < before ? measured : before + (measured - before) / 8,
              std::memory_order_relaxed);
  }

 private:
  std::atomic<float> ns_{0};
};

}  // namespace wavejit::runtime
