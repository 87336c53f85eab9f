// A program of the HSA runtime: agents, pools, a queue, kernels of kernels.cl.
#pragma once

#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace wavejit::test {

#define HSA(expression) ASSERT_EQ((expression), HSA_STATUS_SUCCESS)

struct KernelObject {
  uint64_t object = 0;
  uint32_t kernarg_bytes = 0, group_bytes = 0, private_bytes = 0;
};

// Less than the time limit of a test, and more than anything takes on a busy machine.
constexpr std::chrono::seconds kPatience{50};

// As ipc_child.cpp takes handles.
template <typename Handle>
std::string in_digits(const Handle& handle) {
  std::string text;
  for (size_t i = 0; i < sizeof handle; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", reinterpret_cast<const uint8_t*>(&handle)[i]);
    text += digits;
  }
  return text;
}

class HsaTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The file NAME.co, compiled from NAME.cl.
  static std::vector<uint8_t> code_object(const char* name);
  // A queue whose errors are kept in `error`.
  hsa_queue_t* make_queue(uint32_t packets = 64);
  [[nodiscard]] KernelObject kernel(const char* name) { return kernel(executable_, name); }
  [[nodiscard]] KernelObject kernel(hsa_executable_t executable, const char* name);
  // Memory of the GPU agent, or fine-grained memory of the host. Threads may call this, dispatch() and write_packet().
  void* allocate(size_t bytes, bool device = true);
  hsa_signal_t signal(hsa_signal_value_t value);

  // Writes a packet and makes it valid; the doorbell is the caller's.
  uint64_t write_packet(hsa_queue_t* queue, uint16_t header, const void* packet);
  // Dispatches `items` work-items in groups of 64 with arguments of 8 bytes each; returns the packet's index.
  uint64_t dispatch(hsa_queue_t* queue, const KernelObject& kernel, uint32_t items, std::vector<uint64_t> arguments,
                    hsa_signal_t completion, bool ring = true, bool barrier = false);
  // Waits until the signal is 0; false after fifty seconds.
  [[nodiscard]] static bool completes(hsa_signal_t signal);
  // Waits until the condition holds, which other threads bring about; false after fifty seconds.
  template <typename Condition>
  [[nodiscard]] static bool becomes_true(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  // Waits until one of the fixture's queues has ended with an error: the status is then set, too.
  [[nodiscard]] bool fails() {
    return becomes_true([this] { return error_.queue != nullptr; });
  }

  hsa_agent_t gpu_{}, cpu_{};
  hsa_amd_memory_pool_t device_pool_{}, host_pool_{};
  hsa_executable_t executable_{};
  std::vector<uint8_t> code_;
  std::mutex mutex_;  // of the memory
  std::vector<void*> memory_;
  std::vector<hsa_signal_t> signals_;
  std::vector<hsa_queue_t*> queues_;
  struct QueueError {
    std::atomic<int> status{HSA_STATUS_SUCCESS};
    std::atomic<hsa_queue_t*> queue{nullptr};
  } error_;
};

}  // namespace wavejit::test
