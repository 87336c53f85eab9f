#include "runtime/hsa/queue.h"

#include <fmt/format.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <mutex>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "internal/semantics/clock.h"
#include "internal/wave_state.h"
#include "runtime/hsa/dispatch.h"
#include "runtime/hsa/events.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/status.h"

namespace wavejit::hsa {
namespace {

constexpr size_t kPacketBytes = 64;
// How long a queue's thread that has processed packets looks for the next one before it sleeps: longer than a program
// takes between two launches, as waking a thread takes as long as a small kernel.
constexpr std::chrono::microseconds kIdleSpin{60};
// After that it looks in these intervals, for as long as there has been a packet not long ago; then as rarely as for
// everything that only kernels change. The longer another thread has been processing packets, the longer they get:
// each look takes a CPU from the kernel for a moment.
constexpr std::chrono::microseconds kAttention{100}, kAttentionBesideHelp{1000};
constexpr std::chrono::milliseconds kAttentive{20};
// As many packets may wait for that, or for a thread that waits for them. For more the thread is woken.
constexpr uint64_t kUnnoticed = 32;
// Of its stack a thread needs that much left to process packets. (Those of the engine are the system's usual ones.)
constexpr size_t kStackBytes = size_t{1} << 20;

std::mutex& queues_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}
std::unordered_map<const hsa_queue_t*, std::shared_ptr<Queue>>& queues() {
  static auto* const all = new std::unordered_map<const hsa_queue_t*, std::shared_ptr<Queue>>;
  return *all;
}

std::atomic_ref<uint16_t> header_of(uint8_t* packet) {
  return std::atomic_ref(*reinterpret_cast<uint16_t*>(packet));
}
bool has_barrier(uint16_t header) {
  return (header >> HSA_PACKET_HEADER_BARRIER & 1) != 0;
}
template <typename T>
std::atomic_ref<T> atomic(volatile T& value) {
  return std::atomic_ref<T>(const_cast<T&>(value));
}

bool has_stack() {
  thread_local const uintptr_t lowest = [] {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return UINTPTR_MAX;
    void* address = nullptr;
    size_t bytes = 0;
    const bool known = pthread_attr_getstack(&attributes, &address, &bytes) == 0;
    pthread_attr_destroy(&attributes);
    return known ? reinterpret_cast<uintptr_t>(address) : UINTPTR_MAX;
  }();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > lowest && here - lowest >= kStackBytes;
}

// The queue whose doorbell the thread has rung, if its thread has not been woken for that.
thread_local const hsa_queue_t* unnoticed = nullptr;
// The queue whose packets the thread processes, or whose callback it is in.
thread_local const Queue* in_queue = nullptr;
class InQueue {
 public:
  explicit InQueue(const Queue* queue) : before_(std::exchange(in_queue, queue)) {}
  ~InQueue() { in_queue = before_; }
  InQueue(const InQueue&) = delete;
  InQueue& operator=(const InQueue&) = delete;

 private:
  const Queue* const before_;
};

// The status of a packet, whatever goes wrong.
template <typename Body>
hsa_status_t guarded(Body&& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    const bool memory = dynamic_cast<const std::bad_alloc*>(&e) || dynamic_cast<const std::system_error*>(&e);
    return memory ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_ERROR;
  }
}

// The signal that the thread has polled last since then.
thread_local const Signal* polled = nullptr;

}  // namespace

