// What is known about the waves a kernel's code runs for when it is translated for one shape of dispatch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "internal/wave_state.h"
#include "ir/builder.h"

namespace wavejit::lift {

// Facts about the wave state at the kernel's start. They hold for waves of complete work-groups only: those at the edge
// of the grid may be smaller, and pack their work-items by their own size.
struct DispatchShape {
  std::array<uint32_t, 3> workgroup{1, 1, 1};  // work-items; at most 1,024 together
  // Rows v0.. that hold work-item ids; with `packed_ids` (GFX90A on) v0 alone holds them, 10 bits each. These rows are
  // not read at the kernel's start, so nobody needs to have written them.
  unsigned id_dimensions = 1;
  bool packed_ids = false;
  bool last_wave = false;  // only the last wave of each work-group runs this code
  // First SGPRs of what the descriptor enables, -1 when it does not.
  std::array<int, 3> group_id_sgpr{-1, -1, -1};
  int dispatch_packet_sgpr = -1;  // hsa_kernel_dispatch_packet_t*
  int kernarg_sgpr = -1;
  // Bytes of the kernarg segment with values known in advance. Code does not modify them.
  struct KnownBytes {
    uint32_t offset = 0;
    uint32_t bytes = 0;  // at most 8
    uint64_t value = 0;
  };
  std::vector<KnownBytes> kernarg;

  // Whether work-groups have a single wave.
  [[nodiscard]] bool has_one_wave() const { return workgroup[0] * workgroup[1] * workgroup[2] <= kWaveSize; }

  // The bits known of the dword at `offset` of the dispatch packet or the kernarg segment.
  struct KnownDword {
    uint32_t mask = 0;
    uint32_t value = 0;
  };
  [[nodiscard]] KnownDword packet_dword(int64_t offset) const;
  [[nodiscard]] KnownDword kernarg_dword(int64_t offset) const;

  // Highest work-group id in a dimension: grids have fewer than 2^32 work-items in each.
  [[nodiscard]] uint32_t max_group_id(unsigned dimension) const;
};

// Makes the initial value of row v0, v1 or v2 from the lane number and WaveState::wave_in_group; nullptr when the row
// holds no ids. All 64 lanes have the ids the runtime would have written (lanes beyond the work-group included).
[[nodiscard]] ir::Inst* initial_id_row(ir::Builder& builder, const DispatchShape& shape, unsigned row);

}  // namespace wavejit::lift
