// Queues whose packets go through handlers of tools before they are processed (hsa_amd_queue_intercept_*).
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <cstring>

#include "runtime/hsa/queue.h"
#include "runtime/hsa/status.h"

namespace wavejit::hsa {
namespace {

// amd_aql_intercept_marker_t (hsa_api_trace.h): a vendor packet that is not processed; its callback is told the index that
// the packet behind it will have.
struct Marker {
  uint16_t header;
  uint8_t format;
  uint8_t reserved[5];
  void (*callback)(const Marker* packet, hsa_queue_t* queue, uint64_t index);
  uint64_t user_data[6];
};
static_assert(sizeof(Marker) == 64);
constexpr uint8_t kMarkerFormat = 0xfe;

}  // namespace

// Calls the handlers of a queue, each through the writer that the one before it is given.
class Queue::Interception {
 public:
  Interception(Queue& queue, std::vector<Interceptor> handlers, uint64_t index)
      : queue_(queue), handlers_(std::move(handlers)), index_(index), before_(current) {
    current = this;
  }
  ~Interception() { current = before_; }
  Interception(const Interception&) = delete;
  Interception& operator=(const Interception&) = delete;

  void call(const void* packets, uint64_t count) {
    if (level_ == handlers_.size()) {
      queue_.accept(packets, count);
      return;
    }
    const Interceptor& handler = handlers_[handlers_.size() - 1 - level_];
    ++level_;
    handler.function(packets, count, index_, handler.data, [](const void* p, uint64_t n) {
      if (current) current->call(p, n);
    });
    --level_;
  }

 private:
  Queue& queue_;
  const std::vector<Interceptor> handlers_;
  const uint64_t index_;
  size_t level_ = 0;
  Interception* const before_;
  static thread_local Interception* current;  // a writer has no argument that would say whose it is
};
thread_local Queue::Interception* Queue::Interception::current = nullptr;

bool Queue::add_interceptor(hsa_amd_queue_intercept_handler handler, void* data) {
  if (!intercepts_) return false;
  const std::lock_guard lock(interceptors_mutex_);
  interceptors_.push_back({handler, data});
  return true;
}

void Queue::accept(const void* packets, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    Packet packet;
    std::memcpy(packet.data(), static_cast<const uint8_t*>(packets) + i * packet.size(), packet.size());
    Marker marker;
    std::memcpy(static_cast<void*>(&marker), packet.data(), sizeof marker);
    if (packet_type(marker.header) == HSA_PACKET_TYPE_VENDOR_SPECIFIC && marker.format == kMarkerFormat) {
      if (marker.callback) marker.callback(&marker, handle(), rewritten_count_);
      continue;
    }
    rewritten_.push_back(packet);
    ++rewritten_count_;
  }
}

bool Queue::process_intercepted() {
  // All that are there: handlers see packets when they are submitted, while the ones before them run or wait.
  for (uint64_t index = index_.load(std::memory_order_relaxed); has_packet_at(index) && !is_stopped(); ++index) {
    std::vector<Interceptor> handlers;
    {
      const std::lock_guard lock(interceptors_mutex_);
      handlers = interceptors_;
    }
    Interception(*this, std::move(handlers), index).call(packet_at(index), 1);
    consume(index);
  }
  if (rewritten_.empty()) return true;
  Packet packet = rewritten_.front();
  rewritten_.pop_front();
  const hsa_status_t status = process(packet.data(), rewritten_count_ - rewritten_.size() - 1);
  if (is_stopped()) return false;
  if (status == HSA_STATUS_SUCCESS) return true;
  error_.store(status, std::memory_order_release);
  return false;
}

}  // namespace wavejit::hsa
