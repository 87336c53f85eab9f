// Errors of waves that end a launch.
#pragma once

#include <string>

#include "internal/error.h"
#include "internal/wave_state.h"
#include "runtime/launch/launch_state.h"

namespace wavejit::runtime {

[[nodiscard]] std::string kernel_name(const LaunchState& shared);
// Describes the place of the wave in the code and in the grid.
[[nodiscard]] std::string where(const LaunchState& shared, const WaveState& wave);

// kGuestFault, from the wave's fault fields; `address_known`: as in GuestFault.
[[nodiscard]] Error fault_error(const LaunchState& shared, const WaveState& wave, bool address_known);
// kGuestTrap: s_trap, or an exception that MODE has trap.
[[nodiscard]] Error trap_error(const LaunchState& shared, const WaveState& wave);
// For a wave whose engine returned with an exit reason that is an error.
[[nodiscard]] Error exit_error(const LaunchState& shared, const WaveState& wave, ExitReason reason);

}  // namespace wavejit::runtime
