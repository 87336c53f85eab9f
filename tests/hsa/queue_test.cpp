// Queues: order, barriers, doorbells, errors, and queues that end while a kernel runs.
#include <hsa/amd_hsa_signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>

#include "fixture.h"

namespace wavejit::test {
namespace {

constexpr uint16_t barrier_and = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE;
constexpr uint16_t barrier_or = HSA_PACKET_TYPE_BARRIER_OR << HSA_PACKET_HEADER_TYPE;

uint64_t address(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// Thread ids of the process.
std::set<int> threads() {
  std::set<int> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    all.insert(std::stoi(entry.path().filename().string()));
  return all;
}

// How often a thread of the process has gone to sleep.
uint64_t sleeps_of(int thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  const std::string field = "voluntary_ctxt_switches:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::stoull(line.substr(field.size()));
  ADD_FAILURE() << "the system does not count sleeps";
  return 0;
}

// CPU time of a thread of the process. The clock's number is what pthread_getcpuclockid makes of the thread.
std::chrono::nanoseconds cpu_time_of(int thread) {
  timespec time{};
  EXPECT_EQ(clock_gettime(static_cast<clockid_t>(~static_cast<uint32_t>(thread) << 3 | 6u), &time), 0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// What kernels read is in the agent's ticks, of the frequency that the agent says, and so are the times of dispatches.
TEST_F(HsaTest, ClocksAgree) {
  const auto system = [] {
    uint64_t now = 0;
    EXPECT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now), HSA_STATUS_SUCCESS);
    return now;
  };
  uint64_t system_frequency = 0, frequency = 0;
  HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &system_frequency));
  HSA(hsa_agent_get_info(gpu_, static_cast<hsa_agent_info_t>(0xA016 /* HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY */),
                         &frequency));
  ASSERT_NE(frequency, 0u);
  const uint64_t tick = system_frequency / frequency;  // in the system's
  auto* out = static_cast<uint64_t*>(allocate(sizeof(uint64_t)));
  hsa_queue_t* queue = make_queue();
  const hsa_signal_t done = signal(1);
  const uint64_t before = system();
  dispatch(queue, kernel("read_clock"), 1, {reinterpret_cast<uint64_t>(out)}, done);
  ASSERT_TRUE(completes(done));
  const uint64_t after = system();
  EXPECT_GE(*out * tick + tick, before);
  EXPECT_LE(*out * tick, after);
  uint64_t converted = 0;
  HSA(hsa_amd_profiling_convert_tick_to_system_domain(gpu_, *out, &converted));
  EXPECT_EQ(converted, *out * tick);
  hsa_amd_profiling_dispatch_time_t time{};
  HSA(hsa_amd_profiling_get_dispatch_time(gpu_, done, &time));
  EXPECT_GE(time.start + tick, before);
  EXPECT_LE(time.start, converted);
  EXPECT_GE(time.end, converted);
  EXPECT_LE(time.end, after);
}

// The bound is CPU time a sleep, which other programs on the machine do not change: a look at the queue takes some microseconds.
TEST_F(HsaTest, IdleQueuesSleep) {
  const std::set<int> before = threads();
  hsa_queue_t* queue = make_queue();
  const std::set<int> after = threads();
  std::vector<int> started;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(started));
  ASSERT_EQ(started.size(), 1u);
  const int thread = started[0];
  constexpr uint64_t kSleeps = 20;
  constexpr std::chrono::milliseconds kLook{1};
  const auto expect_sleep = [&](const char* when) {
    const std::chrono::nanoseconds cpu_time = cpu_time_of(thread);
    const uint64_t sleeps = sleeps_of(thread);
    ASSERT_TRUE(becomes_true([&] { return sleeps_of(thread) >= sleeps + kSleeps; })) << when;
    EXPECT_LT(cpu_time_of(thread) - cpu_time, kLook * (sleeps_of(thread) - sleeps)) << when;
  };
  expect_sleep("without a packet yet");
  if (HasFatalFailure()) return;
  auto* out = static_cast<uint32_t*>(allocate(256));
  const hsa_signal_t done = signal(1);
  dispatch(queue, kernel("add"), 64, {address(out), 1}, done);
  ASSERT_TRUE(completes(done));
  ASSERT_TRUE(becomes_true([&] { return hsa_queue_load_read_index_scacquire(queue) == 1; }));
  expect_sleep("behind a packet");
}

