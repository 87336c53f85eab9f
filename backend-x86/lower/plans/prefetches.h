// Software prefetches for access patterns that the processor's prefetchers do not detect (prefetches.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ir/function.h"

namespace wavejit::backend {

struct Lowering;

// Of the lines of all lanes from an address on, or back from it.
struct LanePrefetch {
  const ir::Inst* address;
  int32_t distance;
};

// Distance from an address to the one that the next iteration of a loop accesses.
struct Stream {
  const ir::Inst* step = nullptr;  // scalar; null: no step
  unsigned shift = 0;
  bool is_signed = false;  // how a 32-bit step is extended
};

// Distance from an address to the one that the next work-group, or the next round between barriers, accesses:
// factor * scale bytes (scale null: 1).
struct Advance {
  int64_t factor = 0;
  const ir::Inst* scale = nullptr;  // i32, unsigned
  int sgpr = -1;                    // register that holds the scale, instead of an instruction
  [[nodiscard]] bool same_scale(const Advance& other) const { return scale == other.scale && sgpr == other.sgpr; }
};

struct Prefetches {
  std::map<uint32_t, std::vector<LanePrefetch>> at_ends;  // by id of the block at whose end they are
  std::map<const ir::Inst*, Stream> streams;              // by access
  std::map<const ir::Inst*, Advance> advances;            // by access
};

[[nodiscard]] Prefetches plan_prefetches(const Lowering& ctx);

}  // namespace wavejit::backend
