// The loader extension (hsa_ven_amd_loader.h), by which debuggers and profilers find code.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/hsa/loader_state.h"
#include "runtime/hsa/status.h"

namespace wavejit::hsa {
namespace {

// Whether `address` is in the object's code.
bool contains(const LoadedObject& object, uint64_t address) {
  const auto code = object.module->object().code();
  return std::any_of(code.begin(), code.end(), [&](std::span<const uint8_t> part) {
    return address - reinterpret_cast<uint64_t>(part.data()) < part.size();
  });
}

// The loaded object of this handle and the executable that keeps it; null if there is none.
std::pair<std::shared_ptr<Executable>, const LoadedObject*> find_loaded(uint64_t handle) {
  for (const uint64_t e : state().executables.handles()) {
    auto executable = state().executables.find(e);
    if (!executable) continue;
    const std::lock_guard lock(executable->mutex);
    for (const auto& object : executable->objects)
      if (reinterpret_cast<uint64_t>(object.get()) == handle) return {std::move(executable), object.get()};
  }
  return {};
}

}  // namespace

// Device memory is host memory.
hsa_status_t query_host_address(const void* device, const void** host) {
  if (!device || !host) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *host = device;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t query_segment_descriptors(hsa_ven_amd_loader_segment_descriptor_t* descriptors, size_t* count) {
  return entry([&] {
    if (!count) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    std::vector<hsa_ven_amd_loader_segment_descriptor_t> all;
    for (const uint64_t handle : state().executables.handles()) {
      const auto executable = state().executables.find(handle);
      if (!executable) continue;
      const std::lock_guard lock(executable->mutex);
      for (const auto& object : executable->objects) {
        for (const std::span<const uint8_t> code : object->module->object().code()) {
          hsa_ven_amd_loader_segment_descriptor_t d{};
          d.agent = object->agent->handle();
          d.executable = {handle};
          d.code_object_storage_type = HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY;
          d.code_object_storage_base = object->image.data();
          d.code_object_storage_size = object->image.size();
          d.segment_base = code.data();
          d.segment_size = code.size();
          all.push_back(d);
        }
      }
    }
    if (!descriptors) {
      *count = all.size();
      return HSA_STATUS_SUCCESS;
    }
    if (*count != all.size()) return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    std::copy(all.begin(), all.end(), descriptors);
    return HSA_STATUS_SUCCESS;
  });
}

hsa_status_t query_executable(const void* device, hsa_executable_t* out) {
  return entry([&] {
    if (!device || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (const uint64_t handle : state().executables.handles()) {
      const auto executable = state().executables.find(handle);
      if (!executable) continue;
      const std::lock_guard lock(executable->mutex);
      for (const auto& object : executable->objects) {
        if (!contains(*object, reinterpret_cast<uint64_t>(device))) continue;
        *out = {handle};
        return HSA_STATUS_SUCCESS;
      }
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}

hsa_status_t iterate_loaded_code_objects(hsa_executable_t handle,
                                         hsa_status_t (*callback)(hsa_executable_t, hsa_loaded_code_object_t, void*),
                                         void* data) {
  return entry([&] {
    const auto executable = state().executables.find(handle.handle);
    if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    std::vector<hsa_loaded_code_object_t> objects;
    {
      const std::lock_guard lock(executable->mutex);
      for (const auto& object : executable->objects) objects.push_back({reinterpret_cast<uint64_t>(object.get())});
    }
    for (const hsa_loaded_code_object_t object : objects) {
      const hsa_status_t status = callback(handle, object, data);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
    return HSA_STATUS_SUCCESS;
  });
}

hsa_status_t loaded_code_object_info(hsa_loaded_code_object_t handle,
                                     hsa_ven_amd_loader_loaded_code_object_info_t attribute, void* value) {
  return entry([&] {
    const auto [executable, found] = find_loaded(handle.handle);
    if (!found || !value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const LoadedObject& object = *found;
    const auto code = object.module->object().code();
    switch (attribute) {
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND:
        return give(value, uint32_t{HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT});
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT:
        return give(value, object.agent->handle());
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE:
        return give(value, uint32_t{HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY});
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE:
        return give(value, reinterpret_cast<uint64_t>(object.image.data()));
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE:
        return give(value, uint64_t{object.image.size()});
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA:
        return give(value, static_cast<int64_t>(object.module->object().load_bias()));
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE:
        return give(value, code.empty() ? uint64_t{0} : reinterpret_cast<uint64_t>(code[0].data()));
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE:
        return give(value, code.empty() ? uint64_t{0} : uint64_t{code[0].size()});
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH:
        return give(value, static_cast<uint32_t>(object.uri.size()));
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI:
        std::copy(object.uri.begin(), object.uri.end(), static_cast<char*>(value));
        return HSA_STATUS_SUCCESS;
      default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
  });
}

hsa_status_t iterate_executables(hsa_status_t (*callback)(hsa_executable_t, void*), void* data) {
  return entry([&] {
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (const uint64_t handle : state().executables.handles())
      if (const hsa_status_t status = callback({handle}, data); status != HSA_STATUS_SUCCESS) return status;
    return HSA_STATUS_SUCCESS;
  });
}

}  // namespace wavejit::hsa
