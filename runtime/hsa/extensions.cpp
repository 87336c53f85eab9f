// Extension tables, and the AMD extension's functions that have little to do where memory is the host's.
#include <fmt/format.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "internal/environment.h"
#include "runtime/hsa/agent.h"
#include "runtime/hsa/api_table.h"
#include "runtime/hsa/events.h"
#include "runtime/hsa/loader.h"
#include "runtime/hsa/memory.h"
#include "runtime/hsa/signal.h"
#include "runtime/hsa/status.h"

using namespace wavejit::hsa;

namespace {

bool supports(uint16_t extension, uint16_t major, uint16_t* minor) {
  switch (extension) {
    case HSA_EXTENSION_IMAGES:
      *minor = 0;
      return major == 1;
    case HSA_EXTENSION_AMD_LOADER:
      *minor = 3;
      return major == 1;
    default:
      return false;
  }
}

const hsa_ven_amd_loader_1_03_pfn_t kLoaderTable = {
    query_host_address,      query_segment_descriptors, query_executable,    iterate_loaded_code_objects,
    loaded_code_object_info, reader_from_file_part,     iterate_executables,
};

// hsa_ext_images_1_pfn_t of ROCm 7.2, which begins as those of the releases before: entries of the library's table as tools
// have left them.
struct ImageExtension {
  decltype(hsa_ext_image_get_capability)* get_capability;
  decltype(hsa_ext_image_data_get_info)* data_get_info;
  decltype(hsa_ext_image_create)* create;
  decltype(hsa_ext_image_destroy)* destroy;
  decltype(hsa_ext_image_copy)* copy;
  decltype(hsa_ext_image_import)* import;
  decltype(hsa_ext_image_export)* export_;
  decltype(hsa_ext_image_clear)* clear;
  decltype(hsa_ext_sampler_create)* sampler_create;
  decltype(hsa_ext_sampler_destroy)* sampler_destroy;
  decltype(hsa_ext_image_get_capability_with_layout)* get_capability_with_layout;
  decltype(hsa_ext_image_data_get_info_with_layout)* data_get_info_with_layout;
  decltype(hsa_ext_image_create_with_layout)* create_with_layout;
  decltype(hsa_ext_sampler_create_v2)* sampler_create_v2;
};
ImageExtension image_extension() {
  const ImageTable& t = *api_table().image_ext_;
  return {t.hsa_ext_image_get_capability_fn,
          t.hsa_ext_image_data_get_info_fn,
          t.hsa_ext_image_create_fn,
          t.hsa_ext_image_destroy_fn,
          t.hsa_ext_image_copy_fn,
          t.hsa_ext_image_import_fn,
          t.hsa_ext_image_export_fn,
          t.hsa_ext_image_clear_fn,
          t.hsa_ext_sampler_create_fn,
          t.hsa_ext_sampler_destroy_fn,
          t.hsa_ext_image_get_capability_with_layout_fn,
          t.hsa_ext_image_data_get_info_with_layout_fn,
          t.hsa_ext_image_create_with_layout_fn,
          t.hsa_ext_sampler_create_v2_fn};
}

template <typename Table>
void copy_table(const Table& from, void* to, size_t bytes) {
  std::memcpy(to, &from, std::min(bytes, sizeof from));
}

}  // namespace

