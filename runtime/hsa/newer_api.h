// Declarations that newer releases of the HSA headers have and the installed one may lack: the library is built with
// the headers of ROCm 5.2 as well as with those of 7.2, and exports the same functions.
//
// Source: hsa.h, hsa_ext_amd.h, hsa_ext_image.h and hsa_ven_amd_pc_sampling.h of ROCm 7.2 (Debian's libhsa-runtime-dev
// 7.2.4). HSA_AMD_INTERFACE_VERSION_MINOR tells releases apart: 0 is 5.2, 4 is 6.1, 7 is 6.4, 15 is 7.2. Every file that
// uses a name from here includes this header and not those.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>
#if __has_include(<hsa/hsa_ven_amd_pc_sampling.h>)
#include <hsa/hsa_ven_amd_pc_sampling.h>
#endif

#include <cstddef>
#include <cstdint>

static_assert(HSA_AMD_INTERFACE_VERSION_MAJOR == 1);

// ------------------------------------------------------------------------------------------------ up to 6.1

#if HSA_AMD_INTERFACE_VERSION_MINOR < 4

enum : uint32_t {
  // hsa_system_info_t
  HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED = 0x203,
  HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED = 0x204,
  HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED = 0x205,
  HSA_AMD_SYSTEM_INFO_XNACK_ENABLED = 0x206,
  HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR = 0x207,
  HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR = 0x208,
  // hsa_amd_agent_info_t
  HSA_AMD_AGENT_INFO_MEMORY_AVAIL = 0xA015,
  HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY = 0xA016,
  HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID = 0xA107,
  HSA_AMD_AGENT_INFO_UCODE_VERSION = 0xA108,
  HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION = 0xA109,
  HSA_AMD_AGENT_INFO_NUM_SDMA_ENG = 0xA10A,
  HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG = 0xA10B,
  HSA_AMD_AGENT_INFO_IOMMU_SUPPORT = 0xA110,
  HSA_AMD_AGENT_INFO_NUM_XCC = 0xA111,
  HSA_AMD_AGENT_INFO_DRIVER_UID = 0xA112,
  HSA_AMD_AGENT_INFO_NEAREST_CPU = 0xA113,
  HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES = 0xA114,
  HSA_AMD_AGENT_INFO_AQL_EXTENSIONS = 0xA115,
  // hsa_amd_memory_pool_info_t
  HSA_AMD_MEMORY_POOL_INFO_LOCATION = 17,
  HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE = 18,
  // hsa_amd_memory_pool_global_flag_t
  HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED = 8,
  // hsa_status_t
  HSA_STATUS_ERROR_OUT_OF_REGISTERS = 45,
};
inline constexpr auto HSA_ACCESS_PERMISSION_NONE = static_cast<hsa_access_permission_t>(0);

typedef enum { HSA_IOMMU_SUPPORT_NONE = 0, HSA_IOMMU_SUPPORT_V2 = 1 } hsa_amd_iommu_version_t;
typedef enum {
  HSA_AMD_MEMORY_POOL_LOCATION_CPU = 0,
  HSA_AMD_MEMORY_POOL_LOCATION_GPU = 1
} hsa_amd_memory_pool_location_t;

// A set of bits, of which callers give one. The type is that of the newer headers' enum.
typedef enum { HSA_AMD_SDMA_ENGINE_0 = 0x1, HSA_AMD_SDMA_ENGINE_1 = 0x2 } hsa_amd_sdma_engine_id_t;

typedef struct hsa_amd_vmem_alloc_handle_s {
  uint64_t handle;
} hsa_amd_vmem_alloc_handle_t;
typedef enum { MEMORY_TYPE_NONE, MEMORY_TYPE_PINNED } hsa_amd_memory_type_t;
typedef struct hsa_amd_memory_access_desc_s {
  hsa_access_permission_t permissions;
  hsa_agent_t agent_handle;
} hsa_amd_memory_access_desc_t;

#endif

// ------------------------------------------------------------------------------------------------ up to 6.4

