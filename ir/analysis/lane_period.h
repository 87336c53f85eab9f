// Periods: values that repeat from one group of lanes to the next.
#pragma once

#include "ir/analysis/lane_shape.h"
#include "ir/function.h"

namespace wavejit::ir {

// A power of two P, at most 64, with value[l] == value[l % P] for all lanes l of the v32 value. 64: nothing is known. All lanes
// count, also inactive ones. `shapes`: of the value's function.
[[nodiscard]] unsigned lane_period(const LaneShapes& shapes, const Inst& value);

}  // namespace wavejit::ir
