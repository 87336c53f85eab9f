// Bytes loaded by several guest instructions (memory_bytes.cpp).
#pragma once

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

void joined_bytes(MemoryAccess& access);

}  // namespace wavejit::backend
