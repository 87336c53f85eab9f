// HSA signals: 64-bit values in memory that the host, queues and kernels change, and that threads wait for.
//
// A signal handle is the address of an amd_signal_t, whose layout kernels know (amd_hsa_signal.h). Changes made through
// the API wake waiting threads at once, and so do kernels that, as ROCm's device libraries do, send an interrupt behind
// a change: with a signal's event id, which they have stored to its mailbox. Kernels may also change the value in
// memory only, so a waiting thread looks by itself every poll_interval(), too. Processes can share signals; what
// another one changes wakes who waits for that signal alone, and is otherwise seen in the same way.
#pragma once

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

namespace wavejit::hsa {

using Clock = std::chrono::steady_clock;  // of timestamps, too: its ticks are nanoseconds

// Memory of signals is never given back, only used again: who has changed the value may still look for waiters when the
// thread that waited has destroyed the signal.
struct alignas(64) Signal : amd_signal_t {
  std::atomic<uint32_t> waiters{0};    // threads asleep on `value`
  std::atomic<uint32_t> observers{0};  // threads that watch several signals
  std::atomic<uint64_t> magic{0};
  std::atomic<uint32_t> uses{0};  // how many signals it has been: handlers of one do not see the next
  bool is_shared = false;         // with other processes: nobody knows who waits, and there is no mailbox
  uint64_t mailbox = 0;

  // Event ids are 1 to this; several signals have the same. Device libraries send 8 bits of them.
  static constexpr uint32_t kMaxEventId = 255;
  static constexpr uint64_t kMagic = 0x776a6974'7369676eull;
  // How long a signal that only the guest changes may go unnoticed: longer, the longer nothing has happened.
  static constexpr std::chrono::microseconds kPollInterval{500};
  static constexpr std::chrono::milliseconds kLongestPollInterval{2};
  static Clock::duration poll_interval(Clock::duration quiet) {
    return std::clamp<Clock::duration>(quiet / 8, kPollInterval, kLongestPollInterval);
  }

  // Makes it a signal, with this value.
  void start(int64_t initial);
  [[nodiscard]] bool is_live() const { return magic.load(std::memory_order_acquire) == kMagic; }

  [[nodiscard]] int64_t load(std::memory_order order = std::memory_order_acquire) const {
    return std::atomic_ref(const_cast<int64_t&>(value)).load(order);
  }
  // Applies `change` to an atomic reference of the value, and wakes who waits for it.
  template <typename Change>
  auto update(Change&& change) {
    std::atomic_ref<int64_t> reference(const_cast<int64_t&>(value));
    auto result = change(reference);
    wake();
    return result;
  }
  void store(int64_t v) {
    update([v](std::atomic_ref<int64_t> r) { return r.store(v, std::memory_order_seq_cst), 0; });
  }
  // Wakes nobody.
  void store_silently(int64_t v) { std::atomic_ref(const_cast<int64_t&>(value)).store(v, std::memory_order_seq_cst); }
  void subtract(int64_t v) {
    update([v](std::atomic_ref<int64_t> r) { return r.fetch_sub(v, std::memory_order_seq_cst); });
  }
  void wake();

  [[nodiscard]] hsa_signal_t handle() { return {reinterpret_cast<uint64_t>(static_cast<amd_signal_t*>(this))}; }
};

[[nodiscard]] Signal* create_signal(int64_t initial);
// One that other processes can attach, each with an address of its own (shared_signal.cpp): as the file with this
// descriptor in the process that has it. nullptr if there is no such signal, or no memory.
[[nodiscard]] Signal* create_shared_signal(int64_t initial);
[[nodiscard]] Signal* attach_shared_signal(int pid, int file);
[[nodiscard]] int file_of_shared(const Signal* signal);
// False if it has been detached already.
bool detach_shared_signal(Signal* signal);
// Of either kind. The others that share a signal keep it. False if another thread has done it.
bool destroy_signal(Signal* signal);
// nullptr for handles that are not of a signal: any number, such as 0, and destroyed ones.
[[nodiscard]] Signal* signal_of(hsa_signal_t handle);

[[nodiscard]] inline bool holds(hsa_signal_condition_t condition, int64_t value, int64_t compare) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
      return value == compare;
    case HSA_SIGNAL_CONDITION_NE:
      return value != compare;
    case HSA_SIGNAL_CONDITION_LT:
      return value < compare;
    case HSA_SIGNAL_CONDITION_GTE:
      return value >= compare;
  }
  return false;
}

// Waits until the condition holds, `deadline` has passed or `*stop` is set; returns the value seen last. At first the
// thread stays awake, unless that takes the CPU from another one that it waits for (`awake` false).
int64_t wait(Signal& signal, hsa_signal_condition_t condition, int64_t compare, Clock::time_point deadline,
             const std::atomic<bool>* stop = nullptr, bool awake = true);
// Sleeps once, until the signal is woken; not at all if its value is another one than `seen`.
void sleep_on(Signal& signal, int64_t seen, Clock::duration limit);

struct Condition {
  Signal* signal;
  hsa_signal_condition_t condition;
  int64_t compare;
};
// Index of the first condition that holds, or conditions.size() after the deadline or when `*stop` is set.
size_t wait_any(std::span<const Condition> conditions, Clock::time_point deadline,
                const std::atomic<bool>* stop = nullptr);

// Makes threads in wait() and wait_any() look at their stop flags.
void wake_all_observers();

// Calls handlers when conditions hold, on one thread. A handler that returns true is kept.
void add_async_handler(const Condition& condition, hsa_amd_signal_handler handler, void* argument);
// `function(argument)` soon, on the same thread.
void run_async(void (*function)(void*), void* argument);
// Returns when handlers whose conditions hold already have been called, or after `limit`.
void settle_async_handlers(std::chrono::milliseconds limit);
void stop_async_handlers();

// Of the system, in nanoseconds. Agents count realtime(), and so do start_ts and end_ts of signals.
inline constexpr uint64_t kTimestampFrequency = 1'000'000'000;  // of timestamp(), a second
[[nodiscard]] inline uint64_t timestamp() {
  return static_cast<uint64_t>(Clock::now().time_since_epoch().count());
}

}  // namespace wavejit::hsa
