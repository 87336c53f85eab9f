// Places for code on an edge of the control-flow graph.
#pragma once

#include "ir/function.h"

namespace wavejit::ir::passes {

enum class EdgePlace : uint8_t { behind_predecessor, in_front_of_block };

// Returns a block with `to` as its only successor whose code runs on the edge from to->predecessors[index] and on no other: that
// predecessor if it has one successor, otherwise a new block, which the layout has at `place`. Phis keep their operands.
Block* block_on_edge(Function& function, Block* to, unsigned index, EdgePlace place);

}  // namespace wavejit::ir::passes
