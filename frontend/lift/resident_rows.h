// Rows of the wave state that do not become SSA values from block to block: sums of matrix products in code that waits at
// barriers.
//
// There are more sums than the host has registers. As values they would live in spill slots, and each barrier would copy all of
// them to the wave state and back. A block reads such a row at its start (ir read_row) if it needs it, and writes it at its end
// (write_row) if it changes it, so that the state is current wherever control leaves.
#pragma once

#include <bitset>

#include "frontend/lift/cfg.h"
#include "frontend/lift/ssa.h"

namespace wavejit::lift {

// By row: AGPR i is row 256 + i. None in code without barriers, where loops carry sums in memory of their own.
[[nodiscard]] std::bitset<kNumRows> resident_rows(const Cfg& cfg);

}  // namespace wavejit::lift
