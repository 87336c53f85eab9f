// Where a kernel's initial values are in the scalar registers. Facts: AMDGPUUsage, "SGPR Register Set Up Order".
#pragma once

#include "frontend/codeobject/code_object.h"

namespace wavejit::runtime {

// First SGPR of each item, -1 for what the descriptor does not enable. Positions can lie beyond the registers that
// exist when a (foreign) descriptor asks for too much.
struct SgprLayout {
  int private_segment_buffer = -1;                                                                    // 4 registers
  int dispatch_ptr = -1, queue_ptr = -1, kernarg_ptr = -1, dispatch_id = -1, flat_scratch_init = -1;  // 2 registers
  int private_segment_size = -1;
  int kernarg_preload = -1;
  unsigned kernarg_preload_count = 0, kernarg_preload_offset = 0;  // dwords
  int group_count[3] = {-1, -1, -1};
  int group_id[3] = {-1, -1, -1};
  int group_info = -1;
  int wave_offset = -1;
};

[[nodiscard]] SgprLayout sgpr_layout(const codeobject::KernelDescriptor& descriptor);

}  // namespace wavejit::runtime
