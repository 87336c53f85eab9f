// Jumps that lead to other jumps, or around one.
#pragma once

#include "backend-x86/lir/function.h"

namespace wavejit::backend::lir {

// For allocated functions, whose copies at the ends of blocks are what they will be. A jump to a jump goes where that one
// goes. A branch around a jump becomes the opposite branch to where the jump goes. Jumps to what follows them are removed.
// Returns how many of Function::jumps have been changed or removed.
uint32_t straighten_jumps(Function& function);

}  // namespace wavejit::backend::lir
