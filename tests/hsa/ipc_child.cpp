// The other process of ipc_test.cpp, memory_test.cpp and virtual_memory_test.cpp. Arguments: "memory" and a descriptor of
// memory; "attach" and the handle of 12,288 bytes of memory; or the handles of three signals, `ping`, `pong` and `last`.
// Handles are in hexadecimal digits. What it does is told by the numbers it stores
// in `pong`; its exit status is the step that failed.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/hsa/newer_api.h"

namespace {

constexpr uint64_t kPatience = 50'000'000'000;

template <typename Handle>
Handle handle_of(const char* text) {
  Handle handle;
  for (size_t i = 0; i < sizeof handle; ++i)
    reinterpret_cast<uint8_t*>(&handle)[i] =
        static_cast<uint8_t>(std::strtoul(std::string(text + 2 * i, 2).c_str(), nullptr, 16));
  return handle;
}

hsa_signal_t attach(const char* text) {
  const auto handle = handle_of<hsa_amd_ipc_signal_t>(text);
  hsa_signal_t signal{};
  if (hsa_amd_ipc_signal_attach(&handle, &signal) != HSA_STATUS_SUCCESS) std::exit(10);
  return signal;
}

bool becomes(hsa_signal_t signal, hsa_signal_value_t value) {
  return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, value, kPatience, HSA_WAIT_STATE_BLOCKED) == value;
}

hsa_status_t first_gpu(hsa_agent_t agent, void* data) {
  hsa_device_type_t type;
  const hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (status != HSA_STATUS_SUCCESS || type != HSA_DEVICE_TYPE_GPU) return status;
  *static_cast<hsa_agent_t*>(data) = agent;
  return HSA_STATUS_INFO_BREAK;
}

// Whether the pool is one of the device with this number in the driver's topology.
bool belongs_to(hsa_amd_memory_pool_t pool, uint32_t node) {
  struct Search {
    hsa_amd_memory_pool_t pool;
    uint32_t node;
    bool found;
  } search{pool, node, false};
  (void)hsa_iterate_agents(
      [](hsa_agent_t agent, void* data) {
        uint32_t number = 0;
        const hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_NODE, &number);
        if (status != HSA_STATUS_SUCCESS || number != static_cast<Search*>(data)->node) return status;
        return hsa_amd_agent_iterate_memory_pools(
            agent,
            [](hsa_amd_memory_pool_t candidate, void* wanted) {
              auto& s = *static_cast<Search*>(wanted);
              s.found = s.found || candidate.handle == s.pool.handle;
              return HSA_STATUS_SUCCESS;
            },
            data);
      },
      &search);
  return search.found;
}

}  // namespace

// Maps memory that the other process has exported as descriptor `file`, reads 42 and answers with 43.
static int use_memory(int file) {
  constexpr size_t kBytes = 2 << 20;
  hsa_agent_t gpu{};
  (void)hsa_iterate_agents(first_gpu, &gpu);
  hsa_amd_vmem_alloc_handle_t handle{};
  hsa_amd_memory_pool_t pool{};
  hsa_amd_memory_type_t type{};
  void* address = nullptr;
  const hsa_amd_memory_access_desc_t access{HSA_ACCESS_PERMISSION_RW, gpu};
  if (hsa_amd_vmem_import_shareable_handle(file, &handle) != HSA_STATUS_SUCCESS) return 20;
  if (hsa_amd_vmem_get_alloc_properties_from_handle(handle, &pool, &type) != HSA_STATUS_SUCCESS) return 21;
  if (!belongs_to(pool, 1) || type != MEMORY_TYPE_PINNED) return 22;
  if (hsa_amd_vmem_address_reserve(&address, kBytes, 0, 0) != HSA_STATUS_SUCCESS) return 23;
  if (hsa_amd_vmem_map(address, kBytes, 0, handle, 0) != HSA_STATUS_SUCCESS) return 24;
  if (hsa_amd_vmem_set_access(address, kBytes, &access, 1) != HSA_STATUS_SUCCESS) return 25;
  auto* value = static_cast<std::atomic<uint32_t>*>(address);
  if (value->load() != 42) return 26;
  value->store(43);
  if (hsa_amd_vmem_unmap(address, kBytes) != HSA_STATUS_SUCCESS) return 27;
  if (hsa_amd_vmem_handle_release(handle) != HSA_STATUS_SUCCESS) return 28;
  if (hsa_amd_vmem_address_free(address, kBytes) != HSA_STATUS_SUCCESS) return 29;
  return hsa_shut_down() == HSA_STATUS_SUCCESS ? 0 : 30;
}

