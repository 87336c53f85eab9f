// Loops that lanes leave one by one: bottom-tested, with one way out, which is taken when a mask has become empty.
#pragma once

#include "ir/analysis/loops.h"
#include "ir/function.h"

namespace wavejit::ir {

// Whether a group of lanes may leave the loop as soon as the mask that keeps the wave in it has none of them, instead
// of going round until the last lane of the wave is done: the iterations that are saved access no memory on behalf of
// these lanes, do not bring them back, and change nothing of theirs that is used behind the loop. What scalars are
// behind the loop depends on the last lane, so none may be used there.
//
// Branches inside must not depend on lanes. Says nothing about what lanes see of each other in the loop.
[[nodiscard]] bool leaves_lane_by_lane(const Loop& loop);

// The mask of which the latch of such a loop asks whether it has any lane; null: the loop does not end like that.
[[nodiscard]] const Inst* staying_lanes(const Loop& loop);

// Whether the mask is known to have no lanes outside of `of`.
[[nodiscard]] bool is_within(const Inst* mask, const Inst* of, unsigned depth = 8);

}  // namespace wavejit::ir
