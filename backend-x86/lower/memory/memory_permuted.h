// Lanes at constant distances within a few registers' worth of LDS (memory_permuted.cpp).
#pragma once

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

// False: another path is better.
[[nodiscard]] bool serve_permuted(MemoryAccess& access);

}  // namespace wavejit::backend
