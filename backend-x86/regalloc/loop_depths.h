// The loops that blocks of a function are in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend-x86/regalloc/lives.h"

namespace wavejit::backend {

// By block: how many loops it is in. A jump back to a block is a loop if control comes from there to the jump; where the code stands
// does not matter. Blocks that the entry does not reach are in none. Time is proportional to the edges and the depth.
[[nodiscard]] std::vector<uint32_t> loop_depths(std::span<const FlowBlock> blocks);

}  // namespace wavejit::backend
