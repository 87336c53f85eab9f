#include "frontend/codeobject/kernel_descriptor.h"

#include <limits>

#include "internal/check.h"

namespace wavejit::codeobject {
namespace {

constexpr uint32_t bits(uint32_t value, unsigned low, unsigned width) {
  return (value >> low) & ((1u << width) - 1);
}

// The offsets are within the fixed-size records, so reading cannot fail.
template <typename T>
T field(ByteView bytes, uint64_t offset) {
  const auto value = bytes.get<T>(offset);
  WAVEJIT_CHECK(value.has_value());
  return *value;
}

// Kernel code properties: bits 0 to 6 mean the same in both forms.
void decode_user_sgprs(uint32_t properties, KernelDescriptor& out) {
  out.enable_private_segment_buffer = bits(properties, 0, 1) != 0;
  out.enable_dispatch_ptr = bits(properties, 1, 1) != 0;
  out.enable_queue_ptr = bits(properties, 2, 1) != 0;
  out.enable_kernarg_segment_ptr = bits(properties, 3, 1) != 0;
  out.enable_dispatch_id = bits(properties, 4, 1) != 0;
  out.enable_flat_scratch_init = bits(properties, 5, 1) != 0;
  out.enable_private_segment_size = bits(properties, 6, 1) != 0;
}

Expected<void> decode_registers(const Processor& processor, bool wave32, KernelDescriptor& out) {
  const uint32_t rsrc1 = out.rsrc1, rsrc2 = out.rsrc2;
  const uint32_t vgprs = bits(rsrc1, 0, 6), sgprs = bits(rsrc1, 6, 4);
  const uint32_t vgpr_granule = processor.unified_vgprs || (processor.major >= 10 && wave32) ? 8 : 4;
  out.vgpr_count = (vgprs + 1) * vgpr_granule;
  if (processor.major >= 10) {
    out.sgpr_count = 128;  // the field is reserved; every wave gets all
  } else if (processor.major == 9) {
    out.sgpr_count = (sgprs / 2 + 1) * 16;  // the field counts in 8s, the hardware allocates 16s
  } else {
    out.sgpr_count = (sgprs + 1) * 8;
  }
  if (processor.unified_vgprs) {
    out.accum_offset = (bits(out.rsrc3, 0, 6) + 1) * 4;
    if (out.accum_offset > out.vgpr_count) {
      // Allowed by the assembler only when no AGPR is used; then the whole allocation is ordinary VGPRs.
      out.agpr_count = 0;
    } else {
      out.agpr_count = out.vgpr_count - out.accum_offset;
    }
  } else if (processor.agprs) {
    out.agpr_count = out.vgpr_count;
  }

  // MODE: 7:0 FP_MODE, 8 DX10_CLAMP, 9 IEEE, 11 DEBUG, 18:12 EXCP_EN, 23 FP16_OVFL (Vega ISA, "MODE register fields").
  out.mode = bits(rsrc1, 12, 8) | bits(rsrc1, 21, 1) << 8 | bits(rsrc1, 23, 1) << 9 | bits(rsrc1, 22, 1) << 11 |
             bits(rsrc2, 24, 7) << 12;
  if (processor.major >= 9) out.mode |= bits(rsrc1, 26, 1) << 23;

  out.enable_private_segment_wave_offset = bits(rsrc2, 0, 1) != 0;
  out.user_sgpr_count = bits(rsrc2, 1, 5);
  out.enable_workgroup_id_x = bits(rsrc2, 7, 1) != 0;
  out.enable_workgroup_id_y = bits(rsrc2, 8, 1) != 0;
  out.enable_workgroup_id_z = bits(rsrc2, 9, 1) != 0;
  out.enable_workgroup_info = bits(rsrc2, 10, 1) != 0;
  out.enable_vgpr_workitem_id = static_cast<uint8_t>(bits(rsrc2, 11, 2));
  if (out.enable_vgpr_workitem_id == 3) return bad("ENABLE_VGPR_WORKITEM_ID is 3, which is undefined");
  return {};
}

}  // namespace

Expected<DecodedDescriptor> decode_kernel_descriptor(ByteView bytes, const Processor& processor) {
  DecodedDescriptor out;
  KernelDescriptor& descriptor = out.descriptor;
  descriptor.group_segment_size = field<uint32_t>(bytes, 0);
  descriptor.private_segment_size = field<uint32_t>(bytes, 4);
  descriptor.kernarg_size = field<uint32_t>(bytes, 8);
  out.entry_offset = field<int64_t>(bytes, 16);
  descriptor.rsrc3 = field<uint32_t>(bytes, 44);
  descriptor.rsrc1 = field<uint32_t>(bytes, 48);
  descriptor.rsrc2 = field<uint32_t>(bytes, 52);
  const uint32_t properties = field<uint16_t>(bytes, 56);
  decode_user_sgprs(properties, descriptor);
  const bool wave32 = bits(properties, 10, 1) != 0;
  if (wave32 && processor.major < 10) return bad("ENABLE_WAVEFRONT_SIZE32 is set for {}", processor.name);
  out.wavefront_size = wave32 ? 32 : 64;
  descriptor.uses_dynamic_stack = bits(properties, 11, 1) != 0;
  if (processor.unified_vgprs) {
    const auto preload = field<uint16_t>(bytes, 58);
    descriptor.kernarg_preload_length = bits(preload, 0, 7);
    descriptor.kernarg_preload_offset = bits(preload, 7, 9);
  }
  if (auto done = decode_registers(processor, wave32, descriptor); !done) return forward_error(std::move(done));
  return out;
}

Expected<DecodedDescriptor> decode_kernel_code_header(ByteView bytes, const Processor& processor) {
  DecodedDescriptor out;
  KernelDescriptor& descriptor = out.descriptor;
  const auto version = field<uint32_t>(bytes, 0);
  if (version != 1) return bad("amd_kernel_code_t has major version {} instead of 1", version);
  out.entry_offset = field<int64_t>(bytes, 16);
  descriptor.rsrc1 = field<uint32_t>(bytes, 48);
  descriptor.rsrc2 = field<uint32_t>(bytes, 52);
  const auto properties = field<uint32_t>(bytes, 56);
  decode_user_sgprs(properties, descriptor);
  descriptor.enable_grid_workgroup_count_x = bits(properties, 7, 1) != 0;
  descriptor.enable_grid_workgroup_count_y = bits(properties, 8, 1) != 0;
  descriptor.enable_grid_workgroup_count_z = bits(properties, 9, 1) != 0;
  descriptor.uses_dynamic_stack = bits(properties, 20, 1) != 0;
  descriptor.private_segment_size = field<uint32_t>(bytes, 60);
  descriptor.group_segment_size = field<uint32_t>(bytes, 64);
  const auto kernarg_size = field<uint64_t>(bytes, 72);
  if (kernarg_size > std::numeric_limits<uint32_t>::max()) return bad("the kernarg segment has {} bytes", kernarg_size);
  descriptor.kernarg_size = static_cast<uint32_t>(kernarg_size);
  // Alignments and the wavefront size are stored as powers of two.
  const uint8_t kernarg_align = field<uint8_t>(bytes, 100);
  if (kernarg_align > 16) return bad("the kernarg segment alignment is 2^{}", kernarg_align);
  out.kernarg_align = std::max(1u << kernarg_align, 16u);
  const uint8_t wavefront_size = field<uint8_t>(bytes, 103);
  if (wavefront_size != 6) return bad("the wavefront size is 2^{} instead of 64", wavefront_size);
  if (auto done = decode_registers(processor, false, descriptor); !done) return forward_error(std::move(done));
  return out;
}

}  // namespace wavejit::codeobject
