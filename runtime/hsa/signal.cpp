#include "runtime/hsa/signal.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "internal/interrupt.h"
#include "runtime/hsa/live.h"
#include "runtime/hsa/memory.h"
#include "runtime/hsa/queue.h"
#include "runtime/hsa/signal_pages.h"
#include "runtime/hsa/status.h"

namespace wavejit::hsa {
namespace {

// How long threads look at a signal before they sleep, first without giving the CPU to others. To wake a thread costs
// the waker some 2 us, on virtual machines 40: longer than that, or programs that launch and wait sleep each time
// because they have slept before.
constexpr std::chrono::microseconds kSpin{20}, kAwake{60};
// How long the thread of the handlers stays awake after a call: programs that launch and wait add one with each launch.
constexpr std::chrono::microseconds kHandlersAwake{300};

// `shared`: with other processes.
void futex_wait(const void* word, bool shared, uint32_t seen, Clock::duration limit) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(limit).count();
  const timespec time{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  syscall(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
}
void futex_wake(const void* word, bool shared) {
  syscall(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

// Changes whenever a signal with observers does; and how many threads sleep until then.
std::atomic<uint32_t> observed_changes{0}, sleeping_observers{0};

void sleep_until_change(uint32_t seen, Clock::duration limit) {
  sleeping_observers.fetch_add(1, std::memory_order_seq_cst);
  futex_wait(&observed_changes, false, seen, limit);
  sleeping_observers.fetch_sub(1, std::memory_order_seq_cst);
}

// In each slab one signal has each event id.
class SignalPool {
 public:
  Signal* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) add_slab();
    Signal* signal = free_.back();
    free_.pop_back();
    return signal;
  }
  void give_back(Signal* signal) {
    const std::lock_guard lock(mutex_);
    free_.push_back(signal);
  }
  void wake(uint32_t event_id) {
    if (event_id == 0 || event_id > Signal::kMaxEventId) return;
    const std::lock_guard lock(mutex_);
    for (const auto& slab : slabs_) slab->signals[event_id].wake();
  }

 private:
  // The one with event id 0 is never given to anybody.
  struct alignas(kSignalPage) Slab {
    Signal signals[Signal::kMaxEventId + 1];
  };
  static_assert(kSignalPage % sizeof(Signal) == 0);

  void add_slab() {
    auto slab = std::make_unique<Slab>();
    slabs_.reserve(slabs_.size() + 1);
    // All of them, so that giving one back needs no memory.
    free_.reserve((slabs_.size() + 1) * Signal::kMaxEventId);
    const auto begin = reinterpret_cast<uint64_t>(slab.get());
    for (uint64_t page = begin; page < begin + sizeof(Slab); page += kSignalPage) add_signal_page(page);
    for (uint32_t id = Signal::kMaxEventId; id != 0; --id) {
      slab->signals[id].event_id = id;
      free_.push_back(&slab->signals[id]);
    }
    slabs_.push_back(std::move(slab));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<Signal*> free_;
};

// Never destroyed: programs destroy signals at their exit.
SignalPool& pool() {
  static auto* const instance = [] {
    g_interrupt_handler.store([](uint32_t event_id) { pool().wake(event_id); }, std::memory_order_release);
    return new SignalPool;
  }();
  return *instance;
}

bool is_stopped(const std::atomic<bool>* stop) {
  return stop && stop->load(std::memory_order_acquire);
}

// How long to sleep: until the deadline, and no longer than until it is time to look for what kernels have written.
Clock::duration sleep_time(Clock::time_point start, Clock::time_point now, Clock::time_point deadline) {
  return std::min(deadline - now, Signal::poll_interval(now - start));
}

}  // namespace

void Signal::wake() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (is_shared || waiters.load(std::memory_order_relaxed) != 0) futex_wake(const_cast<int64_t*>(&value), is_shared);
  if (is_shared || observers.load(std::memory_order_relaxed) != 0) wake_all_observers();
}

void wake_all_observers() {
  observed_changes.fetch_add(1, std::memory_order_seq_cst);
  if (sleeping_observers.load(std::memory_order_seq_cst) != 0) futex_wake(&observed_changes, false);
}

void Signal::start(int64_t initial) {
  kind = AMD_SIGNAL_KIND_USER;
  std::atomic_ref(const_cast<int64_t&>(value)).store(initial, std::memory_order_relaxed);
  mailbox = 0;
  event_mailbox_ptr = event_id != 0 ? reinterpret_cast<uint64_t>(&mailbox) : 0;
  start_ts = end_ts = 0;
  queue_ptr = nullptr;
  uses.fetch_add(1, std::memory_order_relaxed);
  magic.store(kMagic, std::memory_order_release);
}

Signal* create_signal(int64_t initial) {
  Signal* signal = pool().take();
  signal->start(initial);
  return signal;
}

bool destroy_signal(Signal* signal) {
  if (signal->is_shared) {
    const bool detached = detach_shared_signal(signal);
    wake_all_observers();
    return detached;
  }
  uint64_t live = Signal::kMagic;
  if (!signal->magic.compare_exchange_strong(live, 0, std::memory_order_acq_rel)) return false;
  signal->kind = AMD_SIGNAL_KIND_INVALID;
  wake_all_observers();
  pool().give_back(signal);
  return true;
}

Signal* signal_of(hsa_signal_t handle) {
  if (handle.handle % sizeof(Signal) != 0 || !is_on_signal_page(handle.handle)) return nullptr;
  auto* signal = static_cast<Signal*>(reinterpret_cast<amd_signal_t*>(handle.handle));
  return signal->is_live() ? signal : nullptr;
}

int64_t wait(Signal& signal, hsa_signal_condition_t condition, int64_t compare, Clock::time_point deadline,
             const std::atomic<bool>* stop, bool awake) {
  int64_t value = signal.load();
  if (holds(condition, value, compare)) return value;
  Clock::time_point now = Clock::now();
  const Clock::time_point start = now, spin_end = now + kSpin,
                          awake_end = awake ? std::min(deadline, now + kAwake) : now;
  for (; now < awake_end; now = Clock::now()) {
    if (now >= spin_end) sched_yield();
    for (int i = 0; i < 32; ++i) {
      value = signal.load();
      if (holds(condition, value, compare)) return value;
      _mm_pause();
    }
  }
  signal.waiters.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    value = signal.load(std::memory_order_seq_cst);
    now = Clock::now();
    if (holds(condition, value, compare) || now >= deadline || is_stopped(stop)) break;
    futex_wait(const_cast<int64_t*>(&signal.value), signal.is_shared, static_cast<uint32_t>(value),
               sleep_time(start, now, deadline));
  }
  signal.waiters.fetch_sub(1, std::memory_order_seq_cst);
  return value;
}

void sleep_on(Signal& signal, int64_t seen, Clock::duration limit) {
  signal.waiters.fetch_add(1, std::memory_order_seq_cst);
  if (signal.load(std::memory_order_seq_cst) == seen)
    futex_wait(const_cast<int64_t*>(&signal.value), signal.is_shared, static_cast<uint32_t>(seen), limit);
  signal.waiters.fetch_sub(1, std::memory_order_seq_cst);
}

size_t wait_any(std::span<const Condition> conditions, Clock::time_point deadline, const std::atomic<bool>* stop) {
  const auto find = [&] {
    size_t i = 0;
    while (i < conditions.size() &&
           !holds(conditions[i].condition, conditions[i].signal->load(), conditions[i].compare))
      ++i;
    return i;
  };
  size_t found = find();
  if (found < conditions.size()) return found;
  for (const Condition& c : conditions) c.signal->observers.fetch_add(1, std::memory_order_seq_cst);
  const Clock::time_point start = Clock::now();
  for (;;) {
    const uint32_t seen = observed_changes.load(std::memory_order_seq_cst);
    found = find();
    const Clock::time_point now = Clock::now();
    if (found < conditions.size() || now >= deadline || is_stopped(stop)) break;
    sleep_until_change(seen, sleep_time(start, now, deadline));
  }
  for (const Condition& c : conditions) c.signal->observers.fetch_sub(1, std::memory_order_seq_cst);
  return found;
}

// ------------------------------------------------------------------------------------------------ handlers

namespace {

class AsyncHandlers {
 public:
  // Nobody needs to be woken before the condition holds.
  void add(const Condition& condition, hsa_amd_signal_handler handler, void* argument) {
    {
      const std::lock_guard lock(mutex_);
      start();
      added_.push_back({condition, condition.signal->uses.load(std::memory_order_relaxed), handler, argument});
      condition.signal->observers.fetch_add(1, std::memory_order_seq_cst);
    }
    if (holds(condition.condition, condition.signal->load(std::memory_order_seq_cst), condition.compare))
      wake_all_observers();
  }
  void call(void (*function)(void*), void* argument) {
    {
      const std::lock_guard lock(mutex_);
      start();
      calls_.push_back({function, argument});
    }
    wake_all_observers();
  }
  // Waits until handlers whose conditions hold already have been called, or until `limit`: they may need a lock of the
  // caller's.
  void settle(Clock::duration limit) {
    {
      const std::lock_guard lock(mutex_);
      if (!thread_.joinable() || thread_.get_id() == std::this_thread::get_id()) return;
    }
    // The round that is under way may have passed them.
    const uint64_t rounds = rounds_.load(std::memory_order_acquire) + 2;
    const Clock::time_point deadline = Clock::now() + limit;
    while (rounds_.load(std::memory_order_acquire) < rounds && Clock::now() < deadline) {
      wake_all_observers();
      sched_yield();
    }
  }
  // What has not been called is dropped. The thread may call this itself, and ends soon then.
  void stop() {
    std::jthread thread;
    {
      const std::lock_guard lock(mutex_);
      thread = std::move(thread_);
      for (const Handler& h : added_) h.condition.signal->observers.fetch_sub(1, std::memory_order_seq_cst);
      added_.clear();
      calls_.clear();
    }
    if (!thread.joinable()) return;
    thread.request_stop();
    wake_all_observers();
    thread.get_id() == std::this_thread::get_id() ? thread.detach() : thread.join();
  }

