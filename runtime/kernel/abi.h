// Structures of the HSA ABI that kernels read through their initial registers. Layouts: hsa.h and amd_hsa_queue.h of
// the HSA runtime; AMDGPUUsage "Initial Kernel Execution State", "Segment Apertures".
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavejit::runtime {

// hsa_kernel_dispatch_packet_t
struct DispatchPacket {
  uint16_t header = 2;  // HSA_PACKET_TYPE_KERNEL_DISPATCH
  uint16_t setup = 1;   // number of dimensions
  uint16_t workgroup_size[3] = {1, 1, 1};
  uint16_t reserved0 = 0;
  uint32_t grid_size[3] = {1, 1, 1};  // work-items
  uint32_t private_segment_size = 0;
  uint32_t group_segment_size = 0;
  uint64_t kernel_object = 0;
  uint64_t kernarg_address = 0;
  uint64_t reserved2 = 0;
  uint64_t completion_signal = 0;
};
static_assert(sizeof(DispatchPacket) == 64);
static_assert(offsetof(DispatchPacket, grid_size) == 12 && offsetof(DispatchPacket, kernarg_address) == 40);

// amd_queue_t up to the fields that compiled kernels read: GFX8 code takes the apertures from here.
struct alignas(64) AmdQueue {
  // hsa_queue_t
  uint32_t type = 0;
  uint32_t features = 1;  // HSA_QUEUE_FEATURE_KERNEL_DISPATCH
  uint64_t base_address = 0;
  uint64_t doorbell_signal = 0;
  uint32_t size = 0;
  uint32_t reserved1 = 0;
  uint64_t id = 0;
  // amd_queue_t
  uint32_t reserved2[4] = {};
  uint64_t write_dispatch_id = 0;
  uint32_t group_segment_aperture_base_hi = 0;
  uint32_t private_segment_aperture_base_hi = 0;
  uint32_t max_cu_id = 0;
  uint32_t max_wave_id = 0;
  uint64_t max_legacy_doorbell_dispatch_id_plus_1 = 0;
  uint32_t legacy_doorbell_lock = 0;
  uint32_t reserved3[9] = {};
  uint64_t read_dispatch_id = 0;
  uint32_t read_dispatch_id_field_base_byte_offset = 0;
  uint32_t compute_tmpring_size = 0;
  uint32_t scratch_resource_descriptor[4] = {};
  uint64_t scratch_backing_memory_location = 0;
  uint64_t reserved4 = 0;
  uint32_t reserved5 = 0;
  uint32_t scratch_wave64_lane_byte_size = 0;
  uint32_t queue_properties = 1u << 1;  // AMD_QUEUE_PROPERTIES_IS_PTR64
  uint32_t reserved6[3] = {};
  uint64_t queue_inactive_signal = 0;
  uint32_t reserved7[14] = {};
};
static_assert(offsetof(AmdQueue, group_segment_aperture_base_hi) == 0x40);
static_assert(offsetof(AmdQueue, private_segment_aperture_base_hi) == 0x44);
static_assert(offsetof(AmdQueue, read_dispatch_id) == 0x80);
static_assert(offsetof(AmdQueue, scratch_resource_descriptor) == 0x90);

}  // namespace wavejit::runtime
