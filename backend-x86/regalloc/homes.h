// Homes: the host register assigned to a virtual register for its whole life. It holds the value unless an instruction
// forces it elsewhere.
#pragma once

#include "backend-x86/regalloc/copy_classes.h"
#include "backend-x86/regalloc/lives.h"

namespace wavejit::backend {

// Sets `home` for the virtual registers, where a host register of those available in their group is free. Returns for each
// group whether some have got none.
std::array<bool, kGroups> assign_homes(Lives& lives, CopyClasses& classes,
                                       const std::array<uint32_t, kGroups>& available);

}  // namespace wavejit::backend
