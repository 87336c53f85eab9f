// Stores past the caches (streaming_stores.cpp).
#pragma once

#include <functional>

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

// Emits the access of a chunk whose lanes are all on. The launch decides between two copies of a store.
void all_lanes(MemoryAccess& access, const Gp& pointer, const std::function<void()>& body);
void store_all_lanes(MemoryAccess& access, const Mem& at, const Vec& v);

}  // namespace wavejit::backend