std::shared_ptr<Queue> Queue::create(Agent& agent, uint32_t packets, hsa_queue_type32_t type, QueueCallback callback,
                                     void* data, bool intercepts) {
  static std::atomic<uint64_t> next_id{0};
  std::shared_ptr<Queue> queue(new Queue(agent, callback, data, intercepts));
  const size_t bytes = (sizeof(amd_queue_t) + kPacketBytes - 1) / kPacketBytes * kPacketBytes + kPacketBytes * packets;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  queue->memory_ = memory;
  queue->memory_bytes_ = bytes;
  amd_queue_t& amd = *new (memory) amd_queue_t{};
  queue->amd_ = &amd;
  auto* ring = static_cast<uint8_t*>(memory) + (bytes - kPacketBytes * packets);
  for (uint32_t i = 0; i < packets; ++i)
    header_of(ring + kPacketBytes * i).store(HSA_PACKET_TYPE_INVALID, std::memory_order_relaxed);
  queue->doorbell_ = create_signal(-1);
  // The type of the pointer is another one in newer headers (amd_queue_v2_t, which begins as amd_queue_t does).
  // NOLINTNEXTLINE(readability-redundant-casting)
  queue->doorbell_->queue_ptr = reinterpret_cast<decltype(amd_signal_t::queue_ptr)>(&amd);
  amd.hsa_queue.type = type;
  amd.hsa_queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
  amd.hsa_queue.base_address = ring;
  amd.hsa_queue.doorbell_signal = queue->doorbell_->handle();
  amd.hsa_queue.size = packets;
  amd.hsa_queue.id = next_id.fetch_add(1, std::memory_order_relaxed);
  amd.group_segment_aperture_base_hi = kSharedApertureHi;
  amd.private_segment_aperture_base_hi = kPrivateApertureHi;
  amd.max_cu_id = agent.board->compute_units - 1;
  amd.max_wave_id = agent.board->waves_per_cu() - 1;
  amd.read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
  amd.queue_properties = AMD_QUEUE_PROPERTIES_IS_PTR64 | AMD_QUEUE_PROPERTIES_ENABLE_PROFILING;
  queue->thread_ = std::thread([q = queue.get()] {
    const InQueue in(q);
    q->run();
  });
  return queue;
}

// finish() throws only in a callback of the queue's own, which the queue outlives.
Queue::~Queue() {  // NOLINT(bugprone-exception-escape)
  finish();
  if (doorbell_) destroy_signal(doorbell_);
  if (memory_) munmap(memory_, memory_bytes_);
}

void Queue::inactivate() {
  stop_.store(true, std::memory_order_release);
  cancellation_.cancel();
  {
    const std::lock_guard lock(ahead_mutex_);
    for (const auto& ahead : ahead_) ahead->cancellation.cancel();
  }
  if (doorbell_) doorbell_->wake();
  wake_all_observers();
}

void Queue::finish() {
  inactivate();
  if (in_queue == this) {
    // Without a thread for it the queue stays, stopped.
    std::shared_ptr<Queue>* kept = nullptr;
    try {
      kept = new std::shared_ptr<Queue>(shared_from_this());
      std::thread([kept] {
        (*kept)->finish();
        delete kept;
      }).detach();
    } catch (const std::exception&) {
      if (!kept) throw;
    }
    return;
  }
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(processing_);
  for (const auto& ahead : ahead_) ahead->thread.join();
  ahead_.clear();
}

uint8_t* Queue::packet_at(uint64_t index) const {
  return static_cast<uint8_t*>(amd_->hsa_queue.base_address) + kPacketBytes * (index & (amd_->hsa_queue.size - 1));
}

bool Queue::has_packet() const {
  if (intercepts_ && !rewritten_.empty()) return true;
  return has_packet_at(index_.load(std::memory_order_acquire));
}

bool Queue::has_packet_at(uint64_t index) const {
  uint8_t* packet = packet_at(index);
  return packet_type(header_of(packet).load(std::memory_order_acquire)) != HSA_PACKET_TYPE_INVALID;
}

