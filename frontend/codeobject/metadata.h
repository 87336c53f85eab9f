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
[[nodiscard]] Expected<std::vector<KernelMetadata>> parse_msgpack_metadata(ByteView bytes, uint64_t offset);
[[nodiscard]] Expected<std::vector<KernelMetadata>> parse_yaml_metadata(ByteView bytes, uint64_t offset);

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

// Reads the kernels of a document. `v2` selects the vocabulary.
[[nodiscard]] Expected<std::vector<KernelMetadata>> read_metadata(const MetadataValue& root, bool v2);

inline constexpr unsigned kMaxMetadataDepth = 16;           // real documents have 6 levels
inline constexpr uint64_t kMaxMetadataBytes = 64ull << 20;  // the largest objects of ROCm's libraries have a few MB
// A compiler's document has about 5 bytes a value; far denser ones are only made to exhaust memory.
[[nodiscard]] inline uint64_t max_metadata_values(uint64_t bytes) {
  return 1024 + bytes / 2;
}

}  // namespace wavejit::codeobject
