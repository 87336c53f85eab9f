// The state a kernel starts in: kernarg segment, AQL packet, queue, and the initial registers of every wave.
//
// Facts: AMDGPUUsage "Initial Kernel Execution State" and "Kernel Prolog"; V# fields: Vega ISA manual 8.1.8 "Buffer
// Resource"; partial work-groups: HSA Platform System Architecture 1.2, section 2.10 (the last work-group of a
// dimension may be smaller, and its work-items are packed by its own size).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "frontend/codeobject/code_object.h"
#include "frontend/isa/target.h"
#include "internal/error.h"
#include "internal/wave_state.h"
#include "runtime/abi.h"
#include "runtime/arena.h"

namespace wavejit::runtime {

struct Shape {
  std::array<uint32_t, 3> grid{1, 1, 1};       // work-items
  std::array<uint32_t, 3> workgroup{1, 1, 1};  // work-items
  std::array<uint32_t, 3> global_offset{};

  [[nodiscard]] uint32_t groups(unsigned dim) const { return (grid[dim] + workgroup[dim] - 1) / workgroup[dim]; }
  [[nodiscard]] uint64_t total_groups() const { return uint64_t{groups(0)} * groups(1) * groups(2); }
  [[nodiscard]] unsigned max_waves() const {
    return (workgroup[0] * workgroup[1] * workgroup[2] + kWaveSize - 1) / kWaveSize;
  }
  [[nodiscard]] unsigned dimensions() const { return grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1; }
};

// Checks sizes against the hardware's and the kernel's limits: kInvalidArgument.
[[nodiscard]] Expected<void> check_shape(const codeobject::Kernel& kernel, const Shape& shape);

// Fills the hidden arguments that lie at or beyond `first_hidden_byte` of the segment.
void fill_hidden_args(const codeobject::Kernel& kernel, const Shape& shape, uint32_t dynamic_lds, uint64_t queue,
                      uint32_t first_hidden_byte, std::span<uint8_t> kernarg);

// Everything waves of one launch have in common. Built once, then read by all workers.
class DispatchState {
 public:
  // `kernarg` must stay valid and readable for the launch.
  DispatchState(isa::Target target, const codeobject::Kernel& kernel, const Shape& shape, uint32_t lds_bytes,
                uint64_t kernarg, uint64_t kernel_object);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] uint32_t lds_bytes() const { return lds_bytes_; }
  [[nodiscard]] uint32_t scratch_bytes_per_lane() const { return scratch_bytes_per_lane_; }
  [[nodiscard]] static AmdQueue& queue();  // one for the process

  // Sets up the waves of work-group `group` (linear, x fastest) in `arena`; returns how many there are.
  unsigned init_group(Arena& arena, uint64_t group, const volatile uint32_t* stop_flag) const;

 private:
  void init_wave(WaveState& wave, Arena& arena, const std::array<uint32_t, 3>& group_id,
                 const std::array<uint32_t, 3>& group_size, unsigned index, unsigned count,
                 const volatile uint32_t* stop_flag) const;

  isa::Target target_;
  bool packed_ids_;  // GFX90A on: work-item ids share v0
  bool architected_flat_scratch_;
  codeobject::KernelDescriptor descriptor_;
  Shape shape_;
  uint32_t lds_bytes_;
  uint32_t scratch_bytes_per_lane_;
  DispatchPacket packet_;
  std::array<uint32_t, 128> sgprs_{};  // initial scalar file, without what depends on the wave
  // Positions of the registers that do, -1 when disabled.
  int private_segment_buffer_ = -1, flat_scratch_init_ = -1, group_id_[3] = {-1, -1, -1}, group_info_ = -1,
      wave_offset_ = -1;
};

}  // namespace wavejit::runtime
