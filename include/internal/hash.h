// For identities, checksums and places: not for use against people who choose their input.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wavejit {

using Hash128 = std::array<uint64_t, 2>;

[[nodiscard]] inline Hash128 hash128(std::span<const uint8_t> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

}  // namespace wavejit
