// System events: what programs that have registered a handler are told of, besides the queue's callback.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/hsa/agent.h"

namespace wavejit::hsa {

// A kernel on `agent` accessed memory that it may not access; without an address the CPU did not say which. Ends the
// process as ROCr does (Runtime::VMFaultHandler), unless a handler has taken the event by HSA_STATUS_SUCCESS or
// WAVEJIT_ON_FAULT is "error": then the queue's callback is told. Thread-safe; handlers run on the calling thread.
void report_memory_fault(Agent& agent, std::optional<uint64_t> address);

}  // namespace wavejit::hsa
