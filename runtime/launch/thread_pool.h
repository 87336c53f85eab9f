// The process's worker threads. Created on demand, kept for good.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace wavejit::runtime {

// Work that the calling thread shares with threads of the pool. run() calls `work(index)` for index 0 .. threads - 1 on
// that many threads, the caller being index 0, and returns when all have returned. Indices other than 0 may be left out
// when index 0 has returned before a pool thread got to them, so the work must be shared out dynamically. Several
// callers may do this at once. `work` must not throw.
class Team {
 public:
  Team(uint32_t threads, const std::function<void(uint32_t index)>& work) : work_(work), end_index_(threads) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // `alone`: the other threads come only when they are called, or by themselves after a millisecond or two.
  void run(bool alone = false);
  // Has the other threads come, unless that has been done. From `work`, of any index.
  void call_others();

 private:
  friend class Pool;
  const std::function<void(uint32_t)>& work_;
  uint32_t next_index_ = 1;
  uint32_t end_index_;
  std::atomic<uint32_t> running_ = 0;       // changed under the pool's lock, but for reading
  std::atomic<bool> others_called_ = true;  // the same
  std::chrono::steady_clock::time_point called_;
};

inline void run_on_threads(uint32_t threads, const std::function<void(uint32_t index)>& work) {
  Team(threads, work).run();
}

// Work that takes one thread no longer than that should be begun alone: other threads would have to be woken first, and
// come too late. It is what waking them has taken lately.
[[nodiscard]] std::chrono::nanoseconds worth_sharing();

// CPUs that the process may run on (affinity mask).
[[nodiscard]] uint32_t available_cpus();

}  // namespace wavejit::runtime
