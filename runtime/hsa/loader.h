// Executables: code objects loaded for an agent, and their symbols.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <cstdint>
#include <memory>

#include "frontend/codeobject/code_object.h"
#include "runtime/hsa/agent.h"
#include "runtime/translate/module.h"

namespace wavejit::hsa {

// What the kernel_object of a dispatch packet stands for. Good while its executable is.
struct KernelCode {
  std::shared_ptr<runtime::Module> module;
  const codeobject::Kernel* kernel = nullptr;
  const Agent* agent = nullptr;
};
// Null if there is no such kernel object. Decodes a kernel when it is first asked for; the error is that of doing so.
[[nodiscard]] Expected<std::shared_ptr<const KernelCode>> kernel_of(uint64_t kernel_object);

// The loader extension (hsa_ven_amd_loader.h has what they do).
hsa_status_t query_host_address(const void* device, const void** host);
hsa_status_t query_segment_descriptors(hsa_ven_amd_loader_segment_descriptor_t* descriptors, size_t* count);
hsa_status_t query_executable(const void* device, hsa_executable_t* executable);
hsa_status_t iterate_loaded_code_objects(hsa_executable_t executable,
                                         hsa_status_t (*callback)(hsa_executable_t, hsa_loaded_code_object_t, void*),
                                         void* data);
hsa_status_t loaded_code_object_info(hsa_loaded_code_object_t object,
                                     hsa_ven_amd_loader_loaded_code_object_info_t attribute, void* value);
hsa_status_t reader_from_file_part(hsa_file_t file, size_t offset, size_t bytes, hsa_code_object_reader_t* reader);
hsa_status_t iterate_executables(hsa_status_t (*callback)(hsa_executable_t, void*), void* data);

}  // namespace wavejit::hsa
