// Memory and signals that processes share. Both are files in memory, which other processes find as the descriptors of
// the one that has made the handle: it has to live, with what it shares, until they have attached it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "runtime/hsa/memory.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/signal.h"
#include "runtime/hsa/status.h"

using namespace wavejit::hsa;

namespace {

constexpr uint64_t kMemory = 0x776a69742d697063ull, kSignal = 0x776a69742d736967ull;

struct IpcHandle {
  uint64_t magic;
  int32_t pid;
  int32_t file;
  uint64_t bytes;
  uint64_t reserved;
};
static_assert(sizeof(IpcHandle) == sizeof(hsa_amd_ipc_memory_t));

std::optional<IpcHandle> read_handle(const hsa_amd_ipc_memory_t* handle, uint64_t magic) {
  if (!handle) return std::nullopt;
  IpcHandle ipc;
  std::memcpy(&ipc, handle, sizeof ipc);
  return ipc.magic == magic ? std::optional(ipc) : std::nullopt;
}

}  // namespace

WAVEJIT_HSA_API hsa_status_t hsa_amd_ipc_memory_create(void* pointer, size_t bytes, hsa_amd_ipc_memory_t* handle) {
  return entry([&] {
    if (!pointer || bytes == 0 || !handle) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const int file = share(pointer, bytes);
    if (file < 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return give(handle, IpcHandle{kMemory, getpid(), file, bytes, 0});
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_ipc_memory_attach(const hsa_amd_ipc_memory_t* handle, size_t bytes, uint32_t,
                                                       const hsa_agent_t*, void** pointer) {
  return entry([&] {
    const auto ipc = read_handle(handle, kMemory);
    if (!ipc || !pointer || bytes > ipc->bytes) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return attach(ipc->pid, ipc->file, ipc->bytes, pointer);
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_ipc_memory_detach(void* pointer) {
  return entry([&] { return pointer ? detach(pointer) : HSA_STATUS_ERROR_INVALID_ARGUMENT; });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_ipc_signal_create(hsa_signal_t handle, hsa_amd_ipc_signal_t* out) {
  return entry([&] {
    const Signal* signal = signal_of(handle);
    if (!signal || !signal->is_shared || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const int file = file_of_shared(signal);
    if (file < 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return give(out, IpcHandle{kSignal, getpid(), file, sizeof(Signal), 0});
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_ipc_signal_attach(const hsa_amd_ipc_signal_t* handle, hsa_signal_t* out) {
  return entry([&] {
    const auto ipc = read_handle(handle, kSignal);
    if (!ipc || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    Signal* signal = attach_shared_signal(ipc->pid, ipc->file);
    if (!signal) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *out = signal->handle();
    return HSA_STATUS_SUCCESS;
  });
}

// ------------------------------------------------------------------------------------------------ descriptors of memory

// The descriptor is of a file in memory, which can be mapped and sent to other processes; drivers take no such file for a
// dma-buf. ROCr gives descriptors of device memory alone. Every mapping can be reached by other devices, so flags that
// ask for that change nothing.
WAVEJIT_HSA_API hsa_status_t hsa_amd_portable_export_dmabuf_v2(const void* pointer, size_t bytes, int* descriptor,
                                                               uint64_t* offset, uint64_t flags) {
  return entry([&] {
    if (!pointer || bytes == 0 || !descriptor || !offset || (flags & ~uint64_t{HSA_AMD_DMABUF_MAPPING_TYPE_PCIE}) != 0)
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto address = reinterpret_cast<uint64_t>(pointer);
    const auto allocation = find_allocation(address);
    const uint64_t offset_in = allocation ? address - allocation->address : 0;
    if (!allocation || !allocation->pool || bytes > allocation->bytes || offset_in > allocation->bytes - bytes)
      return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    if (!allocation->pool->agent->is_gpu()) return HSA_STATUS_ERROR_INVALID_AGENT;
    const int file = share(reinterpret_cast<void*>(allocation->address), allocation->bytes);
    const int own = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *descriptor = own;
    *offset = offset_in;
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_portable_export_dmabuf(const void* pointer, size_t bytes, int* descriptor,
                                                            uint64_t* offset) {
  return hsa_amd_portable_export_dmabuf_v2(pointer, bytes, descriptor, offset, 0);
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_portable_close_dmabuf(int descriptor) {
  return entry([&] { return close(descriptor) == 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_RESOURCE_FREE; });
}

// Memory of a descriptor, at a new address: of hsa_amd_portable_export_dmabuf, of this process or sent by another one, or of
// any other file in memory. What graphics drivers export cannot be opened so, and is refused.
WAVEJIT_HSA_API hsa_status_t hsa_amd_interop_map_buffer(uint32_t count, hsa_agent_t* agents, int descriptor, uint32_t,
                                                        size_t* bytes, void** pointer, size_t* metadata_bytes,
                                                        const void** metadata) {
  return entry([&] {
    if (count == 0 || !agents || !bytes || !pointer) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < count; ++i)
      if (!agent_of(agents[i])) return HSA_STATUS_ERROR_INVALID_AGENT;
    struct stat info{};
    if (fstat(descriptor, &info) != 0 || info.st_size <= 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const hsa_status_t status = attach(getpid(), descriptor, static_cast<size_t>(info.st_size), pointer);
    if (status != HSA_STATUS_SUCCESS) return status;
    *bytes = static_cast<size_t>(info.st_size);
    if (metadata_bytes) *metadata_bytes = 0;
    if (metadata) *metadata = nullptr;
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_interop_unmap_buffer(void* pointer) {
  return entry([&] { return pointer ? detach(pointer) : HSA_STATUS_ERROR_INVALID_ARGUMENT; });
}
