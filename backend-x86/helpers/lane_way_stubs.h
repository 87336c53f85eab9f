// Ways from translated code to internal/lane_way.h, with the time stamp counter.
#pragma once

#include <cstdint>

#include "backend-x86/compiler.h"

namespace wavejit::backend {

// The address of begin_timed() or end_timed(), as code of the tier calls it: the caller pushes the address of a LaneTiming, which
// the function pops. It keeps all registers but the flags.
[[nodiscard]] uintptr_t lane_way_stub(Tier tier, bool begins);

}  // namespace wavejit::backend
