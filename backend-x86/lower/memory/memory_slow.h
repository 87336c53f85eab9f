// The path that serves any addresses (memory_slow.cpp).
#pragma once

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

void slow_path(MemoryAccess& access);
void slow_element(MemoryAccess& access, unsigned element, AddressKind kind, const GatherIndex& index,
                  const Vec64& address, int32_t disp, const ChunkLanes& lanes);

}  // namespace wavejit::backend