#if HSA_AMD_INTERFACE_VERSION_MINOR < 7

enum : uint32_t {
  HSA_EXTENSION_AMD_PC_SAMPLING = 0x203,
  // hsa_amd_agent_info_t
  HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX = 0xA116,
  HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT = 0xA117,
  // hsa_code_symbol_info_t, which is asked for symbols of executables as well
  HSA_CODE_SYMBOL_INFO_KERNEL_WAVEFRONT_SIZE = 19,
  // hsa_amd_pointer_type_t
  HSA_EXT_POINTER_TYPE_RESERVED_ADDR = 5,
  // hsa_status_t
  HSA_STATUS_ERROR_RESOURCE_BUSY = 46,
};

typedef enum { HSA_AMD_QUEUE_INFO_AGENT, HSA_AMD_QUEUE_INFO_DOORBELL_ID } hsa_queue_info_attribute_t;

typedef struct hsa_ext_sampler_descriptor_v2_s {
  hsa_ext_sampler_coordinate_mode32_t coordinate_mode;
  hsa_ext_sampler_filter_mode32_t filter_mode;
  hsa_ext_sampler_addressing_mode32_t address_modes[3];  // x, y, z
} hsa_ext_sampler_descriptor_v2_t;

#endif

#if !__has_include(<hsa/hsa_ven_amd_pc_sampling.h>)

typedef enum { HSA_VEN_AMD_PCS_METHOD_HOSTTRAP_V1, HSA_VEN_AMD_PCS_METHOD_STOCHASTIC_V1 } hsa_ven_amd_pcs_method_kind_t;
typedef enum {
  HSA_VEN_AMD_PCS_INTERVAL_UNITS_MICRO_SECONDS,
  HSA_VEN_AMD_PCS_INTERVAL_UNITS_CLOCK_CYCLES,
  HSA_VEN_AMD_PCS_INTERVAL_UNITS_INSTRUCTIONS
} hsa_ven_amd_pcs_units_t;
typedef hsa_status_t (*hsa_ven_amd_pcs_data_copy_callback_t)(void* hsa_callback_data, size_t data_size,
                                                             void* destination);
typedef void (*hsa_ven_amd_pcs_data_ready_callback_t)(void* client_callback_data, size_t data_size,
                                                      size_t lost_sample_count,
                                                      hsa_ven_amd_pcs_data_copy_callback_t data_copy_callback,
                                                      void* hsa_callback_data);
typedef struct {
  uint64_t handle;
} hsa_ven_amd_pcs_t;
typedef struct {
  hsa_ven_amd_pcs_method_kind_t method;
  hsa_ven_amd_pcs_units_t units;
  size_t min_interval;
  size_t max_interval;
  uint64_t flags;
} hsa_ven_amd_pcs_configuration_t;
typedef hsa_status_t (*hsa_ven_amd_pcs_iterate_configuration_callback_t)(
    const hsa_ven_amd_pcs_configuration_t* configuration, void* callback_data);

#endif

// ------------------------------------------------------------------------------------------------ up to 7.2

#if HSA_AMD_INTERFACE_VERSION_MINOR < 15

enum : uint32_t {
  HSA_AMD_AGENT_INFO_CLOCK_COUNTERS = 0xA118,
  HSA_EXT_POINTER_TYPE_HSA_VMEM = 6,
  HSA_AMD_VMEM_ADDRESS_NO_REGISTER = 1,
  HSA_STATUS_ERROR_NOT_SUPPORTED = 47,
  HSA_AMD_DMABUF_MAPPING_TYPE_PCIE = 1,
};

typedef struct hsa_amd_clock_counters_s {
  uint64_t gpu_clock_counter;
  uint64_t cpu_clock_counter;
  uint64_t system_clock_counter;
  uint64_t system_clock_frequency;
} hsa_amd_clock_counters_t;

typedef struct hsa_amd_ais_file_handle_s {
  union {
    void* handle;
    int fd;
    uint8_t pad[8];
  };
} hsa_amd_ais_file_handle_t;

#endif

// ------------------------------------------------------------------------------------------------ functions

