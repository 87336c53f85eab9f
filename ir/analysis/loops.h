// Natural loops.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/analysis/dominators.h"
#include "ir/function.h"

namespace wavejit::ir {

struct Loop {
  Block* header = nullptr;
  std::vector<Block*> latches;            // sources of the back edges
  std::unordered_set<const Block*> body;  // header and latches included
};

// Inner loops come before the loops that contain them. Irreducible cycles are not listed.
[[nodiscard]] std::vector<Loop> find_loops(const Dominators& dominators);

}  // namespace wavejit::ir
