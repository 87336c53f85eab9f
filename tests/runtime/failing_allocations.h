// operator new of the test program: in the translator it can be made to fail.
#pragma once

#include <atomic>
#include <cstdint>

#include "test_kernels.h"

namespace wavejit::test {

// The allocation in the translator that fails, counted over all threads. 0: none.
inline std::atomic<uint64_t> g_failing_allocation{0};

// Not with a sanitizer, whose own operator new is in the way.
inline constexpr bool kAllocationsFail = !kAddressSanitizer && !kThreadSanitizer;

}  // namespace wavejit::test