// Those of the newest header, all of them: a second declaration changes nothing.
#pragma GCC visibility push(default)
// For tools: in the table of the AMD extension, and not exported. hsa_api_trace.h gives them C++ linkage.
typedef void (*hsa_amd_queue_intercept_packet_writer)(const void* packets, uint64_t count);
typedef void (*hsa_amd_queue_intercept_handler)(const void* packets, uint64_t count, uint64_t index, void* data,
                                                hsa_amd_queue_intercept_packet_writer writer);
typedef void (*hsa_amd_runtime_queue_notifier)(const hsa_queue_t* queue, hsa_agent_t agent, void* data);
hsa_status_t hsa_amd_queue_intercept_create(hsa_agent_t agent, uint32_t packets, hsa_queue_type32_t type,
                                            void (*callback)(hsa_status_t status, hsa_queue_t* source, void* data),
                                            void* data, uint32_t private_bytes, uint32_t group_bytes,
                                            hsa_queue_t** queue);
hsa_status_t hsa_amd_queue_intercept_register(hsa_queue_t* queue, hsa_amd_queue_intercept_handler handler, void* data);
hsa_status_t hsa_amd_runtime_queue_create_register(hsa_amd_runtime_queue_notifier notifier, void* data);

extern "C" {
// 5.7 and 6.1
hsa_status_t hsa_amd_memory_async_copy_on_engine(void* to, hsa_agent_t to_agent, const void* from,
                                                 hsa_agent_t from_agent, size_t bytes, uint32_t count,
                                                 const hsa_signal_t* dependencies, hsa_signal_t completion,
                                                 hsa_amd_sdma_engine_id_t engine, bool force_engine);
hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t to, hsa_agent_t from, uint32_t* engines);
hsa_status_t hsa_amd_portable_export_dmabuf(const void* pointer, size_t bytes, int* descriptor, uint64_t* offset);
hsa_status_t hsa_amd_portable_close_dmabuf(int descriptor);
hsa_status_t hsa_amd_agent_set_async_scratch_limit(hsa_agent_t agent, size_t bytes);
hsa_status_t hsa_amd_spm_acquire(hsa_agent_t agent);
hsa_status_t hsa_amd_spm_release(hsa_agent_t agent);
hsa_status_t hsa_amd_spm_set_dest_buffer(hsa_agent_t agent, size_t bytes, uint32_t* timeout, uint32_t* copied,
                                         void* buffer, bool* is_data_loss);
hsa_status_t hsa_amd_vmem_address_reserve(void** address, size_t bytes, uint64_t wanted, uint64_t flags);
hsa_status_t hsa_amd_vmem_address_free(void* address, size_t bytes);
hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool, size_t bytes, hsa_amd_memory_type_t type,
                                        uint64_t flags, hsa_amd_vmem_alloc_handle_t* handle);
hsa_status_t hsa_amd_vmem_handle_release(hsa_amd_vmem_alloc_handle_t handle);
hsa_status_t hsa_amd_vmem_map(void* address, size_t bytes, size_t offset, hsa_amd_vmem_alloc_handle_t handle,
                              uint64_t flags);
hsa_status_t hsa_amd_vmem_unmap(void* address, size_t bytes);
hsa_status_t hsa_amd_vmem_set_access(void* address, size_t bytes, const hsa_amd_memory_access_desc_t* list,
                                     size_t count);
hsa_status_t hsa_amd_vmem_get_access(void* address, hsa_access_permission_t* permission, hsa_agent_t agent);
hsa_status_t hsa_amd_vmem_export_shareable_handle(int* descriptor, hsa_amd_vmem_alloc_handle_t handle, uint64_t flags);
hsa_status_t hsa_amd_vmem_import_shareable_handle(int descriptor, hsa_amd_vmem_alloc_handle_t* handle);
hsa_status_t hsa_amd_vmem_retain_alloc_handle(hsa_amd_vmem_alloc_handle_t* handle, void* address);
hsa_status_t hsa_amd_vmem_get_alloc_properties_from_handle(hsa_amd_vmem_alloc_handle_t handle,
                                                           hsa_amd_memory_pool_t* pool, hsa_amd_memory_type_t* type);
