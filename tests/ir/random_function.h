// Random well-formed IR functions that look like lifted code: lane masks, register pairs, merges under EXEC, loops.
#pragma once

#include <cstdint>
#include <memory>

#include "ir/function.h"

namespace wavejit::ir::test {

// The function depends on nothing but the seed. `size` is roughly the number of instructions.
std::unique_ptr<Function> random_function(uint64_t seed, unsigned size);

// Integer expressions of lane numbers, scalars and constants, as address computations are made of, in front of and
// inside a loop of a few turns. Every value ends up in a register row when the function is left; a 64-bit one as
// lo32 and hi32 in two consecutive rows.
std::unique_ptr<Function> random_lane_expressions(uint64_t seed);

}  // namespace wavejit::ir::test
