// Which lane a memory fault in translated code belongs to, from the machine state the signal handler gets.
// Async-signal-safe.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <optional>

#include "backend-x86/compiler.h"

namespace wavejit::backend {

// `range` holds the faulting instruction (at REG_RIP of `context`); `address` is the fault address if the kernel
// reported one; `wave` is the wave that runs. Returns 0..63, or 64 for scalar accesses.
[[nodiscard]] uint32_t decode_fault_lane(const FaultRange& range, const ucontext_t& context,
                                         std::optional<uint64_t> address, const WaveState& wave);

}  // namespace wavejit::backend