TEST_F(HsaTest, MorePacketsThanTheQueueHolds) {
  hsa_queue_t* queue = make_queue(16);
  auto* out = static_cast<uint32_t*>(allocate(256));
  std::memset(out, 0, 256);
  const KernelObject add = kernel("add");
  const hsa_signal_t done = signal(100);
  for (uint32_t i = 0; i < 100; ++i) dispatch(queue, add, 64, {address(out), i}, done);
  ASSERT_TRUE(completes(done));
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 99u * 100 / 2);
  // Completion signals come before the packet processor goes on.
  EXPECT_TRUE(becomes_true([&] { return hsa_queue_load_read_index_scacquire(queue) == 100; }));
}

// Programs may write the doorbell's value themselves.
TEST_F(HsaTest, DoorbellByDirectStore) {
  hsa_queue_t* queue = make_queue();
  auto* out = static_cast<uint32_t*>(allocate(256));
  std::memset(out, 0, 256);
  const hsa_signal_t done = signal(1);
  const uint64_t index = dispatch(queue, kernel("add"), 64, {address(out), 3}, done, false);
  auto* doorbell = reinterpret_cast<amd_signal_t*>(queue->doorbell_signal.handle);
  std::atomic_ref(const_cast<int64_t&>(doorbell->value)).store(static_cast<int64_t>(index), std::memory_order_release);
  ASSERT_TRUE(completes(done));
  EXPECT_EQ(out[63], 3u);
}

TEST_F(HsaTest, Barriers) {
  hsa_queue_t* queue = make_queue();
  auto* out = static_cast<uint32_t*>(allocate(256));
  std::memset(out, 0, 256);
  const hsa_signal_t a = signal(1), b = signal(1), passed = signal(1), done = signal(1);
  hsa_barrier_and_packet_t both{};
  both.dep_signal[0] = a;
  both.dep_signal[4] = b;
  both.completion_signal = passed;
  write_packet(queue, barrier_and, &both);
  dispatch(queue, kernel("add"), 64, {address(out), 1}, done);
  hsa_signal_store_screlease(a, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(hsa_signal_load_scacquire(passed), 1);
  EXPECT_EQ(out[0], 0u);
  hsa_signal_store_screlease(b, 0);
  ASSERT_TRUE(completes(done));
  EXPECT_EQ(hsa_signal_load_scacquire(passed), 0);
  EXPECT_EQ(out[0], 1u);

  const hsa_signal_t never = signal(1), soon = signal(1), either = signal(1);
  hsa_barrier_or_packet_t any{};
  any.dep_signal[1] = never;
  any.dep_signal[2] = soon;
  any.completion_signal = either;
  const uint64_t index = write_packet(queue, barrier_or, &any);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(hsa_signal_load_scacquire(either), 1);
  hsa_signal_subtract_screlease(soon, 1);
  EXPECT_TRUE(completes(either));
}

// A kernel in one queue waits for a kernel in another one.
TEST_F(HsaTest, QueuesRunBesideEachOther) {
  auto* flag = static_cast<uint32_t*>(allocate(256));
  auto* out = static_cast<uint32_t*>(allocate(256));
  std::memset(flag, 0, 256);
  out[0] = 0;
  const hsa_signal_t waited = signal(1), set = signal(1);
  dispatch(make_queue(), kernel("until"), 1, {address(flag), address(out)}, waited);
  dispatch(make_queue(), kernel("raise"), 64, {address(flag)}, set);
  EXPECT_TRUE(completes(waited));
  EXPECT_TRUE(completes(set));
  EXPECT_EQ(out[0], 1u);
}

// Packets of one queue without barrier bits: each waits for the next one, and the first for the host, too.
TEST_F(HsaTest, PacketsWaitForThoseBehind) {
  constexpr unsigned kPackets = 6;
  hsa_queue_t* queue = make_queue();
  auto* flags = static_cast<uint32_t*>(allocate(256));
  auto* out = static_cast<uint32_t*>(allocate(256));
  for (int round = 0; round < 5; ++round) {
    std::memset(flags, 0, 256);
    std::memset(out, 0, 256);
    std::vector<hsa_signal_t> done;
    for (unsigned i = 0; i < kPackets; ++i) {
      done.push_back(signal(1));
      // `until` waits for flags[i] and stores to out[0] of what it is given: the flag that the packet before it waits for.
      dispatch(queue, kernel("until"), 1, {address(flags + i), address(i == 0 ? out : flags + i - 1)}, done[i]);
    }
    EXPECT_EQ(
        hsa_signal_wait_scacquire(done[kPackets - 1], HSA_SIGNAL_CONDITION_EQ, 0, 20'000'000, HSA_WAIT_STATE_BLOCKED),
        1);
    const hsa_signal_t raised = signal(1);
    dispatch(queue, kernel("raise"), 1, {address(flags + kPackets - 1)}, raised);
    EXPECT_TRUE(completes(raised));
    for (unsigned i = kPackets; i-- != 0;) EXPECT_TRUE(completes(done[i])) << i;
    EXPECT_EQ(out[0], 1u);
    // With a barrier bit it waits for all.
    const hsa_signal_t last = signal(1);
    dispatch(queue, kernel("add"), 64, {address(out), 1}, last, true, true);
    EXPECT_TRUE(completes(last));
  }
  EXPECT_EQ(error_.status, HSA_STATUS_SUCCESS);
}

TEST_F(HsaTest, DestructionStopsKernelsThatHaveBegunAhead) {
  hsa_queue_t* queue = make_queue();
  auto* flag = static_cast<uint32_t*>(allocate(256));
  flag[0] = 0;
  const hsa_signal_t done = signal(3);
  for (int i = 0; i < 3; ++i) dispatch(queue, kernel("until"), 64, {address(flag), address(flag)}, done);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  queues_.clear();
  EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_signal_load_scacquire(done), 3);
}

