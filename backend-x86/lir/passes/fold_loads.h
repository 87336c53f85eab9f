// A load whose result has one use becomes that instruction's memory operand.
#pragma once

#include "backend-x86/lir/function.h"

namespace wavejit::backend::lir {

// Folds loads of whole registers. Load and use are in one block, the load has no mark, and nothing between them writes to its
// memory or to the registers of its address. Returns the number of folded loads. Runs before register allocation, in time
// proportional to the code.
uint32_t fold_loads(Function& function);

}  // namespace wavejit::backend::lir
