// Ends with a packet on its way whose handler takes 50 ms. Exit status 0: the handler has ended before what was there when
// main() began is destroyed.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

std::atomic<bool> handled{false};

struct Destroyed {
  ~Destroyed() { _exit(handled ? 0 : 1); }
} destroyed;

hsa_status_t find_gpu(hsa_agent_t agent, void* data) {
  hsa_device_type_t type{};
  (void)hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_agent_t*>(data) = agent;
  return HSA_STATUS_INFO_BREAK;
}

bool handle(hsa_signal_value_t, void*) {
  usleep(50'000);
  handled = true;
  return false;
}

}  // namespace

int main() {
  hsa_agent_t gpu{};
  hsa_queue_t* queue = nullptr;
  hsa_signal_t signal{};
  if (hsa_init() != HSA_STATUS_SUCCESS || hsa_iterate_agents(find_gpu, &gpu) != HSA_STATUS_INFO_BREAK ||
      hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue) !=
          HSA_STATUS_SUCCESS ||
      hsa_signal_create(1, 0, nullptr, &signal) != HSA_STATUS_SUCCESS ||
      hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, handle, nullptr) != HSA_STATUS_SUCCESS)
    _exit(2);
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  auto& packet = static_cast<hsa_barrier_and_packet_t*>(queue->base_address)[index];
  packet.completion_signal = signal;
  std::atomic_ref(packet.header)
      .store(HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE, std::memory_order_release);
  hsa_signal_store_relaxed(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  std::exit(3);
}
