// Values of which nobody reads more than lane 0: numbers in floating point of loops that are executed for one lane after
// the other. Their instructions work on 128 bits. A division of 512 bits takes 1.5 times as long (a C loop on an Emerald
// Rapids: 13.6 and 8.7 ticks, one behind the other).
#pragma once

#include <vector>

#include "ir/analysis/lane_shape.h"
#include "ir/function.h"

namespace wavejit::backend {

// By id of the value. A narrow value's register holds anything in the other lanes; a mask has no bits there.
[[nodiscard]] std::vector<bool> find_narrow_values(const ir::Function& function, const ir::LaneShapes& shapes);

}  // namespace wavejit::backend
