// Memory: what pointers are known as, locked host memory, and memory of other processes.
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fixture.h"

extern char** environ;

namespace wavejit::test {
namespace {

hsa_amd_pointer_info_t info_of(const void* pointer) {
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  EXPECT_EQ(hsa_amd_pointer_info(pointer, &info, nullptr, nullptr, nullptr), HSA_STATUS_SUCCESS);
  return info;
}

TEST_F(HsaTest, ProcessorsHaveNoMemoryOfTheirOwn) {
  const auto info = [](hsa_agent_t agent, hsa_amd_agent_info_t attribute) {
    uint32_t value = ~0u;
    EXPECT_EQ(hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &value), HSA_STATUS_SUCCESS);
    return value;
  };
  for (const auto attribute : {HSA_AMD_AGENT_INFO_MEMORY_WIDTH, HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY}) {
    EXPECT_EQ(info(cpu_, attribute), 0u);
    EXPECT_GT(info(gpu_, attribute), 0u);
  }
}

// Programs of HSA 1.0 look for the memory of kernel arguments among the regions of the device.
TEST_F(HsaTest, RegionsOfADeviceIncludeThoseOfTheHost) {
  const auto regions = [](hsa_agent_t agent) {
    std::vector<uint64_t> all;
    const auto add = [](hsa_region_t region, void* data) {
      static_cast<std::vector<uint64_t>*>(data)->push_back(region.handle);
      return HSA_STATUS_SUCCESS;
    };
    EXPECT_EQ(hsa_agent_iterate_regions(agent, add, &all), HSA_STATUS_SUCCESS);
    return all;
  };
  const std::vector<uint64_t> of_gpu = regions(gpu_), of_cpu = regions(cpu_);
  ASSERT_GT(of_gpu.size(), of_cpu.size());
  EXPECT_TRUE(std::equal(of_cpu.rbegin(), of_cpu.rend(), of_gpu.rbegin()));
  unsigned kernarg = 0;
  for (const uint64_t region : of_gpu) {
    uint32_t flags = 0;
    HSA(hsa_region_get_info({region}, HSA_REGION_INFO_GLOBAL_FLAGS, &flags));
    kernarg += (flags & HSA_REGION_GLOBAL_FLAG_KERNARG) != 0;
  }
  EXPECT_EQ(kernarg, 1u);
  // The callback's status ends the iteration.
  unsigned calls = 0;
  const auto stop = [](hsa_region_t, void* data) {
    ++*static_cast<unsigned*>(data);
    return HSA_STATUS_INFO_BREAK;
  };
  EXPECT_EQ(hsa_agent_iterate_regions(gpu_, stop, &calls), HSA_STATUS_INFO_BREAK);
  EXPECT_EQ(calls, 1u);
}

TEST_F(HsaTest, Allocations) {
  auto* memory = static_cast<uint8_t*>(allocate(1000));
  const hsa_amd_pointer_info_t info = info_of(memory + 999);
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_HSA);
  EXPECT_EQ(info.agentBaseAddress, memory);
  EXPECT_EQ(info.hostBaseAddress, memory);
  EXPECT_EQ(info.sizeInBytes, 1000u);
  EXPECT_EQ(info.agentOwner.handle, gpu_.handle);
  EXPECT_EQ(info_of(memory + 1000).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  memory_.clear();
  EXPECT_EQ(hsa_amd_memory_pool_free(memory + 1), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

// What is registered for devices has a second address; both are the same memory.
TEST_F(HsaTest, RegisteredMemoryHasTwoAddresses) {
  constexpr size_t bytes = 3 * 4096;
  const auto host = std::make_unique<uint32_t[]>(bytes / 4 + 32);
  uint32_t* const middle = host.get() + 16;  // shares its first and last page with the heap
  middle[0] = 41;
  void* agent = nullptr;
  HSA(hsa_amd_memory_lock_to_pool(middle, bytes, nullptr, 0, host_pool_, 0, &agent));
  auto* device = static_cast<uint32_t*>(agent);
  ASSERT_NE(device, middle);
  EXPECT_EQ(device[0], 41u);
  device[1] = 5;
  EXPECT_EQ(middle[1], 5u);
  middle[bytes / 4 - 1] = 6;
  EXPECT_EQ(device[bytes / 4 - 1], 6u);
  EXPECT_EQ(info_of(middle + 3).type, HSA_EXT_POINTER_TYPE_LOCKED);
  EXPECT_EQ(info_of(device + 3).hostBaseAddress, middle);
  EXPECT_EQ(info_of(middle + 3).agentBaseAddress, device);

  // A second part of the same pages.
  void* inner = nullptr;
  const auto more = std::make_unique<uint32_t[]>(64);
  HSA(hsa_amd_memory_lock_to_pool(more.get(), 256, nullptr, 0, host_pool_, 0, &inner));
  static_cast<uint32_t*>(inner)[7] = 8;
  EXPECT_EQ(more[7], 8u);
  HSA(hsa_amd_memory_unlock(more.get()));
  EXPECT_EQ(device[1], 5u);

  // Kernels reach it by either.
  const hsa_signal_t done = signal(2);
  hsa_queue_t* queue = make_queue();
  dispatch(queue, kernel("add"), 64, {reinterpret_cast<uint64_t>(device), 1}, done);
  dispatch(queue, kernel("add"), 64, {reinterpret_cast<uint64_t>(middle), 1}, done);
  ASSERT_TRUE(completes(done));
  EXPECT_EQ(middle[0], 43u);

  // A child has memory of its own.
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    middle[2] = 99;
    _exit(middle[0] == 43 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NE(middle[2], 99u);

  HSA(hsa_amd_memory_unlock(middle));
  EXPECT_EQ(middle[0], 43u);
  EXPECT_EQ(middle[bytes / 4 - 1], 6u);
  EXPECT_EQ(info_of(middle).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(hsa_amd_memory_unlock(middle), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

// The driver pins the pages of locked memory, so each of them has to be mapped.
TEST_F(HsaTest, MemoryThatIsNotMappedCannotBeLocked) {
  constexpr size_t kPage = 4096;
  void* const mapped = mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const memory = static_cast<uint8_t*>(mapped);
  ASSERT_EQ(munmap(memory + kPage, kPage), 0);
  void* agent = nullptr;
  EXPECT_EQ(hsa_amd_memory_lock_to_pool(memory, kPage + 1, nullptr, 0, host_pool_, 0, &agent), HSA_STATUS_ERROR);
  EXPECT_EQ(hsa_amd_memory_lock(memory + 8, 2 * kPage, nullptr, 0, &agent), HSA_STATUS_ERROR);
  EXPECT_EQ(hsa_amd_memory_lock(memory + kPage, 4, nullptr, 0, &agent), HSA_STATUS_ERROR);
  EXPECT_EQ(info_of(memory).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  HSA(hsa_amd_memory_lock(memory + 8, kPage - 8, nullptr, 0, &agent));
  HSA(hsa_amd_memory_unlock(memory + 8));
  munmap(memory, kPage);
  munmap(memory + 2 * kPage, kPage);
}

// No write of another thread to the pages is lost while they are moved.
TEST_F(HsaTest, RegisteringWhileAnotherThreadWrites) {
  constexpr size_t count = 1 << 18;
  const auto memory = std::make_unique<std::atomic<uint64_t>[]>(count);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> rounds{0};
  std::thread writer([&] {
    while (!stop) {
      for (size_t i = 0; i < count; i += 61) memory[i].fetch_add(1, std::memory_order_relaxed);
      ++rounds;
    }
  });
  for (int i = 0; i < 100; ++i) {
    void* agent = nullptr;
    EXPECT_EQ(hsa_amd_memory_lock_to_pool(memory.get(), count * 8, nullptr, 0, host_pool_, 0, &agent),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_amd_memory_unlock(memory.get()), HSA_STATUS_SUCCESS);
  }
  stop = true;
  writer.join();
  for (size_t i = 0; i < count; i += 61) ASSERT_EQ(memory[i], rounds) << i;
}

// What hipMemAdvise says and hipMemRangeGetAttribute asks.
TEST_F(HsaTest, AttributesOfRanges) {
  constexpr size_t kPage = 4096;
  void* const mapped = mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* memory = static_cast<uint8_t*>(mapped);
  const auto set = [&](size_t first, size_t pages, uint64_t attribute, uint64_t value) {
    hsa_amd_svm_attribute_pair_t pair{attribute, value};
    return hsa_amd_svm_attributes_set(memory + first * kPage + 1, pages * kPage - 2, &pair, 1);
  };
  const auto get = [&](size_t first, size_t pages, uint64_t attribute, uint64_t value = 0) {
    hsa_amd_svm_attribute_pair_t pair{attribute, value};
    EXPECT_EQ(hsa_amd_svm_attributes_get(memory + first * kPage, pages * kPage, &pair, 1), HSA_STATUS_SUCCESS);
    return attribute == HSA_AMD_SVM_ATTRIB_ACCESS_QUERY ? pair.attribute : pair.value;
  };
  EXPECT_EQ(get(0, 4, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 0u);
  EXPECT_EQ(get(0, 4, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION), 0u);
  EXPECT_EQ(get(0, 4, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, gpu_.handle), uint64_t{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE});

  EXPECT_EQ(set(1, 2, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1), HSA_STATUS_SUCCESS);
  EXPECT_EQ(set(2, 2, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, gpu_.handle), HSA_STATUS_SUCCESS);
  EXPECT_EQ(set(0, 1, HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE, gpu_.handle), HSA_STATUS_SUCCESS);
  EXPECT_EQ(get(1, 2, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 1u);
  EXPECT_EQ(get(0, 2, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 0u);
  EXPECT_EQ(get(2, 2, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 0u);
  EXPECT_EQ(get(2, 2, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION), gpu_.handle);
  EXPECT_EQ(get(1, 3, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION), 0u);
  EXPECT_EQ(get(0, 1, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, gpu_.handle),
            uint64_t{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE});
  EXPECT_EQ(set(1, 1, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(get(1, 2, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 0u);
  EXPECT_EQ(get(2, 1, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 1u);

  const hsa_signal_t done = signal(1);
  HSA(hsa_amd_svm_prefetch_async(memory, 2 * kPage, gpu_, 0, nullptr, done));
  EXPECT_TRUE(completes(done));
  EXPECT_EQ(get(0, 2, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION), gpu_.handle);
  EXPECT_EQ(get(0, 3, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION), 0u);

  EXPECT_EQ(set(0, 1, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 12345), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(set(0, 1, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, gpu_.handle), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(set(0, 1, 77, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  munmap(memory, 4 * kPage);

  // Memory of pools has no attributes, and neither has a range that only touches it.
  for (const bool of_device : {true, false}) {
    auto* const pooled = static_cast<uint8_t*>(allocate(2 * kPage, of_device));
    hsa_amd_svm_attribute_pair_t mostly{HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1};
    EXPECT_EQ(hsa_amd_svm_attributes_set(pooled + kPage, kPage, &mostly, 1), HSA_STATUS_ERROR);
    EXPECT_EQ(hsa_amd_svm_attributes_set(pooled - kPage, kPage + 1, &mostly, 1), HSA_STATUS_ERROR);
    EXPECT_EQ(hsa_amd_svm_attributes_get(pooled + 5, 1, &mostly, 1), HSA_STATUS_ERROR);
  }
}

TEST_F(HsaTest, MemoryOfAnotherProcess) {
  auto* memory = static_cast<uint32_t*>(allocate(10'000));
  memory[0] = 1;
  memory[2499] = 2;
  hsa_amd_ipc_memory_t handle;
  HSA(hsa_amd_ipc_memory_create(memory, 12'288, &handle));
  EXPECT_EQ(memory[2499], 2u);
  hsa_amd_ipc_memory_t same;
  HSA(hsa_amd_ipc_memory_create(memory, 12'288, &same));
  EXPECT_EQ(std::memcmp(&handle, &same, sizeof same), 0);
  std::string arguments[] = {WAVEJIT_HSA_IPC_CHILD, "attach", in_digits(handle)};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, argv[0], nullptr, nullptr, argv, environ), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(memory[0], 77u);

  hsa_amd_ipc_memory_t wrong{};
  void* attached = nullptr;
  EXPECT_EQ(hsa_amd_ipc_memory_attach(&wrong, 4096, 1, &gpu_, &attached), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_ipc_memory_create(memory + 1, 4096, &handle), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace wavejit::test
