// Random well-formed IR functions that look like lifted code: lane masks, register pairs, merges under EXEC, loops.
#pragma once

#include <cstdint>
#include <memory>

#include "ir/function.h"

namespace wavejit::ir::test {

// The function depends on nothing but the seed. `size` is roughly the number of instructions.
std::unique_ptr<Function> random_function(uint64_t seed, unsigned size);

}  // namespace wavejit::ir::test
