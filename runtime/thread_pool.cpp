#include "runtime/thread_pool.h"

#include <sched.h>

#include <algorithm>
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
  uint32_t running = 0;
};

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
    }
    wake_.notify_all();
    work(0);
    std::unique_lock lock(mutex_);
    std::erase(jobs_, &job);
    job.end_index = job.next_index;  // indices nobody has taken are not needed any more
    done_.wait(lock, [&] { return job.running == 0; });
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
    for (;;) {
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      Job* job = jobs_.front();
      const uint32_t index = job->next_index++;
      if (job->next_index >= job->end_index) jobs_.pop_front();
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
  std::deque<Job*> jobs_;  // those with indices left
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
