// The state a kernel starts in: kernarg segment, AQL packet, queue, and the initial registers of every wave.
//
// Facts: AMDGPUUsage "Initial Kernel Execution State" and "Kernel Prolog"; V# fields: Vega ISA manual 8.1.8 "Buffer
// Resource"; partial work-groups: HSA Platform System Architecture 1.2, section 2.10 (the last work-group of a
// dimension may be smaller, and its work-items are packed by its own size).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "frontend/codeobject/code_object.h"
#include "frontend/isa/target.h"
#include "internal/error.h"
#include "internal/wave_state.h"
#include "runtime/kernel/abi.h"
#include "runtime/kernel/sgpr_layout.h"
#include "runtime/memory/arena.h"

namespace wavejit::runtime {

struct Shape {
  std::array<uint32_t, 3> grid{1, 1, 1};       // work-items
  std::array<uint32_t, 3> workgroup{1, 1, 1};  // work-items
  std::array<uint32_t, 3> global_offset{};

  // Of a shape that check_shape() accepts: no size is 0, and the total fits.
  [[nodiscard]] uint32_t groups(unsigned dim) const { return (grid[dim] - 1) / workgroup[dim] + 1; }
  [[nodiscard]] uint64_t total_groups() const { return uint64_t{groups(0)} * groups(1) * groups(2); }
  [[nodiscard]] bool has_partial_groups() const {
    return grid[0] % workgroup[0] != 0 || grid[1] % workgroup[1] != 0 || grid[2] % workgroup[2] != 0;
  }
  [[nodiscard]] unsigned max_waves() const {
    return (workgroup[0] * workgroup[1] * workgroup[2] + kWaveSize - 1) / kWaveSize;
  }
  [[nodiscard]] unsigned dimensions() const { return grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1; }
};

// GFX90A on: the work-item ids share v0.
[[nodiscard]] inline bool has_packed_ids(isa::Target target) {
  return isa::family_of(target) == isa::Family::gfx90a || isa::family_of(target) == isa::Family::gfx940;
}

// Limits that a shape is checked against: the hardware's alone, or also those that the kernel was compiled for.
enum class ShapeLimits : uint8_t { hardware, kernel };

// Checks sizes against the limits: kInvalidArgument.
[[nodiscard]] Expected<void> check_shape(const codeobject::Kernel& kernel, const Shape& shape,
                                         ShapeLimits limits = ShapeLimits::kernel);

// Fills the hidden arguments that lie at or beyond `first_hidden_byte` of the segment.
void fill_hidden_args(const codeobject::Kernel& kernel, const Shape& shape, uint32_t dynamic_lds, uint64_t queue,
                      uint32_t first_hidden_byte, std::span<uint8_t> kernarg);

// Everything waves of one launch have in common. Built once, then read by all workers.
class DispatchState {
 public:
  // `kernarg` must stay valid and readable for the launch.
  DispatchState(isa::Target target, const codeobject::Kernel& kernel, const Shape& shape, uint32_t lds_bytes,
                uint64_t kernarg, uint64_t kernel_object, bool records_exceptions = false,
                const DispatchPacket* packet = nullptr, uint64_t queue_address = 0);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] uint32_t lds_bytes() const { return lds_bytes_; }
  [[nodiscard]] uint32_t scratch_bytes_per_lane() const { return scratch_bytes_per_lane_; }
  [[nodiscard]] static AmdQueue& queue();  // one for the process

  // The part of the grid that a work-group covers.
  struct Group {
    std::array<uint32_t, 3> id{};
    std::array<uint32_t, 3> size{};  // work-items; smaller than the launch's at the edge of the grid
    bool complete = true;
  };
  [[nodiscard]] Group group(uint64_t index) const;  // linear, x fastest
  void advance(Group& group) const;                 // to the next one

  // The part of WaveState before the vector registers that all waves of a launch have in common. Made once per arena,
  // with the device's global data share.
  struct WaveTemplate {
    alignas(64) std::array<std::byte, offsetof(WaveState, vgpr)> bytes;
  };
  [[nodiscard]] WaveTemplate make_template(Arena& arena, std::span<uint8_t> gds,
                                           const volatile uint32_t* stop_flag) const;
  // Copies the given cache lines of the template (bit i: bytes 64 i to 64 i + 63). With kAllLines the old contents do
  // not matter.
  static constexpr uint32_t kAllLines = (1u << offsetof(WaveState, vgpr) / 64) - 1;
  static void init_common(WaveState& wave, const WaveTemplate& common, uint32_t lines);
  // Sets what differs between waves, for wave `index` of a work-group of `count` waves.
  void init_wave(WaveState& wave, const Arena& arena, const Group& group, unsigned index, unsigned count) const;

  // Both, for the waves of a work-group in `arena`; returns how many there are. Without `write_ids` the rows that hold
  // the work-item ids are left as they are (see lift::DispatchShape).
  unsigned init_group(Arena& arena, const WaveTemplate& common, uint32_t lines, const Group& group,
                      bool write_ids = true) const;

  // Words 2 and 3 of the private segment's descriptor, for an arena that is prepared.
  [[nodiscard]] uint64_t scratch_words23(const Arena& arena) const;

 private:
  void init_template(WaveState& wave, Arena& arena, std::span<uint8_t> gds, const volatile uint32_t* stop_flag) const;
  void complete(Group& group) const;
  void write_ids(WaveState& wave, const Group& group, unsigned index) const;

  isa::Target target_;
  bool packed_ids_;
  bool architected_flat_scratch_;
  codeobject::KernelDescriptor descriptor_;
  uint32_t mode_;  // at first
  Shape shape_;
  std::array<uint32_t, 3> groups_;
  uint32_t lds_bytes_;
  uint32_t scratch_bytes_per_lane_;
  DispatchPacket packet_;
  SgprLayout layout_;
  std::array<uint32_t, 128> sgprs_{};  // initial scalar file, without what depends on the work-group and the wave
};

}  // namespace wavejit::runtime
