// IR to LIR.
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

// Lowers the whole function. The first IR operation that is not supported stops it. The context has the constants and the
// marks of instructions that may fault, which the code refers to.
Expected<void> lower(Lowering& ctx);

}  // namespace wavejit::backend
