// hsa_init, hsa_shut_down, and what the system as a whole is asked.
#include <fmt/format.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>

#include "runtime/hsa/agent.h"
#include "runtime/hsa/client_quirks.h"
#include "runtime/hsa/memory.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/profile.h"
#include "runtime/hsa/queue.h"
#include "runtime/hsa/report.h"
#include "runtime/hsa/signal.h"
#include "runtime/hsa/status.h"
#include "runtime/hsa/tools.h"

namespace wavejit::hsa {

constinit std::atomic<uint32_t> references{0};

namespace {
// Recursive: tools may call hsa_init when they are loaded.
std::recursive_mutex& open_mutex() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

void finish_work() {
  if (is_forked() || references.load(std::memory_order_acquire) == 0) return;
  settle_queues(kExitWaitsForWork);
  settle_async_handlers(kExitWaitsForWork);
}
}  // namespace

}  // namespace wavejit::hsa

using namespace wavejit::hsa;

WAVEJIT_HSA_API hsa_status_t hsa_init() {
  if (is_forked()) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  watch_forks();
  // Before destructors of static objects that existed when the program's main() began: exit() calls the newest first.
  static const int at_exit = std::atexit(finish_work);
  (void)at_exit;
  const std::lock_guard lock(open_mutex());
  if (references.load(std::memory_order_relaxed) == INT32_MAX) return HSA_STATUS_ERROR_REFCOUNT_OVERFLOW;
  std::string problem;
  try {
    if (!make_agents(problem)) {
      say(problem);
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
  } catch (const std::exception&) {
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  if (references.fetch_add(1, std::memory_order_release) == 0) load_tools();
  return HSA_STATUS_SUCCESS;
}

WAVEJIT_HSA_API hsa_status_t hsa_shut_down() {
  if (is_forked()) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  {
    const std::lock_guard lock(open_mutex());
    if (references.load(std::memory_order_relaxed) == 0) return HSA_STATUS_ERROR_NOT_INITIALIZED;
    // OnUnload() may still call the library.
    if (references.load(std::memory_order_relaxed) == 1) unload_tools();
    if (references.fetch_sub(1, std::memory_order_acq_rel) != 1) return HSA_STATUS_SUCCESS;
  }
  destroy_all_queues();
  stop_copies();
  stop_async_handlers();
  write_report();
  write_profile();
  return HSA_STATUS_SUCCESS;
}

WAVEJIT_HSA_API hsa_status_t hsa_system_get_info(hsa_system_info_t attribute, void* value) {
  return entry([&] {
    if (!value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch (static_cast<uint32_t>(attribute)) {
      case HSA_SYSTEM_INFO_VERSION_MAJOR:
      case HSA_SYSTEM_INFO_VERSION_MINOR:
        return give(value, uint16_t{1});
      case HSA_SYSTEM_INFO_TIMESTAMP:
        return give(value, timestamp());
      case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY:
        return give(value, kTimestampFrequency);
      case HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT:
        return give(value, uint64_t{UINT64_MAX});
      case HSA_SYSTEM_INFO_ENDIANNESS:
        return give(value, HSA_ENDIANNESS_LITTLE);
      case HSA_SYSTEM_INFO_MACHINE_MODEL:
        return give(value, HSA_MACHINE_MODEL_LARGE);
      case HSA_SYSTEM_INFO_EXTENSIONS: {
        std::array<uint8_t, 128> bits{};
        for (const unsigned bit : {unsigned{HSA_EXTENSION_IMAGES}, unsigned{HSA_EXTENSION_AMD_LOADER}})
          bits[bit / 8] |= static_cast<uint8_t>(1u << bit % 8);
        return give(value, bits);
      }
      case HSA_AMD_SYSTEM_INFO_BUILD_VERSION:
        return give(value, static_cast<const char*>("wavejit"));
      case HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED:
        return give(value, true);
      // As ROCm has it: with XNACK only. Kernels may access all of the process's memory nevertheless. HIP takes every
      // address for an allocation if this is true: hipFree accepts any, pointer attributes call any pointer the host's,
      // and copies of unregistered memory are kernels.
      case HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT:
      case HSA_AMD_SYSTEM_INFO_XNACK_ENABLED:
        return give(value, has_xnack());
      case HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED:
        return give(value, false);
      case HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED:
      case HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED:
        return give(value, true);
      case HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR:
        return give(value, kAmdInterfaceMajor);
      case HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR:
        return give(value, kAmdInterfaceMinor);
      default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
  });
}
