// Copies and fills that wait for signals: on threads of their own, as a GPU's DMA engines do them.
#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "internal/semantics/clock.h"
#include "runtime/hsa/agent.h"
#include "runtime/hsa/memory.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/queue.h"
#include "runtime/hsa/signal.h"
#include "runtime/hsa/status.h"

namespace wavejit::hsa {
namespace {

// What another thread would not do sooner, as it has to be woken first, is done by the caller: less than a millisecond.
constexpr size_t kInlineBytes = 8 << 20;

struct Copy {
  std::vector<Condition> after{};  // all of them
  Signal* completion = nullptr;
  std::function<void()> work;

  [[nodiscard]] bool is_ready() const {
    return std::all_of(after.begin(), after.end(),
                       [](const Condition& c) { return holds(c.condition, c.signal->load(), c.compare); });
  }
  void run() const {
    const uint64_t start = realtime();
    work();
    if (!completion) return;
    completion->start_ts = start;
    completion->end_ts = realtime();
    completion->subtract(1);
  }
};

// While there has been a copy not long ago, the thread looks for copies by itself.
constexpr std::chrono::microseconds kCopyAttention{100};
constexpr std::chrono::milliseconds kCopyAttentive{20};

// Copies that are ready run in the order in which they were given; those that wait hold up nothing.
class CopyEngine {
 public:
  // `quietly`: without waking the thread, if it will look soon.
  void give(Copy copy, bool quietly) {
    {
      const std::lock_guard lock(mutex_);
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      pending_.push_back(std::move(copy));
      if (quietly && attentive_) return;
    }
    wake_all_observers();
    changed_.notify_one();
  }
  // What the copy that completes the signal waits for, if it has not begun.
  std::optional<std::vector<Condition>> conditions_of(const Signal& completion) {
    const std::lock_guard lock(mutex_);
    const auto copy =
        std::find_if(pending_.begin(), pending_.end(), [&](const Copy& c) { return c.completion == &completion; });
    if (copy == pending_.end()) return {};
    return copy->after;
  }
  // That copy, for the calling thread to do, if it is the next one. Then end_taken().
  std::optional<Copy> take(const Signal& completion) {
    const std::lock_guard lock(mutex_);
    const auto next = first_ready();
    if (busy_ || next == pending_.end() || next->completion != &completion) return {};
    busy_ = true;
    std::optional<Copy> copy = std::move(*next);
    pending_.erase(next);
    return copy;
  }
  void end_taken() {
    const std::lock_guard lock(mutex_);
    busy_ = false;
    last_ = Clock::now();
    if (!pending_.empty()) changed_.notify_one();
  }
  [[nodiscard]] bool is_idle() {
    const std::lock_guard lock(mutex_);
    return pending_.empty() && !busy_;
  }
  void stop() {
    const std::lock_guard one_at_a_time(stopping_);
    std::thread thread;
    {
      const std::lock_guard lock(mutex_);
      stop_.store(true, std::memory_order_release);
      thread = std::move(thread_);
    }
    changed_.notify_all();
    wake_all_observers();
    if (thread.joinable()) thread.join();
    const std::lock_guard lock(mutex_);
    pending_.clear();
    stop_.store(false, std::memory_order_release);
  }

 private:
  std::list<Copy>::iterator first_ready() {
    return std::find_if(pending_.begin(), pending_.end(), [](const Copy& c) { return c.is_ready(); });
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!stop_.load(std::memory_order_acquire)) {
      if (pending_.empty() || busy_) {
        attentive_ = Clock::now() - last_ < kCopyAttentive;
        if (attentive_)
          changed_.wait_for(lock, kCopyAttention);
        else
          changed_.wait(lock);
        attentive_ = false;
        continue;
      }
      const auto ready = first_ready();
      if (ready != pending_.end()) {
        const Copy copy = std::move(*ready);
        pending_.erase(ready);
        busy_ = true;
        lock.unlock();
        copy.run();
        lock.lock();
        busy_ = false;
        last_ = Clock::now();
        continue;
      }
      std::vector<Condition> open;
      try {
        for (const Copy& c : pending_)
          for (const Condition& after : c.after)
            if (!holds(after.condition, after.signal->load(), after.compare)) open.push_back(after);
      } catch (const std::bad_alloc&) {
        // It looks for those that it has.
      }
      lock.unlock();
      // Not for ever: another copy may have come that need not wait.
      (void)wait_any(open, Clock::now() + Signal::kPollInterval, &stop_);
      lock.lock();
    }
  }

