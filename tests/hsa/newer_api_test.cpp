// Functions and attributes that came after ROCm 5.2. Attributes are asked by their numbers, which are those of the headers
// of ROCm 7.2.
#include "runtime/hsa/newer_api.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <numeric>
#include <thread>

#include "fixture.h"

namespace wavejit::test {
namespace {

template <typename T>
T info(hsa_agent_t agent, uint32_t attribute) {
  struct {
    T value;
    uint8_t behind[64];
  } answer;
  std::memset(static_cast<void*>(&answer), 0xab, sizeof answer);
  EXPECT_EQ(hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &answer.value), HSA_STATUS_SUCCESS)
      << std::hex << attribute;
  for (const uint8_t byte : answer.behind) EXPECT_EQ(byte, 0xab) << std::hex << attribute;
  return answer.value;
}

TEST_F(HsaTest, AttributesOfAgents) {
  EXPECT_EQ(info<uint64_t>(gpu_, 0xA016), 100'000'000u);           // TIMESTAMP_FREQUENCY
  EXPECT_EQ(info<uint32_t>(gpu_, 0xA107), 141u);                   // ASIC_FAMILY_ID: AI
  EXPECT_EQ(info<uint32_t>(gpu_, 0xA108), 0u);                     // UCODE_VERSION
  EXPECT_EQ(info<uint32_t>(gpu_, 0xA109), 0u);                     // SDMA_UCODE_VERSION
  EXPECT_EQ(info<uint32_t>(gpu_, 0xA10A), 2u);                     // NUM_SDMA_ENG
  EXPECT_EQ(info<uint32_t>(gpu_, 0xA10B), 0u);                     // NUM_SDMA_XGMI_ENG
  EXPECT_EQ(info<uint32_t>(gpu_, 0xA110), 0u);                     // IOMMU_SUPPORT
  EXPECT_EQ(info<uint32_t>(gpu_, 0xA111), 1u);                     // NUM_XCC
  EXPECT_EQ(info<hsa_agent_t>(gpu_, 0xA113).handle, cpu_.handle);  // NEAREST_CPU
  EXPECT_EQ(info<uint64_t>(gpu_, 0xA114), 0u);                     // MEMORY_PROPERTIES
  EXPECT_EQ(info<uint64_t>(gpu_, 0xA115), 0u);                     // AQL_EXTENSIONS
  EXPECT_EQ(info<uint64_t>(gpu_, 0xA116), uint64_t{4} << 30);      // SCRATCH_LIMIT_MAX
  EXPECT_EQ(info<uint64_t>(gpu_, 0xA117), 0u);                     // SCRATCH_LIMIT_CURRENT
  EXPECT_EQ(info<uint32_t>(cpu_, 0xA10A), 0u);
  EXPECT_EQ(info<uint32_t>(cpu_, 0xA111), 0u);
  EXPECT_EQ(info<hsa_agent_t>(cpu_, 0xA113).handle, 0u);
  EXPECT_EQ(info<uint64_t>(cpu_, 0xA116), 0u);
  EXPECT_NE(info<uint32_t>(gpu_, 0xA112), 0u);  // DRIVER_UID
  EXPECT_EQ(info<uint32_t>(cpu_, 0xA112), 0u);
  const auto before = info<hsa_amd_clock_counters_t>(gpu_, 0xA118),
             after = info<hsa_amd_clock_counters_t>(gpu_, 0xA118);
  EXPECT_LT(before.gpu_clock_counter, after.gpu_clock_counter);
  EXPECT_EQ(after.system_clock_frequency, 1'000'000'000u);
  // Limits of images: two numbers, or three, also for the host.
  EXPECT_EQ((info<std::array<uint32_t, 2>>(cpu_, 0x3003)), (std::array<uint32_t, 2>{0, 0}));
  EXPECT_EQ((info<std::array<uint32_t, 3>>(cpu_, 0x3007)), (std::array<uint32_t, 3>{0, 0, 0}));
  uint64_t value;
  EXPECT_EQ(hsa_agent_get_info(gpu_, static_cast<hsa_agent_info_t>(0xA119), &value), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(HsaTest, AvailableMemoryIsWhatIsNotAllocated) {
  constexpr size_t kBytes = 5 << 20;
  const uint64_t before = info<uint64_t>(gpu_, 0xA015);
  size_t pool_bytes = 0;
  HSA(hsa_amd_memory_pool_get_info(device_pool_, HSA_AMD_MEMORY_POOL_INFO_SIZE, &pool_bytes));
  EXPECT_LE(before, pool_bytes);
  void* memory = nullptr;
  HSA(hsa_amd_memory_pool_allocate(device_pool_, kBytes, 0, &memory));
  EXPECT_EQ(info<uint64_t>(gpu_, 0xA015), before - kBytes);
  HSA(hsa_amd_memory_pool_free(memory));
  EXPECT_EQ(info<uint64_t>(gpu_, 0xA015), before);
}

TEST_F(HsaTest, AttributesOfTheSystem) {
  const auto get = [](uint32_t attribute, auto value) {
    EXPECT_EQ(hsa_system_get_info(static_cast<hsa_system_info_t>(attribute), &value), HSA_STATUS_SUCCESS) << attribute;
    return value;
  };
  EXPECT_STREQ(get(0x200, static_cast<const char*>(nullptr)), "wavejit");  // BUILD_VERSION
  EXPECT_FALSE(get(0x203, true));                                          // MWAITX_ENABLED
  EXPECT_TRUE(get(0x204, false));                                          // DMABUF_SUPPORTED
  EXPECT_TRUE(get(0x205, false));                                          // VIRTUAL_MEM_API_SUPPORTED
  EXPECT_FALSE(get(0x206, true));                                          // XNACK_ENABLED
  EXPECT_EQ(get(0x207, uint16_t{0}), 1u);                                  // EXT_VERSION_MAJOR
  EXPECT_EQ(get(0x208, uint16_t{0}), 15u);                                 // EXT_VERSION_MINOR
}

TEST_F(HsaTest, AttributesOfPoolsAndSymbols) {
  const auto get = [](hsa_amd_memory_pool_t pool, uint32_t attribute, auto value) {
    EXPECT_EQ(hsa_amd_memory_pool_get_info(pool, static_cast<hsa_amd_memory_pool_info_t>(attribute), &value),
              HSA_STATUS_SUCCESS);
    return value;
  };
  EXPECT_EQ(get(device_pool_, 17, ~0u), 1u);  // LOCATION: the GPU
  EXPECT_EQ(get(host_pool_, 17, ~0u), 0u);
  EXPECT_EQ(get(device_pool_, 18, size_t{0}), size_t{2} << 20);  // RUNTIME_ALLOC_REC_GRANULE
  EXPECT_EQ(get(host_pool_, 18, size_t{0}), 4096u);
  hsa_executable_symbol_t symbol;
  HSA(hsa_executable_get_symbol_by_name(executable_, "add.kd", &gpu_, &symbol));
  uint32_t wavefront = 0;
  HSA(hsa_executable_symbol_get_info(symbol, static_cast<hsa_executable_symbol_info_t>(19), &wavefront));
  EXPECT_EQ(wavefront, 64u);
}

TEST_F(HsaTest, CopiesOnEngines) {
  constexpr size_t kCount = 1 << 20;
  auto* from = static_cast<uint32_t*>(allocate(kCount * 4, false));
  auto* to = static_cast<uint32_t*>(allocate(kCount * 4));
  std::iota(from, from + kCount, 0u);
  uint32_t to_device = 0, from_device = 0, preferred = 0;
  HSA(hsa_amd_memory_copy_engine_status(gpu_, cpu_, &to_device));
  HSA(hsa_amd_memory_copy_engine_status(cpu_, gpu_, &from_device));
  HSA(hsa_amd_memory_get_preferred_copy_engine(gpu_, cpu_, &preferred));
  EXPECT_EQ(to_device, 1u);
  EXPECT_EQ(from_device, 2u);
  EXPECT_EQ(preferred, to_device);
  EXPECT_EQ(hsa_amd_memory_copy_engine_status(gpu_, gpu_, &to_device), HSA_STATUS_ERROR_INVALID_AGENT);

  const auto copy = [&](hsa_signal_t after, hsa_signal_t done, uint32_t engines) {
    return hsa_amd_memory_async_copy_on_engine(to, gpu_, from, cpu_, kCount * 4, 1, &after, done,
                                               static_cast<hsa_amd_sdma_engine_id_t>(engines), true);
  };
  const hsa_signal_t after = signal(1), done = signal(1);
  EXPECT_EQ(copy(after, done, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(copy(after, done, 3), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  HSA(copy(after, done, 1));
  uint32_t engines = 77;
  EXPECT_EQ(hsa_amd_memory_copy_engine_status(gpu_, cpu_, &engines), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(engines, 0u);
  EXPECT_EQ(hsa_signal_load_scacquire(done), 1);
  hsa_signal_store_screlease(after, 0);
  ASSERT_TRUE(completes(done));
  EXPECT_EQ(std::memcmp(from, to, kCount * 4), 0);
}

TEST_F(HsaTest, WaitsForAllSignals) {
  hsa_signal_t signals[] = {signal(1), {0}, signal(2)};
  hsa_signal_condition_t conditions[] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_GTE};
  hsa_signal_value_t values[] = {0, 5, 7}, found[] = {-1, -1, -1};
  const auto wait = [&](uint64_t timeout) {
    return hsa_amd_signal_wait_all(3, signals, conditions, values, timeout, HSA_WAIT_STATE_BLOCKED, found);
  };
  hsa_signal_store_relaxed(signals[0], 0);
  EXPECT_EQ(wait(1'000'000), UINT32_MAX);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    hsa_signal_store_screlease(signals[2], 9);
  });
  EXPECT_EQ(wait(50'000'000'000), 0u);
  other.join();
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], 0);
  EXPECT_EQ(found[2], 9);
}

TEST_F(HsaTest, AgentAndDoorbellOfQueues) {
  hsa_queue_t* queue = make_queue();
  hsa_agent_t agent{};
  HSA(hsa_amd_queue_get_info(queue, HSA_AMD_QUEUE_INFO_AGENT, &agent));
  EXPECT_EQ(agent.handle, gpu_.handle);
  uint64_t doorbell = 0;
  volatile hsa_signal_value_t* value = nullptr;
  HSA(hsa_amd_queue_get_info(queue, HSA_AMD_QUEUE_INFO_DOORBELL_ID, &doorbell));
  HSA(hsa_amd_signal_value_pointer(queue->doorbell_signal, &value));
  EXPECT_EQ(doorbell, reinterpret_cast<uint64_t>(value));
  EXPECT_EQ(hsa_amd_queue_get_info(queue, static_cast<hsa_queue_info_attribute_t>(2), &doorbell),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

// The file that stands for an allocation is the memory itself.
TEST_F(HsaTest, DescriptorsOfMemory) {
  auto* memory = static_cast<uint8_t*>(allocate(64 << 10));
  memory[5000] = 42;
  int file = -1;
  uint64_t offset = 0;
  HSA(hsa_amd_portable_export_dmabuf(memory + 4096, 8192, &file, &offset));
  EXPECT_EQ(offset, 4096u);
  void* mapping = mmap(nullptr, 64 << 10, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(mapping, MAP_FAILED);
  EXPECT_EQ(static_cast<uint8_t*>(mapping)[5000], 42);
  static_cast<uint8_t*>(mapping)[5000] = 43;
  EXPECT_EQ(memory[5000], 43);
  munmap(mapping, 64 << 10);
  // The runtime's own second address.
  void* second = nullptr;
  size_t bytes = 0;
  HSA(hsa_amd_interop_map_buffer(1, &gpu_, file, 0, &bytes, &second, nullptr, nullptr));
  EXPECT_EQ(bytes, size_t{64} << 10);
  EXPECT_EQ(static_cast<uint8_t*>(second)[5000], 43);
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  HSA(hsa_amd_pointer_info(second, &info, nullptr, nullptr, nullptr));
  EXPECT_EQ(info.sizeInBytes, bytes);
  EXPECT_EQ(reinterpret_cast<const uint8_t*>(&info)[52], 1);  // registered
  HSA(hsa_amd_interop_unmap_buffer(second));
  EXPECT_EQ(hsa_amd_interop_map_buffer(1, &gpu_, -1, 0, &bytes, &second, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  HSA(hsa_amd_portable_close_dmabuf(file));
  EXPECT_EQ(hsa_amd_portable_close_dmabuf(file), HSA_STATUS_ERROR_RESOURCE_FREE);
  EXPECT_EQ(hsa_amd_portable_export_dmabuf_v2(memory, 65 << 10, &file, &offset, 1),
            HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(hsa_amd_portable_export_dmabuf_v2(memory, 4096, &file, &offset, 2), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_portable_export_dmabuf(allocate(4096, false), 4096, &file, &offset),
            HSA_STATUS_ERROR_INVALID_AGENT);
}

TEST_F(HsaTest, FilesToAndFromDeviceMemory) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  hsa_amd_ais_file_handle_t handle{};
  handle.fd = fileno(file);
  auto* memory = static_cast<uint8_t*>(allocate(4096));
  std::memset(memory, 7, 4096);
  uint64_t copied = 0;
  int32_t error = 1;
  HSA(hsa_amd_ais_file_write(handle, memory, 4096, 100, &copied, &error));
  EXPECT_EQ(copied, 4096u);
  EXPECT_EQ(error, 0);
  std::memset(memory, 0, 4096);
  HSA(hsa_amd_ais_file_read(handle, memory, 4096, 200, &copied, &error));
  EXPECT_EQ(copied, 3996u);  // to the end of the file
  EXPECT_EQ(memory[3995], 7);
  EXPECT_EQ(memory[3996], 0);
  std::fclose(file);
  EXPECT_EQ(hsa_amd_ais_file_read(handle, memory, 4096, 0, &copied, &error), HSA_STATUS_ERROR);
  EXPECT_EQ(error, -EBADF);
  EXPECT_EQ(hsa_amd_ais_file_read(handle, memory, 4097, 0, &copied, &error), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(HsaTest, SamplersWithAModeForEachDimension) {
  hsa_ext_sampler_descriptor_v2_t descriptor{};
  descriptor.coordinate_mode = HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED;
  descriptor.filter_mode = HSA_EXT_SAMPLER_FILTER_MODE_NEAREST;
  descriptor.address_modes[0] = HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT;
  descriptor.address_modes[1] = HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE;
  descriptor.address_modes[2] = HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT;
  hsa_ext_sampler_t sampler{};
  HSA(hsa_ext_sampler_create_v2(gpu_, &descriptor, &sampler));
  EXPECT_EQ(*reinterpret_cast<const uint32_t*>(sampler.handle) & 0x1ff, 0u | 2u << 3 | 1u << 6);
  HSA(hsa_ext_sampler_destroy(gpu_, sampler));
  descriptor.address_modes[2] = 77;
  EXPECT_EQ(hsa_ext_sampler_create_v2(gpu_, &descriptor, &sampler), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

// ROCm's own kernels are launched with more work-items than they were compiled for.
TEST_F(HsaTest, GroupsBeyondTheSizeOfTheMetadata) {
  auto* out = static_cast<uint32_t*>(allocate(512 * 4));
  std::memset(out, 0, 512 * 4);
  const KernelObject code = kernel("small_groups");
  hsa_queue_t* queue = make_queue();
  hsa_kernel_dispatch_packet_t packet{};
  packet.setup = 1;
  packet.workgroup_size_x = 256;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = 512;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = code.object;
  packet.kernarg_address = allocate(code.kernarg_bytes + 256, false);
  *static_cast<void**>(packet.kernarg_address) = out;
  packet.completion_signal = signal(1);
  const uint64_t index = write_packet(queue, HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE, &packet);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  ASSERT_TRUE(completes(packet.completion_signal));
  for (unsigned i = 0; i < 512; ++i) EXPECT_EQ(out[i], 7u) << i;
  EXPECT_EQ(error_.status, HSA_STATUS_SUCCESS);
}

// What is absent says so: no sampler can be made, and device counters cannot be had.
TEST_F(HsaTest, SamplingOfDevices) {
  hsa_ven_amd_pcs_t sampler{};
  EXPECT_EQ(
      hsa_ven_amd_pcs_create(gpu_, HSA_VEN_AMD_PCS_METHOD_HOSTTRAP_V1, HSA_VEN_AMD_PCS_INTERVAL_UNITS_MICRO_SECONDS, 1,
                             1, 4096, nullptr, nullptr, &sampler),
      HSA_STATUS_ERROR);
  EXPECT_EQ(hsa_ven_amd_pcs_start(sampler), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_ven_amd_pcs_iterate_configuration(cpu_, nullptr, nullptr), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(hsa_amd_spm_acquire(gpu_), HSA_STATUS_ERROR);
}

}  // namespace
}  // namespace wavejit::test
