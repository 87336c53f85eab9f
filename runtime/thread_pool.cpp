#include "runtime/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace wavejit::runtime {
namespace {

struct Job {
  const std::function<void(uint32_t)>* work = nullptr;
  uint32_t next_index = 1;
  uint32_t end_index = 1;
  std::atomic<uint32_t> running = 0;  // changed under the lock, but for reading
};

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

class Pool {
 public:
  static Pool& get() {
    static Pool& pool = *new Pool;  // threads outlive static destruction
    return pool;
  }

  void run(uint32_t threads, const std::function<void(uint32_t)>& work) {
    Job job{.work = &work, .end_index = threads};
    {
      const std::lock_guard lock(mutex_);
      grow(threads - 1);
      jobs_.push_back(&job);
      waiting_jobs_ = static_cast<uint32_t>(jobs_.size());
    }
    wake_.notify_all();
    work(0);
    {
      const std::lock_guard lock(mutex_);
      std::erase(jobs_, &job);
      waiting_jobs_ = static_cast<uint32_t>(jobs_.size());
      job.end_index = job.next_index;  // indices nobody has taken are not needed any more
    }
    const auto finished = [&] { return job.running == 0; };
    wait_awake(finished);
    std::unique_lock lock(mutex_);  // a thread that has finished the job may still hold it
    done_.wait(lock, finished);
  }

 private:
  // Threads beyond those that other jobs are using, so that concurrent launches do not wait for each other.
  void grow(uint32_t wanted) {
    const uint32_t idle = threads_ - busy_;
    for (uint32_t i = idle; i < wanted && threads_ < kMaxThreads; ++i) {
      try {
        std::thread([this] { loop(); }).detach();
      } catch (const std::system_error&) {
        return;  // fewer threads do the same work
      }
      ++threads_;
    }
  }

  void loop() {
    std::unique_lock lock(mutex_);
    bool soon = true;  // the job before came while this thread was awake, or just after: launches follow each other
    for (;;) {
      const auto idle_since = std::chrono::steady_clock::now();
      if (soon && jobs_.empty()) {
        lock.unlock();
        wait_awake([&] { return waiting_jobs_ != 0; });
        lock.lock();
      }
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      soon = std::chrono::steady_clock::now() - idle_since < 2 * kAwake;
      Job* job = jobs_.front();
      const uint32_t index = job->next_index++;
      if (job->next_index >= job->end_index) jobs_.pop_front();
      waiting_jobs_ = static_cast<uint32_t>(jobs_.size());
      ++job->running;
      ++busy_;
      lock.unlock();
      (*job->work)(index);
      lock.lock();
      --busy_;
      if (--job->running == 0) done_.notify_all();
    }
  }

  static constexpr uint32_t kMaxThreads = 1024;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Job*> jobs_;                   // those with indices left
  std::atomic<uint32_t> waiting_jobs_ = 0;  // how many; changed under the lock
  uint32_t threads_ = 0;
  uint32_t busy_ = 0;
};

}  // namespace

void run_on_threads(uint32_t threads, const std::function<void(uint32_t)>& work) {
  if (threads <= 1)
    work(0);
  else
    Pool::get().run(threads, work);
}

uint32_t available_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace wavejit::runtime
