// Chunks whose lanes access memory one behind the other.
#pragma once

#include <functional>
#include <span>

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

void access_contiguous(MemoryAccess& access, const Gp& pointer);
// The results of a load of two or four dwords a lane, from registers that hold them in the order of memory.
void take_apart(MemoryAccess& access, std::span<const Vec> memory);
// A part of a 64-bit value from the dwords of registers: first_dword(lane) is the place of a lane's lower half.
void shuffle_whole(MemoryAccess& access, const Vec& to, unsigned part, std::span<const Vec> memory,
                   const std::function<unsigned(unsigned lane)>& first_dword);

}  // namespace wavejit::backend
