// Stops launches at their time limit, or when one of their workers has failed. One thread per process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace wavejit::runtime {

class Watch;

// Cancellation flag shared between threads. Setting it stops the running launch; a launch that starts later stops
// immediately. Used by one launch at a time; must outlive them.
class Cancellation {
 public:
  void cancel();
  [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

 private:
  friend class Watch;
  void attach(Watch* watch);
  std::mutex mutex_;
  Watch* watch_ = nullptr;
  std::atomic<bool> cancelled_{false};
};

// One launch under the watchdog. Owns the stop flag to which wave.stop_flag points.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;
  // timeout_ns 0: no limit. `progress`, if set, is called about twice a second on the watchdog's thread.
  Watch(uint64_t timeout_ns, std::function<void()> progress, Cancellation* cancellation = nullptr);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  [[nodiscard]] const volatile uint32_t* stop_flag() const { return &stop_; }
  [[nodiscard]] bool stopping() const { return __atomic_load_n(&stop_, __ATOMIC_ACQUIRE) != 0; }
  [[nodiscard]] bool timed_out() const { return timed_out_.load(std::memory_order_acquire); }
  // Stops all workers soon. Callable from any thread.
  void stop();

  // Register and unregister a worker, which may be interrupted in between.
  void enter(pid_t thread);
  void leave(pid_t thread);

 private:
  friend class Watchdog;
  void interrupt_workers();
  // Registers the launch with the watchdog and wakes it. Launches without limit, progress reports or cancellation never
  // do, so that short ones do not pay for a thread switch.
  void watch();

  uint32_t stop_ = 0;
  std::atomic<bool> timed_out_{false};
  std::atomic<bool> watched_{false};
  const bool has_deadline_;
  Clock::time_point deadline_;
  Clock::time_point next_progress_;
  const std::function<void()> progress_;
  Cancellation* const cancellation_;
  std::mutex workers_mutex_;
  std::vector<pid_t> workers_;
};

}  // namespace wavejit::runtime
