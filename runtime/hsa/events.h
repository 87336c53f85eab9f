// System events: what programs that have registered a handler are told of, besides the queue's callback.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/hsa/agent.h"

namespace wavejit::hsa {

// A kernel on `agent` accessed memory that it may not access; without an address the CPU did not say which.
void report_memory_fault(Agent& agent, std::optional<uint64_t> address);

}  // namespace wavejit::hsa
