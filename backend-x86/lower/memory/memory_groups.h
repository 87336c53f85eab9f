// Lanes that load in groups or in halves of the chunk (memory_groups.cpp).
#pragma once

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

void load_if_in_groups(MemoryAccess& access);
[[nodiscard]] bool may_be_in_halves(const MemoryAccess& access);
void load_if_in_halves(MemoryAccess& access);

}  // namespace wavejit::backend
