#include "runtime/launch/watchdog.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <thread>

#include "internal/per_process.h"
#include "runtime/memory/fault.h"

namespace wavejit::runtime {

namespace {
constexpr auto kProgressInterval = std::chrono::milliseconds(500);
constexpr auto kResendInterval = std::chrono::milliseconds(2);
}  // namespace

class Watchdog {
 public:
  void add(Watch* watch) {
    {
      const std::lock_guard lock(mutex_);
      if (!started_) {
        std::thread([this] { loop(); }).detach();
        started_ = true;
      }
      if (std::find(watches_.begin(), watches_.end(), watch) == watches_.end()) watches_.push_back(watch);
    }
    wake_.notify_one();
  }
  void remove(Watch* watch) {
    const std::lock_guard lock(mutex_);  // waits for a progress call in flight
    std::erase(watches_, watch);
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      auto next = Watch::Clock::time_point::max();
      const auto now = Watch::Clock::now();
      for (Watch* watch : watches_) {
        if (watch->has_deadline_ && now >= watch->deadline_ && !watch->stopping()) {
          watch->timed_out_.store(true, std::memory_order_release);
          __atomic_store_n(&watch->stop_, 1, __ATOMIC_RELEASE);
        }
        if (watch->stopping()) {
          watch->interrupt_workers();
          next = std::min(next, now + kResendInterval);
          continue;
        }
        if (watch->has_deadline_) next = std::min(next, watch->deadline_);
        if (watch->progress_) {
          if (now >= watch->next_progress_) {
            watch->progress_();
            watch->next_progress_ = now + kProgressInterval;
          }
          next = std::min(next, watch->next_progress_);
        }
      }
      if (next == Watch::Clock::time_point::max())
        wake_.wait(lock);
      else
        wake_.wait_until(lock, next);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Watch*> watches_;
  bool started_ = false;
};

void Cancellation::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_.store(true, std::memory_order_release);
  if (watch_) watch_->stop();
}

void Cancellation::attach(Watch* watch) {
  const std::lock_guard lock(mutex_);
  watch_ = watch;
  if (watch && cancelled()) watch->stop();
}

Watch::Watch(uint64_t timeout_ns, std::function<void()> progress, Cancellation* cancellation)
    : has_deadline_(timeout_ns != 0), progress_(std::move(progress)), cancellation_(cancellation) {
  // Centuries are as good as no limit and must not overflow the clock.
  constexpr uint64_t kMaxNs = uint64_t{1} << 60;
  const auto now = Clock::now();
  deadline_ = now + std::chrono::nanoseconds(std::min(timeout_ns, kMaxNs));
  next_progress_ = now + kProgressInterval;
  if (has_deadline_ || progress_) watch();
  if (cancellation_) cancellation_->attach(this);
}

Watch::~Watch() {
  if (cancellation_) cancellation_->attach(nullptr);
  if (watched_.load(std::memory_order_acquire)) PerProcess<Watchdog>::get().remove(this);
}

void Watch::watch() {
  PerProcess<Watchdog>::get().add(this);
  // Not if there was no memory or thread for that. Who calls this has ended before the launch does.
  watched_.store(true, std::memory_order_release);
}

void Watch::stop() {
  __atomic_store_n(&stop_, 1, __ATOMIC_RELEASE);
  try {
    watch();
  } catch (const std::exception&) {
    return;  // no thread for the watchdog: workers see the flag when guest code next returns
  }
}

void Watch::enter(pid_t thread) {
  const std::lock_guard lock(workers_mutex_);
  workers_.push_back(thread);
}

void Watch::leave(pid_t thread) {
  const std::lock_guard lock(workers_mutex_);
  std::erase(workers_, thread);
}

void Watch::interrupt_workers() {
  const std::lock_guard lock(workers_mutex_);
  for (const pid_t thread : workers_) interrupt_thread(thread);
}

}  // namespace wavejit::runtime