 private:
  struct Handler {
    Condition condition;
    uint32_t use;  // of the signal
    hsa_amd_signal_handler function;
    void* argument;
  };
  struct Call {
    void (*function)(void*);
    void* argument;
  };

  void start() {
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  void run(const std::stop_token& stop) {
    std::vector<Handler> handlers;
    Clock::time_point asleep_from = Clock::now();
    for (;;) {
      const uint32_t seen = observed_changes.load(std::memory_order_seq_cst);
      std::vector<Call> calls;
      try {
        const std::lock_guard lock(mutex_);
        if (stop.stop_requested()) break;
        handlers.insert(handlers.end(), added_.begin(), added_.end());
        added_.clear();
        calls.swap(calls_);
      } catch (const std::bad_alloc&) {
        sched_yield();  // those that are added later wait for memory
      }
      bool called = !calls.empty();
      for (const Call& c : calls) c.function(c.argument);
      std::erase_if(handlers, [&](const Handler& h) {
        Signal& signal = *h.condition.signal;
        const int64_t value = signal.load();
        if (signal.is_live() && signal.uses.load(std::memory_order_relaxed) == h.use) {
          if (!holds(h.condition.condition, value, h.condition.compare)) return false;
          called = true;
          if (h.function(value, h.argument)) return false;
        }
        signal.observers.fetch_sub(1, std::memory_order_seq_cst);
        return true;
      });
      rounds_.fetch_add(1, std::memory_order_release);
      const Clock::time_point now = Clock::now();
      if (called) {
        asleep_from = now + kHandlersAwake;
      } else if (now < asleep_from) {
        sched_yield();
      } else {
        sleep_until_change(seen, handlers.empty() ? kIdleSleep : Signal::poll_interval(now - asleep_from));
      }
    }
    for (const Handler& h : handlers) h.condition.signal->observers.fetch_sub(1, std::memory_order_seq_cst);
  }

  // Handlers that are added are seen that late if only kernels change their signals.
  static constexpr std::chrono::milliseconds kIdleSleep{20};

  std::mutex mutex_;
  std::vector<Handler> added_;
  std::vector<Call> calls_;
  std::jthread thread_;
  std::atomic<uint64_t> rounds_ = 0;
};

AsyncHandlers& handlers() {
  static auto* const instance = new AsyncHandlers;
  return *instance;
}

Clock::time_point deadline_after(uint64_t ns) {
  const Clock::time_point now = Clock::now();
  const auto most = static_cast<uint64_t>((Clock::time_point::max() - now).count());
  return ns >= most ? Clock::time_point::max() : now + std::chrono::nanoseconds(ns);
}

}  // namespace

void add_async_handler(const Condition& condition, hsa_amd_signal_handler handler, void* argument) {
  handlers().add(condition, handler, argument);
}
void run_async(void (*function)(void*), void* argument) {
  handlers().call(function, argument);
}
void settle_async_handlers(std::chrono::milliseconds limit) {
  handlers().settle(limit);
}
void stop_async_handlers() {
  handlers().stop();
}

}  // namespace wavejit::hsa

using namespace wavejit::hsa;

// ------------------------------------------------------------------------------------------------ entry points

WAVEJIT_HSA_API hsa_status_t hsa_signal_create(hsa_signal_value_t initial, uint32_t count, const hsa_agent_t* consumers,
                                               hsa_signal_t* out) {
  return entry([&] {
    if (!out || (count != 0 && !consumers)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *out = create_signal(initial)->handle();
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_signal_create(hsa_signal_value_t initial, uint32_t count,
                                                   const hsa_agent_t* consumers, uint64_t attributes,
                                                   hsa_signal_t* out) {
  if ((attributes & HSA_AMD_SIGNAL_IPC) == 0) return hsa_signal_create(initial, count, consumers, out);
  return entry([&] {
    if (!out || (count != 0 && !consumers)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    Signal* signal = create_shared_signal(initial);
    if (!signal) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *out = signal->handle();
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_signal_destroy(hsa_signal_t handle) {
  return entry([&] {
    if (handle.handle == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    Signal* signal = signal_of(handle);
    // A doorbell is its queue's.
    if (!signal || signal->queue_ptr) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    return destroy_signal(signal) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_SIGNAL;
  });
}

// The functions that have no way to report an error ignore what is not a signal.
#define WAVEJIT_SIGNAL_READ(suffix, order)                                      \
  WAVEJIT_HSA_API hsa_signal_value_t hsa_signal_load_##suffix(hsa_signal_t s) { \
    const Signal* signal = signal_of(s);                                        \
    return signal ? signal->load(order) : 0;                                    \
  }
WAVEJIT_SIGNAL_READ(relaxed, std::memory_order_relaxed)
WAVEJIT_SIGNAL_READ(scacquire, std::memory_order_acquire)

#define WAVEJIT_SIGNAL_STORE(suffix, order)                                              \
  WAVEJIT_HSA_API void hsa_signal_store_##suffix(hsa_signal_t s, hsa_signal_value_t v) { \
    Signal* signal = signal_of(s);                                                       \
    if (!signal) return;                                                                 \
    if (signal->queue_ptr) {                                                             \
      signal->store_silently(v);                                                         \
      rung(*signal);                                                                     \
    } else {                                                                             \
      signal->update([v](std::atomic_ref<int64_t> r) { return r.store(v, order), 0; });  \
    }                                                                                    \
  }
WAVEJIT_SIGNAL_STORE(relaxed, std::memory_order_relaxed)
WAVEJIT_SIGNAL_STORE(screlease, std::memory_order_release)

// Without waking anybody.
#define WAVEJIT_SIGNAL_SILENT(suffix, order)                                                                 \
  WAVEJIT_HSA_API void hsa_signal_silent_store_##suffix(hsa_signal_t s, hsa_signal_value_t v) {              \
    if (Signal* signal = signal_of(s)) std::atomic_ref(const_cast<int64_t&>(signal->value)).store(v, order); \
  }
WAVEJIT_SIGNAL_SILENT(relaxed, std::memory_order_relaxed)
WAVEJIT_SIGNAL_SILENT(screlease, std::memory_order_release)

#define WAVEJIT_SIGNAL_CHANGE(name, member, suffix, order)                                                             \
  WAVEJIT_HSA_API void hsa_signal_##name##_##suffix(hsa_signal_t s, hsa_signal_value_t v) {                            \
    if (Signal* signal = signal_of(s)) signal->update([v](std::atomic_ref<int64_t> r) { return r.member(v, order); }); \
  }
#define WAVEJIT_SIGNAL_CHANGES(name, member)                                \
  WAVEJIT_SIGNAL_CHANGE(name, member, relaxed, std::memory_order_relaxed)   \
  WAVEJIT_SIGNAL_CHANGE(name, member, scacquire, std::memory_order_acquire) \
  WAVEJIT_SIGNAL_CHANGE(name, member, screlease, std::memory_order_release) \
  WAVEJIT_SIGNAL_CHANGE(name, member, scacq_screl, std::memory_order_acq_rel)
WAVEJIT_SIGNAL_CHANGES(add, fetch_add)
WAVEJIT_SIGNAL_CHANGES(subtract, fetch_sub)
WAVEJIT_SIGNAL_CHANGES(and, fetch_and)
WAVEJIT_SIGNAL_CHANGES(or, fetch_or)
WAVEJIT_SIGNAL_CHANGES(xor, fetch_xor)

#define WAVEJIT_SIGNAL_EXCHANGE(suffix, order)                                                            \
  WAVEJIT_HSA_API hsa_signal_value_t hsa_signal_exchange_##suffix(hsa_signal_t s, hsa_signal_value_t v) { \
    Signal* signal = signal_of(s);                                                                        \
    return signal ? signal->update([v](std::atomic_ref<int64_t> r) { return r.exchange(v, order); }) : 0; \
  }                                                                                                       \
  WAVEJIT_HSA_API hsa_signal_value_t hsa_signal_cas_##suffix(hsa_signal_t s, hsa_signal_value_t expected, \
                                                             hsa_signal_value_t v) {                      \
    if (Signal* signal = signal_of(s))                                                                    \
      signal->update([&](std::atomic_ref<int64_t> r) { return r.compare_exchange_strong(expected, v); }); \
    return expected;                                                                                      \
  }
WAVEJIT_SIGNAL_EXCHANGE(relaxed, std::memory_order_relaxed)
WAVEJIT_SIGNAL_EXCHANGE(scacquire, std::memory_order_acquire)
WAVEJIT_SIGNAL_EXCHANGE(screlease, std::memory_order_release)
WAVEJIT_SIGNAL_EXCHANGE(scacq_screl, std::memory_order_acq_rel)

// Waits of at least this long (ns) have no limit: nobody waits for a quarter of an hour to go on to something else.
static constexpr uint64_t kUnlimited = 1'000'000'000'000;
// Waits of up to this long (ns) are polls: their callers go on to something else soon, often to a wait without a limit.
// The first poll of a signal after a doorbell that nobody has noticed yet ends at once (the standard calls the time a
// hint), so that the packet is left to the thread's next wait, which may process it. A second one lasts its time.
static constexpr uint64_t kLongestPoll = 1'000'000;

// A thread that waits without a limit processes the packets before and up to the one that completes the signal: it has
// nothing else to do before the condition holds. A wait with a limit never does, since packets may take longer than that.
static hsa_signal_value_t wait_on(hsa_signal_t handle, hsa_signal_condition_t condition, hsa_signal_value_t compare,
                                  uint64_t timeout) {
  Signal* signal = signal_of(handle);
  if (!signal) return 0;
  const int64_t value = signal->load();
  if (holds(condition, value, compare)) return value;
  if (timeout <= kLongestPoll && is_first_poll(*signal)) return value;
  const bool unlimited = timeout >= kUnlimited;
  if (unlimited) do_copy_for(*signal);
  const bool sleep = help_before_wait(*signal, condition, compare, unlimited);
  return wait(*signal, condition, compare, deadline_after(timeout), nullptr, !sleep);
}

#define WAVEJIT_SIGNAL_WAIT(suffix)                                                                             \
  WAVEJIT_HSA_API hsa_signal_value_t hsa_signal_wait_##suffix(hsa_signal_t s, hsa_signal_condition_t condition, \
                                                              hsa_signal_value_t compare, uint64_t timeout,     \
                                                              hsa_wait_state_t) {                               \
    return wait_on(s, condition, compare, timeout);                                                             \
  }
WAVEJIT_SIGNAL_WAIT(relaxed)
WAVEJIT_SIGNAL_WAIT(scacquire)

WAVEJIT_HSA_API hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t s, hsa_signal_condition_t condition,
                                                          hsa_signal_value_t compare, hsa_amd_signal_handler handler,
                                                          void* argument) {
  return entry([&] {
    if (!handler) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    Signal* signal = signal_of(s);
    if (!signal) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    add_async_handler({signal, condition, compare}, handler, argument);
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_async_function(void (*function)(void*), void* argument) {
  return entry([&] {
    if (!function) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    run_async(function, argument);
    return HSA_STATUS_SUCCESS;
  });
}

WAVEJIT_HSA_API uint32_t hsa_amd_signal_wait_any(uint32_t count, hsa_signal_t* signals,
                                                 hsa_signal_condition_t* conditions, hsa_signal_value_t* values,
                                                 uint64_t timeout, hsa_wait_state_t, hsa_signal_value_t* satisfying) {
  wake_unnoticed();
  if (!signals || !conditions || !values) return UINT32_MAX;
  std::vector<Condition> all;
  std::vector<uint32_t> index;
  for (uint32_t i = 0; i < count; ++i) {
    Signal* signal = signal_of(signals[i]);
    if (!signal) continue;
    all.push_back({signal, conditions[i], values[i]});
    index.push_back(i);
  }
  if (all.empty()) return UINT32_MAX;  // nobody could end the wait
  const size_t found = wait_any(all, deadline_after(timeout));
  if (found == all.size()) return UINT32_MAX;
  if (satisfying) *satisfying = all[found].signal->load();
  return index[found];
}

// Handles that are not of a signal count as satisfied, with the value 0. Returns 0, or UINT32_MAX when the time is over.
WAVEJIT_HSA_API uint32_t hsa_amd_signal_wait_all(uint32_t count, hsa_signal_t* signals,
                                                 hsa_signal_condition_t* conditions, hsa_signal_value_t* values,
                                                 uint64_t timeout, hsa_wait_state_t, hsa_signal_value_t* satisfying) {
  wake_unnoticed();
  if (count != 0 && (!signals || !conditions || !values)) return UINT32_MAX;
  const Clock::time_point deadline = deadline_after(timeout);
  for (uint32_t i = 0; i < count; ++i) {
    Signal* signal = signal_of(signals[i]);
    const int64_t value = signal ? wait(*signal, conditions[i], values[i], deadline) : 0;
    if (signal && !holds(conditions[i], value, values[i])) return UINT32_MAX;
    if (satisfying) satisfying[i] = value;
  }
  return 0;
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t s, volatile hsa_signal_value_t** pointer) {
  return entry([&] {
    if (!pointer) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    Signal* signal = signal_of(s);
    if (!signal) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    *pointer = &signal->value;
    return HSA_STATUS_SUCCESS;
  });
}

// ------------------------------------------------------------------------------------------------ groups

namespace {
struct SignalGroup {
  std::vector<hsa_signal_t> signals;
};
Live<SignalGroup>& groups() {
  static auto* const all = new Live<SignalGroup>;
  return *all;
}
}  // namespace

WAVEJIT_HSA_API hsa_status_t hsa_signal_group_create(uint32_t count, const hsa_signal_t* signals, uint32_t consumers,
                                                     const hsa_agent_t* agents, hsa_signal_group_t* out) {
  return entry([&] {
    if (count == 0 || !signals || !out || (consumers != 0 && !agents)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    out->handle = groups().add(std::make_shared<SignalGroup>(SignalGroup{{signals, signals + count}}));
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_signal_group_destroy(hsa_signal_group_t group) {
  return entry(
      [&] { return groups().take(group.handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP; });
}
static hsa_status_t wait_any_of(hsa_signal_group_t handle, const hsa_signal_condition_t* conditions,
                                const hsa_signal_value_t* values, hsa_signal_t* signal, hsa_signal_value_t* value) {
  return entry([&] {
    const std::shared_ptr<SignalGroup> group = groups().find(handle.handle);
    if (!group) return HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP;
    if (!conditions || !values || !signal || !value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const uint32_t found =
        hsa_amd_signal_wait_any(static_cast<uint32_t>(group->signals.size()), group->signals.data(),
                                const_cast<hsa_signal_condition_t*>(conditions),
                                const_cast<hsa_signal_value_t*>(values), UINT64_MAX, HSA_WAIT_STATE_BLOCKED, value);
    if (found >= group->signals.size()) return HSA_STATUS_ERROR;
    *signal = group->signals[found];
    return HSA_STATUS_SUCCESS;
  });
}
#define WAVEJIT_GROUP_WAIT(suffix)                                                                          \
  WAVEJIT_HSA_API hsa_status_t hsa_signal_group_wait_any_##suffix(                                          \
      hsa_signal_group_t group, const hsa_signal_condition_t* conditions, const hsa_signal_value_t* values, \
      hsa_wait_state_t, hsa_signal_t* signal, hsa_signal_value_t* value) {                                  \
    return wait_any_of(group, conditions, values, signal, value);                                           \
  }
WAVEJIT_GROUP_WAIT(relaxed)
WAVEJIT_GROUP_WAIT(scacquire)
