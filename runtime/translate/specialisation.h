// What the code that starts a kernel is specialised on beyond MODE and EXEC.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/codeobject/code_object.h"
#include "frontend/isa/target.h"
#include "frontend/lift/lifter.h"
#include "runtime/kernel/dispatch_state.h"

namespace wavejit::runtime {

struct Specialisation {
  const codeobject::Kernel* kernel = nullptr;
  // Work-items of each work-group and LDS bytes as in WaveState::lds_size; nothing: for all.
  std::optional<std::array<uint32_t, 3>> workgroup;
  std::optional<uint32_t> lds_size;
  // Specialised on the last wave of each work-group, which is not full.
  bool last_wave = false;
  // Hidden arguments whose values follow from the above, or have their usual value: bit i for Kernel::args[i].
  uint64_t known_args = 0;
  // Values of the pointers to local memory among the arguments, in their order. All or none.
  std::vector<uint64_t> local_pointers;
  bool operator==(const Specialisation&) const = default;
};

// EXEC of new waves of such a specialisation for last waves.
[[nodiscard]] uint64_t last_wave_exec(const std::array<uint32_t, 3>& workgroup);

// For the complete work-groups of a launch. `kernarg`: the segment the kernel will read (kernarg_size bytes), as an
// address; 0: as fill_hidden_args() would make it.
[[nodiscard]] Specialisation specialisation_of(const codeobject::Kernel& kernel, const Shape& shape, uint32_t lds_bytes,
                                               uint64_t kernarg);

// Whether the code that starts the kernel takes s[0:3] for the descriptor of the wave's private segment behind calls. A
// wave that comes back with another one goes on in general code.
[[nodiscard]] bool has_scratch_srd_behind_calls(const codeobject::KernelDescriptor& descriptor);

// Completes the options for lifting the kernel from its entry.
void specialise(lift::LiftOptions& options, const Specialisation& specialisation, isa::Target target);

}  // namespace wavejit::runtime
