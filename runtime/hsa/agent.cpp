#include "runtime/hsa/agent.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "internal/semantics/clock.h"
#include "runtime/hsa/devices.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/signal.h"
#include "runtime/hsa/status.h"
#include "runtime/threads/thread_pool.h"

namespace wavejit::hsa {
namespace {

std::vector<std::unique_ptr<Agent>>& list() {
  static auto* const instance = new std::vector<std::unique_ptr<Agent>>;
  return *instance;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "x86-64 CPU";
}

void add_pool(Agent& agent, hsa_amd_segment_t segment, uint32_t flags, uint64_t bytes) {
  agent.pools.push_back(std::make_unique<Pool>(Pool{&agent, segment, flags, bytes}));
}

std::unique_ptr<Agent> make_cpu() {
  auto cpu = std::make_unique<Agent>();
  cpu->device = HSA_DEVICE_TYPE_CPU;
  cpu->caches = {{"L1", 1, static_cast<uint32_t>(std::max(0l, sysconf(_SC_LEVEL1_DCACHE_SIZE)))},
                 {"L2", 2, static_cast<uint32_t>(std::max(0l, sysconf(_SC_LEVEL2_CACHE_SIZE)))}};
  const uint64_t bytes = host_memory_bytes();
  add_pool(*cpu, HSA_AMD_SEGMENT_GLOBAL, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, bytes);
  add_pool(*cpu, HSA_AMD_SEGMENT_GLOBAL,
           HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, bytes);
  add_pool(*cpu, HSA_AMD_SEGMENT_GLOBAL, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, bytes);
  return cpu;
}

// Of the device's pool. Device memory is the host's, so it cannot be more than that.
uint64_t memory_bytes(const Board& board) {
  const uint64_t host = host_memory_bytes();
  return board.memory_mib == 0 ? host : std::min(host, uint64_t{board.memory_mib} << 20);
}

std::unique_ptr<Agent> make_gpu(const Device& device) {
  const Board& board = device.board;
  auto gpu = std::make_unique<Agent>();
  gpu->device = HSA_DEVICE_TYPE_GPU;
  gpu->node = device.node();
  gpu->gpu_index = device.index;
  gpu->board = &board;
  gpu->shared =
      std::make_unique<runtime::Device>(std::max(runtime::kDeviceWaves, board.compute_units * board.waves_per_cu()));
  gpu->target = device.target;
  gpu->target_id = device.target_id;
  gpu->isa_name = "amdgcn-amd-amdhsa--" + device.target_id.to_string();
  gpu->uuid = device.uuid;
  for (const auto& [level, kib] : {std::pair{1, board.l1_kib}, {2, board.l2_kib}, {3, board.l3_kib}})
    if (kib != 0) gpu->caches.push_back({fmt::format("L{}", level), static_cast<uint8_t>(level), kib << 10});
  // The pools that ROCr has, in its order. Of what they promise of other agents' accesses, all memory here keeps the most.
  const uint64_t bytes = memory_bytes(board);
  add_pool(*gpu, HSA_AMD_SEGMENT_GLOBAL, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, bytes);
  add_pool(*gpu, HSA_AMD_SEGMENT_GLOBAL, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED, bytes);
  const char* const fine = std::getenv("HSA_FORCE_FINE_GRAIN_PCIE");
  if (fine != nullptr && std::strcmp(fine, "1") == 0)
    add_pool(*gpu, HSA_AMD_SEGMENT_GLOBAL, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, bytes);
  add_pool(*gpu, HSA_AMD_SEGMENT_GROUP, 0, board.lds_kib << 10);
  return gpu;
}

}  // namespace

bool Agent::take_memory(uint64_t bytes) {
  const uint64_t all = is_gpu() ? pools[0]->bytes : UINT64_MAX;  // of the host's memory the system decides
  uint64_t taken = allocated_bytes.load(std::memory_order_relaxed);
  do {
    if (taken > all || bytes > all - taken) return false;
  } while (!allocated_bytes.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  return true;
}

uint64_t host_memory_bytes() {
  struct sysinfo info{};
  sysinfo(&info);
  return uint64_t{info.totalram} * info.mem_unit / 4096 * 4096;
}

bool has_xnack() {
  return std::ranges::any_of(
      list(), [](const auto& agent) { return agent->target_id.xnack == codeobject::FeatureSetting::on; });
}

std::span<const std::unique_ptr<Agent>> agents() {
  return list();
}

Agent* agent_of(hsa_agent_t handle) {
  for (const auto& agent : list())
    if (agent->handle().handle == handle.handle) return agent.get();
  return nullptr;
}

Pool* pool_of(uint64_t handle) {
  for (const auto& agent : list())
    for (const auto& pool : agent->pools)
      if (reinterpret_cast<uint64_t>(pool.get()) == handle) return pool.get();
  return nullptr;
}

Agent* gpu_of_isa(hsa_isa_t handle) {
  Agent* agent = agent_of({handle.handle});
  return agent && agent->is_gpu() ? agent : nullptr;
}

bool make_agents(std::string& problem) {
  if (!list().empty()) return true;
  auto boards = configured_boards();
  if (!boards) return problem = boards.error(), false;
  auto devices = select_devices(std::move(*boards), DeviceVariables::of_environment());
  if (!devices) return problem = devices.error(), false;
  // Agents refer to them until the process ends.
  static auto* const kept = new std::vector<Device>;
  *kept = std::move(*devices);
  list().push_back(make_cpu());
  for (const Device& device : *kept) list().push_back(make_gpu(device));
  return true;
}

}  // namespace wavejit::hsa

using namespace wavejit::hsa;
namespace runtime = wavejit::runtime;

namespace {

constexpr uint32_t kQueueMinPackets = 64, kQueueMaxPackets = 131072, kMaxQueues = 128;

uint32_t device_id(const Agent& a) {
  return a.board ? a.board->chip_id : 0;
}

hsa_status_t cpu_or_gpu(const Agent& a, uint32_t attribute, void* value) {
  const bool gpu = a.is_gpu();
  switch (attribute) {
    case HSA_AGENT_INFO_NAME:
      return give_text(value, gpu ? a.target_id.processor : cpu_name(), 64);
    case HSA_AGENT_INFO_VENDOR_NAME:
      return give_text(value, gpu ? "AMD" : "CPU", 64);
    case HSA_AGENT_INFO_FEATURE:
      return give(value, gpu ? HSA_AGENT_FEATURE_KERNEL_DISPATCH : hsa_agent_feature_t{});
    case HSA_AGENT_INFO_MACHINE_MODEL:
      return give(value, HSA_MACHINE_MODEL_LARGE);
    case HSA_AGENT_INFO_PROFILE:
      return give(value, gpu ? HSA_PROFILE_BASE : HSA_PROFILE_FULL);
    case HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
      return give(value, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR);
    case HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES:
      return give(value, gpu ? HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR : hsa_default_float_rounding_mode_t{});
    case HSA_AGENT_INFO_FAST_F16_OPERATION:
      return give(value, gpu);
    case HSA_AGENT_INFO_WAVEFRONT_SIZE:
      return give(value, uint32_t{gpu ? 64u : 0u});
    case HSA_AGENT_INFO_WORKGROUP_MAX_DIM: {
      const uint16_t most = gpu ? 1024 : 0;
      return give(value, std::array<uint16_t, 3>{most, most, most});
    }
    case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE:
      return give(value, uint32_t{gpu ? 1024u : 0u});
    case HSA_AGENT_INFO_GRID_MAX_DIM: {
      const uint32_t most = gpu ? UINT32_MAX : 0;
      return give(value, hsa_dim3_t{most, most, most});
    }
    case HSA_AGENT_INFO_GRID_MAX_SIZE:
      return give(value, uint32_t{gpu ? UINT32_MAX : 0});
    case HSA_AGENT_INFO_FBARRIER_MAX_SIZE:
      return give(value, uint32_t{gpu ? 32u : 0u});
    case HSA_AGENT_INFO_QUEUES_MAX:
      return give(value, gpu ? kMaxQueues : 0);
    case HSA_AGENT_INFO_QUEUE_MIN_SIZE:
      return give(value, gpu ? kQueueMinPackets : 0);
    case HSA_AGENT_INFO_QUEUE_MAX_SIZE:
      return give(value, gpu ? kQueueMaxPackets : 0);
    case HSA_AGENT_INFO_QUEUE_TYPE:
      return give(value, HSA_QUEUE_TYPE_MULTI);
    case HSA_AGENT_INFO_NODE:
      return give(value, a.node);
    case HSA_AGENT_INFO_DEVICE:
      return give(value, a.device);
    case HSA_AGENT_INFO_CACHE_SIZE: {
      std::array<uint32_t, 4> sizes{};
      for (const Cache& c : a.caches) sizes[c.level - 1u] = c.bytes;
      return give(value, sizes);
    }
    case HSA_AGENT_INFO_ISA:
      return give(value, hsa_isa_t{gpu ? const_cast<Agent&>(a).handle().handle : 0});
    case HSA_AGENT_INFO_EXTENSIONS: {
      std::array<uint8_t, 128> bits{};
      const auto set = [&](unsigned bit) { bits[bit / 8] |= static_cast<uint8_t>(1u << bit % 8); };
      if (gpu) set(HSA_EXTENSION_IMAGES);
      set(HSA_EXTENSION_AMD_LOADER);
      return give(value, bits);
    }
    case HSA_AGENT_INFO_VERSION_MAJOR:
    case HSA_AGENT_INFO_VERSION_MINOR:
      return give(value, uint16_t{1});
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

// What is left of the device's memory, which is never more than the host's.
uint64_t available_bytes(const Agent& a) {
  const uint64_t total = a.pools[0]->bytes, allocated = a.allocated_bytes.load(std::memory_order_relaxed);
  return total > allocated ? total - allocated : 0;
}

hsa_status_t amd_info(const Agent& a, uint32_t attribute, void* value) {
  const Board* board = a.board;
  const uint32_t cpus = runtime::available_cpus();
  switch (attribute) {
    case HSA_AMD_AGENT_INFO_CHIP_ID:
      return give(value, device_id(a));
    case HSA_AMD_AGENT_INFO_CACHELINE_SIZE:
      return give(value, board ? board->cache_line_bytes : 64);
    case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
      return give(value, board ? board->compute_units : cpus);
    case HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT:
      return give(value, board ? board->compute_units : 0);
    case HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY:
      return give(value, board ? board->clock_mhz : 0);
    case HSA_AMD_AGENT_INFO_DRIVER_NODE_ID:
      return give(value, a.node);
    case HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS:  // as the driver's files say, for debuggers
      return give(value, uint32_t{board ? 4u : 0u});
    case HSA_AMD_AGENT_INFO_BDFID:
      return give(value, board ? (a.gpu_index + 1) << 8 : 0u);
    case HSA_AMD_AGENT_INFO_MEMORY_WIDTH:
      return give(value, board ? board->memory_bus_bits : 0);
    case HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY:
      return give(value, board ? board->memory_clock_mhz : 0);
    case HSA_AMD_AGENT_INFO_PRODUCT_NAME:
      return give_text(value, board ? board->name : cpu_name(), 64);
    case HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU:
      return give(value, board ? board->waves_per_cu() : 0);
    case HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU:
      return give(value, board ? board->simds_per_cu : 0);
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES:
      return give(value, board ? board->shader_engines : 0);
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE:
      return give(value, board ? board->arrays_per_engine : 0);
    case HSA_AMD_AGENT_INFO_HDP_FLUSH:
      return give(value, hsa_amd_hdp_flush_t{});
    case HSA_AMD_AGENT_INFO_DOMAIN:
      return give(value, uint32_t{0});
    case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES:
      return give(value, board && wavejit::isa::family_of(board->target) >= wavejit::isa::Family::gfx9);
    case HSA_AMD_AGENT_INFO_UUID:
      return give_text(value, board ? a.uuid : "CPU-XX", 21);
    case HSA_AMD_AGENT_INFO_ASIC_REVISION:
      return give(value, board ? board->revision : 0);
    case HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS:  // whether the host reaches managed memory that is the device's
      return give(value, !board || board->apu);
    case HSA_AMD_AGENT_INFO_MEMORY_AVAIL:
      if (!board) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
      return give(value, available_bytes(a));
    case HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY:
      return give(value, board ? wavejit::kRealtimeFrequency : kTimestampFrequency);
    case HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID:
      return give(value, board ? board->family_id : 0);
    case HSA_AMD_AGENT_INFO_UCODE_VERSION:
    case HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION:
      return give(value, uint32_t{0});  // no firmware
    case HSA_AMD_AGENT_INFO_NUM_SDMA_ENG:
      return give(value, uint32_t{board ? 2u : 0u});
    case HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG:
      return give(value, uint32_t{0});
    case HSA_AMD_AGENT_INFO_IOMMU_SUPPORT:
      return give(value, HSA_IOMMU_SUPPORT_NONE);
    case HSA_AMD_AGENT_INFO_NUM_XCC:
      return give(value, board ? board->xccs : 0);
    case HSA_AMD_AGENT_INFO_DRIVER_UID:
      return give(value, board ? a.node : 0);
    case HSA_AMD_AGENT_INFO_NEAREST_CPU:
      return give(value, board ? agents()[0]->handle() : hsa_agent_t{0});
    case HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES:  // bit 0: an APU
      return give(value, uint64_t{board && board->apu});
    case HSA_AMD_AGENT_INFO_AQL_EXTENSIONS:
    case HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT:  // scratch is taken for each launch and not kept
      return give(value, uint64_t{0});
    case HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX:  // what ROCr has for a GPU with one XCC
      return give(value, board ? uint64_t{4} << 30 : 0);
    case HSA_AMD_AGENT_INFO_CLOCK_COUNTERS: {
      const uint64_t now = timestamp();
      return give(value, board ? hsa_amd_clock_counters_t{now / wavejit::kRealtimeNs, now, now, kTimestampFrequency}
                               : hsa_amd_clock_counters_t{});
    }
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

// Limits of images: those of the GFX9 descriptors. Those of the host are 0, and of GFX940 and later, as ROCr has it
// (amd_gpu_agent.cpp).
hsa_status_t image_info(const Agent& a, uint32_t attribute, void* value) {
  if (!a.is_gpu() || wavejit::isa::family_of(a.target) == wavejit::isa::Family::gfx940) {
    switch (attribute) {
      case HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS:
      case HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS:
      case HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS:
      case HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS:
        return give(value, std::array<uint32_t, 2>{});
      case HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS:
        return give(value, std::array<uint32_t, 3>{});
      default:
        return give(value, uint32_t{0});
    }
  }
  switch (attribute) {
    case HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS:
      return give(value, uint32_t{16384});
    case HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS:
      return give(value, uint32_t{UINT32_MAX});
    case HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS:
      return give(value, std::array<uint32_t, 2>{16384, 16384});
    case HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS:
      return give(value, std::array<uint32_t, 3>{16384, 16384, 8192});
    case HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS:
      return give(value, uint32_t{8192});
    case HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES:
      return give(value, uint32_t{128});
    case HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES:
      return give(value, uint32_t{64});
    case HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS:
      return give(value, uint32_t{16});
    case HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT:
      return give(value, size_t{256});
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

}  // namespace

WAVEJIT_HSA_API hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void*), void* data) {
  return entry([&] {
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (const auto& agent : agents())
      if (const hsa_status_t status = callback(agent->handle(), data); status != HSA_STATUS_SUCCESS) return status;
    return HSA_STATUS_SUCCESS;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_agent_get_info(hsa_agent_t handle, hsa_agent_info_t attribute, void* value) {
  return entry([&] {
    const Agent* agent = agent_of(handle);
    if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto a = static_cast<uint32_t>(attribute);
    if (a >= 0xA000) return amd_info(*agent, a, value);
    if (a >= 0x3000) return image_info(*agent, a, value);
    return cpu_or_gpu(*agent, a, value);
  });
}

// Scratch is not reclaimed from queues, so that there is no limit to set; ROCr answers so, too, for all but GFX94x.
WAVEJIT_HSA_API hsa_status_t hsa_amd_agent_set_async_scratch_limit(hsa_agent_t handle, size_t) {
  return entry([&] {
    const Agent* agent = agent_of(handle);
    return agent && agent->is_gpu() ? HSA_STATUS_ERROR_INVALID_ARGUMENT : HSA_STATUS_ERROR_INVALID_AGENT;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_agent_get_exception_policies(hsa_agent_t handle, hsa_profile_t, uint16_t* mask) {
  return entry([&] {
    if (!agent_of(handle)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!mask) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *mask = 0;
    return HSA_STATUS_SUCCESS;
  });
}

// ------------------------------------------------------------------------------------------------ caches

namespace {
Cache* cache_of(hsa_cache_t handle) {
  for (const auto& agent : agents())
    for (Cache& c : agent->caches)
      if (reinterpret_cast<uint64_t>(&c) == handle.handle) return &c;
  return nullptr;
}
}  // namespace

WAVEJIT_HSA_API hsa_status_t hsa_agent_iterate_caches(hsa_agent_t handle, hsa_status_t (*callback)(hsa_cache_t, void*),
                                                      void* data) {
  return entry([&] {
    Agent* agent = agent_of(handle);
    if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (Cache& c : agent->caches)
      if (const hsa_status_t status = callback({reinterpret_cast<uint64_t>(&c)}, data); status != HSA_STATUS_SUCCESS)
        return status;
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_cache_get_info(hsa_cache_t handle, hsa_cache_info_t attribute, void* value) {
  return entry([&] {
    const Cache* cache = cache_of(handle);
    if (!cache) return HSA_STATUS_ERROR_INVALID_CACHE;
    if (!value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch (attribute) {
      case HSA_CACHE_INFO_NAME_LENGTH:
        return give(value, static_cast<uint32_t>(cache->name.size()));
      case HSA_CACHE_INFO_NAME:
        std::memcpy(value, cache->name.c_str(), cache->name.size() + 1);
        return HSA_STATUS_SUCCESS;
      case HSA_CACHE_INFO_LEVEL:
        return give(value, cache->level);
      case HSA_CACHE_INFO_SIZE:
        return give(value, cache->bytes);
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}
