// Kernel metadata: the YAML of V2 and the MsgPack of V3 on, read into one form.
// Facts: AMDGPUUsage "Code Object V2 Metadata" to "Code Object V5 Metadata".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/codeobject/bytes.h"
#include "frontend/codeobject/code_object.h"

namespace wavejit::codeobject {

struct KernelMetadata {
  std::string name, symbol;
  std::vector<KernelArg> args;
  std::array<uint32_t, 3> required_workgroup_size{};
  uint32_t kernarg_size = 0, kernarg_align = 16;
  uint32_t group_segment_size = 0, private_segment_size = 0;
  uint32_t max_flat_workgroup_size = 0;
  uint32_t wavefront_size = 64;
  uint32_t sgpr_count = 0, vgpr_count = 0, agpr_count = 0;
  uint32_t sgpr_spill_count = 0, vgpr_spill_count = 0;
  bool uses_dynamic_stack = false;
};

// `offset` is where the bytes are in the file, for messages.
[[nodiscard]] Expected<std::vector<KernelMetadata>> parse_yaml_metadata(ByteView bytes, uint64_t offset);

// A kernel's part of a MsgPack document. Its name and symbol are known, the rest has not been looked at.
struct KernelNote {
  std::string_view name, symbol;
  ByteView bytes;
  uint64_t offset = 0;  // in the file
  uint32_t number = 0;  // in its document
};
// Appends the kernels of a document. Checks its structure as a whole; the kernels' fields are checked when they are read.
[[nodiscard]] Expected<void> find_msgpack_kernels(ByteView bytes, uint64_t offset, std::vector<KernelNote>& out);
[[nodiscard]] Expected<KernelMetadata> read_msgpack_kernel(const KernelNote& note);

// A parsed document of either syntax. Text points into the parsed bytes or the parser's own nodes.
struct MetadataValue {
  enum class Kind : uint8_t { null, boolean, number, text, list, map };
  Kind kind = Kind::null;
  uint64_t number = 0;               // number, boolean
  std::string_view text;             // text; YAML scalars are all text
  std::vector<MetadataValue> items;  // list elements, or alternating keys and values of a map

  [[nodiscard]] const MetadataValue* find(std::string_view key) const;  // of a map; null when there is none
  [[nodiscard]] std::optional<uint64_t> as_number() const;
  [[nodiscard]] std::optional<bool> as_boolean() const;
};

// Reads the kernels of a YAML document.
[[nodiscard]] Expected<std::vector<KernelMetadata>> read_yaml_kernels(const MetadataValue& root);
// Reads a kernel of a MsgPack document, number `number` there.
[[nodiscard]] Expected<KernelMetadata> read_kernel_map(const MetadataValue& kernel, uint32_t number);
// The keys by which find_msgpack_kernels() finds kernels, their names and symbols.
inline constexpr std::string_view kKernelsKey = "amdhsa.kernels", kNameKey = ".name", kSymbolKey = ".symbol";

inline constexpr unsigned kMaxMetadataDepth = 16;           // real documents have 6 levels
inline constexpr uint64_t kMaxMetadataBytes = 64ull << 20;  // the largest objects of ROCm's libraries have a few MB
// A compiler's document has about 5 bytes a value; far denser ones are only made to exhaust memory.
[[nodiscard]] inline uint64_t max_metadata_values(uint64_t bytes) {
  return 1024 + bytes / 2;
}

}  // namespace wavejit::codeobject
