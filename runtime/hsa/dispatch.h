// What a kernel dispatch packet asks for, run by the engine.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>

#include "internal/error.h"
#include "runtime/launch/watchdog.h"

namespace wavejit::hsa {

class Queue;

// Returns when the grid has ended. Thread-safe.
[[nodiscard]] Expected<void> run_dispatch(Queue& queue, const hsa_kernel_dispatch_packet_t& packet, uint64_t index,
                                          runtime::Cancellation& cancellation);

}  // namespace wavejit::hsa
