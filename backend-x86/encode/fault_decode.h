// Finds the lane and the address of a memory fault in translated code, from the machine state that the signal handler
// gets. Async-signal-safe.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <optional>

#include "backend-x86/compiler.h"

namespace wavejit::backend {

struct DecodedFault {
  uint32_t lane = kWaveSize;  // 0..63, or 64 for scalar accesses
  // The address that the lane accessed, if it is not canonical. The host does not report such an address.
  std::optional<uint64_t> non_canonical;
};

// Where the translated code is: the address of its instruction that faults, or that has called a function of chunk_access.h,
// which faults. Other functions describe their accesses themselves.
[[nodiscard]] uint64_t place_in_code(const ucontext_t& context);

// `range` holds place_in_code(); `address` is the fault address if the host
// reported one; `wave` is the wave that runs.
[[nodiscard]] DecodedFault decode_fault(const FaultRange& range, const ucontext_t& context,
                                        std::optional<uint64_t> address, const WaveState& wave);

}  // namespace wavejit::backend