void Queue::run() {
  Clock::time_point spin_end, quiet_since = Clock::now();
  bool was_helped = false;
  while (!stop_.load(std::memory_order_acquire)) {
    if (const hsa_status_t error = error_.load(std::memory_order_acquire); error != HSA_STATUS_SUCCESS) {
      if (callback_) callback_(error, handle(), data_);
      return;
    }
    const bool helped = helped_.load(std::memory_order_acquire);
    if (!helped && has_packet()) {
      const std::unique_lock lock(processing_, std::try_to_lock);
      if (!lock) continue;  // a thread that waits has been quicker
      cpu_.store(sched_getcpu(), std::memory_order_relaxed);
      while (!stop_.load(std::memory_order_acquire) && has_packet() && process_front()) {
      }
      quiet_since = Clock::now();
      spin_end = quiet_since + kIdleSpin;
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (std::exchange(was_helped, helped) != helped) quiet_since = now;
    if (!helped && now < spin_end) {
      for (int i = 0; i < 16; ++i) _mm_pause();
      continue;
    }
    const bool attentive = now.time_since_epoch().count() - last_packet_.load(std::memory_order_relaxed) <
                           Clock::duration(kAttentive).count();
    const int64_t rung = doorbell_->load(std::memory_order_seq_cst);
    attentive_.store(attentive, std::memory_order_seq_cst);
    // A packet may be there without the doorbell having been rung, if kernels write them.
    if (stop_.load(std::memory_order_acquire) || (!helped && has_packet())) continue;
    const Clock::duration quiet = now - quiet_since;
    if (!attentive)
      sleep_on(*doorbell_, rung, Signal::poll_interval(quiet));
    else
      sleep_on(*doorbell_, rung,
               helped ? std::clamp<Clock::duration>(quiet / 4, kAttention, kAttentionBesideHelp) : kAttention);
  }
}

bool Queue::process_front() {
  if (error_.load(std::memory_order_acquire) != HSA_STATUS_SUCCESS) return false;
  if (intercepts_) {
    bool more = false;
    const hsa_status_t status = guarded([&] { return more = process_intercepted(), HSA_STATUS_SUCCESS; });
    if (status != HSA_STATUS_SUCCESS) error_.store(status, std::memory_order_release);
    return more;
  }
  const uint64_t index = index_.load(std::memory_order_relaxed);
  uint8_t* packet = packet_at(index);
  const hsa_status_t status = guarded([&] { return process(packet, index); });
  if (stop_.load(std::memory_order_acquire)) return false;
  if (status != HSA_STATUS_SUCCESS) {
    error_.store(status, std::memory_order_release);
    return false;
  }
  consume(index);
  return true;
}

void Queue::consume(uint64_t index) {
  last_packet_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  index_.store(index + 1, std::memory_order_release);
  header_of(packet_at(index)).store(HSA_PACKET_TYPE_INVALID, std::memory_order_release);
  atomic(amd_->read_dispatch_id).store(index + 1, std::memory_order_release);
}

// ------------------------------------------------------------------------------------------------ waiting threads

bool Queue::will_look() const {
  if (!attentive_.load(std::memory_order_seq_cst)) return false;
  return atomic(amd_->write_dispatch_id).load(std::memory_order_relaxed) - index_.load(std::memory_order_relaxed) <
         kUnnoticed;
}

bool Queue::can_begin(const uint8_t* bytes) {
  switch (packet_type(header_of(const_cast<uint8_t*>(bytes)).load(std::memory_order_acquire))) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      return true;
    case HSA_PACKET_TYPE_BARRIER_AND: {
      const auto& packet = *reinterpret_cast<const hsa_barrier_and_packet_t*>(bytes);
      return std::all_of(std::begin(packet.dep_signal), std::end(packet.dep_signal), [](hsa_signal_t handle) {
        const Signal* signal = signal_of(handle);
        return !signal || signal->load() == 0;
      });
    }
    default:
      return false;
  }
}

bool Queue::completes(const Signal& signal) const {
  const uint64_t first = index_.load(std::memory_order_relaxed);
  for (uint64_t i = first; i != first + amd_->hsa_queue.size; ++i) {
    uint8_t* packet = packet_at(i);
    const unsigned type = packet_type(header_of(packet).load(std::memory_order_acquire));
    if (type != HSA_PACKET_TYPE_KERNEL_DISPATCH && type != HSA_PACKET_TYPE_BARRIER_AND) return false;
    // It could be processed before the one at the front has been, which may wait for this thread.
    if (i != first && !has_barrier(header_of(packet).load(std::memory_order_relaxed))) return false;
    // In both at the same place.
    if (signal_of(reinterpret_cast<const hsa_barrier_and_packet_t*>(packet)->completion_signal) == &signal) return true;
  }
  return false;
}

