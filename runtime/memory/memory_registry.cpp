#include "runtime/memory/memory_registry.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <map>
#include <mutex>

#include "internal/pages.h"
#include "runtime/memory/guarded_pages.h"

namespace wavejit::runtime {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kNear = uint64_t{1} << 30;

struct Range {
  uint64_t bytes = 0;
  std::string name;
  uint64_t mapping = 0, mapping_bytes = 0;  // of a guarded buffer
  MemoryKind kind = MemoryKind::own;
};

struct Registry {
  std::mutex mutex;
  std::map<uint64_t, Range> ranges;
};

Registry& registry() {
  static Registry& instance = *new Registry;  // buffers may be freed during static destruction
  return instance;
}

std::string describe(uint64_t address, uint64_t begin, const Range& range) {
  const std::string buffer =
      fmt::format("{} ({} bytes at {:#x})", range.name.empty() ? "a buffer" : fmt::format("buffer '{}'", range.name),
                  range.bytes, begin);
  if (address < begin) return fmt::format("{} bytes before the start of {}", begin - address, buffer);
  if (address < begin + range.bytes) return fmt::format("at byte {} of {}", address - begin, buffer);
  return fmt::format("{} bytes past the end of {}", address - begin - range.bytes, buffer);
}

}  // namespace

void register_memory(uint64_t address, uint64_t bytes, std::string name, MemoryKind kind) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  Range& range = r.ranges[address];
  if (!range.mapping) {  // a guarded buffer keeps its size and gets a name
    range.bytes = bytes;
    range.kind = kind;
  }
  range.name = std::move(name);
}

void unregister_memory(uint64_t address) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto it = r.ranges.find(address);
  if (it == r.ranges.end()) return;
  if (it->second.mapping)
    it->second.name.clear();
  else
    r.ranges.erase(it);
}

Expected<void*> allocate_buffer(size_t bytes) {
  const auto too_much = [&] {
    return make_error(ErrorCode::kOutOfMemory, fmt::format("Cannot map a buffer of {} bytes.", bytes));
  };
  if (bytes > uint64_t{1} << 46) return too_much();
  const uint64_t aligned = std::max<uint64_t>((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  const uint64_t usable = (aligned + kPage - 1) / kPage * kPage;
  const uint64_t begin = map_guarded(kPage, usable);
  if (begin == 0) return too_much();
  const uint64_t address = begin + usable - aligned;
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.ranges[address] = Range{.bytes = bytes, .name = {}, .mapping = begin - kPage, .mapping_bytes = usable + 2 * kPage};
  return reinterpret_cast<void*>(address);
}

void free_buffer(void* pointer) {
  if (!pointer) return;
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto it = r.ranges.find(reinterpret_cast<uint64_t>(pointer));
  if (it == r.ranges.end() || !it->second.mapping) return;
  munmap(reinterpret_cast<void*>(it->second.mapping), it->second.mapping_bytes);
  r.ranges.erase(it);
}

std::vector<RegisteredMemory> registered_memory() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::vector<RegisteredMemory> all;
  all.reserve(r.ranges.size());
  for (const auto& [address, range] : r.ranges)
    all.push_back({.address = address, .bytes = range.bytes, .kind = range.kind});
  return all;
}

std::unique_lock<std::mutex> lock_registry() {
  return std::unique_lock(registry().mutex);
}

std::string describe_address(uint64_t address) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  auto after = r.ranges.upper_bound(address);
  const auto distance = [&](const std::pair<const uint64_t, Range>& entry) {
    if (address < entry.first) return entry.first - address;
    return address < entry.first + entry.second.bytes ? 0 : address - entry.first - entry.second.bytes;
  };
  const std::pair<const uint64_t, Range>* best = nullptr;
  if (after != r.ranges.end()) best = &*after;
  if (after != r.ranges.begin()) {
    const auto& before = *std::prev(after);
    if (!best || distance(before) <= distance(*best)) best = &before;
  }
  if (!best || distance(*best) > kNear) return {};
  return describe(address, best->first, best->second);
}

}  // namespace wavejit::runtime
