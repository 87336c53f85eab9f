// Accesses by a function for all of a size (memory_shared.cpp).
#pragma once

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

[[nodiscard]] bool is_shared(const MemoryAccess& access);
void shared_any(MemoryAccess& access);
void shared_contiguous(MemoryAccess& access, const Gp& pointer, const Label& masked);

}  // namespace wavejit::backend
