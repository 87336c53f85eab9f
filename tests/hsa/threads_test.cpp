// Threads of a program that use everything at once.
#include <hsa/hsa_ven_amd_loader.h>
#include <pthread.h>
#include <sys/mman.h>

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
constexpr size_t kGuardBytes = size_t{64} << 10;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif
// Enough for a wait; sanitizers make frames larger.
constexpr size_t kSmallStack = size_t{kSanitized ? 512 : 32} << 10;

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

// A thread that waits without a limit for its own kernel processes the packet itself, unless the queue's thread has taken
// it. If its stack is too small for translating and running kernels, it leaves the packet to the queue's thread.
TEST_F(HsaThreads, WaitsOnASmallStack) {
  struct Work {
    HsaThreads_WaitsOnASmallStack_Test* test;
    hsa_queue_t* queue;
    std::array<KernelObject, 4> kernels;  // that nobody has translated yet
    uint64_t out;
    std::array<bool, 4> completed;
  } work{this,
         make_queue(16),
         {kernel("add"), kernel("small_groups"), kernel("read_clock"), kernel("write_at")},
         reinterpret_cast<uint64_t>(allocate(4096)),
         {}};
  // A page without access lies below the stack: what needs more ends the test.
  void* memory = mmap(nullptr, kGuardBytes + kSmallStack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  uint8_t* stack = static_cast<uint8_t*>(memory) + kGuardBytes;
  ASSERT_EQ(mprotect(stack, kSmallStack, PROT_READ | PROT_WRITE), 0);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack, kSmallStack), 0);
  const auto body = [](void* data) -> void* {
    Work& w = *static_cast<Work*>(data);
    const auto wait = [](hsa_signal_t done) {
      const bool ok =
          hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 0;
      return hsa_signal_destroy(done) == HSA_STATUS_SUCCESS && ok;
    };
    for (size_t i = 0; i < w.kernels.size(); ++i) {
      hsa_signal_t done[2]{};
      for (hsa_signal_t& signal : done)
        if (hsa_signal_create(1, 0, nullptr, &signal) != HSA_STATUS_SUCCESS) return nullptr;
      // The queue's thread looks for packets from time to time after this one, and is not woken for the next.
      hsa_barrier_and_packet_t barrier{};
      barrier.completion_signal = done[0];
      const uint64_t index =
          w.test->write_packet(w.queue, HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE, &barrier);
      hsa_signal_store_screlease(w.queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
      if (!wait(done[0])) return nullptr;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      w.test->dispatch(w.queue, w.kernels[i], 64, {w.out, 0}, done[1]);
      w.completed[i] = wait(done[1]);
    }
    return nullptr;
  };
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, body, &work), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_EQ(work.completed, (std::array{true, true, true, true}));
  pthread_attr_destroy(&attributes);
  munmap(memory, kGuardBytes + kSmallStack);
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
            EXPECT_EQ(bytes % 4, 0u);
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
