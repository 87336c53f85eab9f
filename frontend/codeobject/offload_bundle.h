// Clang offload bundles, plain and compressed.
// Facts: "Clang Offload Bundler" manual, "Bundled Binary File Layout" and "Compressed Bundle File Layout".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/codeobject/bytes.h"
#include "frontend/codeobject/containers.h"

namespace wavejit::codeobject {

inline constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
inline constexpr std::string_view kCompressedBundleMagic = "CCOB";

// Memory that holds a decompressed bundle; pages are committed as data arrives.
class DecompressedBundle {
 public:
  DecompressedBundle(uint8_t* base, uint64_t size) : base_(base), size_(size) {}
  DecompressedBundle(const DecompressedBundle&) = delete;
  DecompressedBundle& operator=(const DecompressedBundle&) = delete;
  ~DecompressedBundle();
  [[nodiscard]] std::span<uint8_t> bytes() const { return {base_, size_}; }

 private:
  uint8_t* base_;
  uint64_t size_;
};

// What a run of bundles contributed. Entries of other kinds (host code, bitcode, SPIR-V, empty ones) are not code
// objects and are described in `skipped`, for messages.
struct BundleContents {
  std::vector<ContainerEntry> entries;
  std::vector<std::string> skipped;
  std::vector<std::unique_ptr<DecompressedBundle>> owned;
  uint32_t bundle_count = 0;
  uint64_t decompressed_size = 0;  // of all in `owned`, and of what failed
};

[[nodiscard]] bool starts_with_bundle(ByteView bytes);
// Reads all bundles of `bytes`, which follow each other with zero padding between them. `offset` is where the bytes are
// in the file, for messages.
[[nodiscard]] Expected<void> read_bundles(ByteView bytes, uint64_t offset, BundleContents& out);

}  // namespace wavejit::codeobject
