// Flat loads and stores of a chunk that mixes scratch with other memory, or has narrow or unaligned elements in scratch, from
// the cold path of translated code (lower/memory/memory_slow.cpp). Faults are described in the wave state, as those of calls.h are.
#pragma once

#include <cstdint>

#include "backend-x86/compiler.h"
#include "internal/wave_state.h"

namespace wavejit::backend {

struct FlatShape {
  uint8_t bytes;  // of an element: 1, 2 or 4
  uint8_t count;  // elements of a lane, one after the other
  uint8_t first_lane;
  uint8_t flags;

  static constexpr uint8_t kLoad = 1, kSignExtend = 2;
};

// On the stack of translated code. Rows are in the order of the chunk's lanes.
struct FlatLanes {
  static constexpr unsigned kMaxLanes = 16, kMaxCount = 4;

  WaveState* wave;
  uint64_t guest_pc;
  uint32_t lanes;  // active ones, bit i: the chunk's lane i
  FlatShape shape;
  uint64_t addresses[kMaxLanes];  // flat
  // By element. What a load leaves in lanes that are not active or beyond the end of LDS is 0.
  uint32_t values[kMaxCount][kMaxLanes];
};
static_assert(sizeof(FlatShape) == sizeof(uint32_t));

// The address of the function, as code of the tier calls it: the caller pushes the address of a FlatLanes, which the function
// pops. It keeps all registers but the flags.
[[nodiscard]] uintptr_t flat_stub(Tier tier);

}  // namespace wavejit::backend
