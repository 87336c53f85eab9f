#include "backend-x86/encode/address_audit.h"

#include <sys/mman.h>

#include <cstring>

#include "internal/pages.h"

namespace wavejit::backend {
namespace {

// Linux puts position-independent programs, libraries, stacks and heaps far above this; programs that are not
// position-independent are in the same place in every process. Pairs of small numbers, as in tables of lanes, are
// below.
constexpr uint64_t kLowest = uint64_t{1} << 44, kHighest = uint64_t{1} << 47;

// Returns true for a table of ascending 32-bit numbers, such as the masks of the lanes below each lane. Two neighbours of it may look
// like an address: 0x3fff and 0x7fff. Fewer than four numbers may be an address.
bool is_ascending(const uint8_t* bytes, size_t size) {
  const size_t count = size / sizeof(uint32_t);
  const auto number = [&](size_t i) {
    uint32_t value;
    std::memcpy(&value, bytes + i * sizeof value, sizeof value);
    return value;
  };
  for (size_t i = 1; i < count; ++i)
    if (number(i) <= number(i - 1)) return false;
  return count >= 4;
}

bool is_mapped(uint64_t page) {
  unsigned char resident;
  return mincore(reinterpret_cast<void*>(page), kPage, &resident) == 0;
}

}  // namespace

void AddressAudit::look_at(uint64_t value) {
  if (value < kLowest || value >= kHighest || found_) return;
  if (value >= fixed_.begin && value < fixed_.end) return;
  if (value >> 32 == (value & 0xffffffff)) return;  // one dword for all lanes
  const uint64_t page = value & ~(kPage - 1);
  if (pages_.contains(page)) return;
  if (is_mapped(page))
    found_ = true;
  else
    pages_.insert(page);
}

void AddressAudit::look_at_data(const void* bytes, size_t size) {
  const auto* begin = static_cast<const uint8_t*>(bytes);
  if (is_ascending(begin, size)) return;
  for (size_t i = 0; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
    uint64_t value;
    std::memcpy(&value, begin + i, sizeof value);
    look_at(value);
  }
}

}  // namespace wavejit::backend
