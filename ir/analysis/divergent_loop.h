// Divergent loops: bottom-tested loops with one exit edge, which is taken once a mask is empty. Lanes leave one by one.
#pragma once

#include "ir/analysis/loops.h"
#include "ir/function.h"

namespace wavejit::ir {

// Returns true if a group of lanes may leave the loop as soon as the mask that keeps the wave in it has none of them,
// instead of iterating until the last lane of the wave is done. The skipped iterations then access no memory for these
// lanes, never reactivate them, and change none of their values that are used after the loop. Scalars after the loop
// depend on the last lane, so none may be used there.
//
// Branches inside must not depend on lanes. Whether lanes observe each other in the loop is not checked.
[[nodiscard]] bool leaves_lane_by_lane(const Loop& loop);

// The mask that the latch of such a loop tests for being empty; null if the loop does not end like that.
[[nodiscard]] const Inst* staying_lanes(const Loop& loop);

// Returns true if the mask is known to be a subset of `of`.
[[nodiscard]] bool is_within(const Inst* mask, const Inst* of, unsigned depth = 8);

}  // namespace wavejit::ir