bool Queue::help(Signal& signal, hsa_signal_condition_t condition, int64_t compare) {
  if (intercepts_) {  // handlers are called by the queue's thread alone
    wake();
    return false;
  }
  {
    const std::unique_lock lock(processing_, std::try_to_lock);
    if (!lock) return cpu_.load(std::memory_order_relaxed) == sched_getcpu();
    if (!stop_.load(std::memory_order_acquire) && completes(signal)) {
      const InQueue in(this);
      helped_.store(true, std::memory_order_release);
      while (!holds(condition, signal.load(), compare) &&
             can_begin(packet_at(index_.load(std::memory_order_relaxed))) && process_front()) {
      }
      helped_.store(false, std::memory_order_seq_cst);
    }
  }
  if (has_packet()) wake();
  return false;
}

void wake_unnoticed() {
  if (!unnoticed) return;
  if (const std::shared_ptr<Queue> queue = queue_of(std::exchange(unnoticed, nullptr))) queue->wake();
}

bool has_unnoticed() {
  return unnoticed != nullptr;
}

bool is_first_poll(const Signal& signal) {
  return unnoticed && std::exchange(polled, &signal) != &signal;
}

void rung(Signal& doorbell) {
  const auto* handle = &reinterpret_cast<const amd_queue_t*>(doorbell.queue_ptr)->hsa_queue;
  if (unnoticed != handle) wake_unnoticed();
  const std::shared_ptr<Queue> queue = queue_of(handle);
  unnoticed = queue && queue->will_look() ? handle : nullptr;
  polled = nullptr;
  if (!unnoticed) doorbell.wake();
}

bool help_before_wait(Signal& signal, hsa_signal_condition_t condition, int64_t compare, bool may_help) {
  if (!unnoticed) return false;
  const std::shared_ptr<Queue> queue = queue_of(std::exchange(unnoticed, nullptr));
  if (!queue) return false;
  if (may_help && has_stack()) return queue->help(signal, condition, compare);
  queue->wake();
  return false;
}

// ------------------------------------------------------------------------------------------------ packets

void Queue::begin_next(uint64_t index) {
  const std::lock_guard lock(ahead_mutex_);
  const uint64_t first = index_.load(std::memory_order_relaxed), next = index + 1;
  const bool is_last = index == (ahead_.empty() ? first : ahead_.back()->index);
  if (!is_last || intercepts_ || is_stopped() || next - first >= amd_->hsa_queue.size) return;
  uint8_t* packet = packet_at(next);
  const uint16_t header = header_of(packet).load(std::memory_order_acquire);
  if (packet_type(header) != HSA_PACKET_TYPE_KERNEL_DISPATCH || has_barrier(header)) return;
  Ahead* const a = ahead_.emplace_back(std::make_unique<Ahead>(next)).get();
  try {
    a->thread = std::thread([this, packet, next, a] {
      const InQueue in(this);
      a->status = guarded([&] {
        return dispatch(*reinterpret_cast<const hsa_kernel_dispatch_packet_t*>(packet), next, a->cancellation);
      });
    });
  } catch (const std::exception&) {
    ahead_.pop_back();
    return;  // no thread now; maybe the next time
  }
}

std::unique_ptr<Queue::Ahead> Queue::take_ahead(uint64_t index) {
  const std::lock_guard lock(ahead_mutex_);
  if (ahead_.empty() || ahead_.front()->index != index) return nullptr;
  std::unique_ptr<Ahead> ahead = std::move(ahead_.front());
  ahead_.pop_front();
  return ahead;
}

hsa_status_t Queue::process(uint8_t* packet, uint64_t index) {
  if (const std::unique_ptr<Ahead> ahead = take_ahead(index)) {
    ahead->thread.join();
    return ahead->status;
  }
  switch (packet_type(header_of(packet).load(std::memory_order_acquire))) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      return dispatch(*reinterpret_cast<const hsa_kernel_dispatch_packet_t*>(packet), index, cancellation_);
    case HSA_PACKET_TYPE_BARRIER_AND:
      return wait_for(*reinterpret_cast<const hsa_barrier_and_packet_t*>(packet), false);
    case HSA_PACKET_TYPE_BARRIER_OR:
      return wait_for(*reinterpret_cast<const hsa_barrier_and_packet_t*>(packet), true);
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      return vendor_packet(packet);
    default:
      say(fmt::format("Packet {} of queue {} is of a type that GPUs do not process.", index, amd_->hsa_queue.id));
      return HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
  }
}

