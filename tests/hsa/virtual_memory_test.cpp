// Virtual memory: reserved addresses, memory mapped at several of them, access rights, and memory of two processes.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "fixture.h"
#include "runtime/hsa/newer_api.h"

namespace wavejit::test {
namespace {

constexpr size_t kBytes = 2 << 20;

class VirtualMemoryTest : public HsaTest {
 protected:
  hsa_amd_vmem_alloc_handle_t create(size_t bytes = kBytes) {
    hsa_amd_vmem_alloc_handle_t handle{};
    EXPECT_EQ(hsa_amd_vmem_handle_create(device_pool_, bytes, MEMORY_TYPE_PINNED, 0, &handle), HSA_STATUS_SUCCESS);
    return handle;
  }
  static char* reserve(size_t bytes) {
    void* address = nullptr;
    EXPECT_EQ(hsa_amd_vmem_address_reserve(&address, bytes, 0, 0), HSA_STATUS_SUCCESS);
    return static_cast<char*>(address);
  }
  hsa_status_t allow(void* address, size_t bytes, hsa_access_permission_t permission, hsa_agent_t agent) {
    const hsa_amd_memory_access_desc_t access{permission, agent};
    return hsa_amd_vmem_set_access(address, bytes, &access, 1);
  }
  static hsa_access_permission_t access(void* address, hsa_agent_t agent) {
    hsa_access_permission_t permission{};
    EXPECT_EQ(hsa_amd_vmem_get_access(address, &permission, agent), HSA_STATUS_SUCCESS);
    return permission;
  }
  static hsa_amd_pointer_info_t info_of(const void* pointer, std::vector<uint64_t>* agents = nullptr) {
    hsa_amd_pointer_info_t info{};
    info.size = sizeof info;
    uint32_t count = 0;
    hsa_agent_t* list = nullptr;
    EXPECT_EQ(hsa_amd_pointer_info(pointer, &info, std::malloc, &count, &list), HSA_STATUS_SUCCESS);
    if (agents) agents->clear();
    for (uint32_t i = 0; agents && i < count; ++i) agents->push_back(list[i].handle);
    std::free(list);
    return info;
  }
};

TEST_F(VirtualMemoryTest, OneMemoryAtTwoAddresses) {
  bool supported = false;
  HSA(hsa_system_get_info(static_cast<hsa_system_info_t>(0x205), &supported));
  EXPECT_TRUE(supported);
  char* const first = reserve(kBytes);
  char* const second = reserve(4 * kBytes);
  const auto handle = create();
  HSA(hsa_amd_vmem_map(first, kBytes, 0, handle, 0));
  HSA(hsa_amd_vmem_map(second + kBytes, kBytes, 0, handle, 0));
  HSA(allow(first, kBytes, HSA_ACCESS_PERMISSION_RW, gpu_));
  HSA(allow(second + kBytes, kBytes, HSA_ACCESS_PERMISSION_RW, gpu_));
  // A kernel writes to one address, and the host reads from the other.
  hsa_queue_t* queue = make_queue();
  const hsa_signal_t done = signal(1);
  dispatch(queue, kernel("add"), 64, {reinterpret_cast<uint64_t>(first), 7}, done);
  ASSERT_TRUE(completes(done));
  EXPECT_EQ(reinterpret_cast<uint32_t*>(second + kBytes)[63], 7u);

  // Its contents last as long as a handle or a mapping.
  HSA(hsa_amd_vmem_handle_release(handle));
  HSA(hsa_amd_vmem_unmap(first, kBytes));
  HSA(hsa_amd_vmem_map(first, kBytes, 0, handle, 0));
  HSA(allow(first, kBytes, HSA_ACCESS_PERMISSION_RO, gpu_));
  EXPECT_EQ(reinterpret_cast<uint32_t*>(first)[5], 7u);
  HSA(hsa_amd_vmem_unmap(first, kBytes));
  EXPECT_EQ(hsa_amd_vmem_address_free(second, 4 * kBytes), HSA_STATUS_ERROR_RESOURCE_FREE);
  HSA(hsa_amd_vmem_unmap(second + kBytes, kBytes));
  EXPECT_EQ(hsa_amd_vmem_handle_release(handle), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  HSA(hsa_amd_vmem_address_free(first, kBytes));
  HSA(hsa_amd_vmem_address_free(second, 4 * kBytes));
}

TEST_F(VirtualMemoryTest, SegmentsGrow) {
  constexpr size_t kParts = 8;
  char* const base = reserve(kParts * kBytes);
  std::vector<hsa_amd_vmem_alloc_handle_t> handles;
  for (size_t i = 0; i < kParts; ++i) {
    handles.push_back(create());
    HSA(hsa_amd_vmem_map(base + i * kBytes, kBytes, 0, handles.back(), 0));
    // Of all parts so far at once.
    HSA(allow(base, (i + 1) * kBytes, HSA_ACCESS_PERMISSION_RW, gpu_));
    reinterpret_cast<uint32_t*>(base + i * kBytes)[0] = static_cast<uint32_t>(i);
  }
  EXPECT_EQ(info_of(base + 5 * kBytes + 8).hostBaseAddress, base + 5 * kBytes);
  // One address for every handle, as far as its memory reaches.
  for (size_t i = 1; i < kParts; ++i) {
    const uint64_t a = handles[i - 1].handle, b = handles[i].handle;
    EXPECT_GE(a < b ? b - a : a - b, kBytes);
  }
  for (size_t i = 0; i < kParts; ++i) {
    EXPECT_EQ(reinterpret_cast<uint32_t*>(base + i * kBytes)[0], i);
    HSA(hsa_amd_vmem_unmap(base + i * kBytes, kBytes));
    HSA(hsa_amd_vmem_handle_release(handles[i]));
  }
  HSA(hsa_amd_vmem_address_free(base, kParts * kBytes));
}

// Handlers of signals that have changed are called before a mapping goes, and one that waits for the caller does not stop it.
TEST_F(VirtualMemoryTest, HandlersBeforeUnmapping) {
  char* const address = reserve(kBytes);
  const hsa_amd_vmem_alloc_handle_t handle = create();
  for (int i = 0; i < 50; ++i) {
    HSA(hsa_amd_vmem_map(address, kBytes, 0, handle, 0));
    const hsa_signal_t done = signal(1);
    std::atomic<bool> called = false;
    HSA(hsa_amd_signal_async_handler(
        done, HSA_SIGNAL_CONDITION_LT, 1,
        [](hsa_signal_value_t, void* data) {
          static_cast<std::atomic<bool>*>(data)->store(true);
          return false;
        },
        &called));
    hsa_signal_store_screlease(done, 0);
    const auto start = std::chrono::steady_clock::now();
    HSA(hsa_amd_vmem_unmap(address, kBytes));
    // On a busy machine the handler may take longer than the library waits.
    EXPECT_TRUE(called || std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(200));
    ASSERT_TRUE(becomes_true([&] { return called.load(); }));
  }
  HSA(hsa_amd_vmem_map(address, kBytes, 0, handle, 0));
  static std::mutex lock;
  const hsa_signal_t done = signal(1);
  std::atomic<bool> called = false;
  lock.lock();
  HSA(hsa_amd_signal_async_handler(
      done, HSA_SIGNAL_CONDITION_LT, 1,
      [](hsa_signal_value_t, void* data) {
        const std::lock_guard guard(lock);
        static_cast<std::atomic<bool>*>(data)->store(true);
        return false;
      },
      &called));
  hsa_signal_store_screlease(done, 0);
  HSA(hsa_amd_vmem_unmap(address, kBytes));
  EXPECT_FALSE(called);
  lock.unlock();
  EXPECT_TRUE(becomes_true([&] { return called.load(); }));
  HSA(hsa_amd_vmem_handle_release(handle));
  HSA(hsa_amd_vmem_address_free(address, kBytes));
}

TEST_F(VirtualMemoryTest, RightsOfEachAgent) {
  char* const base = reserve(kBytes);
  const auto handle = create();
  std::vector<uint64_t> agents;
  EXPECT_EQ(static_cast<int>(info_of(base + 16).type), 5);  // HSA_EXT_POINTER_TYPE_RESERVED_ADDR
  HSA(hsa_amd_vmem_map(base, kBytes, 0, handle, 0));
  EXPECT_EQ(access(base, gpu_), HSA_ACCESS_PERMISSION_NONE);
  HSA(allow(base, kBytes, HSA_ACCESS_PERMISSION_RO, gpu_));
  EXPECT_EQ(access(base + 4096, gpu_), HSA_ACCESS_PERMISSION_RO);
  EXPECT_EQ(access(base, cpu_), HSA_ACCESS_PERMISSION_NONE);
  const hsa_amd_pointer_info_t info = info_of(base + 4096, &agents);
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_HSA);
  EXPECT_EQ(info.agentBaseAddress, base);
  EXPECT_EQ(info.sizeInBytes, kBytes);
  EXPECT_EQ(info.agentOwner.handle, gpu_.handle);
  EXPECT_EQ(agents, std::vector<uint64_t>{gpu_.handle});
  HSA(hsa_amd_agents_allow_access(1, &cpu_, nullptr, base + 64));
  EXPECT_EQ(access(base, cpu_), HSA_ACCESS_PERMISSION_RW);
  EXPECT_EQ(access(base, gpu_), HSA_ACCESS_PERMISSION_RO);
  base[0] = 1;  // pages have the union
  HSA(allow(base, kBytes, HSA_ACCESS_PERMISSION_NONE, cpu_));

  // A kernel's store to read-only pages is an error of its queue, if a handler takes it, and a load is none.
  HSA(hsa_amd_register_system_event_handler([](const hsa_amd_event_t*, void*) { return HSA_STATUS_SUCCESS; }, nullptr));
  hsa_queue_t* queue = make_queue();
  const hsa_signal_t done = signal(1);
  testing::internal::CaptureStderr();
  dispatch(queue, kernel("add"), 64, {reinterpret_cast<uint64_t>(base), 7}, done);
  EXPECT_TRUE(fails());
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_NE(error_.status, HSA_STATUS_SUCCESS);
  EXPECT_NE(message.find("mapped memory that agents may only read"), std::string::npos) << message;

  HSA(hsa_amd_vmem_unmap(base, kBytes));
  EXPECT_EQ(static_cast<int>(info_of(base).type), 5);
  HSA(hsa_amd_vmem_handle_release(handle));
  HSA(hsa_amd_vmem_address_free(base, kBytes));
  EXPECT_EQ(info_of(base).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
}

// As hipMallocManaged of HIP 7 does: the host's own pages, of any size, under which memory can be mapped for a while.
TEST_F(VirtualMemoryTest, AddressesThatTheDriverDoesNotKnow) {
  void* address = nullptr;
  constexpr uint64_t kNoRegister = 1;  // HSA_AMD_VMEM_ADDRESS_NO_REGISTER
  HSA(hsa_amd_vmem_address_reserve_align(&address, 28, 0, 0, kNoRegister));
  auto* bytes = static_cast<volatile char*>(address);
  EXPECT_EQ(bytes[27], 0);
  bytes[27] = 5;
  EXPECT_EQ(bytes[27], 5);
  EXPECT_EQ(hsa_amd_vmem_address_free(address, 4096), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  HSA(hsa_amd_vmem_address_free(address, 28));

  HSA(hsa_amd_vmem_address_reserve_align(&address, kBytes, 0, 0, kNoRegister));
  const hsa_amd_vmem_alloc_handle_t handle = create();
  HSA(hsa_amd_vmem_map(address, kBytes, 0, handle, 0));
  HSA(hsa_amd_vmem_unmap(address, kBytes));
  bytes = static_cast<volatile char*>(address);
  bytes[0] = 7;
  EXPECT_EQ(bytes[0], 7);
  HSA(hsa_amd_vmem_handle_release(handle));
  HSA(hsa_amd_vmem_address_free(address, kBytes));
}

TEST_F(VirtualMemoryTest, Errors) {
  void* address = nullptr;
  EXPECT_EQ(hsa_amd_vmem_address_reserve(&address, 0, 0, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_vmem_address_reserve(&address, 100, 0, 0), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(hsa_amd_vmem_address_reserve_align(&address, kBytes, 0, 3 * 4096, 0), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(hsa_amd_vmem_address_reserve_align(&address, size_t{1} << 60, 0, 0, 0), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  HSA(hsa_amd_vmem_address_reserve_align(&address, kBytes, 0, size_t{1} << 30, 0));
  EXPECT_EQ(reinterpret_cast<uint64_t>(address) % (size_t{1} << 30), 0u);
  // An address that is free is given, one that is not free is not.
  HSA(hsa_amd_vmem_address_free(address, kBytes));
  void* again = nullptr;
  HSA(hsa_amd_vmem_address_reserve(&again, kBytes, reinterpret_cast<uint64_t>(address), 0));
  EXPECT_EQ(again, address);
  HSA(hsa_amd_vmem_address_reserve(&again, kBytes, reinterpret_cast<uint64_t>(address), 0));
  EXPECT_NE(again, address);
  HSA(hsa_amd_vmem_address_free(again, kBytes));

  auto* const base = static_cast<char*>(address);
  hsa_amd_vmem_alloc_handle_t handle{};
  EXPECT_EQ(hsa_amd_vmem_handle_create({0}, kBytes, MEMORY_TYPE_NONE, 0, &handle), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_vmem_handle_create(device_pool_, 100, MEMORY_TYPE_NONE, 0, &handle),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  handle = create();
  EXPECT_EQ(hsa_amd_vmem_map(base + kBytes, kBytes, 0, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_vmem_map(base, kBytes, 0, {1}, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_vmem_map(base, kBytes, 4096, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  HSA(hsa_amd_vmem_map(base, kBytes / 2, kBytes / 2, handle, 0));
  EXPECT_EQ(hsa_amd_vmem_map(base + 4096, 4096, 0, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(allow(base, kBytes, HSA_ACCESS_PERMISSION_RW, gpu_), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(allow(base, kBytes / 2, HSA_ACCESS_PERMISSION_RW, {1}), HSA_STATUS_ERROR_INVALID_AGENT);
  hsa_access_permission_t permission{};
  EXPECT_EQ(hsa_amd_vmem_get_access(base + kBytes / 2, &permission, gpu_), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(hsa_amd_vmem_get_access(base, &permission, {1}), HSA_STATUS_ERROR_INVALID_AGENT);
  // Mappings are not what hsa_amd_memory_pool_free frees.
  EXPECT_EQ(hsa_amd_memory_pool_free(base), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  hsa_amd_vmem_alloc_handle_t same{};
  HSA(hsa_amd_vmem_retain_alloc_handle(&same, base));
  EXPECT_EQ(same.handle, handle.handle);
  EXPECT_EQ(hsa_amd_vmem_retain_alloc_handle(&same, base + 4096), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  HSA(hsa_amd_vmem_handle_release(handle));
  EXPECT_EQ(hsa_amd_vmem_unmap(base, kBytes), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_vmem_unmap(base + 4096, 4096), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  HSA(hsa_amd_vmem_unmap(base, kBytes / 2));
  HSA(hsa_amd_vmem_handle_release(handle));
  EXPECT_EQ(hsa_amd_vmem_handle_release(handle), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(hsa_amd_vmem_address_free(base, 4096), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  HSA(hsa_amd_vmem_address_free(base, kBytes));
  EXPECT_EQ(hsa_amd_vmem_address_free(base, kBytes), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  // Descriptors that are none, and files of somebody else.
  EXPECT_EQ(hsa_amd_vmem_import_shareable_handle(-1, &handle), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const int other = memfd_create("other", MFD_CLOEXEC);
  EXPECT_EQ(hsa_amd_vmem_import_shareable_handle(other, &handle), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
  close(other);
}

TEST_F(VirtualMemoryTest, MemoryOfTwoProcesses) {
  char* const base = reserve(kBytes);
  const auto handle = create();
  HSA(hsa_amd_vmem_map(base, kBytes, 0, handle, 0));
  HSA(allow(base, kBytes, HSA_ACCESS_PERMISSION_RW, gpu_));
  auto* const value = reinterpret_cast<volatile uint32_t*>(base);
  *value = 42;
  int file = -1;
  HSA(hsa_amd_vmem_export_shareable_handle(&file, handle, 0));
  // In the same process the handle is the same.
  hsa_amd_vmem_alloc_handle_t same{};
  HSA(hsa_amd_vmem_import_shareable_handle(file, &same));
  EXPECT_EQ(same.handle, handle.handle);
  HSA(hsa_amd_vmem_handle_release(same));

  const int inherited = dup(file);
  const auto child = [&](const char* targets, const char* visible) {
    *value = 42;
    const std::string line = std::string("WAVEJIT_TARGET=") + targets + " ROCR_VISIBLE_DEVICES=" + visible +
                             " '" WAVEJIT_HSA_IPC_CHILD "' memory " + std::to_string(inherited) + " 2>/dev/null";
    return WEXITSTATUS(std::system(line.c_str()));
  };
  EXPECT_EQ(child("gfx906", "0"), 0);
  EXPECT_EQ(*value, 43u);
  // The device is found by its number in the driver's topology, which hidden devices count in.
  EXPECT_EQ(child("gfx906,gfx90a", "1,0"), 0);
  EXPECT_EQ(*value, 43u);
  constexpr int kNoImport = 20;
  EXPECT_EQ(child("gfx906,gfx90a", "1"), kNoImport);
  close(file);
  close(inherited);
  HSA(hsa_amd_vmem_unmap(base, kBytes));
  HSA(hsa_amd_vmem_handle_release(handle));
  HSA(hsa_amd_vmem_address_free(base, kBytes));
}

// A device has as much memory as it says, for all of its pools and both interfaces together.
TEST_F(VirtualMemoryTest, DevicesGetFull) {
  rlimit limit{};
  int overcommit = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> overcommit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY || overcommit == 2)
    GTEST_SKIP() << "the process may not have as many addresses as the device has memory";
  constexpr size_t kGiB = size_t{1} << 30;
  uint64_t available = 0;
  const auto ask = [&] {
    HSA(hsa_agent_get_info(gpu_, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_MEMORY_AVAIL), &available));
  };
  ask();
  const uint64_t before = available;
  std::vector<void*> all;
  void* memory = nullptr;
  hsa_status_t status = HSA_STATUS_SUCCESS;
  while (all.size() < 1000 &&
         (status = hsa_amd_memory_pool_allocate(device_pool_, kGiB, 0, &memory)) == HSA_STATUS_SUCCESS)
    all.push_back(memory);
  EXPECT_EQ(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  ASSERT_EQ(all.size(), before / kGiB);
  ASSERT_FALSE(all.empty());
  ask();
  EXPECT_LT(available, kGiB);
  hsa_amd_vmem_alloc_handle_t handle{};
  EXPECT_EQ(hsa_amd_vmem_handle_create(device_pool_, kGiB, MEMORY_TYPE_PINNED, 0, &handle),
            HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  HSA(hsa_amd_memory_pool_free(all.back()));
  all.pop_back();
  HSA(hsa_amd_vmem_handle_create(device_pool_, kGiB, MEMORY_TYPE_PINNED, 0, &handle));
  EXPECT_EQ(hsa_amd_memory_pool_allocate(device_pool_, kGiB, 0, &memory), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  HSA(hsa_amd_vmem_handle_release(handle));
  for (void* allocation : all) HSA(hsa_amd_memory_pool_free(allocation));
  ask();
  EXPECT_EQ(available, before);
}

// Requests that do not fit take nothing away from others, not even for a moment.
TEST_F(VirtualMemoryTest, RequestsThatDoNotFit) {
  void* const small = allocate(4096);
  uint64_t available = 0;
  HSA(hsa_agent_get_info(gpu_, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_MEMORY_AVAIL), &available));
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        void* whole = nullptr;
        EXPECT_EQ(hsa_amd_memory_pool_allocate(device_pool_, available + 4096, 0, &whole),
                  HSA_STATUS_ERROR_OUT_OF_RESOURCES);
      }
    });
  unsigned failed = 0;
  for (int i = 0; i < 5000; ++i) {
    void* memory = nullptr;
    if (hsa_amd_memory_pool_allocate(device_pool_, 4096, 0, &memory) != HSA_STATUS_SUCCESS) {
      ++failed;
    } else {
      HSA(hsa_amd_memory_pool_free(memory));
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0u);
  EXPECT_NE(small, nullptr);
}

// Memory that a process imports from itself is its own.
TEST_F(VirtualMemoryTest, ImportsOfOnesOwnAreCounted) {
  const auto available = [&]() -> uint64_t {
    uint64_t bytes = 0;
    EXPECT_EQ(HSA_STATUS_SUCCESS,
              hsa_agent_get_info(gpu_, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_MEMORY_AVAIL), &bytes));
    return bytes;
  };
  const uint64_t before = available();
  hsa_amd_vmem_alloc_handle_t handle = create();
  int file = -1;
  HSA(hsa_amd_vmem_export_shareable_handle(&file, handle, 0));
  HSA(hsa_amd_vmem_handle_release(handle));
  EXPECT_EQ(available(), before);
  HSA(hsa_amd_vmem_import_shareable_handle(file, &handle));
  EXPECT_EQ(available(), before - kBytes);
  HSA(hsa_amd_vmem_handle_release(handle));
  EXPECT_EQ(available(), before);
  close(file);
}

// Who may access memory is told as it was allowed.
TEST_F(VirtualMemoryTest, AgentsOfAllocations) {
  void* const memory = allocate(4096);
  std::vector<uint64_t> agents;
  (void)info_of(memory, &agents);
  EXPECT_EQ(agents, std::vector<uint64_t>{gpu_.handle});
  HSA(hsa_amd_agents_allow_access(1, &cpu_, nullptr, memory));
  (void)info_of(memory, &agents);
  EXPECT_EQ(agents, (std::vector<uint64_t>{gpu_.handle, cpu_.handle}));
  EXPECT_EQ(hsa_amd_agents_allow_access(1, &gpu_, nullptr, &agents), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

}  // namespace
}  // namespace wavejit::test
