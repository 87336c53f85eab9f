// Loads of all lanes of the chunk from one address.
#pragma once

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

void uniform_load(MemoryAccess& access);
// All active lanes of the chunk at one address, as where a row of a tile is read by the lanes of a row: one broadcast
// an element.
void load_if_equal(MemoryAccess& access);

}  // namespace wavejit::backend