void Queue::complete(hsa_signal_t handle, uint64_t start) {
  Signal* signal = signal_of(handle);
  if (!signal) return;
  signal->start_ts = start;
  signal->end_ts = realtime();
  signal->subtract(1);
}

hsa_status_t Queue::dispatch(const hsa_kernel_dispatch_packet_t& packet, uint64_t index,
                             runtime::Cancellation& cancellation) {
  const uint64_t start = realtime();
  const Expected<void> result = run_dispatch(*this, packet, index, cancellation);
  if (!result) {
    if (stop_.load(std::memory_order_acquire)) return HSA_STATUS_SUCCESS;
    say(result.error().message);
    // System events are of pages; a misaligned atomic is an error of the queue alone.
    if (result.error().code == ErrorCode::kGuestFault && !result.error().misaligned)
      report_memory_fault(agent_, result.error().address);
    return to_status(result.error());
  }
  complete(packet.completion_signal, start);
  return HSA_STATUS_SUCCESS;
}

// Both barrier packets have the same layout.
hsa_status_t Queue::wait_for(const hsa_barrier_and_packet_t& packet, bool any) {
  const uint64_t start = realtime();
  std::vector<Condition> conditions;
  for (const hsa_signal_t handle : packet.dep_signal)
    if (Signal* signal = signal_of(handle)) conditions.push_back({signal, HSA_SIGNAL_CONDITION_EQ, 0});
  if (any && !conditions.empty()) {
    (void)wait_any(conditions, Clock::time_point::max(), &stop_);
  } else {
    for (const Condition& c : conditions)
      (void)wait(*c.signal, c.condition, c.compare, Clock::time_point::max(), &stop_);
  }
  if (!stop_.load(std::memory_order_acquire)) complete(packet.completion_signal, start);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t Queue::vendor_packet(const uint8_t* bytes) {
  const auto& packet = *reinterpret_cast<const hsa_amd_barrier_value_packet_t*>(bytes);
  if (packet.header.AmdFormat != HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
    say(fmt::format("Vendor packets of format {} are not implemented.", packet.header.AmdFormat));
    return HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
  }
  if (packet.cond > HSA_SIGNAL_CONDITION_GTE) {
    say(fmt::format("A barrier packet of queue {} waits for condition {}, which there is not.", amd_->hsa_queue.id,
                    packet.cond));
    return HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
  }
  const uint64_t start = realtime();
  if (Signal* signal = signal_of(packet.signal)) {
    while (!stop_.load(std::memory_order_acquire)) {
      const int64_t value = signal->load();
      if (holds(static_cast<hsa_signal_condition_t>(packet.cond), value & packet.mask, packet.value)) break;
      (void)wait(*signal, HSA_SIGNAL_CONDITION_NE, value, Clock::now() + std::chrono::seconds(1), &stop_);
    }
  }
  if (!stop_.load(std::memory_order_acquire)) complete(packet.completion_signal, start);
  return HSA_STATUS_SUCCESS;
}

std::shared_ptr<Queue> queue_of(const hsa_queue_t* handle) {
  const std::lock_guard lock(queues_mutex());
  const auto it = queues().find(handle);
  return it == queues().end() ? nullptr : it->second;
}

void destroy_all_queues() {
  std::unordered_map<const hsa_queue_t*, std::shared_ptr<Queue>> gone;
  {
    const std::lock_guard lock(queues_mutex());
    gone.swap(queues());
  }
  for (const auto& [handle, queue] : gone) queue->finish();
}

void settle_queues(std::chrono::milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  const auto is_busy = [] {
    const std::lock_guard lock(queues_mutex());
    return std::any_of(queues().begin(), queues().end(), [](const auto& entry) {
      Queue& queue = *entry.second;
      if (!queue.has_packet()) return false;
      queue.wake();
      return true;
    });
  };
  while (is_busy() && Clock::now() < deadline) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace wavejit::hsa

using namespace wavejit::hsa;

static hsa_status_t create_queue(hsa_agent_t agent_handle, uint32_t packets, hsa_queue_type32_t type,
                                 QueueCallback callback, void* data, bool intercepts, hsa_queue_t** out) {
  return entry([&] {
    Agent* agent = agent_of(agent_handle);
    if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!agent->is_gpu()) return HSA_STATUS_ERROR_INVALID_QUEUE_CREATION;
    if (!out || !std::has_single_bit(packets) || packets > 131072 || type > HSA_QUEUE_TYPE_COOPERATIVE)
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    std::shared_ptr<Queue> queue = Queue::create(*agent, packets, type, callback, data, intercepts);
    if (!queue) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *out = queue->handle();
    const std::lock_guard lock(queues_mutex());
    queues()[*out] = std::move(queue);
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t packets, hsa_queue_type32_t type,
                                              QueueCallback callback, void* data, uint32_t, uint32_t,
                                              hsa_queue_t** out) {
  return create_queue(agent, packets, type, callback, data, false, out);
}
hsa_status_t hsa_amd_queue_intercept_create(hsa_agent_t agent, uint32_t packets, hsa_queue_type32_t type,
                                            QueueCallback callback, void* data, uint32_t, uint32_t, hsa_queue_t** out) {
  return create_queue(agent, packets, type, callback, data, true, out);
}
hsa_status_t hsa_amd_queue_intercept_register(hsa_queue_t* handle, hsa_amd_queue_intercept_handler handler,
                                              void* data) {
  return entry([&] {
    if (!handler) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const std::shared_ptr<Queue> queue = queue_of(handle);
    return queue && queue->add_interceptor(handler, data) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
  });
}
// The notifier would be called for queues that the runtime makes for itself. It makes none: copies are no packets.
hsa_status_t hsa_amd_runtime_queue_create_register(hsa_amd_runtime_queue_notifier, void*) {
  return entry([] { return HSA_STATUS_SUCCESS; });
}
WAVEJIT_HSA_API hsa_status_t hsa_soft_queue_create(hsa_region_t, uint32_t, hsa_queue_type32_t, uint32_t, hsa_signal_t,
                                                   hsa_queue_t**) {
  return entry([] { return not_implemented("hsa_soft_queue_create", HSA_STATUS_ERROR_INVALID_QUEUE_CREATION); });
}
WAVEJIT_HSA_API hsa_status_t hsa_queue_destroy(hsa_queue_t* handle) {
  return entry([&] {
    if (!handle) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    std::shared_ptr<Queue> queue;
    {
      const std::lock_guard lock(queues_mutex());
      const auto it = queues().find(handle);
      if (it == queues().end()) return HSA_STATUS_ERROR_INVALID_QUEUE;
      queue = std::move(it->second);
      queues().erase(it);
    }
    queue->finish();
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_queue_inactivate(hsa_queue_t* handle) {
  return entry([&] {
    const std::shared_ptr<Queue> queue = queue_of(handle);
    if (!queue) return HSA_STATUS_ERROR_INVALID_QUEUE;
    queue->inactivate();
    return HSA_STATUS_SUCCESS;
  });
}

// ------------------------------------------------------------------------------------------------ indices

namespace {
amd_queue_t& amd_of(const hsa_queue_t* handle) {
  return *reinterpret_cast<amd_queue_t*>(const_cast<hsa_queue_t*>(handle));
}
}  // namespace

#define WAVEJIT_INDEX_LOAD(suffix, order)                                                  \
  WAVEJIT_HSA_API uint64_t hsa_queue_load_read_index_##suffix(const hsa_queue_t* queue) {  \
    return atomic(amd_of(queue).read_dispatch_id).load(order);                             \
  }                                                                                        \
  WAVEJIT_HSA_API uint64_t hsa_queue_load_write_index_##suffix(const hsa_queue_t* queue) { \
    return atomic(amd_of(queue).write_dispatch_id).load(order);                            \
  }
WAVEJIT_INDEX_LOAD(relaxed, std::memory_order_relaxed)
WAVEJIT_INDEX_LOAD(scacquire, std::memory_order_acquire)

#define WAVEJIT_INDEX_STORE(suffix, order)                                                          \
  WAVEJIT_HSA_API void hsa_queue_store_write_index_##suffix(const hsa_queue_t* queue, uint64_t v) { \
    atomic(amd_of(queue).write_dispatch_id).store(v, order);                                        \
  }                                                                                                 \
  WAVEJIT_HSA_API void hsa_queue_store_read_index_##suffix(const hsa_queue_t* queue, uint64_t v) {  \
    atomic(amd_of(queue).read_dispatch_id).store(v, order);                                         \
  }
WAVEJIT_INDEX_STORE(relaxed, std::memory_order_relaxed)
WAVEJIT_INDEX_STORE(screlease, std::memory_order_release)

#define WAVEJIT_INDEX_CHANGE(suffix, order)                                                                \
  WAVEJIT_HSA_API uint64_t hsa_queue_add_write_index_##suffix(const hsa_queue_t* queue, uint64_t v) {      \
    return atomic(amd_of(queue).write_dispatch_id).fetch_add(v, order);                                    \
  }                                                                                                        \
  WAVEJIT_HSA_API uint64_t hsa_queue_cas_write_index_##suffix(const hsa_queue_t* queue, uint64_t expected, \
                                                              uint64_t v) {                                \
    atomic(amd_of(queue).write_dispatch_id).compare_exchange_strong(expected, v);                          \
    return expected;                                                                                       \
  }
