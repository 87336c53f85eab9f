// Loads and stores of the first and last lanes of a row (memory_edges.cpp).
#pragma once

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

void emit_edges(MemoryAccess& access);

}  // namespace wavejit::backend