// Threads that sleep when a kernel changes what they wait for: in a wait, in one for several signals, a handler.
TEST_F(HsaTest, KernelsChangeSignals) {
  hsa_queue_t* queue = make_queue();
  const KernelObject notify = kernel("notify");
  hsa_signal_t waited = signal(1), never = signal(1), handled = signal(1);
  for (int round = 0; round < 20; ++round) {
    for (hsa_signal_t s : {waited, handled}) {
      hsa_signal_store_relaxed(s, 1);
      auto* device = reinterpret_cast<amd_signal_t*>(s.handle);
      ASSERT_NE(device->event_id, 0u);
      ASSERT_NE(device->event_mailbox_ptr, 0u);
      *reinterpret_cast<uint64_t*>(device->event_mailbox_ptr) = 0;
    }
    std::atomic<int> calls{0};
    HSA(hsa_amd_signal_async_handler(
        handled, HSA_SIGNAL_CONDITION_EQ, 0,
        [](hsa_signal_value_t, void* count) { return ++*static_cast<std::atomic<int>*>(count), false; }, &calls));
    std::thread waiter([&] {
      if (round % 2 == 0) {
        EXPECT_TRUE(completes(waited));
        return;
      }
      hsa_signal_t signals[] = {never, waited};
      hsa_signal_condition_t conditions[] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_LT};
      hsa_signal_value_t values[] = {0, 1};
      EXPECT_EQ(hsa_amd_signal_wait_any(2, signals, conditions, values, std::chrono::nanoseconds(kPatience).count(),
                                        HSA_WAIT_STATE_BLOCKED, nullptr),
                1u);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 4));
    dispatch(queue, notify, 64, {waited.handle}, signal(1));
    dispatch(queue, notify, 64, {handled.handle}, signal(1));
    waiter.join();
    EXPECT_TRUE(becomes_true([&] { return calls != 0; }));
    EXPECT_EQ(calls, 1);
    for (hsa_signal_t s : {waited, handled}) {
      auto* device = reinterpret_cast<amd_signal_t*>(s.handle);
      EXPECT_EQ(hsa_signal_load_scacquire(s), 0);
      // Stored behind the change, which is what was waited for.
      auto& mailbox = *reinterpret_cast<uint64_t*>(device->event_mailbox_ptr);
      EXPECT_TRUE(becomes_true([&] { return std::atomic_ref(mailbox).load() != 0; }));
      EXPECT_EQ(std::atomic_ref(mailbox).load(), device->event_id);
    }
  }
}

TEST_F(HsaTest, DestructionStopsTheKernel) {
  hsa_queue_t* queue = make_queue();
  auto* flag = static_cast<uint32_t*>(allocate(256));
  flag[0] = 0;
  const hsa_signal_t done = signal(2);
  dispatch(queue, kernel("until"), 64, {address(flag), address(flag)}, done);
  dispatch(queue, kernel("add"), 64, {address(flag), 1}, done, true, true);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  queues_.clear();
  EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_signal_load_scacquire(done), 2);
  EXPECT_EQ(flag[0], 0u);
  EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_ERROR_INVALID_QUEUE);
  EXPECT_EQ(error_.status, HSA_STATUS_SUCCESS);
}

