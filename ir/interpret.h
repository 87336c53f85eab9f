// Interprets IR functions, for tests of passes: the behaviour of a function must not depend on which passes ran.
//
// Integer, mask and lane operations have the meaning that ops.def states. Floating-point operations and helpers are
// stand-ins: a fixed function of operation, attributes and the lane's operands. A pass may assume no more of them.
// What memory holds depends on the address and on earlier stores, as MemoryModel says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "internal/error.h"
#include "ir/function.h"

namespace wavejit::ir {

enum class MemoryModel : uint8_t {
  any_store,  // a store changes what all places hold: accesses must stay in order
  bytes,      // it changes the bytes that it writes. The only event of memory is what it holds in the end
};

struct Interpretation {
  std::vector<std::string> events;  // memory accesses in order, the registers at exits other than kEnd, exits
  uint64_t steps = 0;
};

// `seed` determines the initial registers and memory. Errors: kTimeout after `max_steps` instructions, kUnsupported for
// undef.
[[nodiscard]] Expected<Interpretation> interpret(const Function& function, unsigned entry, uint64_t seed,
                                                 uint64_t max_steps = 1u << 20,
                                                 MemoryModel model = MemoryModel::any_store);

}  // namespace wavejit::ir
