#include "runtime/hsa/virtual_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "internal/pages.h"
#include "runtime/hsa/client_quirks.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/signal.h"
#include "runtime/hsa/status.h"
#include "runtime/memory/memory_registry.h"

namespace wavejit::hsa {
namespace {

// One file. Its name has what other processes have to know of it.
struct Memory {
  size_t bytes = 0;
  const Pool* pool = nullptr;
  hsa_amd_memory_type_t type = MEMORY_TYPE_NONE;
  int file = -1;
  bool of_other = false;    // made by another process: not counted as this one's
  uint32_t references = 1;  // of handles
  uint32_t mappings = 0;
};

struct Reservation {
  size_t bytes = 0;  // whole pages
  size_t asked = 0;
  int protection = PROT_NONE;  // where nothing is mapped
  uint32_t mappings = 0;
};

using Rights = std::map<Agent*, hsa_access_permission_t>;

struct Mapping {
  size_t bytes = 0;
  uint64_t memory = 0;       // its handle
  uint64_t reservation = 0;  // its address
  Rights rights;             // of agents that have or had some
};

// The order of hsa_access_permission_t: none, read, write, both.
constexpr int kReads = HSA_ACCESS_PERMISSION_RO, kWrites = HSA_ACCESS_PERMISSION_WO;
static_assert((kReads | kWrites) == HSA_ACCESS_PERMISSION_RW && HSA_ACCESS_PERMISSION_NONE == 0);

int union_of(const Rights& rights) {
  int all = 0;
  for (const auto& [agent, permission] : rights) all |= permission;
  return all;
}

int protection(const Rights& rights) {
  const int all = union_of(rights);
  return ((all & kReads) != 0 ? PROT_READ : 0) | ((all & kWrites) != 0 ? PROT_WRITE : 0);
}

// For fault messages.
const char* label(const Mapping& mapping) {
  switch (union_of(mapping.rights)) {
    case 0:
      return "mapped memory that no agent may access";
    case kReads:
      return "mapped memory that agents may only read";
    case kWrites:
      return "mapped memory that agents may only write";
    default:
      return "mapped memory";
  }
}

void* pointer_to(uint64_t address) {
  return reinterpret_cast<void*>(address);
}

// Addresses without memory; 0 if there are none left.
uint64_t reserve_addresses(uint64_t wanted, size_t bytes, uint64_t alignment, int protection) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (wanted != 0 && wanted % kPage == 0) {
    void* memory = mmap(pointer_to(wanted), bytes, protection, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == pointer_to(wanted)) return wanted;
    if (memory != MAP_FAILED) munmap(memory, bytes);  // Linux before 4.17 takes the address for a hint
  }
  const size_t slack = alignment - kPage;
  if (bytes + slack < bytes) return 0;
  void* memory = mmap(nullptr, bytes + slack, protection, kFlags, -1, 0);
  if (memory == MAP_FAILED) return 0;
  const auto begin = reinterpret_cast<uint64_t>(memory);
  const uint64_t aligned = (begin + alignment - 1) & ~(alignment - 1);
  if (aligned != begin) munmap(memory, aligned - begin);
  if (const size_t rest = begin + slack - aligned; rest != 0) munmap(pointer_to(aligned + bytes), rest);
  return aligned;
}

// The file's name: the agent by its node, the pool by its number, the type, and the process that has made it. It tells our files
// from others, too.
constexpr const char* kNameFormat = "wavejit-memory:%u:%u:%u:%d";

std::string name_of(const Pool& pool, hsa_amd_memory_type_t type) {
  unsigned index = 0;
  while (pool.agent->pools[index].get() != &pool) ++index;
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), kNameFormat, pool.agent->node, index, static_cast<unsigned>(type),
                static_cast<int>(getpid()));
  return name.data();
}

