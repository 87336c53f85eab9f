// Stops launches: at their time limit, or when one of their workers has failed. One thread for the process.
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

// Ends launches from another thread: the one that has been given it, if it is under way, and later ones at once. For
// one launch at a time; it outlives them.
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

// One launch as the watchdog sees it. The stop flag is what wave.stop_flag points to.
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
  // Makes every worker leave guest code soon. Any thread.
  void stop();

  // Workers announce themselves; between the two calls they may be interrupted.
  void enter(pid_t thread);
  void leave(pid_t thread);

 private:
  friend class Watchdog;
  void interrupt_workers();
  // Puts the launch under the watchdog's eye and wakes it. Launches that nobody limits, observes or stops never do, so
  // that short ones do not pay for a thread switch.
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
