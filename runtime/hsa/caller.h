// Who calls an entry point.
#pragma once

namespace wavejit::hsa {

// Whether the code at the address, as __builtin_return_address(0) gives it, is of the HIP runtime (libamdhip64).
[[nodiscard]] bool is_hip(const void* address);

// With HIP's defaults: how long (ns) it waits before it waits without a limit for the same signal (rocvirtual.hpp,
// WaitForSignal). Other limits mean that it goes on when the time is over.
[[nodiscard]] bool hip_waits_on(unsigned long timeout);

}  // namespace wavejit::hsa