// 6.4
hsa_status_t hsa_amd_enable_logging(uint8_t* flags, void* file);
hsa_status_t hsa_amd_queue_get_info(hsa_queue_t* queue, hsa_queue_info_attribute_t attribute, void* value);
uint32_t hsa_amd_signal_wait_all(uint32_t count, hsa_signal_t* signals, hsa_signal_condition_t* conditions,
                                 hsa_signal_value_t* values, uint64_t timeout, hsa_wait_state_t state,
                                 hsa_signal_value_t* satisfying);
hsa_status_t hsa_amd_vmem_address_reserve_align(void** address, size_t bytes, uint64_t wanted, uint64_t alignment,
                                                uint64_t flags);
hsa_status_t hsa_ext_sampler_create_v2(hsa_agent_t agent, const hsa_ext_sampler_descriptor_v2_t* descriptor,
                                       hsa_ext_sampler_t* sampler);
hsa_status_t hsa_ven_amd_pcs_iterate_configuration(hsa_agent_t agent,
                                                   hsa_ven_amd_pcs_iterate_configuration_callback_t callback,
                                                   void* data);
hsa_status_t hsa_ven_amd_pcs_create(hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t method,
                                    hsa_ven_amd_pcs_units_t units, size_t interval, size_t latency, size_t buffer_bytes,
                                    hsa_ven_amd_pcs_data_ready_callback_t callback, void* data,
                                    hsa_ven_amd_pcs_t* sampler);
hsa_status_t hsa_ven_amd_pcs_create_from_id(uint32_t id, hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t method,
                                            hsa_ven_amd_pcs_units_t units, size_t interval, size_t latency,
                                            size_t buffer_bytes, hsa_ven_amd_pcs_data_ready_callback_t callback,
                                            void* data, hsa_ven_amd_pcs_t* sampler);
hsa_status_t hsa_ven_amd_pcs_destroy(hsa_ven_amd_pcs_t sampler);
hsa_status_t hsa_ven_amd_pcs_start(hsa_ven_amd_pcs_t sampler);
hsa_status_t hsa_ven_amd_pcs_stop(hsa_ven_amd_pcs_t sampler);
hsa_status_t hsa_ven_amd_pcs_flush(hsa_ven_amd_pcs_t sampler);
// 7.2
hsa_status_t hsa_amd_memory_get_preferred_copy_engine(hsa_agent_t to, hsa_agent_t from, uint32_t* engines);
hsa_status_t hsa_amd_portable_export_dmabuf_v2(const void* pointer, size_t bytes, int* descriptor, uint64_t* offset,
                                               uint64_t flags);
hsa_status_t hsa_amd_ais_file_write(hsa_amd_ais_file_handle_t file, void* device, uint64_t bytes, int64_t offset,
                                    uint64_t* copied, int32_t* status);
hsa_status_t hsa_amd_ais_file_read(hsa_amd_ais_file_handle_t file, void* device, uint64_t bytes, int64_t offset,
                                   uint64_t* copied, int32_t* status);
}
#pragma GCC visibility pop

namespace wavejit::hsa {

// HSA_AMD_SYSTEM_INFO_EXT_VERSION_*: the interface that the library implements, whichever header it is built with.
inline constexpr uint16_t kAmdInterfaceMajor = 1, kAmdInterfaceMinor = 15;

// hsa_amd_pointer_info_t::registered of 7.2, a bool: older headers have padding there.
inline constexpr size_t kPointerInfoRegistered = offsetof(hsa_amd_pointer_info_t, global_flags) + sizeof(uint32_t);
static_assert(kPointerInfoRegistered < sizeof(hsa_amd_pointer_info_t));
#if HSA_AMD_INTERFACE_VERSION_MINOR >= 13
static_assert(kPointerInfoRegistered == offsetof(hsa_amd_pointer_info_t, registered));
#endif

}  // namespace wavejit::hsa
