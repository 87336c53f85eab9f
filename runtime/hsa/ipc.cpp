// Memory and signals that processes share. Both are files in memory, which other processes find as the descriptors of
// the one that has made the handle: it has to live, with what it shares, until they have attached it.
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "runtime/hsa/memory.h"
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
    return give(out, IpcHandle{kSignal, getpid(), file_of_shared(signal), sizeof(Signal), 0});
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