// A fault ends its queue; the client goes on with others.
TEST_F(HsaTest, FaultsEndTheirQueueOnly) {
  hsa_queue_t* queue = make_queue();
  auto* out = static_cast<uint32_t*>(allocate(4096));
  std::memset(out, 0, 4096);
  const hsa_signal_t done = signal(1);
  static std::atomic<uint64_t> event_address;
  event_address = 0;
  HSA(hsa_amd_register_system_event_handler(
      [](const hsa_amd_event_t* event, void* data) {
        if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT)
          static_cast<std::atomic<uint64_t>*>(data)->store(event->memory_fault.virtual_address);
        return HSA_STATUS_SUCCESS;
      },
      &event_address));
  dispatch(queue, kernel("write_at"), 1, {address(out), 1024}, done);
  ASSERT_TRUE(fails());
  EXPECT_EQ(error_.queue, queue);
  EXPECT_EQ(error_.status, HSA_STATUS_ERROR_MEMORY_FAULT);
  EXPECT_EQ(event_address, address(out) + 4096);
  EXPECT_EQ(hsa_signal_load_scacquire(done), 1);

  hsa_queue_t* other = make_queue();
  dispatch(other, kernel("add"), 64, {address(out), 7}, done);
  ASSERT_TRUE(completes(done));
  EXPECT_EQ(out[0], 7u);

  error_.queue = nullptr;
  out[0] = 0;
  dispatch(other, kernel("trap"), 1, {address(out)}, signal(1));
  ASSERT_TRUE(fails());
  EXPECT_EQ(error_.queue, other);
  EXPECT_EQ(error_.status, HSA_STATUS_ERROR_EXCEPTION);
}

// As ROCr's Runtime::VMFaultHandler ends the process, so that nobody waits for what the queue does not do any more.
TEST_F(HsaTest, FaultsThatNobodyTakesEndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  hsa_queue_t* queue = make_queue();
  const hsa_signal_t done = signal(1);
  const auto faults = [&] {
    dispatch(queue, kernel("write_at"), 1, {0x1000, 0}, done);
    return fails();
  };
  const auto refuse = [](const hsa_amd_event_t*, void*) { return HSA_STATUS_ERROR; };
  EXPECT_EXIT(
      {
        (void)hsa_amd_register_system_event_handler(refuse, nullptr);
        (void)faults();
        _exit(0);
      },
      testing::KilledBySignal(SIGABRT),
      "'write_at' wrote memory it may not access.*\n.*Memory access fault by GPU node-");
  EXPECT_EXIT(
      {
        setenv("WAVEJIT_ON_FAULT", "error", 1);
        _exit(faults() && error_.status == HSA_STATUS_ERROR_MEMORY_FAULT ? 3 : 4);
      },
      testing::ExitedWithCode(3), "'write_at' wrote memory it may not access");
}

