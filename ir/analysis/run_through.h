// Functions that a wave enters once and leaves for good.
#pragma once

#include "ir/function.h"

namespace wavejit::ir {

// Returns true if the function never changes the wave's state and is left at its end, or with an error.
[[nodiscard]] bool runs_through(const Function& function);

}  // namespace wavejit::ir
