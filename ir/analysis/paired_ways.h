// What a wave does for a lane that would have gone another way, where the two ways do not simply meet at the other one's beginning:
// compilers send control past tests whose answers they know, so that ways cross.
#pragma once

#include "ir/analysis/dominators.h"
#include "ir/analysis/loops.h"
#include "ir/analysis/skipped_way.h"
#include "ir/function.h"

namespace wavejit::ir {

// The loop in which the ways are.
struct PairedLoop {
  const Loop& loop;
  const Dominators& dominators;
  const Block* exit_from = nullptr;  // the source of the only edge out of the loop
  const Inst* always = nullptr;      // a mask that has the lane; null: none is known
  const Inst* staying = nullptr;     // the mask by which lanes leave at `exit_from`; null: they leave together
};

// Whether a lane that is not in the branch's mask cannot tell which of the two ways it is taken: the one of the lanes in the mask,
// with these, and from then on with the wave; or its own, on which it branches by its own bits. Both are followed, for all answers to
// the branches on them, until they are at the beginning of one block where all values are the same to the lane, and it has made
// the same accesses to memory with the same operands. If they come to the end of the iteration, and the lane leaves, values may differ
// that nobody uses behind the loop. A loop on the wave's way is one step if the lane is in none of its iterations; the branch may be where the lane
// leaves such a loop. Gives up where the lane alone would go round in a loop, and after a number of steps.
[[nodiscard]] bool ways_are_alike(const Block* branch, const LaneBranch& lanes, const PairedLoop& loop);

}  // namespace wavejit::ir
