// Loads of lanes that each read their own memory sequentially (walks.cpp).
#pragma once

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

// The cursor is the negative distance from the row that is next to the end of those that are valid; 0 when there is
// none left.
void serve_by_walk(MemoryAccess& access, const Mem& rows, const Gp& cursor);

}  // namespace wavejit::backend
