// Lanes one by one, without a loop (memory_lanes.cpp).
#pragma once

#include <array>
#include <cstdint>

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

// Addresses in a row, or `stride` apart from `first`.
struct LanePlaces {
  Mem row;  // inactive lanes have an address where accesses are harmless
  Gp first;
  int32_t stride = 0;
  int32_t disp = 0;
  Operand ahead = {};  // distance to the next work-group's access, for prefetches; none: no prefetch
};
[[nodiscard]] bool can_stride(const MemoryAccess& access);
void strided_lanes(MemoryAccess& access, const Gp& pointer);

[[nodiscard]] bool serve_lanes(MemoryAccess& access);  // false: gathers or scatters are better
[[nodiscard]] Mem stage_addresses(MemoryAccess& access, const Vec64& address, int32_t disp, const ChunkLanes& lanes);
[[nodiscard]] Mem lane_at(MemoryAccess& access, const LanePlaces& at, unsigned lane, unsigned bytes,
                          int32_t offset = 0);
[[nodiscard]] Vec singles_at(MemoryAccess& access, const LanePlaces& at);
[[nodiscard]] std::array<Vec, 2> pairs_at(MemoryAccess& access, const LanePlaces& at);
void load_narrow_lanes(MemoryAccess& access, unsigned element, const LanePlaces& at, const ChunkLanes& lanes);
void store_lanes_of(MemoryAccess& access, const Vec& v, unsigned bytes, const Vec64& address, int32_t disp,
                    const ChunkLanes& lanes);

}  // namespace wavejit::backend
