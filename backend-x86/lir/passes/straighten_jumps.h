// Jumps that lead to other jumps, or around one.
#pragma once

#include <vector>

#include "backend-x86/lir/function.h"

namespace wavejit::backend::lir {

// For allocated functions, whose copies at the ends of blocks are what they will be. A jump to a jump goes where that one
// goes. A branch around a jump becomes the opposite branch to where the jump goes. Jumps to what follows them are removed.
// `jumps` are those that jumps_of() finds, and behind the call those that remain. Returns how many have been changed or
// removed.
uint32_t straighten_jumps(Function& function, std::vector<Node*>& jumps);

}  // namespace wavejit::backend::lir
