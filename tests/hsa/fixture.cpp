#include "fixture.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace wavejit::test {

void HsaTest::SetUp() {
  HSA(hsa_init());
  HSA(hsa_iterate_agents(
      [](hsa_agent_t agent, void* data) {
        auto* test = static_cast<HsaTest*>(data);
        hsa_device_type_t type;
        const hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        if (status == HSA_STATUS_SUCCESS) (type == HSA_DEVICE_TYPE_GPU ? test->gpu_ : test->cpu_) = agent;
        return status;
      },
      this));
  const auto first_pool = [](hsa_amd_memory_pool_t pool, void* data) {
    bool allowed = false;
    const hsa_status_t status =
        hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allowed);
    auto* wanted = static_cast<hsa_amd_memory_pool_t*>(data);
    if (status == HSA_STATUS_SUCCESS && allowed && wanted->handle == 0) *wanted = pool;
    return status;
  };
  HSA(hsa_amd_agent_iterate_memory_pools(gpu_, first_pool, &device_pool_));
  HSA(hsa_amd_agent_iterate_memory_pools(cpu_, first_pool, &host_pool_));

  code_ = code_object("kernels");
  hsa_code_object_reader_t reader;
  HSA(hsa_code_object_reader_create_from_memory(code_.data(), code_.size(), &reader));
  HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable_));
  HSA(hsa_executable_load_agent_code_object(executable_, gpu_, reader, nullptr, nullptr));
  HSA(hsa_code_object_reader_destroy(reader));
  HSA(hsa_executable_freeze(executable_, nullptr));
}

std::vector<uint8_t> HsaTest::code_object(const char* name) {
  std::ifstream file(std::string(WAVEJIT_HSA_TEST_FOLDER "/") + name + ".co", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void HsaTest::TearDown() {
  for (hsa_queue_t* queue : queues_) EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
  for (const hsa_signal_t s : signals_) EXPECT_EQ(hsa_signal_destroy(s), HSA_STATUS_SUCCESS);
  for (void* memory : memory_) EXPECT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_destroy(executable_), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
}

hsa_queue_t* HsaTest::make_queue(uint32_t packets) {
  hsa_queue_t* queue = nullptr;
  EXPECT_EQ(hsa_queue_create(
                gpu_, packets, HSA_QUEUE_TYPE_MULTI,
                [](hsa_status_t status, hsa_queue_t* source, void* data) {
                  auto* error = static_cast<QueueError*>(data);
                  error->status = status;
                  error->queue = source;  // last: it is what fails() looks at
                },
                &error_, UINT32_MAX, UINT32_MAX, &queue),
            HSA_STATUS_SUCCESS);
  queues_.push_back(queue);
  return queue;
}

KernelObject HsaTest::kernel(hsa_executable_t executable, const char* name) {
  KernelObject kernel;
  hsa_executable_symbol_t symbol;
  EXPECT_EQ(hsa_executable_get_symbol_by_name(executable, (std::string(name) + ".kd").c_str(), &gpu_, &symbol),
            HSA_STATUS_SUCCESS);
  const auto get = [&](hsa_executable_symbol_info_t attribute, void* value) {
    EXPECT_EQ(hsa_executable_symbol_get_info(symbol, attribute, value), HSA_STATUS_SUCCESS);
  };
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernel.kernarg_bytes);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_bytes);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.private_bytes);
  return kernel;
}

void* HsaTest::allocate(size_t bytes, bool device) {
  void* memory = nullptr;
  EXPECT_EQ(hsa_amd_memory_pool_allocate(device ? device_pool_ : host_pool_, bytes, 0, &memory), HSA_STATUS_SUCCESS);
  const std::lock_guard lock(mutex_);
  memory_.push_back(memory);
  return memory;
}

hsa_signal_t HsaTest::signal(hsa_signal_value_t value) {
  hsa_signal_t s{};
  EXPECT_EQ(hsa_signal_create(value, 0, nullptr, &s), HSA_STATUS_SUCCESS);
  signals_.push_back(s);
  return s;
}

uint64_t HsaTest::write_packet(hsa_queue_t* queue, uint16_t header, const void* packet) {
  const uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
  }
  auto* slot = static_cast<uint8_t*>(queue->base_address) + 64 * (index % queue->size);
  std::memcpy(slot + 2, static_cast<const uint8_t*>(packet) + 2, 62);
  std::atomic_ref(*reinterpret_cast<uint16_t*>(slot)).store(header, std::memory_order_release);
  return index;
}

uint64_t HsaTest::dispatch(hsa_queue_t* queue, const KernelObject& kernel, uint32_t items,
                           std::vector<uint64_t> arguments, hsa_signal_t completion, bool ring, bool barrier) {
  hsa_kernel_dispatch_packet_t packet{};
  packet.setup = 1;
  packet.workgroup_size_x = 64;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = items;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.private_segment_size = kernel.private_bytes;
  packet.group_segment_size = kernel.group_bytes;
  packet.kernel_object = kernel.object;
  packet.kernarg_address = allocate(kernel.kernarg_bytes + 256, false);
  std::ranges::copy(arguments, static_cast<uint64_t*>(packet.kernarg_address));
  packet.completion_signal = completion;
  const auto header = static_cast<uint16_t>(HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                                            (barrier ? 1 << HSA_PACKET_HEADER_BARRIER : 0));
  const uint64_t index = write_packet(queue, header, &packet);
  if (ring) hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  return index;
}

bool HsaTest::completes(hsa_signal_t signal) {
  return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 0, std::chrono::nanoseconds(kPatience).count(),
                                   HSA_WAIT_STATE_BLOCKED) == 0;
}

}  // namespace wavejit::test
