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

  // `alone`: starts on the calling thread only. Other threads join when called, or after a millisecond or two.
  void run(bool alone = false);
  // Calls the other threads, once. May be called from `work` of any index.
  void call_others();

 private:
  friend class Pool;
  const std::function<void(uint32_t)>& work_;
  uint32_t next_index_ = 1;
  uint32_t end_index_;
  std::atomic<uint32_t> running_ = 0;       // written under the pool's lock, read without it
  std::atomic<bool> others_called_ = true;  // the same
  std::chrono::steady_clock::time_point called_;
  int cpu_ = -1;  // of the thread in run(), when it began
};

inline void run_on_threads(uint32_t threads, const std::function<void(uint32_t index)>& work) {
  Team(threads, work).run();
}

// The time that waking other threads has recently taken. Work that takes one thread less than this should begin alone:
// other threads would come too late.
[[nodiscard]] std::chrono::nanoseconds worth_sharing();

// CPUs that the process may run on (affinity mask).
[[nodiscard]] uint32_t available_cpus();

}  // namespace wavejit::runtime
