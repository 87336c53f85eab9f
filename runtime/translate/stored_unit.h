// Serialised form of translations on disk (disk_cache.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend-x86/compiler.h"
#include "frontend/lift/lifter.h"
#include "internal/hash.h"
#include "ir/function.h"
#include "runtime/translate/disk_cache.h"

namespace wavejit::runtime {

// Identifies this build of wavejit: the linker's build id of the program or library that contains it. Empty if that has
// none; then nothing can be kept.
[[nodiscard]] std::span<const uint8_t> build_id();

// The guest code of a unit: all ranges that the lifter has read, and their contents.
struct GuestCode {
  std::vector<lift::CodeRange> ranges;
  Hash128 hash{};
  bool operator==(const GuestCode&) const = default;
};
// With the hash of what is in `code`, which begins at guest address `base`. Nothing when a range is outside.
[[nodiscard]] std::optional<GuestCode> guest_code(std::vector<lift::CodeRange> ranges, std::span<const uint8_t> code,
                                                  uint64_t base);

// The parts of a unit of TranslationCache.
struct StoredUnit {
  std::vector<ir::Entry> entries;  // without blocks
  bool reads_ids = true, runs_through = false;
  uint32_t changed_lines = 0;  // TranslationCache::Entry
  GuestCode guest;
  backend::CodeImage image;  // refers to the bytes it comes from
};

// Everything that determines a translation: the build of wavejit, the CPU, the load address of the code, the options of
// the lifter, and the optimisations that are off. Of the code it has only the first kilobytes from the entry on, so the
// reader of a unit must compare its GuestCode with the loaded code. The entry must be in the code. Empty without a
// build id.
[[nodiscard]] std::vector<uint8_t> identity_of(const lift::LiftOptions& options, backend::Tier tier,
                                               std::span<const std::string> disabled, bool poll_all_loops = false);

[[nodiscard]] std::vector<uint8_t> pack(const StoredUnit& unit);
// Nothing when the bytes, at an address that is a multiple of 8, are no packed unit.
[[nodiscard]] std::optional<StoredUnit> unpack(std::span<const uint8_t> bytes);

}  // namespace wavejit::runtime
