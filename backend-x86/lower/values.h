// Where IR values live while a function is lowered.
#pragma once

#include <cstdint>
#include <vector>

#include "backend-x86/lower/host_code.h"
#include "backend-x86/lower/plans/tile_regions.h"
#include "ir/function.h"

namespace wavejit::backend {

// Whether the mask is known to have all lanes.
[[nodiscard]] inline bool is_full(const ir::Inst* mask) {
  return mask->is_const(~uint64_t{0});
}

struct Storage {
  std::vector<x86::Reg> regs;  // made when they are first used
  bool invariant = false;      // the same register serves all chunks
};

// The value whose registers hold another one, and which element of it that is.
struct Place {
  const ir::Inst* inst;
  unsigned element;
};

// The parts of a 64-bit value that somebody wants, and registers for them: if it is one, for both, as other instructions
// may name the other one, too.
struct WantedParts {
  Vec64 to;
  unsigned first, end;
};

// One pass through a tile region: its chunks, and separate registers for all values that it touches, so that live
// ranges do not extend over other passes.
struct Pass {
  const TileRegion* region;
  unsigned begin, end;          // chunks
  bool final;                   // the last pass, which defines the scalar results
  Label next;                   // where the next pass starts
  std::vector<Label> labels;    // of the region's blocks, by block id
  std::vector<Storage> values;  // by instruction id
  std::vector<bool> local;      // which instructions' values are in `values`
};

}  // namespace wavejit::backend
