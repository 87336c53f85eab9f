// Reads and writes of files from and to device memory (hsa_amd_ais_file_*). Device memory is the host's, so these are
// the system's own calls, not a transfer past the host.
#include <unistd.h>

#include <cerrno>

#include "runtime/hsa/memory.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/status.h"

using namespace wavejit::hsa;

namespace {

// Calls transfer(file, address, bytes, offset) until `size` bytes are done, or none are left to read. `copied` and
// `error` may be null; `error` gets 0 or the negative errno.
template <typename Transfer>
hsa_status_t transfer_all(hsa_amd_ais_file_handle_t file, void* device, uint64_t size, int64_t offset, uint64_t* copied,
                          int32_t* error, Transfer transfer) {
  return entry([&] {
    if (!device || size == 0 || offset < 0 || file.fd < 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto address = reinterpret_cast<uint64_t>(device);
    const auto allocation = find_allocation(address);
    if (!allocation || size > allocation->bytes || address - allocation->address > allocation->bytes - size)
      return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    uint64_t done = 0;
    int failure = 0;
    while (done < size) {
      const ssize_t n = transfer(file.fd, static_cast<uint8_t*>(device) + done, size - done,
                                 static_cast<off_t>(offset + static_cast<int64_t>(done)));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) failure = errno;
      if (n <= 0) break;
      done += static_cast<uint64_t>(n);
    }
    if (copied) *copied = done;
    if (error) *error = -failure;
    return failure == 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
  });
}

}  // namespace

WAVEJIT_HSA_API hsa_status_t hsa_amd_ais_file_write(hsa_amd_ais_file_handle_t file, void* device, uint64_t size,
                                                    int64_t offset, uint64_t* copied, int32_t* status) {
  return transfer_all(file, device, size, offset, copied, status, pwrite);
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_ais_file_read(hsa_amd_ais_file_handle_t file, void* device, uint64_t size,
                                                   int64_t offset, uint64_t* copied, int32_t* status) {
  return transfer_all(file, device, size, offset, copied, status, pread);
}