WAVEJIT_HSA_API hsa_status_t hsa_extension_get_name(uint16_t extension, const char** name) {
  return entry([&] {
    if (!name) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch (extension) {
      case HSA_EXTENSION_FINALIZER:
        *name = "HSA_EXTENSION_FINALIZER";
        break;
      case HSA_EXTENSION_IMAGES:
        *name = "HSA_EXTENSION_IMAGES";
        break;
      case HSA_EXTENSION_PERFORMANCE_COUNTERS:
        *name = "HSA_EXTENSION_PERFORMANCE_COUNTERS";
        break;
      case HSA_EXTENSION_PROFILING_EVENTS:
        *name = "HSA_EXTENSION_PROFILING_EVENTS";
        break;
      case HSA_EXTENSION_AMD_PROFILER:
        *name = "HSA_EXTENSION_AMD_PROFILER";
        break;
      case HSA_EXTENSION_AMD_LOADER:
        *name = "HSA_EXTENSION_AMD_LOADER";
        break;
      case HSA_EXTENSION_AMD_AQLPROFILE:
        *name = "HSA_EXTENSION_AMD_AQLPROFILE";
        break;
      case HSA_EXTENSION_AMD_PC_SAMPLING:
        *name = "HSA_EXTENSION_AMD_PC_SAMPLING";
        break;
      default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_system_major_extension_supported(uint16_t extension, uint16_t major, uint16_t* minor,
                                                                  bool* result) {
  return entry([&] {
    if (!minor || !result) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *result = supports(extension, major, minor);
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_system_extension_supported(uint16_t extension, uint16_t major, uint16_t minor,
                                                            bool* result) {
  uint16_t have = 0;
  const hsa_status_t status = hsa_system_major_extension_supported(extension, major, &have, result);
  if (status == HSA_STATUS_SUCCESS) *result = *result && minor <= have;
  return status;
}
WAVEJIT_HSA_API hsa_status_t hsa_agent_major_extension_supported(uint16_t extension, hsa_agent_t agent, uint16_t major,
                                                                 uint16_t* minor, bool* result) {
  return entry([&] {
    const Agent* a = agent_of(agent);
    if (!a) return HSA_STATUS_ERROR_INVALID_AGENT;
    const hsa_status_t status = hsa_system_major_extension_supported(extension, major, minor, result);
    if (status == HSA_STATUS_SUCCESS && extension == HSA_EXTENSION_IMAGES) *result = *result && a->is_gpu();
    return status;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_agent_extension_supported(uint16_t extension, hsa_agent_t agent, uint16_t major,
                                                           uint16_t minor, bool* result) {
  uint16_t have = 0;
  const hsa_status_t status = hsa_agent_major_extension_supported(extension, agent, major, &have, result);
  if (status == HSA_STATUS_SUCCESS) *result = *result && minor <= have;
  return status;
}

WAVEJIT_HSA_API hsa_status_t hsa_system_get_major_extension_table(uint16_t extension, uint16_t major, size_t bytes,
                                                                  void* table) {
  return entry([&] {
    uint16_t minor = 0;
    if (!table || bytes == 0 || !supports(extension, major, &minor)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (extension == HSA_EXTENSION_IMAGES)
      copy_table(image_extension(), table, bytes);
    else
      copy_table(kLoaderTable, table, bytes);
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_system_get_extension_table(uint16_t extension, uint16_t major, uint16_t minor,
                                                            void* table) {
  const size_t bytes = extension == HSA_EXTENSION_IMAGES ? sizeof(hsa_ext_images_1_00_pfn_t)
                       : minor == 0                      ? sizeof(hsa_ven_amd_loader_1_00_pfn_t)
                       : minor == 1                      ? sizeof(hsa_ven_amd_loader_1_01_pfn_t)
                       : minor == 2                      ? sizeof(hsa_ven_amd_loader_1_02_pfn_t)
                                                         : sizeof(hsa_ven_amd_loader_1_03_pfn_t);
  return hsa_system_get_major_extension_table(extension, major, bytes, table);
}

// Flags choose packets that the runtime itself enqueues, and the file to write them to. Copies are no packets here:
// nothing is ever logged. Works before hsa_init, as ROCr's does.
WAVEJIT_HSA_API hsa_status_t hsa_amd_enable_logging(uint8_t* flags, void*) {
  return flags ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

// ------------------------------------------------------------------------------------------------ events, graphics

namespace {
struct EventHandler {
  hsa_amd_system_event_callback_t function;
  void* data;
};
struct EventHandlers {
  std::mutex mutex;
  std::vector<EventHandler> all;
};
EventHandlers& event_handlers() {
  static auto* const instance = new EventHandlers;
  return *instance;
}

bool faults_end_the_process() {
  static const bool ends = [] {
    const std::string_view value = wavejit::environment_text("WAVEJIT_ON_FAULT");
    if (!value.empty() && value != "abort" && value != "error")
      say(fmt::format("WAVEJIT_ON_FAULT: '{}' is not one of abort, error.", value));
    return value != "error";
  }();
  return ends;
}
}  // namespace

namespace wavejit::hsa {
void report_memory_fault(Agent& agent, std::optional<uint64_t> address) {
  hsa_amd_event_t event{};
  event.event_type = HSA_AMD_GPU_MEMORY_FAULT_EVENT;
  event.memory_fault.agent = agent.handle();
  event.memory_fault.virtual_address = address.value_or(0);
  event.memory_fault.fault_reason_mask =
      address ? HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT : HSA_AMD_MEMORY_FAULT_IMPRECISE;
  std::vector<EventHandler> handlers;
  {
    const std::lock_guard lock(event_handlers().mutex);
    handlers = event_handlers().all;
  }
  bool taken = false;
  for (const EventHandler& h : handlers) taken |= h.function(&event, h.data) == HSA_STATUS_SUCCESS;
  if (!taken && faults_end_the_process()) {
    say(fmt::format(
        "Memory access fault by GPU node-{} (Agent handle: {:#x}) on address {:#x}{}. Reason: Page not present or "
        "supervisor privilege. The process ends, as no handler of system events takes the fault "
        "(WAVEJIT_ON_FAULT=error leaves it to the queue's callback).",
        agent.node, agent.handle().handle, address.value_or(0), address ? "" : "(may not be exact address)"));
    std::abort();
  }
}
}  // namespace wavejit::hsa

WAVEJIT_HSA_API hsa_status_t hsa_amd_register_system_event_handler(hsa_amd_system_event_callback_t callback,
                                                                   void* data) {
  return entry([&] {
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const std::lock_guard lock(event_handlers().mutex);
    event_handlers().all.push_back({callback, data});
    return HSA_STATUS_SUCCESS;
  });
}
