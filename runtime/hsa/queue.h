// User-mode queues: a ring of AQL packets in memory, and a thread that processes them in order.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "runtime/hsa/agent.h"
#include "runtime/hsa/signal.h"
#include "runtime/watchdog.h"

namespace wavejit::hsa {

using QueueCallback = void (*)(hsa_status_t status, hsa_queue_t* source, void* data);

class Queue {
 public:
  // nullptr when out of memory.
  [[nodiscard]] static std::unique_ptr<Queue> create(Agent& agent, uint32_t packets, hsa_queue_type32_t type,
                                                     QueueCallback callback, void* data);
  // Stops the kernel that is running; packets behind it are dropped.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  [[nodiscard]] amd_queue_t& amd() { return *amd_; }
  [[nodiscard]] hsa_queue_t* handle() { return &amd_->hsa_queue; }
  [[nodiscard]] Agent& agent() { return agent_; }
  void inactivate();
  [[nodiscard]] runtime::Cancellation& cancellation() { return cancellation_; }

 private:
  Queue(Agent& agent, QueueCallback callback, void* data) : agent_(agent), callback_(callback), data_(data) {}

  void run();
  // Of the packet at `index`; an error ends the queue.
  [[nodiscard]] hsa_status_t process(uint8_t* packet, uint64_t index);
  [[nodiscard]] hsa_status_t dispatch(const hsa_kernel_dispatch_packet_t& packet, uint64_t index);
  [[nodiscard]] hsa_status_t wait_for(const hsa_barrier_and_packet_t& packet, bool any);
  [[nodiscard]] hsa_status_t vendor_packet(const uint8_t* packet);
  void complete(hsa_signal_t signal, uint64_t start);

  Agent& agent_;
  const QueueCallback callback_;
  void* const data_;
  amd_queue_t* amd_ = nullptr;
  Signal* doorbell_ = nullptr;
  void* memory_ = nullptr;
  size_t memory_bytes_ = 0;
  runtime::Cancellation cancellation_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> active_{true};
  std::thread thread_;
};

[[nodiscard]] Queue* queue_of(const hsa_queue_t* handle);
void destroy_all_queues();

}  // namespace wavejit::hsa
