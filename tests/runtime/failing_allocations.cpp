#include "failing_allocations.h"

#include <cstdlib>
#include <new>

#include "internal/check.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WAVEJIT_SANITIZED 1
#endif
#endif
#if !defined(WAVEJIT_SANITIZED) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void* operator new(std::size_t size) {
  auto& failing = wavejit::test::g_failing_allocation;
  if (wavejit::checks::t_throwing != 0 && failing.load(std::memory_order_relaxed) != 0 && failing.fetch_sub(1) == 1)
    throw std::bad_alloc();
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

#endif
