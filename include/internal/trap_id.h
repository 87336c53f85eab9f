// WaveState::trap_id of waves that leave with ExitReason::kTrap: the eight bits of s_trap, or one of these.
#pragma once

#include <cstdint>

namespace wavejit::trap_id {

// s_trap 3 is llvm.debugtrap, which does nothing without a debugger (AMDGPUUsage "Trap Handler ABI").
inline constexpr uint32_t kDebugTrap = 3;
// At an instruction by which waves of different work-groups wait for each other (ds_gws_*, ds_ordered_count). The
// runtime executes it.
inline constexpr uint32_t kGlobalSync = 0x100;
// In front of an instruction that raises exceptions which MODE.EXCP_EN has trap; plus these, as bits of TRAPSTS.
inline constexpr uint32_t kException = 0x200;

}  // namespace wavejit::trap_id
