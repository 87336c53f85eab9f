// Ways from translated code to internal/lane_streams.h.
#pragma once

#include <cstdint>

#include "backend-x86/compiler.h"

namespace wavejit::backend {

// The address of begin_streams() or end_streams(), as code of the tier calls it: the caller pushes the address of a LaneStreams,
// which the function pops. It keeps all registers but the flags.
[[nodiscard]] uintptr_t lane_stream_stub(Tier tier, bool begins);

}  // namespace wavejit::backend
