// Decompression of untrusted data into memory whose size is fixed beforehand.
#pragma once

#include <cstdint>
#include <memory>

#include "frontend/codeobject/bytes.h"
#include "frontend/codeobject/offload_bundle.h"

namespace wavejit::codeobject {

enum class Compression : uint8_t { zlib, zstd };

// Expects exactly `plain_size` bytes to come out. `consumed` is how much of `data` the stream took.
[[nodiscard]] Expected<std::unique_ptr<DecompressedBundle>> decompress(Compression method, ByteView data,
                                                                       uint64_t plain_size, uint64_t& consumed);

}  // namespace wavejit::codeobject
