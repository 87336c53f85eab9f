// Threads of a program that use everything at once.
#include <hsa/hsa_ven_amd_loader.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "fixture.h"

namespace wavejit::test {
namespace {

constexpr unsigned kThreads = 4, kRounds = 40;

class HsaThreads : public HsaTest {
 protected:
  template <typename Body>
  void on_threads(Body&& body) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { body(t); });
    for (std::thread& t : threads) t.join();
  }
};

// One queue for all; completion signals come and go.
TEST_F(HsaThreads, OneQueue) {
  hsa_queue_t* queue = make_queue(16);
  const KernelObject add = kernel("add");
  std::array<uint32_t*, kThreads> out{};
  for (auto& o : out) std::memset(o = static_cast<uint32_t*>(allocate(256)), 0, 256);
  on_threads([&](unsigned t) {
    for (unsigned round = 0; round < kRounds; ++round) {
      hsa_signal_t done{};
      HSA(hsa_signal_create(1, 0, nullptr, &done));
      dispatch(queue, add, 64, {reinterpret_cast<uint64_t>(out[t]), 1}, done);
      ASSERT_TRUE(completes(done));
      ASSERT_EQ(out[t][63], round + 1);
      HSA(hsa_signal_destroy(done));
    }
  });
}

// Some threads load and destroy executables, others ask for symbols of one that stays, as libamdhip64 does.
TEST_F(HsaThreads, SymbolsWhileCodeIsLoaded) {
  const std::vector<uint8_t> code = code_object("kernels");
  static const auto good = [](hsa_status_t status) { EXPECT_EQ(status, HSA_STATUS_SUCCESS); };
  const auto load = [&] {
    hsa_code_object_reader_t reader;
    good(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
    hsa_executable_t executable;
    good(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
    good(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr));
    good(hsa_executable_freeze(executable, nullptr));
    good(hsa_code_object_reader_destroy(reader));
    return executable;
  };
  const hsa_executable_t shared = load();
  on_threads([&](unsigned t) {
    for (unsigned round = 0; round < kRounds / 4; ++round) {
      const hsa_executable_t executable = t % 2 == 0 ? load() : shared;
      HSA(hsa_executable_iterate_symbols(
          executable,
          [](hsa_executable_t, hsa_executable_symbol_t symbol, void*) {
            hsa_symbol_kind_t kind{};
            good(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
            if (kind != HSA_SYMBOL_KIND_KERNEL) return HSA_STATUS_SUCCESS;
            uint32_t bytes = 0;
            good(
                hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &bytes));
            EXPECT_EQ(bytes % 16, 0u);
            bool dynamic = true;
            good(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK, &dynamic));
            EXPECT_FALSE(dynamic);
            return HSA_STATUS_SUCCESS;
          },
          nullptr));
      EXPECT_NE(kernel(executable, "add").object, 0u);
      if (t % 2 == 0) {
        EXPECT_EQ(hsa_executable_destroy(executable), HSA_STATUS_SUCCESS);
      }
    }
  });
  HSA(hsa_executable_destroy(shared));
}

// Each thread has a queue of its own for as long as a kernel takes; copies bring the arguments and the results.
TEST_F(HsaThreads, QueuesCopiesAndHandlers) {
  const KernelObject add = kernel("add");
  struct Buffers {
    uint32_t *in, *device, *out;
  };
  std::array<Buffers, kThreads> buffers{};
  constexpr size_t kBytes = 512 << 10;  // more than the caller copies by itself
  for (Buffers& b : buffers)
    b = {static_cast<uint32_t*>(allocate(kBytes, false)), static_cast<uint32_t*>(allocate(kBytes)),
         static_cast<uint32_t*>(allocate(kBytes, false))};
  on_threads([&](unsigned t) {
    const Buffers& b = buffers[t];
    for (unsigned round = 0; round < kRounds / 4; ++round) {
      std::fill_n(b.in, kBytes / 4, round);
      hsa_queue_t* queue = nullptr;
      HSA(hsa_queue_create(gpu_, 16, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, 0, 0, &queue));
      std::array<hsa_signal_t, 4> s{};
      for (hsa_signal_t& signal : s) HSA(hsa_signal_create(1, 0, nullptr, &signal));
      HSA(hsa_amd_signal_async_handler(
          s[2], HSA_SIGNAL_CONDITION_EQ, 0,
          [](hsa_signal_value_t, void* next) {
            hsa_signal_subtract_screlease(*static_cast<hsa_signal_t*>(next), 1);
            return false;
          },
          &s[3]));
      HSA(hsa_amd_memory_async_copy(b.device, gpu_, b.in, cpu_, kBytes, 0, nullptr, s[0]));
      hsa_barrier_and_packet_t barrier{};
      barrier.dep_signal[0] = s[0];
      write_packet(queue, HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE, &barrier);
      dispatch(queue, add, 64 * 4, {reinterpret_cast<uint64_t>(b.device), t + 1}, s[1]);
      HSA(hsa_amd_memory_async_copy(b.out, cpu_, b.device, gpu_, kBytes, 1, &s[1], s[2]));
      ASSERT_TRUE(completes(s[2]));
      ASSERT_EQ(b.out[255], round + t + 1);
      ASSERT_EQ(b.out[256], round);
      ASSERT_TRUE(completes(s[3]));
      HSA(hsa_queue_destroy(queue));
      for (const hsa_signal_t signal : s) HSA(hsa_signal_destroy(signal));
    }
  });
}

