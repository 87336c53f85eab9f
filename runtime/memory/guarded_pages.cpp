#include "runtime/memory/guarded_pages.h"

#include <sys/mman.h>

#include "internal/pages.h"

namespace wavejit::runtime {

uint64_t map_guarded(size_t guard, size_t bytes) {
  const bool large = bytes >= kHugePage;
  const size_t used = guard + bytes + kPage;
  const size_t mapped = used + (large ? kHugePage : 0);
  void* const memory = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 0;
  auto begin = reinterpret_cast<uint64_t>(memory);
  if (large) {
    const uint64_t end = begin + mapped;
    const uint64_t aligned = round_up(begin + guard, kHugePage) - guard;
    if (aligned != begin) munmap(memory, aligned - begin);
    if (end != aligned + used) munmap(reinterpret_cast<void*>(aligned + used), end - aligned - used);
    begin = aligned;
  }
  void* const usable = reinterpret_cast<void*>(begin + guard);
  if (mprotect(usable, bytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(reinterpret_cast<void*>(begin), used);
    return 0;
  }
  if (large) madvise(usable, bytes, MADV_HUGEPAGE);
  return begin + guard;
}

}  // namespace wavejit::runtime
