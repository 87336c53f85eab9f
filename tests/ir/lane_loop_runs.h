// What tests of lane loops do with a function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"
#include "ir/interpret.h"

namespace wavejit::ir::test {

// What registers hold in the end, and with MemoryModel::bytes what has been written to memory; or the error.
[[nodiscard]] std::vector<std::string> registers(const Function& function, uint64_t seed,
                                                 MemoryModel model = MemoryModel::any_store);
// Runs pass lane-loops, which makes a copy of each loop that may have one, and behind it stream-checks and threaded-branches.
// Returns whether lane-loops has changed the function.
[[nodiscard]] bool copies_lane_loops(Function& function);

}  // namespace wavejit::ir::test
