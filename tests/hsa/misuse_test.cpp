// Handles that are none any more, or never were one, and callbacks that take away what called them.
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "fixture.h"
#include "runtime/hsa/newer_api.h"

namespace wavejit::test {
namespace {

// Numbers that are no handle: small, not canonical, addresses of other memory, and of the middle of a signal.
std::vector<uint64_t> made_up(uint64_t live) {
  static const std::vector<uint64_t> other(64);
  return {0,
          1,
          64,
          0x1000,
          uint64_t{1} << 47,
          ~uint64_t{0},
          ~uint64_t{63},
          uint64_t{1} << 63,
          live + 1,
          live + 64,
          (reinterpret_cast<uint64_t>(other.data()) + 63) / 64 * 64};
}

// As on hardware. What matters is that nothing waits for threads that are not there.
TEST_F(HsaTest, ForkedChildrenAreRefused) {
  hsa_queue_t* queue = make_queue();
  const hsa_signal_t done = signal(1);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    void* memory = nullptr;
    hsa_queue_t* own = nullptr;
    char name[64];
    if (hsa_agent_get_info(gpu_, HSA_AGENT_INFO_NAME, name) != HSA_STATUS_ERROR_NOT_INITIALIZED) _exit(1);
    if (hsa_amd_memory_pool_allocate(device_pool_, 4096, 0, &memory) != HSA_STATUS_ERROR_NOT_INITIALIZED) _exit(2);
    if (hsa_queue_create(gpu_, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &own) !=
        HSA_STATUS_ERROR_NOT_INITIALIZED)
      _exit(3);
    if (hsa_queue_destroy(queue) != HSA_STATUS_ERROR_NOT_INITIALIZED) _exit(4);
    if (hsa_signal_destroy(done) != HSA_STATUS_ERROR_NOT_INITIALIZED) _exit(5);
    if (hsa_shut_down() != HSA_STATUS_ERROR_NOT_INITIALIZED) _exit(6);
    if (hsa_init() != HSA_STATUS_ERROR_OUT_OF_RESOURCES) _exit(7);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  auto* out = static_cast<uint32_t*>(allocate(64 * sizeof(uint32_t)));
  dispatch(queue, kernel("add"), 64, {reinterpret_cast<uint64_t>(out), 1}, done);
  EXPECT_TRUE(completes(done));
}

TEST_F(HsaTest, SignalsThatAreNone) {
  const hsa_signal_t live = signal(1);
  hsa_signal_t dead{};
  HSA(hsa_signal_create(5, 0, nullptr, &dead));
  HSA(hsa_signal_destroy(dead));
  std::vector<uint64_t> none = made_up(live.handle);
  none.push_back(dead.handle);
  for (const uint64_t handle : none) {
    const hsa_signal_t s{handle};
    EXPECT_NE(hsa_signal_destroy(s), HSA_STATUS_SUCCESS) << handle;
    EXPECT_EQ(hsa_amd_signal_async_handler(
                  s, HSA_SIGNAL_CONDITION_EQ, 0, [](hsa_signal_value_t, void*) { return false; }, nullptr),
              HSA_STATUS_ERROR_INVALID_SIGNAL);
    hsa_signal_store_screlease(s, 7);
    hsa_signal_add_relaxed(s, 7);
    EXPECT_EQ(hsa_signal_load_scacquire(s), 0);
    EXPECT_EQ(hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_EQ, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED), 0);
  }
  EXPECT_EQ(hsa_signal_load_scacquire(live), 1);
  hsa_queue_t* queue = make_queue();
  EXPECT_EQ(hsa_signal_destroy(queue->doorbell_signal), HSA_STATUS_ERROR_INVALID_SIGNAL) << "a queue's";
}

// Waits for any of what is no signal have nobody to end them.
TEST_F(HsaTest, WaitsForNoSignal) {
  hsa_signal_t none[2] = {{0}, {4096}};
  hsa_signal_condition_t conditions[2] = {};
  hsa_signal_value_t values[2] = {}, value = 0;
  for (const uint32_t count : {0u, 2u})
    EXPECT_EQ(hsa_amd_signal_wait_any(count, none, conditions, values, UINT64_MAX, HSA_WAIT_STATE_BLOCKED, &value),
              UINT32_MAX);
  EXPECT_EQ(hsa_amd_signal_wait_any(1, nullptr, nullptr, nullptr, UINT64_MAX, HSA_WAIT_STATE_BLOCKED, &value),
            UINT32_MAX);
  EXPECT_EQ(hsa_amd_signal_wait_all(1, nullptr, nullptr, nullptr, UINT64_MAX, HSA_WAIT_STATE_BLOCKED, &value),
            UINT32_MAX);
}

// Only one of them destroys it, so that no two signals get the same memory.
TEST_F(HsaTest, ThreadsDestroyOneSignal) {
  for (int round = 0; round < 200; ++round) {
    hsa_signal_t s{};
    HSA(hsa_signal_create(1, 0, nullptr, &s));
    std::atomic<int> destroyed{0};
    const auto destroy = [&] { destroyed += hsa_signal_destroy(s) == HSA_STATUS_SUCCESS; };
    std::thread other(destroy);
    destroy();
    other.join();
    ASSERT_EQ(destroyed, 1);
    hsa_signal_t a{}, b{};
    HSA(hsa_signal_create(1, 0, nullptr, &a));
    HSA(hsa_signal_create(1, 0, nullptr, &b));
    ASSERT_NE(a.handle, b.handle);
    HSA(hsa_signal_destroy(a));
    HSA(hsa_signal_destroy(b));
  }
}

TEST_F(HsaTest, GroupsImagesAndObjectsThatAreNone) {
  hsa_signal_t s = signal(1);
  hsa_signal_group_t group{};
  HSA(hsa_signal_group_create(1, &s, 0, nullptr, &group));
  HSA(hsa_signal_group_destroy(group));
  hsa_signal_condition_t condition = HSA_SIGNAL_CONDITION_EQ;
  hsa_signal_value_t value = 1;
  hsa_ven_amd_loader_1_03_pfn_t loader{};
  HSA(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof loader, &loader));
  std::vector<uint64_t> none = made_up(s.handle);
  none.push_back(group.handle);
  for (const uint64_t handle : none) {
    EXPECT_EQ(hsa_signal_group_destroy({handle}), HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP);
    EXPECT_EQ(hsa_signal_group_wait_any_relaxed({handle}, &condition, &value, HSA_WAIT_STATE_BLOCKED, &s, &value),
              HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP);
    EXPECT_EQ(hsa_ext_image_destroy(gpu_, {handle}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    uint64_t answer = 0;
    EXPECT_EQ(loader.hsa_ven_amd_loader_loaded_code_object_get_info(
                  {handle}, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE, &answer),
              HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
}

// sRGB is of four components of 8 bits without a sign.
TEST_F(HsaTest, SrgbImagesHaveOneChannelType) {
  const auto capability = [&](hsa_ext_image_channel_type32_t type, hsa_ext_image_channel_order32_t order) {
    const hsa_ext_image_format_t format{type, order};
    uint32_t mask = UINT32_MAX;
    EXPECT_EQ(hsa_ext_image_get_capability(gpu_, HSA_EXT_IMAGE_GEOMETRY_2D, &format, &mask), HSA_STATUS_SUCCESS);
    return mask;
  };
  for (const hsa_ext_image_channel_order32_t order :
       {HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA, HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA}) {
    EXPECT_NE(capability(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, order), HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED);
    for (const hsa_ext_image_channel_type32_t type :
         {HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8, HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8,
          HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16, HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT})
      EXPECT_EQ(capability(type, order), HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED) << type;
  }
}

TEST_F(HsaTest, RegionsBeyondAnImage) {
  auto* memory = static_cast<uint8_t*>(allocate(4096));
  hsa_ext_image_descriptor_t d{};
  d.geometry = HSA_EXT_IMAGE_GEOMETRY_2D;
  d.width = d.height = 8;
  d.format = {HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8, HSA_EXT_IMAGE_CHANNEL_ORDER_R};
  hsa_ext_image_t image{};
  HSA(hsa_ext_image_create(gpu_, &d, memory, HSA_ACCESS_PERMISSION_RW, &image));
  std::vector<uint8_t> host(4096);
  const hsa_ext_image_region_t whole{{0, 0, 0}, {8, 8, 1}};
  HSA(hsa_ext_image_import(gpu_, host.data(), 0, 0, image, &whole));
  const uint32_t value[4] = {};
  for (const hsa_ext_image_region_t& beyond : {hsa_ext_image_region_t{{1, 0, 0}, {8, 8, 1}},
                                               {{0, 1, 0}, {8, 8, 1}},
                                               {{0, 0, 1}, {8, 8, 1}},
                                               {{0, 0, 0}, {8, 8, 2}},
                                               {{UINT32_MAX, 0, 0}, {1, 1, 1}},
                                               {{0, UINT32_MAX, 0}, {1, 2, 1}},
                                               {{8, 8, 0}, {UINT32_MAX, UINT32_MAX, UINT32_MAX}}}) {
    EXPECT_EQ(hsa_ext_image_import(gpu_, host.data(), 0, 0, image, &beyond), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(hsa_ext_image_export(gpu_, image, host.data(), 0, 0, &beyond), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(hsa_ext_image_clear(gpu_, image, value, &beyond), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(hsa_ext_image_copy(gpu_, image, &beyond.offset, image, &whole.offset, &beyond.range),
              HSA_STATUS_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(hsa_ext_image_copy(gpu_, image, &whole.offset, image, &beyond.offset, &beyond.range),
              HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
  HSA(hsa_ext_image_destroy(gpu_, image));
  // Sizes of which 32 bits look harmless.
  d.geometry = HSA_EXT_IMAGE_GEOMETRY_1DB;
  d.width = (uint64_t{1} << 32) + 1;
  EXPECT_NE(hsa_ext_image_create(gpu_, &d, memory, HSA_ACCESS_PERMISSION_RW, &image), HSA_STATUS_SUCCESS);
}

TEST_F(HsaTest, SizesThatOverflow) {
  auto* memory = static_cast<uint8_t*>(allocate(8192));
  int file = -1;
  uint64_t offset = 0;
  void* pointer = nullptr;
  for (const size_t bytes : {~size_t{0}, ~size_t{4095}, ~size_t{0} - reinterpret_cast<size_t>(memory)}) {
    EXPECT_EQ(hsa_amd_portable_export_dmabuf(memory + 4096, bytes, &file, &offset),
              HSA_STATUS_ERROR_INVALID_ALLOCATION);
    EXPECT_NE(hsa_amd_memory_lock(memory + 16384, bytes, nullptr, 0, &pointer), HSA_STATUS_SUCCESS);
    EXPECT_NE(hsa_amd_memory_fill(memory, 1, bytes), HSA_STATUS_SUCCESS);
    EXPECT_NE(hsa_amd_memory_pool_allocate(device_pool_, bytes, 0, &pointer), HSA_STATUS_SUCCESS);
  }
  EXPECT_EQ(hsa_amd_memory_fill(memory, 1, 8192 / 4 + 1), HSA_STATUS_ERROR);
  HSA(hsa_amd_memory_fill(memory, 1, 8192 / 4));
}

// Completion and dependencies that are no signals, whatever memory is there.
TEST_F(HsaTest, PacketsWithSignalsThatAreNone) {
  hsa_queue_t* queue = make_queue();
  const hsa_signal_t done = signal(1);
  auto* out = static_cast<uint32_t*>(allocate(64 * 4));
  for (const uint64_t handle : made_up(done.handle)) {
    hsa_barrier_and_packet_t barrier{};
    for (hsa_signal_t& s : barrier.dep_signal) s = {handle};
    barrier.completion_signal = {handle};
    write_packet(queue, HSA_PACKET_TYPE_BARRIER_AND, &barrier);
    write_packet(queue, HSA_PACKET_TYPE_BARRIER_OR, &barrier);
    (void)dispatch(queue, kernel("add"), 64, {reinterpret_cast<uint64_t>(out), 1}, {handle}, true, true);
  }
  (void)dispatch(queue, kernel("add"), 64, {reinterpret_cast<uint64_t>(out), 1}, done, true, true);
  EXPECT_TRUE(completes(done));
  EXPECT_EQ(out[0], made_up(0).size() + 1);
  EXPECT_EQ(error_.status, HSA_STATUS_SUCCESS);
}

TEST_F(HsaTest, BarriersOfNoCondition) {
  hsa_queue_t* queue = make_queue();
  hsa_amd_barrier_value_packet_t barrier{};
  barrier.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  barrier.signal = signal(1);
  barrier.cond = 4;
  const uint64_t index = write_packet(queue, HSA_PACKET_TYPE_VENDOR_SPECIFIC, &barrier);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  while (error_.status == HSA_STATUS_SUCCESS) std::this_thread::yield();
  EXPECT_EQ(error_.status, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
}

// What a callback of the queue's destroys, or closes, ends when the callback has ended.
struct Destroyer {
  std::atomic<int> status{-1};
  bool shuts_down = false;
};
void destroy_in_callback(hsa_status_t, hsa_queue_t* queue, void* data) {
  auto* destroyer = static_cast<Destroyer*>(data);
  destroyer->status = destroyer->shuts_down ? hsa_shut_down() : hsa_queue_destroy(queue);
}

TEST_F(HsaTest, QueuesDestroyedByTheirCallback) {
  for (int round = 0; round < 20; ++round) {
    Destroyer destroyer;
    hsa_queue_t* queue = nullptr;
    HSA(hsa_queue_create(gpu_, 16, HSA_QUEUE_TYPE_MULTI, destroy_in_callback, &destroyer, 0, 0, &queue));
    const hsa_agent_dispatch_packet_t packet{};
    (void)write_packet(queue, HSA_PACKET_TYPE_AGENT_DISPATCH, &packet);
    while (destroyer.status == -1) std::this_thread::yield();
    EXPECT_EQ(destroyer.status, HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_ERROR_INVALID_QUEUE);
  }
}

// Of a process of its own, as the fixture's objects go with the runtime.
TEST(Misuse, RuntimeClosedByAQueuesCallback) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (hsa_init() != HSA_STATUS_SUCCESS) _exit(1);
        hsa_agent_t gpu{};
        (void)hsa_iterate_agents(
            [](hsa_agent_t agent, void* data) {
              *static_cast<hsa_agent_t*>(data) = agent;
              return HSA_STATUS_SUCCESS;
            },
            &gpu);
        Destroyer destroyer;
        destroyer.shuts_down = true;
        hsa_queue_t* queue = nullptr;
        if (hsa_queue_create(gpu, 16, HSA_QUEUE_TYPE_MULTI, destroy_in_callback, &destroyer, 0, 0, &queue) !=
            HSA_STATUS_SUCCESS)
          _exit(2);
        std::atomic_ref(*static_cast<uint16_t*>(queue->base_address))
            .store(HSA_PACKET_TYPE_AGENT_DISPATCH, std::memory_order_release);
        while (destroyer.status == -1) std::this_thread::yield();
        _exit(destroyer.status == HSA_STATUS_SUCCESS && hsa_shut_down() == HSA_STATUS_ERROR_NOT_INITIALIZED ? 0 : 3);
      },
      testing::ExitedWithCode(0), "");
}

// Nothing may move pages then: programs are told, and what is theirs stays as it is.
TEST(Misuse, WithoutSignalHandlers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto body = [] {
    setenv("WAVEJIT_SIGNALS", "off", 1);
    if (hsa_init() != HSA_STATUS_SUCCESS) _exit(1);
    struct Pools {
      hsa_amd_memory_pool_t fine{}, device{};
    } pools;
    const auto look = [](hsa_agent_t agent, void* data) {
      return hsa_amd_agent_iterate_memory_pools(
          agent,
          [](hsa_amd_memory_pool_t pool, void* found) {
            uint32_t flags = 0;
            (void)hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
            auto& all = *static_cast<Pools*>(found);
            if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) all.fine = pool;
            if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) all.device = pool;
            return HSA_STATUS_SUCCESS;
          },
          data);
    };
    if (hsa_iterate_agents(look, &pools) != HSA_STATUS_SUCCESS) _exit(2);
    std::vector<uint8_t> memory(3 << 12, 5);
    void* agent_pointer = nullptr;
    for (int i = 0; i < 2; ++i)
      if (hsa_amd_memory_lock_to_pool(memory.data(), memory.size(), nullptr, 0, pools.fine, 0, &agent_pointer) !=
          HSA_STATUS_ERROR_OUT_OF_RESOURCES)
        _exit(3);
    // For copies, where one address does.
    if (hsa_amd_memory_lock(memory.data(), memory.size(), nullptr, 0, &agent_pointer) != HSA_STATUS_SUCCESS ||
        agent_pointer != memory.data())
      _exit(4);
    void* device = nullptr;
    hsa_amd_ipc_memory_t ipc{};
    if (hsa_amd_memory_pool_allocate(pools.device, 4096, 0, &device) != HSA_STATUS_SUCCESS) _exit(5);
    if (hsa_amd_ipc_memory_create(device, 4096, &ipc) == HSA_STATUS_SUCCESS) _exit(6);
    static_cast<uint8_t*>(device)[4095] = memory[0] = 1;
    _exit(0);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "cannot be registered.*WAVEJIT_SIGNALS");
}

// The handler of a fault runs on the thread that executes the kernel: the queue's, or one that waits without a limit. It
// stays registered, and does nothing in other tests.
std::atomic<hsa_queue_t*> g_queue_of_faults{nullptr};
std::atomic<int> g_destroyed{-1};

TEST_F(HsaTest, QueuesDestroyedByTheHandlerOfTheirFaults) {
  HSA(hsa_amd_register_system_event_handler(
      [](const hsa_amd_event_t*, void*) {
        if (hsa_queue_t* queue = g_queue_of_faults.exchange(nullptr)) g_destroyed = hsa_queue_destroy(queue);
        return HSA_STATUS_SUCCESS;
      },
      nullptr));
  for (const bool waits : {false, true}) {
    hsa_queue_t* queue = nullptr;
    HSA(hsa_queue_create(gpu_, 16, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue));
    g_destroyed = -1;
    g_queue_of_faults = queue;
    const hsa_signal_t done = signal(1);
    (void)dispatch(queue, kernel("write_at"), 64, {0x1000, 0}, done);
    // Nothing completes the signal: a thread that helps comes back after the fault, and waits on.
    std::thread waiting([&] {
      if (waits) hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    });
    while (g_destroyed == -1) std::this_thread::yield();
    hsa_signal_store_screlease(done, 0);
    waiting.join();
    EXPECT_EQ(g_destroyed, HSA_STATUS_SUCCESS);
  }
}

}  // namespace
}  // namespace wavejit::test
