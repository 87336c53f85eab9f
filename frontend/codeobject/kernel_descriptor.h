// Reads the two binary forms of what a dispatch needs: amd_kernel_code_t (V2) and kernel descriptors (V3 on).
// Facts: AMDGPUUsage "Kernel Descriptor", "compute_pgm_rsrc1/2/3", "Code Object V2 ... amd_kernel_code_t".
#pragma once

#include <cstdint>

#include "frontend/codeobject/bytes.h"
#include "frontend/codeobject/code_object.h"
#include "frontend/codeobject/processors.h"

namespace wavejit::codeobject {

inline constexpr uint64_t kKernelDescriptorSize = 64;
inline constexpr uint64_t kKernelCodeHeaderSize = 256;  // amd_kernel_code_t

struct DecodedDescriptor {
  KernelDescriptor descriptor;  // without entry
  int64_t entry_offset = 0;     // from the start of the descriptor or header
  uint32_t wavefront_size = 64;
  uint32_t kernarg_align = 16;
};

// `bytes` has kKernelDescriptorSize bytes.
[[nodiscard]] Expected<DecodedDescriptor> decode_kernel_descriptor(ByteView bytes, const Processor& processor);
// `bytes` has kKernelCodeHeaderSize bytes.
[[nodiscard]] Expected<DecodedDescriptor> decode_kernel_code_header(ByteView bytes, const Processor& processor);

}  // namespace wavejit::codeobject
