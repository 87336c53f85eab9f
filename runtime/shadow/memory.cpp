#include "runtime/shadow/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <utility>

#include "internal/pages.h"
#include "runtime/memory/pages.h"
#include "runtime/translate/module.h"

namespace wavejit::runtime::shadow {
namespace {

// Of shared mappings, which are copied as a whole.
constexpr uint64_t kMostShared = uint64_t{1} << 30;

Interval whole_pages(uint64_t begin, uint64_t end) {
  return {page_floor(begin), page_ceil(end)};
}

struct Mapping {
  Interval pages;
  int protection = 0;
  bool shared = false;
};

std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  char line[4352];
  while (maps && std::fgets(line, sizeof line, maps.get())) {
    uint64_t begin = 0, end = 0;
    char access[5] = {};
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, access) != 3) continue;
    const int protection = (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0);
    all.push_back({.pages = {begin, end}, .protection = protection, .shared = access[3] == 's'});
  }
  return all;
}

bool copy_privately(const Interval& pages, int protection) {
  const size_t bytes = pages.end - pages.begin;
  void* const place = reinterpret_cast<void*>(pages.begin);
  void* copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (copy == MAP_FAILED) return false;
  copy_pages(copy, place, bytes);
  return mprotect(copy, bytes, protection) == 0 &&
         mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED;
}

}  // namespace

WatchedMemory watched_memory() {
  WatchedMemory memory;
  for (const RegisteredMemory& range : registered_memory()) {
    if (range.kind == MemoryKind::lent) continue;
    memory.bytes.push_back({range.address, range.address + range.bytes});
    memory.has_foreign |= range.kind == MemoryKind::foreign;
  }
  // Of all code objects: kernels get pointers to variables of others, and call their functions.
  Module::visit_loaded([&](Module& module) {
    for (const codeobject::Variable& variable : module.object().variables())
      if (variable.writable && variable.size != 0)
        memory.bytes.push_back({variable.address, variable.address + variable.size});
  });
  memory.bytes = merged(std::move(memory.bytes));
  for (const Interval& range : memory.bytes) memory.pages.push_back(whole_pages(range.begin, range.end));
  memory.pages = merged(std::move(memory.pages));
  return memory;
}

bool make_own(WatchedMemory& memory) {
  if (!memory.has_foreign) return true;
  std::vector<Interval> writable;
  uint64_t copied = 0;
  auto next = memory.pages.begin();
  for (const Mapping& mapping : mappings()) {
    while (next != memory.pages.end() && next->end <= mapping.pages.begin) ++next;
    for (auto it = next; it != memory.pages.end() && it->begin < mapping.pages.end; ++it) {
      const Interval part{std::max(it->begin, mapping.pages.begin), std::min(it->end, mapping.pages.end)};
      const bool readable = (mapping.protection & PROT_READ) != 0;
      if (mapping.shared && readable) {
        copied += part.end - part.begin;
        if (copied > kMostShared || !copy_privately(part, mapping.protection)) return false;
      }
      if (readable && (mapping.protection & PROT_WRITE) != 0) writable.push_back(part);
    }
  }
  memory.pages = merged(std::move(writable));
  return true;
}

}  // namespace wavejit::runtime::shadow