WAVEJIT_INDEX_CHANGE(relaxed, std::memory_order_relaxed)
WAVEJIT_INDEX_CHANGE(scacquire, std::memory_order_acquire)
WAVEJIT_INDEX_CHANGE(screlease, std::memory_order_release)
WAVEJIT_INDEX_CHANGE(scacq_screl, std::memory_order_acq_rel)

// ------------------------------------------------------------------------------------------------ attributes

WAVEJIT_HSA_API hsa_status_t hsa_amd_queue_get_info(hsa_queue_t* handle, hsa_queue_info_attribute_t attribute,
                                                    void* value) {
  return entry([&] {
    const std::shared_ptr<Queue> queue = queue_of(handle);
    if (!queue) return HSA_STATUS_ERROR_INVALID_QUEUE;
    if (!value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch (attribute) {
      case HSA_AMD_QUEUE_INFO_AGENT:
        return give(value, queue->agent().handle());
      case HSA_AMD_QUEUE_INFO_DOORBELL_ID:  // the address of the doorbell's value
        return give(value, reinterpret_cast<uint64_t>(&signal_of(queue->handle()->doorbell_signal)->value));
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t* queue, int) {
  return entry([&] { return queue_of(queue) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE; });
}
// Each queue has a thread; the host's scheduler shares the CPUs among them.
WAVEJIT_HSA_API hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t* queue, hsa_amd_queue_priority_t priority) {
  return entry([&] {
    if (!queue_of(queue)) return HSA_STATUS_ERROR_INVALID_QUEUE;
    return priority <= HSA_AMD_QUEUE_PRIORITY_HIGH ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}
// Masks of compute units mean nothing here: all are taken to be enabled.
WAVEJIT_HSA_API hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t* queue, uint32_t bits, const uint32_t*) {
  return entry([&] {
    if (bits % 32 != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return queue_of(queue) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_queue_cu_get_mask(const hsa_queue_t* queue, uint32_t bits, uint32_t* mask) {
  return entry([&] {
    const std::shared_ptr<Queue> q = queue_of(queue);
    if (!q) return HSA_STATUS_ERROR_INVALID_QUEUE;
    if (!mask || bits % 32 != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < bits / 32; ++i) {
      const uint32_t units = q->agent().board->compute_units, first = 32 * i;
      mask[i] = units >= first + 32 ? UINT32_MAX : units > first ? (1u << (units - first)) - 1 : 0;
    }
    return HSA_STATUS_SUCCESS;
  });
}