// Reads what the other process has written, and answers with 77.
static int attach_memory(const char* text) {
  const auto handle = handle_of<hsa_amd_ipc_memory_t>(text);
  hsa_agent_t gpu{};
  (void)hsa_iterate_agents(first_gpu, &gpu);
  void* attached = nullptr;
  if (hsa_amd_ipc_memory_attach(&handle, 12'288, 1, &gpu, &attached) != HSA_STATUS_SUCCESS) return 40;
  auto* seen = static_cast<uint32_t*>(attached);
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  if (hsa_amd_pointer_info(seen, &info, nullptr, nullptr, nullptr) != HSA_STATUS_SUCCESS) return 41;
  if (seen[2499] != 2 || info.type != HSA_EXT_POINTER_TYPE_IPC) return 42;
  seen[0] = 77;
  return hsa_amd_ipc_memory_detach(seen) == HSA_STATUS_SUCCESS ? 0 : 43;
}

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "attach") == 0 && hsa_init() == HSA_STATUS_SUCCESS)
    return attach_memory(argv[2]);
  if (argc == 3 && std::strcmp(argv[1], "memory") == 0 && hsa_init() == HSA_STATUS_SUCCESS)
    return use_memory(std::atoi(argv[2]));
  if (argc != 4 || hsa_init() != HSA_STATUS_SUCCESS) return 9;
  hsa_signal_t ping = attach(argv[1]);
  const hsa_signal_t pong = attach(argv[2]), last = attach(argv[3]);
  hsa_signal_store_screlease(pong, 1);
  // A thread that sleeps on the signal, and one that watches several.
  if (!becomes(ping, 2)) return 2;
  hsa_signal_add_screlease(pong, 1);
  hsa_signal_t both[] = {last, ping};
  hsa_signal_condition_t conditions[] = {HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_GTE};
  hsa_signal_value_t values[] = {0, 3};
  if (hsa_amd_signal_wait_any(2, both, conditions, values, kPatience, HSA_WAIT_STATE_BLOCKED, nullptr) != 1) return 3;
  hsa_signal_store_screlease(pong, 3);
  // A handler.
  if (hsa_amd_signal_async_handler(
          ping, HSA_SIGNAL_CONDITION_EQ, 4,
          [](hsa_signal_value_t, void* data) {
            hsa_signal_store_screlease(*static_cast<hsa_signal_t*>(data), 4);
            return false;
          },
          const_cast<hsa_signal_t*>(&pong)) != HSA_STATUS_SUCCESS)
    return 4;
  if (!becomes(pong, 4)) return 4;
  // A queue that waits for the one and completes the other.
  hsa_agent_t gpu{};
  hsa_queue_t* queue = nullptr;
  if (hsa_iterate_agents(first_gpu, &gpu) != HSA_STATUS_INFO_BREAK ||
      hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue) != HSA_STATUS_SUCCESS)
    return 5;
  hsa_barrier_and_packet_t packet{};
  packet.dep_signal[0] = ping;
  packet.completion_signal = last;
  const uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
  auto* slot = static_cast<hsa_barrier_and_packet_t*>(queue->base_address) + index;
  std::memcpy(reinterpret_cast<uint8_t*>(slot) + 2, reinterpret_cast<uint8_t*>(&packet) + 2, sizeof packet - 2);
  __atomic_store_n(&slot->header, HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  hsa_signal_store_screlease(pong, 5);
  if (!becomes(last, 0)) return 6;
  if (hsa_queue_destroy(queue) != HSA_STATUS_SUCCESS) return 6;
  // The other process has destroyed its `ping`. Here it lives until it is destroyed here, too.
  if (!becomes(pong, 6)) return 7;
  hsa_signal_store_screlease(ping, 7);
  if (hsa_signal_load_scacquire(ping) != 7) return 7;
  if (hsa_signal_destroy(ping) != HSA_STATUS_SUCCESS) return 8;
  if (hsa_signal_destroy(ping) != HSA_STATUS_ERROR_INVALID_SIGNAL) return 8;
  hsa_signal_store_screlease(pong, 7);
  if (hsa_signal_destroy(pong) != HSA_STATUS_SUCCESS || hsa_signal_destroy(last) != HSA_STATUS_SUCCESS) return 8;
  return hsa_shut_down() == HSA_STATUS_SUCCESS ? 0 : 8;
}
