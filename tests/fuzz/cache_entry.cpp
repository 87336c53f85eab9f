#include "cache_entry.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "internal/check.h"
#include "runtime/translate/kept_profile.h"
#include "runtime/translate/stored_unit.h"

namespace wavejit::fuzz {
namespace {

using namespace runtime;  // NOLINT: this file is about nothing else

template <typename T>
bool is_inside(std::span<const T> part, std::span<const uint8_t> whole) {
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(part.data()), part.size_bytes());
  return part.empty() || (bytes.data() >= whole.data() && bytes.data() + bytes.size() <= whole.data() + whole.size());
}

// Guest code as a loaded object has it, for ranges that say anything.
void compare_guest_code(const StoredUnit& unit) {
  static const std::vector<uint8_t> code(4096, 0xbf);
  constexpr uint64_t kBase = 0x10000;
  const auto here = guest_code(unit.guest.ranges, code, kBase);
  const bool inside = std::all_of(unit.guest.ranges.begin(), unit.guest.ranges.end(), [&](const lift::CodeRange& r) {
    return r.begin >= kBase && r.end >= r.begin && r.end <= kBase + code.size();
  });
  WAVEJIT_CHECK(here.has_value() == inside);
}

}  // namespace

bool fuzz_cache_unit(std::span<const uint8_t> input) {
  // As a file is read: at a multiple of 8, with an end that sanitizers know.
  const auto memory = std::make_unique_for_overwrite<uint8_t[]>(input.size());
  const std::span<uint8_t> bytes(memory.get(), input.size());
  std::copy(input.begin(), input.end(), bytes.begin());
  std::optional<StoredUnit> unit = unpack(bytes);
  if (!unit) return false;
  WAVEJIT_CHECK(is_inside(unit->image.code, bytes) && is_inside(unit->image.slots, bytes));
  WAVEJIT_CHECK(!unit->entries.empty() && !unit->guest.ranges.empty() && !unit->image.code.empty());
  compare_guest_code(*unit);
  const StoredUnit kept = *unit;
  const auto code = backend::place(std::move(unit->image));
  if (!code || !*code) return false;
  WAVEJIT_CHECK((*code)->host_instructions() == kept.image.host_instructions);
  const std::vector<uint8_t> packed = pack(kept);
  const std::optional<StoredUnit> again = unpack(packed);
  WAVEJIT_CHECK(again && again->guest == kept.guest && again->entries.size() == kept.entries.size() &&
                pack(*again) == packed);
  return true;
}

bool fuzz_kept_profile(std::span<const uint8_t> input) {
  static const std::vector<uint8_t> code(4096, 0xbf);
  const ProfiledCode of{.root = 0x10100, .code = code, .base = 0x10000};
  const auto samples = unpack_profile(of, input);
  if (!samples) return false;
  for (const auto& [pc, at] : *samples) {
    WAVEJIT_CHECK(pc % 4 == 0 && pc >= of.base && pc < of.base + code.size());
    WAVEJIT_CHECK(at.lanes.executed != 0 && at.taken <= at.lanes.executed && at.strided <= at.accesses);
    WAVEJIT_CHECK(at.lanes.same + at.lanes.consecutive <= at.lanes.groups);
  }
  const auto again = unpack_profile(of, pack_profile(of, {{of.base, of.base + code.size()}}, *samples));
  WAVEJIT_CHECK(again && again->size() == samples->size());
  return true;
}

}  // namespace wavejit::fuzz