// What a descriptor from another process stands for; its file is not set.
hsa_status_t read_name(int file, Memory& memory) {
  std::array<char, 128> target{};
  if (readlink(fmt::format("/proc/self/fd/{}", file).c_str(), target.data(), target.size() - 1) < 0)
    return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
  constexpr std::string_view kPrefix = "/memfd:";
  unsigned node = 0, index = 0, type = 0;
  int maker = 0;
  if (!std::string_view(target.data()).starts_with(kPrefix) ||
      std::sscanf(target.data() + kPrefix.size(), kNameFormat, &node, &index, &type, &maker) != 4)
    return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
  // The other process may have devices that this one does not have.
  const auto owner = std::ranges::find(agents(), node, [](const auto& agent) { return agent->node; });
  if (owner == agents().end() || index >= (*owner)->pools.size()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  memory.pool = (*owner)->pools[index].get();
  memory.type = type == MEMORY_TYPE_PINNED ? MEMORY_TYPE_PINNED : MEMORY_TYPE_NONE;
  memory.of_other = maker != getpid();
  return memory.pool->can_allocate() ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

class VirtualMemory {
 public:
  static VirtualMemory& get() {
    static auto* const instance = new VirtualMemory;
    return *instance;
  }

  // `host`: without the driver (HSA_AMD_VMEM_ADDRESS_NO_REGISTER). These are the host's own pages, which it reads and writes,
  // of any size: hipMallocManaged of HIP 7 takes its memory so.
  hsa_status_t reserve(void** out, size_t bytes, uint64_t wanted, uint64_t alignment, bool host) {
    if (alignment == 0) alignment = kPage;
    const size_t asked = bytes;
    if (host) bytes = (bytes + kPage - 1) & ~(kPage - 1);
    // The driver interface's errors, which ROCr does not tell apart.
    if (bytes == 0 || bytes % kPage != 0 || alignment < kPage || !std::has_single_bit(alignment))
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    const int protection = host ? PROT_READ | PROT_WRITE : PROT_NONE;
    const uint64_t address = reserve_addresses(wanted, bytes, alignment, protection);
    if (address == 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    const std::lock_guard lock(mutex_);
    reservations_[address] = {.bytes = bytes, .asked = asked, .protection = protection};
    runtime::register_memory(address, bytes, kReserved);
    *out = pointer_to(address);
    return HSA_STATUS_SUCCESS;
  }

  hsa_status_t free_addresses(uint64_t address, size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto it = reservations_.find(address);
    if (it == reservations_.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    if (it->second.asked != bytes) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (it->second.mappings != 0) return HSA_STATUS_ERROR_RESOURCE_FREE;
    const size_t pages = it->second.bytes;
    reservations_.erase(it);
    runtime::unregister_memory(address);
    return munmap(pointer_to(address), pages) == 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
  }

  hsa_status_t create(const Pool& pool, size_t bytes, hsa_amd_memory_type_t type, uint64_t* handle) {
    if (bytes % kPage != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!pool.can_allocate() || bytes > pool.bytes) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    const int file = memfd_create(name_of(pool, type).c_str(), MFD_CLOEXEC);
    if (file < 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
      close(file);
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    const std::lock_guard lock(mutex_);
    return add({.bytes = bytes, .pool = &pool, .type = type, .file = file}, handle);
  }

  hsa_status_t release(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto it = memory_.find(handle);
    if (it == memory_.end() || it->second.references == 0) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    --it->second.references;
    drop_unused(it);
    return HSA_STATUS_SUCCESS;
  }

  hsa_status_t map(uint64_t address, size_t bytes, size_t offset, uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto reservation = holding(reservations_, address, bytes);
    const auto memory = memory_.find(handle);
    if (reservation == reservations_.end() || overlaps_mapping(address, bytes) || memory == memory_.end())
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (address % kPage != 0 || bytes % kPage != 0 || offset % kPage != 0 || offset > memory->second.bytes ||
        bytes > memory->second.bytes - offset)
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (mmap(pointer_to(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->second.file,
             static_cast<off_t>(offset)) == MAP_FAILED)
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    Mapping& mapping = mappings_[address];
    mapping = {.bytes = bytes, .memory = handle, .reservation = reservation->first, .rights = {}};
    ++reservation->second.mappings;
    ++memory->second.mappings;
    runtime::register_memory(address, bytes, label(mapping));
    return HSA_STATUS_SUCCESS;
  }

  hsa_status_t unmap(uint64_t address, size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto it = mappings_.find(address);
    if (it == mappings_.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    if (it->second.bytes != bytes) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto reservation = reservations_.find(it->second.reservation);
    // Reserved again, without a moment in which somebody else could get the addresses.
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(pointer_to(address), bytes, reservation->second.protection, kFlags, -1, 0) == MAP_FAILED)
      return HSA_STATUS_ERROR;
    const auto memory = memory_.find(it->second.memory);
    mappings_.erase(it);
    if (reservation->first == address)
      runtime::register_memory(address, reservation->second.bytes, kReserved);
    else
      runtime::unregister_memory(address);
    --reservation->second.mappings;
    --memory->second.mappings;
    drop_unused(memory);
    return HSA_STATUS_SUCCESS;
  }

  hsa_status_t set_access(uint64_t address, size_t bytes, std::span<const hsa_amd_memory_access_desc_t> list) {
    for (const hsa_amd_memory_access_desc_t& d : list) {
      if (!agent_of(d.agent_handle)) return HSA_STATUS_ERROR_INVALID_AGENT;
      if (static_cast<unsigned>(d.permissions) > HSA_ACCESS_PERMISSION_RW) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    const std::lock_guard lock(mutex_);
    if (holding(reservations_, address, bytes) == reservations_.end()) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    std::vector<std::map<uint64_t, Mapping>::iterator> found;
    for (uint64_t at = address; at < address + bytes; at += found.back()->second.bytes) {
      found.push_back(mappings_.find(at));
      if (found.back() == mappings_.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    }
    for (const auto& it : found) {
      Rights rights = it->second.rights;
      for (const hsa_amd_memory_access_desc_t& d : list) rights[agent_of(d.agent_handle)] = d.permissions;
      if (const hsa_status_t status = give_rights(it, std::move(rights)); status != HSA_STATUS_SUCCESS) return status;
    }
    return HSA_STATUS_SUCCESS;
  }

  hsa_status_t allow(uint64_t address, std::span<Agent* const> list) {
    const std::lock_guard lock(mutex_);
    auto it = holding(mappings_, address, 1);
    if (it == mappings_.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    for (uint64_t at = it->first; it != mappings_.end() && it->first == at; ++it) {
      at += it->second.bytes;
      Rights rights = it->second.rights;
      for (Agent* agent : list) rights[agent] = HSA_ACCESS_PERMISSION_RW;
      if (const hsa_status_t status = give_rights(it, std::move(rights)); status != HSA_STATUS_SUCCESS) return status;
    }
    return HSA_STATUS_SUCCESS;
  }

  hsa_status_t access(uint64_t address, Agent* agent, hsa_access_permission_t* permission) {
    *permission = HSA_ACCESS_PERMISSION_NONE;
    const std::lock_guard lock(mutex_);
    const auto it = holding(mappings_, address, 1);
    if (it == mappings_.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (const auto own = it->second.rights.find(agent); own != it->second.rights.end()) *permission = own->second;
    return HSA_STATUS_SUCCESS;
  }

  hsa_status_t export_file(uint64_t handle, int* file) {
    *file = -1;
    const std::lock_guard lock(mutex_);
    const auto it = memory_.find(handle);
    if (it == memory_.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    *file = fcntl(it->second.file, F_DUPFD_CLOEXEC, 0);
    return *file >= 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }

  // The descriptor stays the caller's.
  hsa_status_t import_file(int file, uint64_t* handle) {
    struct stat info{};
    if (fstat(file, &info) != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const std::lock_guard lock(mutex_);
    for (auto& [known, memory] : memory_) {
      struct stat other{};
      if (fstat(memory.file, &other) != 0 || other.st_dev != info.st_dev || other.st_ino != info.st_ino) continue;
      ++memory.references;
      *handle = known;
      return HSA_STATUS_SUCCESS;
    }
    Memory memory;
    if (const hsa_status_t status = read_name(file, memory); status != HSA_STATUS_SUCCESS) return status;
    memory.bytes = static_cast<size_t>(info.st_size);
    memory.file = fcntl(file, F_DUPFD_CLOEXEC, 0);
    return memory.file >= 0 ? add(memory, handle) : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }

  hsa_status_t retain(uint64_t address, uint64_t* handle) {
    const std::lock_guard lock(mutex_);
    const auto it = mappings_.find(address);
    if (it == mappings_.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    *handle = it->second.memory;
    ++memory_.at(*handle).references;
    return HSA_STATUS_SUCCESS;
  }

  hsa_status_t properties(uint64_t handle, const Pool** pool, hsa_amd_memory_type_t* type) {
    const std::lock_guard lock(mutex_);
    const auto it = memory_.find(handle);
    if (it == memory_.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    *pool = it->second.pool;
    *type = it->second.type;
    return HSA_STATUS_SUCCESS;
  }

  std::optional<Allocation> find(uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto reservation = holding(reservations_, address, 1);
    if (reservation == reservations_.end()) return std::nullopt;
    const auto it = holding(mappings_, address, 1);
    if (it == mappings_.end())
      return Allocation{.address = reservation->first,
                        .bytes = reservation->second.bytes,
                        .type = static_cast<hsa_amd_pointer_type_t>(HSA_EXT_POINTER_TYPE_RESERVED_ADDR)};
    Allocation result{.address = it->first, .bytes = it->second.bytes, .pool = memory_.at(it->second.memory).pool};
    for (const auto& [agent, permission] : it->second.rights)
      if (permission != HSA_ACCESS_PERMISSION_NONE) result.agents.push_back(agent);
    return result;
  }

 private:
  static constexpr const char* kReserved = "reserved addresses";

  // The entry of a map of ranges that holds all of [address, address + bytes).
  template <typename Map>
  static typename Map::iterator holding(Map& map, uint64_t address, size_t bytes) {
    auto it = map.upper_bound(address);
    if (it == map.begin()) return map.end();
    --it;
    const uint64_t offset = address - it->first;
    return offset < it->second.bytes && bytes <= it->second.bytes - offset ? it : map.end();
  }

  bool overlaps_mapping(uint64_t address, size_t bytes) {
    if (holding(mappings_, address, 1) != mappings_.end()) return true;
    const auto next = mappings_.lower_bound(address);
    return next != mappings_.end() && next->first - address < bytes;
  }

  // A handle is an address that nothing else has, and so are the numbers after it, as many as the memory has bytes:
  // libamdhip64 keeps handles in its table of memory ranges.
  hsa_status_t add(const Memory& memory, uint64_t* handle) {
    const bool taken = memory.of_other || memory.pool->agent->take_memory(memory.bytes);
    *handle = taken ? reserve_addresses(0, memory.bytes, kPage, PROT_NONE) : 0;
    if (*handle == 0) {
      if (taken) give_back(memory);
      close(memory.file);
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    memory_.emplace(*handle, memory);
    return HSA_STATUS_SUCCESS;
  }

  static void give_back(const Memory& memory) {
    if (!memory.of_other) memory.pool->agent->give_memory_back(memory.bytes);
  }

  void drop_unused(std::map<uint64_t, Memory>::iterator it) {
    if (it->second.references != 0 || it->second.mappings != 0) return;
    give_back(it->second);
    close(it->second.file);
    munmap(pointer_to(it->first), it->second.bytes);
    memory_.erase(it);
  }

  hsa_status_t give_rights(std::map<uint64_t, Mapping>::iterator it, Rights rights) {
    if (mprotect(pointer_to(it->first), it->second.bytes, protection(rights)) != 0)
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    it->second.rights = std::move(rights);
    runtime::register_memory(it->first, it->second.bytes, label(it->second));
    return HSA_STATUS_SUCCESS;
  }

  std::mutex mutex_;  // of what is below
  std::map<uint64_t, Reservation> reservations_;
  std::map<uint64_t, Memory> memory_;     // by handle
  std::map<uint64_t, Mapping> mappings_;  // by address; each lies in one reservation, none overlap
};

uint64_t number(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

}  // namespace

std::optional<Allocation> find_mapping(uint64_t address) {
  return VirtualMemory::get().find(address);
}
hsa_status_t allow_mapping_access(uint64_t address, std::span<Agent* const> agents) {
  return VirtualMemory::get().allow(address, agents);
}

}  // namespace wavejit::hsa

using namespace wavejit::hsa;

WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_address_reserve_align(void** address, size_t bytes, uint64_t wanted,
                                                                uint64_t alignment, uint64_t flags) {
  return entry([&] {
    if (!address || bytes == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const bool host = (flags & HSA_AMD_VMEM_ADDRESS_NO_REGISTER) != 0;
    return VirtualMemory::get().reserve(address, bytes, wanted, alignment, host);
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_address_reserve(void** address, size_t bytes, uint64_t wanted,
                                                          uint64_t flags) {
  return hsa_amd_vmem_address_reserve_align(address, bytes, wanted, 0, flags);
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_address_free(void* address, size_t bytes) {
  return entry([&] {
    if (!address || bytes == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return VirtualMemory::get().free_addresses(number(address), bytes);
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool_handle, size_t bytes,
                                                        hsa_amd_memory_type_t type, uint64_t,
                                                        hsa_amd_vmem_alloc_handle_t* handle) {
  return entry([&] {
    const Pool* pool = pool_of(pool_handle.handle);
    if (!pool || !handle || bytes == 0 || (type != MEMORY_TYPE_NONE && type != MEMORY_TYPE_PINNED))
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return VirtualMemory::get().create(*pool, bytes, type, &handle->handle);
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_handle_release(hsa_amd_vmem_alloc_handle_t handle) {
  return entry([&] { return VirtualMemory::get().release(handle.handle); });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_get_alloc_properties_from_handle(hsa_amd_vmem_alloc_handle_t handle,
                                                                           hsa_amd_memory_pool_t* pool,
                                                                           hsa_amd_memory_type_t* type) {
  return entry([&] {
    if (!pool || !type) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const Pool* found = nullptr;
    const hsa_status_t status = VirtualMemory::get().properties(handle.handle, &found, type);
    if (status == HSA_STATUS_SUCCESS) pool->handle = number(found);
    return status;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_map(void* address, size_t bytes, size_t offset,
                                              hsa_amd_vmem_alloc_handle_t handle, uint64_t) {
  return entry([&] {
    if (!address || bytes == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return VirtualMemory::get().map(number(address), bytes, offset, handle.handle);
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_unmap(void* address, size_t bytes) {
  return entry([&] {
    if (!address || bytes == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    settle_async_handlers(kUnmapWaitsForHandlers);
    return VirtualMemory::get().unmap(number(address), bytes);
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_retain_alloc_handle(hsa_amd_vmem_alloc_handle_t* handle, void* address) {
  return entry([&] {
    if (!handle || !address) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return VirtualMemory::get().retain(number(address), &handle->handle);
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_set_access(void* address, size_t bytes,
                                                     const hsa_amd_memory_access_desc_t* list, size_t count) {
  return entry([&] {
    if (!address || bytes == 0 || !list || count == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return VirtualMemory::get().set_access(number(address), bytes, {list, count});
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_get_access(void* address, hsa_access_permission_t* permission,
                                                     hsa_agent_t agent) {
  return entry([&] {
    if (!address || !permission) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return VirtualMemory::get().access(number(address), agent_of(agent), permission);
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_export_shareable_handle(int* file, hsa_amd_vmem_alloc_handle_t handle,
                                                                  uint64_t) {
  return entry(
      [&] { return file ? VirtualMemory::get().export_file(handle.handle, file) : HSA_STATUS_ERROR_INVALID_ARGUMENT; });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_vmem_import_shareable_handle(int file, hsa_amd_vmem_alloc_handle_t* handle) {
  return entry([&] {
    return handle ? VirtualMemory::get().import_file(file, &handle->handle) : HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}