  std::mutex stopping_, mutex_;
  std::condition_variable changed_;
  std::list<Copy> pending_;
  bool busy_ = false;       // with a copy that is not in pending_ any more
  bool attentive_ = false;  // the thread sleeps, but for kCopyAttention at most
  Clock::time_point last_;  // when a copy ended
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// To devices, from devices.
CopyEngine& engine(bool from_device) {
  static auto* const engines = new CopyEngine[2];
  return engines[from_device];
}

hsa_status_t conditions_of(uint32_t count, const hsa_signal_t* signals, std::vector<Condition>& out) {
  if (count != 0 && !signals) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < count; ++i) {
    Signal* signal = signal_of(signals[i]);
    if (!signal) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    out.push_back({signal, HSA_SIGNAL_CONDITION_EQ, 0});
  }
  return HSA_STATUS_SUCCESS;
}

// The bits of the engines that copy from one agent to another one (hsa_amd_sdma_engine_id_t): engine(false) is the first
// bit, engine(true) the second. The host's agent alone copies nothing.
hsa_status_t engines_of(hsa_agent_t to, hsa_agent_t from, uint32_t& mask) {
  const Agent *a = agent_of(to), *b = agent_of(from);
  if (!a || !b || a == b || (!a->is_gpu() && !b->is_gpu())) return HSA_STATUS_ERROR_INVALID_AGENT;
  mask = b->is_gpu() ? HSA_AMD_SDMA_ENGINE_1 : HSA_AMD_SDMA_ENGINE_0;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t start_copy(size_t bytes, bool from_device, uint32_t count, const hsa_signal_t* dependencies,
                        hsa_signal_t completion, std::function<void()> work) {
  Copy copy{.work = std::move(work)};
  if (const hsa_status_t status = conditions_of(count, dependencies, copy.after); status != HSA_STATUS_SUCCESS)
    return status;
  if (completion.handle != 0 && !(copy.completion = signal_of(completion))) return HSA_STATUS_ERROR_INVALID_SIGNAL;
  if (bytes <= kInlineBytes && copy.is_ready() && engine(from_device).is_idle())
    copy.run();
  else
    engine(from_device).give(std::move(copy), has_unnoticed());
  return HSA_STATUS_SUCCESS;
}

}  // namespace

void do_copy_for(const Signal& completion) {
  for (const bool from_device : {false, true}) {
    const std::optional<std::vector<Condition>> after = engine(from_device).conditions_of(completion);
    if (!after) continue;
    for (const Condition& c : *after) {
      const bool sleep = help_before_wait(*c.signal, c.condition, c.compare, true);
      (void)wait(*c.signal, c.condition, c.compare, Clock::time_point::max(), nullptr, !sleep);
    }
    const std::optional<Copy> copy = engine(from_device).take(completion);
    if (!copy) return;
    copy->run();
    engine(from_device).end_taken();
    return;
  }
}

void stop_copies() {
  engine(false).stop();
  engine(true).stop();
}

}  // namespace wavejit::hsa

using namespace wavejit::hsa;

WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_async_copy(void* to, hsa_agent_t to_agent, const void* from,
                                                       hsa_agent_t from_agent, size_t bytes, uint32_t count,
                                                       const hsa_signal_t* dependencies, hsa_signal_t completion) {
  return entry([&] {
    const Agent *a = agent_of(to_agent), *b = agent_of(from_agent);
    if (!a || !b) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (bytes != 0 && (!to || !from)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return start_copy(bytes, b->is_gpu(), count, dependencies, completion, [=] { copy_bytes(to, from, bytes); });
  });
}

// An engine is a thread that runs copies in order; which one a copy runs on shows in its time alone, so each is given to
// the one of its direction.
WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_async_copy_on_engine(void* to, hsa_agent_t to_agent, const void* from,
                                                                 hsa_agent_t from_agent, size_t bytes, uint32_t count,
                                                                 const hsa_signal_t* dependencies,
                                                                 hsa_signal_t completion,
                                                                 hsa_amd_sdma_engine_id_t engine_id, bool) {
  if (is_open() && !std::has_single_bit(static_cast<uint32_t>(engine_id))) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return hsa_amd_memory_async_copy(to, to_agent, from, from_agent, bytes, count, dependencies, completion);
}
// Engines that have nothing to do, so that a copy would begin at once.
WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t to, hsa_agent_t from, uint32_t* mask) {
  return entry([&] {
    if (!mask) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    uint32_t usable = 0;
    if (const hsa_status_t status = engines_of(to, from, usable); status != HSA_STATUS_SUCCESS) return status;
    *mask = engine(usable == HSA_AMD_SDMA_ENGINE_1).is_idle() ? usable : 0;
    return *mask != 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_get_preferred_copy_engine(hsa_agent_t to, hsa_agent_t from,
                                                                      uint32_t* mask) {
  return entry([&] { return mask ? engines_of(to, from, *mask) : HSA_STATUS_ERROR_INVALID_ARGUMENT; });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_offset,
                                                            const hsa_pitched_ptr_t* from,
                                                            const hsa_dim3_t* from_offset, const hsa_dim3_t* range,
                                                            hsa_agent_t agent, hsa_amd_copy_direction_t direction,
                                                            uint32_t count, const hsa_signal_t* dependencies,
                                                            hsa_signal_t completion) {
  return entry([&] {
    if (!agent_of(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!to || !from || !to_offset || !from_offset || !range || !to->base || !from->base)
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto start = [](const hsa_pitched_ptr_t& p, const hsa_dim3_t& offset) {
      return static_cast<uint8_t*>(p.base) + offset.z * p.slice + offset.y * p.pitch + offset.x;
    };
    const size_t bytes = size_t{range->x} * range->y * range->z;
    const bool from_device = direction == hsaDeviceToHost || direction == hsaDeviceToDevice;
    return start_copy(bytes, from_device, count, dependencies, completion,
                      [t = start(*to, *to_offset), f = start(*from, *from_offset), tp = to->pitch, fp = from->pitch,
                       ts = to->slice, fs = from->slice, size = *range] {
                        for (uint32_t z = 0; z < size.z; ++z)
                          for (uint32_t y = 0; y < size.y; ++y)
                            copy_bytes(t + z * ts + y * tp, f + z * fs + y * fp, size.x);
                      });
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_fill(void* pointer, uint32_t value, size_t count) {
  return entry([&] {
    if (count == 0) return HSA_STATUS_SUCCESS;
    const auto address = reinterpret_cast<uint64_t>(pointer);
    if (!pointer || address % sizeof value != 0 || count > SIZE_MAX / sizeof value)
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    // As ROCr answers to ranges that are no part of one allocation.
    if (const auto a = find_allocation(address); a && count * sizeof value > a->address + a->bytes - address)
      return HSA_STATUS_ERROR;
    std::fill_n(static_cast<uint32_t*>(pointer), count, value);
    return HSA_STATUS_SUCCESS;
  });
}

// ------------------------------------------------------------------------------------------------ times

WAVEJIT_HSA_API hsa_status_t hsa_amd_profiling_async_copy_enable(bool) {
  return entry([] { return HSA_STATUS_SUCCESS; });  // times are always taken
}
namespace {
template <typename Time>
hsa_status_t times_of(hsa_signal_t handle, Time* time) {
  const Signal* signal = signal_of(handle);
  if (!signal) return HSA_STATUS_ERROR_INVALID_SIGNAL;
  if (!time) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  time->start = signal->start_ts * wavejit::kRealtimeNs;
  time->end = signal->end_ts * wavejit::kRealtimeNs;
  return HSA_STATUS_SUCCESS;
}
}  // namespace

WAVEJIT_HSA_API hsa_status_t hsa_amd_profiling_get_async_copy_time(hsa_signal_t signal,
                                                                   hsa_amd_profiling_async_copy_time_t* time) {
  return entry([&] { return times_of(signal, time); });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
                                                                 hsa_amd_profiling_dispatch_time_t* time) {
  return entry([&] { return agent_of(agent) ? times_of(signal, time) : HSA_STATUS_ERROR_INVALID_AGENT; });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_profiling_convert_tick_to_system_domain(hsa_agent_t agent, uint64_t tick,
                                                                             uint64_t* system) {
  return entry([&] {
    const Agent* a = agent_of(agent);
    if (!a) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!system) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *system = a->is_gpu() ? tick * wavejit::kRealtimeNs : tick;
    return HSA_STATUS_SUCCESS;
  });
}
