// Homes: the host registers that virtual registers are in whenever nothing speaks against it.
#pragma once

#include "backend-x86/allocation_lives.h"

namespace wavejit::backend {

// Sets `home` where there is one, for the registers of a group. Returns whether all have got one.
bool assign_homes(Lives& lives, uint32_t group, uint32_t available);

}  // namespace wavejit::backend
