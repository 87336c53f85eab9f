// A plain evaluator of IR functions for tests of passes: what a function does must not depend on which passes ran.
//
// Integer, mask and lane operations have their stated meaning. Floating-point operations and helpers are stand-ins:
// some fixed function of operation, attributes and the lane's operands, which is all a pass may assume about them.
// Memory contents are a function of the address and of what was stored before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "internal/error.h"
#include "ir/function.h"

namespace wavejit::ir {

struct Interpretation {
  std::vector<std::string> events;  // memory accesses in order, the registers at exits other than kEnd, exits
  uint64_t steps = 0;
};

// `seed` determines registers and memory at the start. kTimeout after `max_steps` instructions, kUnsupported for undef.
[[nodiscard]] Expected<Interpretation> interpret(const Function& function, unsigned entry, uint64_t seed,
                                                 uint64_t max_steps = 1u << 20);

}  // namespace wavejit::ir
