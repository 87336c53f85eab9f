// A tool that intercepts all queues of the program, as profilers do. It is built with the public header of tables where that
// is new enough; ROCm 5.2 had other ones.
#define AMD_INTERNAL_BUILD  // headers beside each other, as they are installed
#include <hsa/hsa_api_trace.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#if HSA_API_TABLE_MAJOR_VERSION >= 3
using Table = HsaApiTable;
#else
#include "runtime/hsa/api_table.h"
using Table = wavejit::hsa::ApiTable;
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Seen {
  uint64_t packets, dispatches, last_index, inner_packets, markers, marker_index;
} seen;

Table* tables = nullptr;

// Called second: sees what the other handler writes.
void inner(const void* packets, uint64_t count, uint64_t, void* data, hsa_amd_queue_intercept_packet_writer writer) {
  *static_cast<uint64_t*>(data) += count;
  writer(packets, count);
}

struct Marker {
  uint16_t header;
  uint8_t format, reserved[5];
  void (*callback)(const Marker*, hsa_queue_t*, uint64_t);
  uint64_t user_data[6];
};

// Called first: puts a marker before each dispatch, and writes dispatches of an odd index twice when asked to.
void outer(const void* packets, uint64_t count, uint64_t index, void*, hsa_amd_queue_intercept_packet_writer writer) {
  static const bool doubles = std::getenv("QUEUE_TOOL_DOUBLES") != nullptr;
  if (std::getenv("QUEUE_TOOL_THROWS") != nullptr) throw std::runtime_error("the tool cannot go on");
  const auto* list = static_cast<const hsa_kernel_dispatch_packet_t*>(packets);
  for (uint64_t i = 0; i < count; ++i) {
    ++seen.packets;
    seen.last_index = index + i;
    if ((list[i].header & 0xff) != HSA_PACKET_TYPE_KERNEL_DISPATCH) {
      writer(&list[i], 1);
      continue;
    }
    ++seen.dispatches;
    Marker marker{};
    marker.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC;
    marker.format = 0xfe;
    marker.user_data[0] = 77;
    marker.callback = [](const Marker* m, hsa_queue_t*, uint64_t at) {
      if (m->user_data[0] == 77) ++seen.markers;
      seen.marker_index = at;
    };
    writer(&marker, 1);
    hsa_kernel_dispatch_packet_t copy = list[i];
    if (doubles && (index + i) % 2 == 1) {
      copy.completion_signal.handle = 0;  // the second one completes
      writer(&copy, 1);
    }
    writer(&list[i], 1);
  }
}

hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                    void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, uint32_t private_bytes,
                    uint32_t group_bytes, hsa_queue_t** queue) {
  const hsa_status_t status = tables->amd_ext_->hsa_amd_queue_intercept_create_fn(agent, size, type, callback, data,
                                                                                  private_bytes, group_bytes, queue);
  if (status != HSA_STATUS_SUCCESS) return status;
  tables->amd_ext_->hsa_amd_queue_intercept_register_fn(*queue, inner, &seen.inner_packets);
  return tables->amd_ext_->hsa_amd_queue_intercept_register_fn(*queue, outer, nullptr);
}

}  // namespace

EXPORT bool OnLoad(Table* table, uint64_t, uint64_t, const char* const*) {
  tables = table;
  table->core_->hsa_queue_create_fn = create;
  seen = {};
  return true;
}
EXPORT void OnUnload() {}
EXPORT const uint64_t* seen_packets() {
  return &seen.packets;
}
