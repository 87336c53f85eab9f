// Values of which nobody reads more than lane 0: numbers in floating point of loops that are executed for one lane after
// the other. Their instructions work on 128 bits. Divisions and square roots of 512 bits take three times as long, and other
// operations of 512 bits leave a port of the CPU idle.
#pragma once

#include <vector>

#include "ir/analysis/lane_shape.h"
#include "ir/function.h"

namespace wavejit::backend {

// By id of the value. A narrow value's register holds anything in the other lanes; a mask has no bits there.
[[nodiscard]] std::vector<bool> find_narrow_values(const ir::Function& function, const ir::LaneShapes& shapes);

}  // namespace wavejit::backend
