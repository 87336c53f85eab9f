#include "runtime/kernel/sgpr_layout.h"

#include <algorithm>

namespace wavejit::runtime {

SgprLayout sgpr_layout(const codeobject::KernelDescriptor& d) {
  constexpr unsigned kMaxUserSgprs = 16;
  SgprLayout layout;
  unsigned next = 0;
  const auto put = [&](bool enabled, int& position, unsigned dwords) {
    if (!enabled) return;
    position = static_cast<int>(next);
    next += dwords;
  };
  put(d.enable_private_segment_buffer, layout.private_segment_buffer, 4);
  put(d.enable_dispatch_ptr, layout.dispatch_ptr, 2);
  put(d.enable_queue_ptr, layout.queue_ptr, 2);
  put(d.enable_kernarg_segment_ptr, layout.kernarg_ptr, 2);
  put(d.enable_dispatch_id, layout.dispatch_id, 2);
  put(d.enable_flat_scratch_init, layout.flat_scratch_init, 2);
  put(d.enable_private_segment_size, layout.private_segment_size, 1);
  if (next < kMaxUserSgprs) {
    layout.kernarg_preload_count = std::min(d.kernarg_preload_length, kMaxUserSgprs - next);
    layout.kernarg_preload_offset = d.kernarg_preload_offset;
    put(layout.kernarg_preload_count != 0, layout.kernarg_preload, layout.kernarg_preload_count);
  }
  put(d.enable_grid_workgroup_count_x, layout.group_count[0], 1);
  put(d.enable_grid_workgroup_count_y, layout.group_count[1], 1);
  put(d.enable_grid_workgroup_count_z, layout.group_count[2], 1);

  // System SGPRs follow the declared number of user SGPRs.
  next = std::min(d.user_sgpr_count, 16u + 16u);
  put(d.enable_workgroup_id_x, layout.group_id[0], 1);
  put(d.enable_workgroup_id_y, layout.group_id[1], 1);
  put(d.enable_workgroup_id_z, layout.group_id[2], 1);
  put(d.enable_workgroup_info, layout.group_info, 1);
  put(d.enable_private_segment_wave_offset, layout.wave_offset, 1);
  return layout;
}

}  // namespace wavejit::runtime
