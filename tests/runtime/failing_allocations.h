// operator new of the test program: in the translator it can be made to fail.
#pragma once

#include <atomic>
#include <cstdint>

#include "test_kernels.h"

namespace wavejit::test {

// The allocation in the translator that fails, counted over all threads. 0: none.
inline std::atomic<uint64_t> g_failing_allocation{0};

// Not with a sanitizer, whose own operator new is in the way.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAllocationsFail = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kAllocationsFail = false;
#else
inline constexpr bool kAllocationsFail = !kSignalsAreHeldBack;
#endif
#else
inline constexpr bool kAllocationsFail = !kSignalsAreHeldBack;
#endif

}  // namespace wavejit::test