// A memory violation of the wave without a fault of a page: no system event.
TEST_F(HsaTest, MisalignedAtomics) {
  hsa_queue_t* queue = make_queue();
  auto* out = static_cast<uint32_t*>(allocate(4096));
  static std::atomic<int> events;
  events = 0;
  HSA(hsa_amd_register_system_event_handler(
      [](const hsa_amd_event_t*, void* data) {
        ++*static_cast<std::atomic<int>*>(data);
        return HSA_STATUS_SUCCESS;
      },
      &events));
  dispatch(queue, kernel("add_at_byte"), 1, {address(out), 102}, signal(1));
  ASSERT_TRUE(fails());
  EXPECT_EQ(error_.queue, queue);
  EXPECT_EQ(error_.status, HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
  EXPECT_EQ(events, 0);
  const char* text = nullptr;
  HSA(hsa_status_string(static_cast<hsa_status_t>(error_.status.load()), &text));
  EXPECT_NE(std::string_view(text).find("misaligned"), std::string_view::npos) << text;
}

TEST_F(HsaTest, BadPackets) {
  hsa_queue_t* queue = make_queue();
  hsa_kernel_dispatch_packet_t packet{};
  packet.setup = 1;
  packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1;
  packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.kernel_object = address(&packet);
  const uint64_t index = write_packet(queue, HSA_PACKET_TYPE_KERNEL_DISPATCH, &packet);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  ASSERT_TRUE(fails());
  EXPECT_EQ(error_.status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

// A thread that waits without a limit executes the kernel itself, unless the queue's thread has been quicker. Which of them
// it was the handler of the kernel's fault knows. It may take attempts until the queue's thread sleeps at the right time;
// their number is not limited, as it depends on what else the machine does.
TEST_F(HsaTest, WaitsWithoutALimitExecuteKernels) {
  static std::atomic<std::thread::id> executor;
  static std::atomic<uint64_t> after;
  after = 0;
  HSA(hsa_amd_register_system_event_handler(
      [](const hsa_amd_event_t*, void*) {
        executor = std::this_thread::get_id();
        hsa_signal_store_screlease({after}, 0);
        return HSA_STATUS_SUCCESS;
      },
      nullptr));
  auto* out = static_cast<uint32_t*>(allocate(4096));
  const KernelObject add = kernel("add"), fault = kernel("write_at");
  for (unsigned attempt = 0;; ++attempt) {
    hsa_queue_t* queue = make_queue();
    const hsa_signal_t before = signal(1);
    dispatch(queue, add, 64, {address(out), 1}, before);
    ASSERT_TRUE(completes(before));
    // The queue's thread falls asleep, and looks for packets in intervals for 20 ms.
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + attempt % 16));
    executor = std::thread::id();
    after = signal(1).handle;
    dispatch(queue, fault, 1, {address(out), 1024}, {after});
    EXPECT_EQ(hsa_signal_wait_scacquire({after}, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED), 0);
    const bool executed = executor.load() == std::this_thread::get_id();
    queues_.pop_back();
    EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
    if (executed) break;
  }
  after = 0;
}

// Kernels may wait for the thread whose wait ends.
TEST_F(HsaTest, WaitsWithALimitEnd) {
  hsa_queue_t* queue = make_queue();
  auto* flag = static_cast<uint32_t*>(allocate(4, false));
  auto* out = static_cast<uint32_t*>(allocate(256));
  const KernelObject until = kernel("until");
  for (const uint64_t limit : {uint64_t{0}, uint64_t{10'000}, uint64_t{100'000}, uint64_t{1'000'000},
                               uint64_t{1'000'001}, uint64_t{20'000'000}}) {
    std::atomic_ref(*flag).store(0);
    const hsa_signal_t done = signal(1);
    dispatch(queue, until, 1, {reinterpret_cast<uint64_t>(flag), reinterpret_cast<uint64_t>(out)}, done);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, limit, HSA_WAIT_STATE_ACTIVE), 1);
    std::atomic_ref(*flag).store(1);
    EXPECT_TRUE(completes(done));
  }
}

// A thread that only polls needs no other to make the queue's thread begin.
TEST_F(HsaTest, PollsMakeProgress) {
  hsa_queue_t* queue = make_queue();
  auto* out = static_cast<uint32_t*>(allocate(256));
  const KernelObject add = kernel("add");
  for (int i = 0; i < 100; ++i) {
    const hsa_signal_t done = signal(1);
    dispatch(queue, add, 64, {reinterpret_cast<uint64_t>(out), 1}, done);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    int polls = 0;
    while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 100'000, HSA_WAIT_STATE_ACTIVE) != 0 &&
           std::chrono::steady_clock::now() < end)
      ++polls;
    ASSERT_EQ(hsa_signal_load_scacquire(done), 0) << "after " << polls << " polls";
  }
}

TEST_F(HsaTest, ProfilingTimes) {
  hsa_queue_t* queue = make_queue();
  HSA(hsa_amd_profiling_set_profiler_enabled(queue, 1));
  auto* out = static_cast<uint32_t*>(allocate(256));
  uint64_t before = 0, after = 0;
  HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
  const hsa_signal_t done = signal(1);
  dispatch(queue, kernel("add"), 64, {address(out), 1}, done);
  ASSERT_TRUE(completes(done));
  HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
  hsa_amd_profiling_dispatch_time_t time{};
  HSA(hsa_amd_profiling_get_dispatch_time(gpu_, done, &time));
  EXPECT_LE(before, time.start);
  EXPECT_LT(time.start, time.end);
  EXPECT_LE(time.end, after);
}

}  // namespace
}  // namespace wavejit::test
