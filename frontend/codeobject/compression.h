// Decompression of untrusted data into memory whose size is fixed beforehand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "frontend/codeobject/bytes.h"
#include "frontend/codeobject/offload_bundle.h"

namespace wavejit::codeobject {

enum class Compression : uint8_t { zlib, zstd };

// Code compresses 3 to 20 times, more when many targets share it (Debian's librocsparse: 14 times). A far larger ratio
// is believed only for small sizes.
[[nodiscard]] constexpr uint64_t max_plausible_size(uint64_t compressed_size) {
  constexpr uint64_t kMaxRatio = 256, kUnquestionedSize = 1u << 20, kMaxSize = uint64_t{16} << 30;
  return compressed_size > kMaxSize / kMaxRatio ? kMaxSize : std::max(kUnquestionedSize, compressed_size * kMaxRatio);
}

// Expects exactly `plain_size` bytes to come out. `consumed` is how much of `data` the stream took.
[[nodiscard]] Expected<std::unique_ptr<DecompressedBundle>> decompress(Compression method, ByteView data,
                                                                       uint64_t plain_size, uint64_t& consumed);

}  // namespace wavejit::codeobject
