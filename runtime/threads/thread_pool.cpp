#include "runtime/threads/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "internal/per_process.h"
#include "runtime/threads/cpu_places.h"

namespace wavejit::runtime {
namespace {

// To sleep and be woken costs a thread some 10 us, on virtual machines 50. Whatever comes within this time is waited
// for awake.
constexpr std::chrono::microseconds kAwake{100};

// Polls until `ready()` or kAwake has passed; says whether it was ready.
template <typename Ready>
bool wait_awake(const Ready& ready) {
  const auto end = std::chrono::steady_clock::now() + kAwake;
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      __builtin_ia32_pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

// What threads take to come when some are awake, and bounds for the others: measurements of a busy machine may be
// anything.
constexpr std::chrono::microseconds kAwakeCost{30}, kLeastCost{10}, kMostCost{100};
// How long a team may stay alone without looking whether it should.
constexpr std::chrono::milliseconds kAlone{1};
// For how long after the last team that was alone there is a thread to see to that without being woken.
constexpr std::chrono::milliseconds kCallerAwake{50};

}  // namespace

class Pool {
 public:
  static Pool& get() { return PerProcess<Pool>::get(); }

  void run(Team& team, bool alone) {
    team.cpu_ = sched_getcpu();
    {
      const std::lock_guard lock(mutex_);
      if (alone && start_caller()) {
        team.others_called_ = false;
        team.called_ = Clock::now();
        alone_.push_back(&team);
        was_alone_ = true;
      } else {
        share(team);
      }
    }
    if (team.others_called_) wake_.notify_all();
    team.work_(0);
    {
      const std::lock_guard lock(mutex_);
      std::erase(team.others_called_ ? teams_ : alone_, &team);
      waiting_teams_ = static_cast<uint32_t>(teams_.size());
      team.end_index_ = team.next_index_;  // indices nobody has taken are not needed any more
    }
    const auto finished = [&] { return team.running_ == 0; };
    wait_awake(finished);
    std::unique_lock lock(mutex_);  // a thread that has finished the work may still hold it
    done_.wait(lock, finished);
  }

  void call_others(Team& team) {
    {
      const std::lock_guard lock(mutex_);
      if (team.others_called_) return;
      std::erase(alone_, &team);
      (void)share_if_possible(team);
    }
    wake_.notify_all();
  }

  [[nodiscard]] std::chrono::nanoseconds cost() const {
    if (awake_ != 0) return kAwakeCost;
    // The one that wakes the others loses some time, too.
    return std::clamp<std::chrono::nanoseconds>(2 * std::chrono::nanoseconds(wake_ns_), kLeastCost, kMostCost);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void share(Team& team) {
    grow(team.end_index_ - 1);
    places_.spread(team.cpu_);
    team.others_called_ = true;
    team.called_ = Clock::now();
    teams_.push_back(&team);
    waiting_teams_ = static_cast<uint32_t>(teams_.size());
  }

  // False where there is no memory for that: the team stays alone.
  bool share_if_possible(Team& team) {
    try {
      share(team);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  // Threads beyond those that other teams are using, so that concurrent launches do not wait for each other.
  void grow(uint32_t wanted) {
    const uint32_t idle = threads_ - busy_;
    for (uint32_t i = idle; i < wanted && threads_ < kMaxThreads; ++i) {
      CpuPlaces::Member* place = nullptr;
      try {
        place = &places_.add();
        std::thread thread([this, place] { loop(*place); });
        place->is(thread.native_handle());
        thread.detach();
      } catch (const std::exception&) {
        if (place) places_.drop_last();
        return;  // fewer threads do the same work
      }
      ++threads_;
    }
  }

  void loop(CpuPlaces::Member& place) {
    std::unique_lock lock(mutex_);
    bool soon = true;  // the work before came while this thread was awake, or just after: launches follow each other
    for (;;) {
      place.waits();
      const auto idle_since = Clock::now();
      if (soon && teams_.empty()) {
        ++awake_;
        lock.unlock();
        wait_awake([&] { return waiting_teams_ != 0; });
        lock.lock();
        --awake_;
      }
      const bool slept = teams_.empty();
      wake_.wait(lock, [&] { return !teams_.empty(); });
      const auto now = Clock::now();
      soon = now - idle_since < 2 * kAwake;
      Team* team = teams_.front();
      if (slept) wake_ns_ = (7 * wake_ns_ + std::chrono::nanoseconds(now - team->called_).count()) / 8;
      const uint32_t index = team->next_index_++;
      if (team->next_index_ >= team->end_index_) teams_.pop_front();
      waiting_teams_ = static_cast<uint32_t>(teams_.size());
      ++team->running_;
      ++busy_;
      place.works();
      lock.unlock();
      team->work_(index);
      lock.lock();
      --busy_;
      if (--team->running_ == 0) done_.notify_all();
    }
  }

  // The thread that sees to it that no team stays alone for long: what it executes might never return, or wait for what
  // the others are to do. It looks regularly, since to have it woken at some time costs as much as to wake it. Says
  // whether there is one.
  bool start_caller() {
    if (!caller_) {
      try {
        std::thread([this] { call_late(); }).detach();
      } catch (const std::exception&) {
        return false;
      }
      caller_ = true;
    } else if (caller_asleep_) {
      caller_asleep_ = false;
      caller_wake_.notify_one();
    }
    return true;
  }

  void call_late() {
    std::unique_lock lock(mutex_);
    auto last_alone = Clock::now();
    for (;;) {
      const auto now = Clock::now();
      bool called = false;
      while (!alone_.empty() && now - alone_.front()->called_ >= kAlone) {
        Team* team = alone_.front();
        alone_.pop_front();
        called |= share_if_possible(*team);
      }
      if (called) wake_.notify_all();
      if (!alone_.empty() || was_alone_) last_alone = now;
      was_alone_ = false;
      if (now - last_alone < kCallerAwake) {
        caller_wake_.wait_for(lock, kAlone);
      } else {
        caller_asleep_ = true;
        caller_wake_.wait(lock, [&] { return !caller_asleep_; });
        last_alone = Clock::now();
      }
    }
  }

  static constexpr uint32_t kMaxThreads = 1024;
  std::mutex mutex_;
  std::condition_variable wake_, done_, caller_wake_;
  CpuPlaces places_;                         // of the threads; used under the lock
  std::deque<Team*> teams_;                  // those with indices left
  std::atomic<uint32_t> waiting_teams_ = 0;  // how many; changed under the lock
  std::deque<Team*> alone_;                  // those that are, the oldest first
  bool was_alone_ = false;                   // some team, since the caller has looked
  bool caller_ = false, caller_asleep_ = false;
  std::atomic<uint32_t> awake_ = 0;        // threads without work; changed under the lock
  std::atomic<int64_t> wake_ns_ = 30'000;  // what threads that slept took to come, on average; changed under the lock
  uint32_t threads_ = 0;
  uint32_t busy_ = 0;
};

void Team::run(bool alone) {
  if (end_index_ <= 1)
    work_(0);
  else
    Pool::get().run(*this, alone);
}

void Team::call_others() {
  if (!others_called_.load(std::memory_order_relaxed)) Pool::get().call_others(*this);
}

std::chrono::nanoseconds worth_sharing() {
  return Pool::get().cost();
}

uint32_t available_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace wavejit::runtime
