// User-mode queues: a ring of AQL packets in memory, and a thread that processes them in order. A thread that waits for a
// packet without a time limit processes it itself if the queue's thread has not begun: no thread has to be woken then.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/hsa/agent.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/signal.h"
#include "runtime/launch/watchdog.h"

namespace wavejit::hsa {

// Of a packet's header: HSA_PACKET_TYPE_...
[[nodiscard]] constexpr unsigned packet_type(uint16_t header) {
  return header >> HSA_PACKET_HEADER_TYPE & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

using QueueCallback = void (*)(hsa_status_t status, hsa_queue_t* source, void* data);

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  // nullptr when out of memory.
  [[nodiscard]] static std::shared_ptr<Queue> create(Agent& agent, uint32_t packets, hsa_queue_type32_t type,
                                                     QueueCallback callback, void* data, bool intercepts = false);
  // Stops the kernel that is running; packets behind it are dropped.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  [[nodiscard]] amd_queue_t& amd() { return *amd_; }
  [[nodiscard]] hsa_queue_t* handle() { return &amd_->hsa_queue; }
  [[nodiscard]] Agent& agent() { return agent_; }
  void inactivate();
  // Inactivates it and returns when nobody processes packets any more. A callback that the queue itself has called need not
  // wait for its own end: then another thread does all of that.
  void finish();
  // The kernel of the packet at `index` waits for something, maybe for what the next packet does. That may begin then, on a
  // thread of its own, if it has no barrier bit (HSA Platform System Architecture 1.2, section 2.9.1: packets are launched
  // in order, and complete in any).
  void begin_next(uint64_t index);

  // For queues that are made to be intercepted: packets go through `handler` before they are processed. The handler that
  // was added last is called first, on the queue's thread. False for other queues.
  [[nodiscard]] bool add_interceptor(hsa_amd_queue_intercept_handler handler, void* data);

  // Whether the thread need not be woken for the packet that the doorbell has been rung for: it will look by itself
  // soon, and few packets wait.
  [[nodiscard]] bool will_look() const;
  void wake() { doorbell_->wake(); }
  // Whether there is a packet that has not been processed, or not to its end.
  [[nodiscard]] bool has_packet() const;
  // Processes packets up to the one that completes `signal`, until the condition holds, or until none is left that the
  // calling thread can process at once. Returns whether it is better to sleep than to wait awake for the condition,
  // because the queue's thread wants this CPU.
  [[nodiscard]] bool help(Signal& signal, hsa_signal_condition_t condition, int64_t compare);

 private:
  struct alignas(64) Packet : std::array<uint8_t, 64> {};
  struct Interceptor {
    hsa_amd_queue_intercept_handler function;
    void* data;
  };
  class Interception;
  // A packet that is processed before it is at the front.
  struct Ahead {
    explicit Ahead(uint64_t index) : index(index) {}
    const uint64_t index;
    runtime::Cancellation cancellation;
    hsa_status_t status = HSA_STATUS_SUCCESS;
    std::thread thread;
  };

  Queue(Agent& agent, QueueCallback callback, void* data, bool intercepts)
      : agent_(agent), callback_(callback), data_(data), intercepts_(intercepts) {}

  void run();
  [[nodiscard]] uint8_t* packet_at(uint64_t index) const;
  [[nodiscard]] bool has_packet_at(uint64_t index) const;
  [[nodiscard]] bool is_stopped() const { return stop_.load(std::memory_order_acquire); }
  // Processes the packet at the front. Returns false when there will be no other: after an error, or after stop_.
  // processing_ must be held.
  bool process_front();
  // The same for queues that are intercepted: hands all packets to the handlers, and processes one of what they give back.
  bool process_intercepted();
  // Packets that have been through all handlers.
  void accept(const void* packets, uint64_t count);
  // Takes the packet at the front from the ring.
  void consume(uint64_t index);
  // Of the packet at `index`; an error ends the queue.
  [[nodiscard]] hsa_status_t process(uint8_t* packet, uint64_t index);
  // Whether there is a packet that completes the signal, and what is before it are dispatches and barriers.
  [[nodiscard]] bool completes(const Signal& signal) const;
  [[nodiscard]] static bool can_begin(const uint8_t* packet);
  [[nodiscard]] hsa_status_t dispatch(const hsa_kernel_dispatch_packet_t& packet, uint64_t index,
                                      runtime::Cancellation& cancellation);
  [[nodiscard]] std::unique_ptr<Ahead> take_ahead(uint64_t index);
  [[nodiscard]] hsa_status_t wait_for(const hsa_barrier_and_packet_t& packet, bool any);
  [[nodiscard]] hsa_status_t vendor_packet(const uint8_t* packet);
  void complete(hsa_signal_t signal, uint64_t start);

  Agent& agent_;
  const QueueCallback callback_;
  void* const data_;
  const bool intercepts_;
  amd_queue_t* amd_ = nullptr;
  Signal* doorbell_ = nullptr;
  void* memory_ = nullptr;
  size_t memory_bytes_ = 0;
  runtime::Cancellation cancellation_;
  std::mutex processing_;
  std::atomic<uint64_t> index_{0};  // of the packet at the front; changed under processing_
  std::mutex ahead_mutex_;
  std::deque<std::unique_ptr<Ahead>> ahead_;  // of the packets behind the one at the front, in their order
  std::mutex interceptors_mutex_;
  std::vector<Interceptor> interceptors_;
  std::deque<Packet> rewritten_;  // what the handlers gave back, not processed yet; of the queue's thread
  uint64_t rewritten_count_ = 0;  // in all
  // What ended the queue. Its own thread calls back.
  std::atomic<hsa_status_t> error_{HSA_STATUS_SUCCESS};
  std::atomic<bool> helped_{false};      // another thread processes packets
  std::atomic<bool> attentive_{false};   // the thread sleeps, but for kAttention at most
  std::atomic<int> cpu_{-1};             // that the thread has been on last
  std::atomic<int64_t> last_packet_{0};  // when one was processed, in ticks of Clock
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// The calling thread has rung the queue's doorbell: the thread is woken if it has to be.
void rung(Signal& doorbell);
// Wakes the thread of the queue that the calling thread has rung last, if that has not been done yet.
void wake_unnoticed();
// Returns true if the calling thread has rung a doorbell and nobody has been woken for that.
[[nodiscard]] bool has_unnoticed();
// Returns true if the calling thread has rung a doorbell, nobody has been woken for that, and it has not asked for this
// signal since.
[[nodiscard]] bool is_first_poll(const Signal& signal);
// The calling thread is going to wait for the signal. `may_help`: it need not do anything before the condition holds.
// See Queue::help().
[[nodiscard]] bool help_before_wait(Signal& signal, hsa_signal_condition_t condition, int64_t compare, bool may_help);

[[nodiscard]] std::shared_ptr<Queue> queue_of(const hsa_queue_t* handle);
void destroy_all_queues();
// Returns when no queue has a packet any more, or after `limit`.
void settle_queues(std::chrono::milliseconds limit);

}  // namespace wavejit::hsa
