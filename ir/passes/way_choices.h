// Choices between values where ways of control flow meet, for pass `branch-facts`: each moves to the ways, or from the
// ways to the place where they meet, whichever needs less code.
#pragma once

#include "ir/analysis/dominators.h"
#include "ir/function.h"

namespace wavejit::ir::passes {

// Both return true if something changed.
// The choices by constants and by masks at the beginning of a block. Blocks and edges stay.
[[nodiscard]] bool move_choices(Function& function, const Dominators& dominators, Block* block);
// The choices by conditions of branches, in all blocks. Edges may get blocks, which `dominators` does not know.
[[nodiscard]] bool move_choices_to_ways(Function& function, const Dominators& dominators);

}  // namespace wavejit::ir::passes
