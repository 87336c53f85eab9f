// Vector registers of which nobody reads more than 128 bits.
#pragma once

#include "backend-x86/lir/function.h"

namespace wavejit::backend::lir {

// Such registers become registers of 128 bits: copies, loads, broadcasts and spill slots of them do, too. Instructions that name
// all of a register keep it as it is, but for those that only make or move its contents. Returns the number of changed
// registers. Runs before register allocation, in time proportional to the code.
uint32_t narrow_registers(Function& function);

}  // namespace wavejit::backend::lir
