// The address of an access, and pointers to what the chunk accesses.
#pragma once

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

// Finds out how the address is known.
void prepare_address(MemoryAccess& access);
// For the cold path, where a number serves the hot one: the addresses as a vector.
void unserve(MemoryAccess& access);

// Jumps to the cold path unless the active lanes' addresses are consecutive; the address of lane 0 of the chunk.
[[nodiscard]] Gp find_contiguous(MemoryAccess& access);
[[nodiscard]] Gp strided_pointer(MemoryAccess& access);
// The address of the chunk's first lane, where the distance of the others is known.
[[nodiscard]] Gp first_lane_pointer(MemoryAccess& access);
// From the index of a lane, in the low half of the register, to its address.
void index_to_pointer(MemoryAccess& access, const Gp& index);
void check_aperture(MemoryAccess& access, const Gp& pointer);

}  // namespace wavejit::backend
