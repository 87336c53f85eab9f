#include "runtime/translate/background.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "internal/per_process.h"
#include "internal/stop_scope.h"
#include "runtime/threads/cpu_places.h"

namespace wavejit::runtime {
namespace {

class Translator {
 public:
  static Translator& get() {
    static const int begun = std::atexit([] {
      if (Translator* known = PerProcess<Translator>::if_made()) known->stop();
    });
    (void)begun;
    return PerProcess<Translator>::get();
  }

  BackgroundJob add(std::shared_ptr<Module> module, std::vector<TranslationCache::Query> queries) {
    Job job{.module = std::move(module), .queries = std::move(queries)};
    {
      const std::lock_guard lock(mutex_);
      const auto same = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& other) {
        return other.module == job.module && other.queries == job.queries;
      });
      if (same != jobs_.end()) return {.translation = same->result};
      job.result = std::make_shared<BackgroundTranslation>();
      if (start()) {
        jobs_.push_back(job);
        places_.spread(sched_getcpu());
        wake_.notify_one();
        return {.translation = job.result, .is_new = true};
      }
    }
    answer(job);
    return {.translation = job.result, .is_new = true};
  }

 private:
  struct Job {
    std::shared_ptr<Module> module;
    std::vector<TranslationCache::Query> queries;
    std::shared_ptr<BackgroundTranslation> result;
  };

  // False where the system has no thread for it.
  bool start() {
    if (running_) return true;
    place_ = &places_.add();
    try {
      std::thread thread([this] { loop(); });
      place_->is(thread.native_handle());
      thread.detach();
    } catch (const std::exception&) {
      places_.drop_last();
      return false;
    }
    return running_ = true;
  }

  void stop() {
    stopping_ = true;
    const std::lock_guard wait_for_query(answering_);
  }

  void answer(Job& job) {
    for (const TranslationCache::Query& query : job.queries) {
      const std::lock_guard lock(answering_);
      const StopScope scope(stopping_);
      if (stopping_) return;
      if (auto entry = job.module->translations().find(query, job.result->counters); !entry) {
        if (stopping_) return;
        job.result->error = std::move(entry.error());
        break;
      }
    }
    job.result->done.store(true, std::memory_order_release);
  }

  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      place_->waits();
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      place_->works();
      Job job;
      try {
        job = jobs_.front();  // stays in the list, to be found
        lock.unlock();
        answer(job);
        lock.lock();
      } catch (const std::bad_alloc&) {
        if (!lock.owns_lock()) lock.lock();
        const Job& failed = jobs_.front();
        failed.result->error = Error{.code = ErrorCode::kOutOfMemory, .message = "Out of memory."};
        failed.result->done.store(true, std::memory_order_release);
      }
      jobs_.pop_front();
      lock.unlock();
      job = {};  // may destroy the module
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;  // the first one is being answered
  bool running_ = false;
  CpuPlaces places_;  // puts the translating thread on another CPU than the thread that interprets
  CpuPlaces::Member* place_ = nullptr;
  std::mutex answering_;
  std::atomic<bool> stopping_{false};
};

}  // namespace

BackgroundJob translate_in_background(std::shared_ptr<Module> module, std::vector<TranslationCache::Query> queries) {
  return Translator::get().add(std::move(module), std::move(queries));
}

}  // namespace wavejit::runtime
