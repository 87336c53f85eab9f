// Virtual memory: address ranges and memory that programs map into them (hsa_amd_vmem_*).
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/status.h"

using namespace wavejit::hsa;

#define WAVEJIT_NOT_IMPLEMENTED(function, ...)                                                  \
  WAVEJIT_HSA_API hsa_status_t function(__VA_ARGS__) {                                          \
    return entry([] { return not_implemented(#function, HSA_STATUS_ERROR_OUT_OF_RESOURCES); }); \
  }

WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_address_reserve, void**, size_t, uint64_t, uint64_t)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_address_reserve_align, void**, size_t, uint64_t, uint64_t, uint64_t)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_address_free, void*, size_t)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_handle_create, hsa_amd_memory_pool_t, size_t, hsa_amd_memory_type_t, uint64_t,
                        hsa_amd_vmem_alloc_handle_t*)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_handle_release, hsa_amd_vmem_alloc_handle_t)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_map, void*, size_t, size_t, hsa_amd_vmem_alloc_handle_t, uint64_t)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_unmap, void*, size_t)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_set_access, void*, size_t, const hsa_amd_memory_access_desc_t*, size_t)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_get_access, void*, hsa_access_permission_t*, hsa_agent_t)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_export_shareable_handle, int*, hsa_amd_vmem_alloc_handle_t, uint64_t)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_import_shareable_handle, int, hsa_amd_vmem_alloc_handle_t*)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_retain_alloc_handle, hsa_amd_vmem_alloc_handle_t*, void*)
WAVEJIT_NOT_IMPLEMENTED(hsa_amd_vmem_get_alloc_properties_from_handle, hsa_amd_vmem_alloc_handle_t,
                        hsa_amd_memory_pool_t*, hsa_amd_memory_type_t*)
