#include "runtime/hsa/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "internal/pages.h"
#include "runtime/hsa/alias.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/shared_memory_attributes.h"
#include "runtime/hsa/status.h"
#include "runtime/hsa/virtual_memory.h"
#include "runtime/memory/fault.h"
#include "runtime/memory/guarded_pages.h"
#include "runtime/memory/memory_registry.h"

namespace wavejit::hsa {
namespace {

constexpr uint64_t kUserAddresses = uint64_t{1} << 47;  // of a process

// By address. Ranges do not overlap.
class Allocations {
 public:
  std::mutex mutex;
  std::map<uint64_t, Allocation> all;

  std::map<uint64_t, uint64_t> aliases;  // addresses of those that have two, by the other one

  // Of the range that holds `address`; mutex held.
  Allocation* find(uint64_t address) {
    if (Allocation* a = holding(address, address)) return a;
    const auto it = aliases.upper_bound(address);
    if (it == aliases.begin()) return nullptr;
    return holding(std::prev(it)->second, std::prev(it)->second + (address - std::prev(it)->first));
  }

 private:
  // The last one that begins at or before `base`, if it holds `address`.
  Allocation* holding(uint64_t base, uint64_t address) {
    const auto it = all.upper_bound(base);
    if (it == all.begin()) return nullptr;
    Allocation& a = std::prev(it)->second;
    return address - a.address < std::max<size_t>(a.bytes, 1) ? &a : nullptr;
  }
};

Allocations& allocations() {
  static auto* const instance = new Allocations;
  return *instance;
}

// The agents that may access memory of a pool once `allowed` have been given access: the pool's own may always.
std::vector<Agent*> accessible_from(const Pool& pool, const std::vector<Agent*>& allowed) {
  std::vector<Agent*> all{pool.agent};
  for (Agent* agent : allowed)
    if (std::find(all.begin(), all.end(), agent) == all.end()) all.push_back(agent);
  return all;
}

std::vector<Agent*> all_agents() {
  std::vector<Agent*> all;
  for (const auto& agent : agents()) all.push_back(agent.get());
  return all;
}

const char* label(const Pool& pool) {
  return pool.agent->is_gpu() ? "device memory" : "host memory";
}

}  // namespace

hsa_status_t allocate(const Pool& pool, size_t bytes, void** out) {
  if (bytes == 0 || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (!pool.can_allocate()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  if (bytes > pool.bytes) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  // An inaccessible page behind each: kernels that run past the end fault instead of changing the next allocation.
  const size_t usable = round_up(bytes, kPage);
  if (!pool.agent->take_memory(usable)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const uint64_t begin = runtime::map_guarded(0, usable);
  if (begin == 0) {
    pool.agent->give_memory_back(usable);
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  runtime::register_memory(begin, bytes, label(pool), runtime::MemoryKind::own);
  const std::lock_guard lock(allocations().mutex);
  allocations().all[begin] = {.address = begin,
                              .bytes = bytes,
                              .mapped_bytes = usable + kPage,
                              .pool = &pool,
                              .agents = accessible_from(pool, {})};
  *out = reinterpret_cast<void*>(begin);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t release(void* pointer) {
  if (!pointer) return HSA_STATUS_SUCCESS;
  Allocation gone;
  {
    const std::lock_guard lock(allocations().mutex);
    const auto it = allocations().all.find(reinterpret_cast<uint64_t>(pointer));
    if (it == allocations().all.end() || it->second.type != HSA_EXT_POINTER_TYPE_HSA)
      return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    gone = std::move(it->second);
    allocations().all.erase(it);
  }
  for (const Allocation::Callback& c : gone.on_free) c.function(pointer, c.user_data);
  runtime::unregister_memory(gone.address);
  forget_attributes(pointer, gone.mapped_bytes);
  munmap(pointer, gone.mapped_bytes);
  gone.pool->agent->give_memory_back(gone.mapped_bytes - kPage);
  if (gone.shared_file >= 0) close(gone.shared_file);
  return HSA_STATUS_SUCCESS;
}

bool holds_pool_memory(uint64_t begin, uint64_t end) {
  const std::lock_guard lock(allocations().mutex);
  const auto& all = allocations().all;
  for (auto it = all.lower_bound(end); it != all.begin();) {
    const Allocation& a = (--it)->second;
    if (a.address + std::max(a.bytes, a.mapped_bytes) <= begin) return false;
    if (a.pool) return true;
  }
  return false;
}

std::optional<Allocation> find_allocation(uint64_t address) {
  {
    const std::lock_guard lock(allocations().mutex);
    if (const Allocation* a = allocations().find(address)) return *a;
  }
  return find_mapping(address);
}

int share(void* pointer, size_t bytes) {
  const std::lock_guard lock(allocations().mutex);
  const auto it = allocations().all.find(reinterpret_cast<uint64_t>(pointer));
  if (it == allocations().all.end() || it->second.type != HSA_EXT_POINTER_TYPE_HSA) return -1;
  Allocation& a = it->second;
  const size_t size = a.mapped_bytes - kPage;
  if (bytes > size) return -1;  // what callers give is mostly rounded up to whole pages
  if (a.shared_file >= 0) return a.shared_file;
  const int file = memfd_create("wavejit", MFD_CLOEXEC);
  if (file < 0) return -1;
  void* copy = ftruncate(file, static_cast<off_t>(size)) == 0
                   ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                   : MAP_FAILED;
  if (copy == MAP_FAILED) {
    close(file);
    return -1;
  }
  if (!replace_pages(pointer, size, copy)) {
    if (!runtime::handles_signals()) say("Memory that is not shared yet cannot be: WAVEJIT_SIGNALS is off.");
    munmap(copy, size);
    close(file);
    return -1;
  }
  runtime::register_memory(a.address, a.bytes, label(*a.pool));  // shared with other processes from now on
  return a.shared_file = file;
}

hsa_status_t attach(int pid, int file, size_t bytes, void** out) {
  const int own = open(fmt::format("/proc/{}/fd/{}", pid, file).c_str(), O_RDWR | O_CLOEXEC);
  if (own < 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  struct stat info{};
  const size_t size = round_up(bytes, kPage);
  void* memory = MAP_FAILED;
  if (fstat(own, &info) == 0 && static_cast<size_t>(info.st_size) >= size)
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
  close(own);
  if (memory == MAP_FAILED) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto address = reinterpret_cast<uint64_t>(memory);
  runtime::register_memory(address, bytes, fmt::format("memory of process {}", pid));
  const std::lock_guard lock(allocations().mutex);
  allocations().all[address] = {.address = address,
                                .bytes = bytes,
                                .mapped_bytes = size,
                                .type = HSA_EXT_POINTER_TYPE_IPC,
                                .agents = all_agents()};
  *out = memory;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t detach(void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const std::lock_guard lock(allocations().mutex);
  const auto it = allocations().all.find(address);
  if (it == allocations().all.end() || it->second.type != HSA_EXT_POINTER_TYPE_IPC)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  runtime::unregister_memory(address);
  munmap(pointer, it->second.mapped_bytes);
  allocations().all.erase(it);
  return HSA_STATUS_SUCCESS;
}

void copy_bytes(void* to, const void* from, size_t bytes) {
  const auto a = reinterpret_cast<uint64_t>(to), b = reinterpret_cast<uint64_t>(from);
  if (a - b >= bytes && b - a >= bytes)
    std::memcpy(to, from, bytes);
  else
    std::memmove(to, from, bytes);
}

namespace {

// True if the process has mapped every page of the range. MS_ASYNC writes nothing back: msync() only walks the mappings.
bool is_mapped(uint64_t address, size_t bytes) {
  const uint64_t begin = address / kPage * kPage;
  return msync(reinterpret_cast<void*>(begin), address + bytes - begin, MS_ASYNC) == 0;
}

// Locked memory is the host's own. `apart`: the agents' address should be another one than the host's.
hsa_status_t lock_memory(void* host, size_t bytes, bool apart, void** agent_pointer) {
  if (!host || bytes == 0 || !agent_pointer) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto address = reinterpret_cast<uint64_t>(host);
  if (bytes > kUserAddresses || address > kUserAddresses - bytes) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (!is_mapped(address, bytes)) return HSA_STATUS_ERROR;  // the driver pins every page
  const std::lock_guard lock(allocations().mutex);
  Allocation* known = allocations().find(address);
  // What is locked for a copy may be registered as well, in part or whole.
  if (known && (known->alias != 0 || !apart || known->type != HSA_EXT_POINTER_TYPE_LOCKED)) {
    const uint64_t offset = address - known->address;
    *agent_pointer = known->alias != 0 ? reinterpret_cast<void*>(known->alias + offset) : host;
    if (offset != 0) return HSA_STATUS_SUCCESS;  // part of what is known
    ++known->locks;
    if (known->alias == 0) known->bytes = std::max(known->bytes, bytes);
    return HSA_STATUS_SUCCESS;
  }
  Allocation& locked = allocations().all[address];
  locked.address = address;
  locked.bytes = std::max(locked.bytes, bytes);
  locked.type = HSA_EXT_POINTER_TYPE_LOCKED;
  locked.agents = all_agents();
  ++locked.locks;
  runtime::register_memory(address, locked.bytes, "locked host memory", runtime::MemoryKind::lent);
  void* const alias = apart ? add_alias(host, locked.bytes) : nullptr;
  if (apart && !alias && !runtime::handles_signals()) {
    say("Host memory cannot be registered: that moves its pages, and WAVEJIT_SIGNALS is off.");
    if (--locked.locks == 0) {
      allocations().all.erase(address);
      runtime::unregister_memory(address);
    }
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  *agent_pointer = alias ? alias : host;
  if (!alias) return HSA_STATUS_SUCCESS;
  locked.alias = reinterpret_cast<uint64_t>(alias);
  allocations().aliases[locked.alias] = address;
  runtime::register_memory(locked.alias, locked.bytes, "locked host memory");
  return HSA_STATUS_SUCCESS;
}

hsa_status_t unlock_memory(void* host) {
  const auto address = reinterpret_cast<uint64_t>(host);
  const std::lock_guard lock(allocations().mutex);
  const auto it = allocations().all.find(address);
  if (it == allocations().all.end() || it->second.type != HSA_EXT_POINTER_TYPE_LOCKED)
    return allocations().find(address) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (--it->second.locks != 0) return HSA_STATUS_SUCCESS;
  if (const uint64_t alias = it->second.alias; alias != 0) {
    allocations().aliases.erase(alias);
    runtime::unregister_memory(alias);
    remove_alias(reinterpret_cast<void*>(alias));
  }
  allocations().all.erase(it);
  runtime::unregister_memory(address);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t pool_info(const Pool& pool, uint32_t attribute, void* value) {
  if (!value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const bool global = pool.can_allocate();
  switch (attribute) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
      return give(value, pool.segment);
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
      return give(value, pool.flags);
    case HSA_AMD_MEMORY_POOL_INFO_SIZE:
    case HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE:
      return give(value, static_cast<size_t>(pool.bytes));
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED:
      return give(value, global);
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT:
      return give(value, global ? kPage : 0);
    case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL:
      return give(value, global && !pool.agent->is_gpu());
    case HSA_AMD_MEMORY_POOL_INFO_LOCATION:
      if (!global) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
      return give(value, pool.agent->is_gpu() ? HSA_AMD_MEMORY_POOL_LOCATION_GPU : HSA_AMD_MEMORY_POOL_LOCATION_CPU);
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE:  // of devices: huge pages
      return give(value, !global ? 0 : pool.agent->is_gpu() ? runtime::kHugePage : kPage);
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

hsa_status_t region_info(const Pool& pool, uint32_t attribute, void* value) {
  if (!value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const bool global = pool.can_allocate();
  switch (attribute) {
    case HSA_REGION_INFO_SEGMENT:
      return give(value, global ? HSA_REGION_SEGMENT_GLOBAL : HSA_REGION_SEGMENT_GROUP);
    case HSA_REGION_INFO_GLOBAL_FLAGS:
      return give(value, pool.flags);
    case HSA_REGION_INFO_SIZE:
    case HSA_REGION_INFO_ALLOC_MAX_SIZE:
      return give(value, static_cast<size_t>(pool.bytes));
    case HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE:
      return give(value, uint32_t{0});
    case HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED:
      return give(value, global);
    case HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE:
    case HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT:
      return give(value, global ? kPage : 0);
    case HSA_AMD_REGION_INFO_HOST_ACCESSIBLE:
      return give(value, global);
    case HSA_AMD_REGION_INFO_BASE:
      return give(value, static_cast<void*>(nullptr));
    case HSA_AMD_REGION_INFO_BUS_WIDTH:
      return give(value, pool.agent->board ? pool.agent->board->memory_bus_bits : 0);
    case HSA_AMD_REGION_INFO_MAX_CLOCK_FREQUENCY:
      return give(value, pool.agent->board ? pool.agent->board->memory_clock_mhz : 0);
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

template <typename Handle>
hsa_status_t each_pool(const Agent& agent, hsa_status_t (*callback)(Handle, void*), void* data) {
  if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (const auto& pool : agent.pools) {
    const hsa_status_t status = callback({reinterpret_cast<uint64_t>(pool.get())}, data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

// Regions are the memory that an agent can use, unlike pools: a device's include those of the host, which hold kernel arguments.
hsa_status_t each_region(const Agent& agent, hsa_status_t (*callback)(hsa_region_t, void*), void* data) {
  hsa_status_t status = each_pool(agent, callback, data);
  if (!agent.is_gpu()) return status;
  for (const auto& host : agents())
    if (status == HSA_STATUS_SUCCESS && !host->is_gpu()) status = each_pool(*host, callback, data);
  return status;
}

}  // namespace
}  // namespace wavejit::hsa

using namespace wavejit::hsa;

constexpr auto kInvalidPool = static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);

// ------------------------------------------------------------------------------------------------ pools and regions

WAVEJIT_HSA_API hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent,
                                                                hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*),
                                                                void* data) {
  return entry([&] {
    const Agent* a = agent_of(agent);
    return a ? each_pool(*a, callback, data) : HSA_STATUS_ERROR_INVALID_AGENT;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t handle,
                                                          hsa_amd_memory_pool_info_t attribute, void* value) {
  return entry([&] {
    const Pool* pool = pool_of(handle.handle);
    return pool ? pool_info(*pool, attribute, value) : kInvalidPool;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t handle,
                                                                hsa_amd_agent_memory_pool_info_t attribute,
                                                                void* value) {
  return entry([&] {
    const Agent* a = agent_of(agent);
    if (!a) return HSA_STATUS_ERROR_INVALID_AGENT;
    const Pool* pool = pool_of(handle.handle);
    if (!pool) return kInvalidPool;
    if (!value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const bool own = pool->agent == a;
    switch (attribute) {
      case HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS:
        if (!pool->can_allocate())
          return give(value,
                      own ? HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT : HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
        // As with a large BAR: the host may access device memory, too.
        return give(value, own || !pool->agent->is_gpu() || !a->is_gpu()
                               ? HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT
                               : HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
      case HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS:
        return give(value, uint32_t{own ? 0u : 1u});
      case HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO: {
        if (own) return HSA_STATUS_SUCCESS;
        hsa_amd_memory_pool_link_info_t link{};
        link.atomic_support_32bit = link.atomic_support_64bit = link.coherent_support = true;
        link.link_type = HSA_AMD_LINK_INFO_TYPE_PCIE;
        link.numa_distance = 20;
        return give(value, link);
      }
      default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t handle, size_t bytes, uint32_t,
                                                          void** out) {
  return entry([&] {
    const Pool* pool = pool_of(handle.handle);
    return pool ? allocate(*pool, bytes, out) : kInvalidPool;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_pool_free(void* pointer) {
  return entry([&] { return release(pointer); });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_pool_can_migrate(hsa_amd_memory_pool_t from, hsa_amd_memory_pool_t to,
                                                             bool* result) {
  return entry([&] {
    if (!pool_of(from.handle) || !pool_of(to.handle)) return kInvalidPool;
    if (!result) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *result = false;
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_migrate(const void*, hsa_amd_memory_pool_t, uint32_t) {
  return entry([&] { return not_implemented("hsa_amd_memory_migrate", HSA_STATUS_ERROR_OUT_OF_RESOURCES); });
}

WAVEJIT_HSA_API hsa_status_t hsa_agent_iterate_regions(hsa_agent_t agent, hsa_status_t (*callback)(hsa_region_t, void*),
                                                       void* data) {
  return entry([&] {
    const Agent* a = agent_of(agent);
    return a ? each_region(*a, callback, data) : HSA_STATUS_ERROR_INVALID_AGENT;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_region_get_info(hsa_region_t handle, hsa_region_info_t attribute, void* value) {
  return entry([&] {
    const Pool* pool = pool_of(handle.handle);
    return pool ? region_info(*pool, attribute, value) : HSA_STATUS_ERROR_INVALID_REGION;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_memory_allocate(hsa_region_t handle, size_t bytes, void** out) {
  return entry([&] {
    const Pool* pool = pool_of(handle.handle);
    return pool ? allocate(*pool, bytes, out) : HSA_STATUS_ERROR_INVALID_REGION;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_memory_free(void* pointer) {
  return entry([&] { return release(pointer); });
}
WAVEJIT_HSA_API hsa_status_t hsa_memory_copy(void* to, const void* from, size_t bytes) {
  return entry([&] {
    if (bytes != 0 && (!to || !from)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    copy_bytes(to, from, bytes);
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_memory_assign_agent(void* pointer, hsa_agent_t agent, hsa_access_permission_t) {
  return entry([&] {
    if (!pointer) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return agent_of(agent) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT;
  });
}
// Full-profile registration is a hint.
WAVEJIT_HSA_API hsa_status_t hsa_memory_register(void* pointer, size_t) {
  return entry([&] { return pointer ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT; });
}
WAVEJIT_HSA_API hsa_status_t hsa_memory_deregister(void*, size_t) {
  return entry([&] { return HSA_STATUS_SUCCESS; });
}

// ------------------------------------------------------------------------------------------------ access and queries

WAVEJIT_HSA_API hsa_status_t hsa_amd_agents_allow_access(uint32_t count, const hsa_agent_t* list, const uint32_t*,
                                                         const void* pointer) {
  return entry([&] {
    if (count == 0 || !list || !pointer) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    std::vector<Agent*> allowed;
    for (uint32_t i = 0; i < count; ++i) {
      Agent* agent = agent_of(list[i]);
      if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
      allowed.push_back(agent);
    }
    const auto address = reinterpret_cast<uint64_t>(pointer);
    {
      const std::lock_guard lock(allocations().mutex);
      if (Allocation* a = allocations().find(address)) {
        if (a->pool) a->agents = accessible_from(*a->pool, allowed);
        return HSA_STATUS_SUCCESS;
      }
    }
    return allow_mapping_access(address, allowed);
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_lock(void* host, size_t bytes, hsa_agent_t*, int, void** agent_pointer) {
  return entry([&] { return lock_memory(host, bytes, false, agent_pointer); });
}
// libamdhip64 locks memory for copies to the coarse-grained pool, and what programs register to the fine-grained one.
WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_lock_to_pool(void* host, size_t bytes, hsa_agent_t*, int,
                                                         hsa_amd_memory_pool_t handle, uint32_t, void** agent_pointer) {
  return entry([&] {
    const Pool* pool = pool_of(handle.handle);
    if (!pool) return kInvalidPool;
    const bool fine = (pool->flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0;
    return lock_memory(host, bytes, fine, agent_pointer);
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_memory_unlock(void* host) {
  return entry([&] { return unlock_memory(host); });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_pointer_info(const void* pointer, hsa_amd_pointer_info_t* info,
                                                  void* (*alloc)(size_t), uint32_t* accessible_count,
                                                  hsa_agent_t** accessible) {
  return entry([&] {
    if (!pointer || !info || info->size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    hsa_amd_pointer_info_t full{};
    full.size = static_cast<uint32_t>(std::min<size_t>(info->size, sizeof full));
    const auto found = find_allocation(reinterpret_cast<uint64_t>(pointer));
    full.type = HSA_EXT_POINTER_TYPE_UNKNOWN;
    if (found) {
      full.type = found->type;
      full.hostBaseAddress = reinterpret_cast<void*>(found->address);
      full.agentBaseAddress = reinterpret_cast<void*>(found->alias != 0 ? found->alias : found->address);
      full.sizeInBytes = found->bytes;
      full.userData = found->user_data;
      full.agentOwner = found->pool ? found->pool->agent->handle() : agents()[0]->handle();
      reinterpret_cast<uint8_t*>(&full)[kPointerInfoRegistered] = 1;
      full.global_flags = found->pool ? found->pool->flags : uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED};
    }
    std::memcpy(info, &full, full.size);
    if (alloc && accessible_count && accessible) {
      *accessible_count = 0;
      *accessible = nullptr;
      if (!found || found->agents.empty()) return HSA_STATUS_SUCCESS;
      *accessible = static_cast<hsa_agent_t*>(alloc(found->agents.size() * sizeof(hsa_agent_t)));
      if (!*accessible) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
      for (Agent* agent : found->agents) (*accessible)[(*accessible_count)++] = agent->handle();
    }
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_pointer_info_set_userdata(const void* pointer, void* user_data) {
  return entry([&] {
    const std::lock_guard lock(allocations().mutex);
    Allocation* a = allocations().find(reinterpret_cast<uint64_t>(pointer));
    if (!a) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    a->user_data = user_data;
    return HSA_STATUS_SUCCESS;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_register_deallocation_callback(void* pointer,
                                                                    hsa_amd_deallocation_callback_t callback,
                                                                    void* user_data) {
  return entry([&] {
    if (!pointer || !callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const std::lock_guard lock(allocations().mutex);
    Allocation* a = allocations().find(reinterpret_cast<uint64_t>(pointer));
    if (!a) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    a->on_free.push_back({callback, user_data});
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_deregister_deallocation_callback(void* pointer,
                                                                      hsa_amd_deallocation_callback_t callback) {
  return entry([&] {
    if (!pointer || !callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const std::lock_guard lock(allocations().mutex);
    Allocation* a = allocations().find(reinterpret_cast<uint64_t>(pointer));
    const auto gone = a ? std::erase_if(a->on_free, [&](const auto& c) { return c.function == callback; }) : 0;
    return gone != 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_coherency_get_type(hsa_agent_t agent, hsa_amd_coherency_type_t* type) {
  return entry([&] {
    if (!agent_of(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!type) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *type = HSA_AMD_COHERENCY_TYPE_COHERENT;
    return HSA_STATUS_SUCCESS;
  });
}
// The host's memory is coherent whatever is asked for.
WAVEJIT_HSA_API hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t agent, hsa_amd_coherency_type_t) {
  return entry([&] { return agent_of(agent) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT; });
}
