// Homes: the host register assigned to a virtual register for its whole life. It holds the value unless an instruction
// forces it elsewhere.
#pragma once

#include "backend-x86/regalloc/copy_classes.h"
#include "backend-x86/regalloc/lives.h"

namespace wavejit::backend {

// Sets `home` for the virtual registers of a group, where a host register is free. Returns true if all have got one.
bool assign_homes(Lives& lives, CopyClasses& classes, uint32_t group, uint32_t available);

}  // namespace wavejit::backend
