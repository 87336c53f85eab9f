// To be preloaded: malloc and its like, and mmap, of which one can be made to fail (failing_memory.h).
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

std::atomic<uint64_t> failing{0}, count{0};
std::atomic<bool> all_fail{false};

bool fails() {
  const uint64_t nth = failing.load(std::memory_order_relaxed);
  const uint64_t number = count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (nth == 0 || (number != nth && !(all_fail && number > nth))) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED uint64_t wavejit_fail_allocation(uint64_t nth, bool all) {
  failing = 0;
  const uint64_t before = count.exchange(0);
  all_fail = all;
  failing = nth;
  return before;
}

EXPORTED void* malloc(size_t size) {
  return fails() ? nullptr : __libc_malloc(size);
}
EXPORTED void* calloc(size_t n, size_t size) {
  return fails() ? nullptr : __libc_calloc(n, size);
}
EXPORTED void* realloc(void* memory, size_t size) {
  return fails() ? nullptr : __libc_realloc(memory, size);
}
EXPORTED void* memalign(size_t alignment, size_t size) {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
EXPORTED void* aligned_alloc(size_t alignment, size_t size) {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
EXPORTED int posix_memalign(void** out, size_t alignment, size_t size) {
  void* memory = fails() ? nullptr : __libc_memalign(alignment, size);
  if (!memory) return ENOMEM;
  *out = memory;
  return 0;
}
EXPORTED void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  using Function = void* (*)(void*, size_t, int, int, int, off_t);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "mmap"));
  return fails() ? MAP_FAILED : next(address, length, protection, flags, file, offset);
}
