// What is measured of a kernel while it runs.
#pragma once

#include <atomic>
#include <cstdint>

namespace wavejit::runtime {

// How long work-groups take on one thread, in order to estimate the time of a launch. Any thread; what is measured at
// the same time may get lost.
class GroupTime {
 public:
  // 0 before the first measurement.
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

struct KernelTimes {
  GroupTime group;
  // In all launches and threads, with Engine::tiered.
  std::atomic<uint64_t> interpreted_ns{0};
  std::atomic<uint64_t> interpreted{0}, sampled{0};  // instructions (launch/sampler.h)
};

}  // namespace wavejit::runtime