// While their thread is held up in another handler, a signal is destroyed and its memory becomes that of the next.
TEST_F(HsaThreads, HandlersOfDestroyedSignals) {
  struct {
    std::atomic<bool> begun = false, may_end = false;
    std::atomic<int> late = 0;
  } seen;
  using Seen = decltype(seen);
  hsa_signal_t hold_up{}, gone{}, next{}, last{};
  for (hsa_signal_t* signal : {&hold_up, &gone}) HSA(hsa_signal_create(1, 0, nullptr, signal));
  HSA(hsa_amd_signal_async_handler(
      hold_up, HSA_SIGNAL_CONDITION_EQ, 0,
      [](hsa_signal_value_t, void* argument) {
        auto& s = *static_cast<Seen*>(argument);
        s.begun = true;
        while (!s.may_end) std::this_thread::yield();
        return false;
      },
      &seen));
  HSA(hsa_amd_signal_async_handler(
      gone, HSA_SIGNAL_CONDITION_EQ, 0,
      [](hsa_signal_value_t, void* argument) {
        ++static_cast<Seen*>(argument)->late;
        return false;
      },
      &seen));
  hsa_signal_store_screlease(hold_up, 0);
  while (!seen.begun) std::this_thread::yield();
  HSA(hsa_signal_destroy(gone));
  HSA(hsa_signal_create(0, 0, nullptr, &next));
  EXPECT_EQ(next.handle, gone.handle) << "the test needs memory that is used again";
  seen.may_end = true;
  HSA(hsa_signal_create(1, 0, nullptr, &last));
  HSA(hsa_amd_async_function([](void* signal) { hsa_signal_store_screlease(*static_cast<hsa_signal_t*>(signal), 0); },
                             &last));
  ASSERT_TRUE(completes(last));
  HSA(hsa_amd_async_function([](void* signal) { hsa_signal_store_screlease(*static_cast<hsa_signal_t*>(signal), 1); },
                             &last));
  while (hsa_signal_load_scacquire(last) != 1) std::this_thread::yield();
  EXPECT_EQ(seen.late, 0);
  for (const hsa_signal_t signal : {hold_up, next, last}) HSA(hsa_signal_destroy(signal));
}

// Executables come and go while others look at what is loaded, as profilers do.
TEST_F(HsaThreads, Executables) {
  hsa_ven_amd_loader_1_01_pfn_t loader{};
  HSA(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof loader, &loader));
  on_threads([&](unsigned t) {
    for (unsigned round = 0; round < kRounds; ++round) {
      if (t == 0) {
        size_t count = 0;
        HSA(loader.hsa_ven_amd_loader_query_segment_descriptors(nullptr, &count));
        std::vector<hsa_ven_amd_loader_segment_descriptor_t> all(count);
        (void)loader.hsa_ven_amd_loader_query_segment_descriptors(all.data(), &count);  // there may be others by now
        continue;
      }
      hsa_code_object_reader_t reader;
      HSA(hsa_code_object_reader_create_from_memory(code_.data(), code_.size(), &reader));
      hsa_executable_t executable;
      HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
      HSA(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr));
      HSA(hsa_code_object_reader_destroy(reader));
      HSA(hsa_executable_freeze(executable, nullptr));
      hsa_executable_symbol_t symbol;
      HSA(hsa_executable_get_symbol_by_name(executable, "add.kd", &gpu_, &symbol));
      uint64_t object = 0;
      HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
      HSA(hsa_executable_destroy(executable));
    }
  });
}

}  // namespace
}  // namespace wavejit::test
