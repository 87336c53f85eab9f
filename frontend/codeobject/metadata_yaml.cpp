#include <yaml-cpp/yaml.h>

#include "frontend/codeobject/metadata.h"

namespace wavejit::codeobject {
namespace {

// Copies the shape of a YAML document. Aliases share nodes in yaml-cpp but would be copied here, hence the
// counters.
class TreeCopier {
 public:
  explicit TreeCopier(uint64_t bytes) : values_left_(max_metadata_values(bytes)), text_left_(bytes) {}

  bool copy(const YAML::Node& node, MetadataValue& out, unsigned depth = 0) {
    if (values_left_ == 0) {
      problem = "more values than its size is plausible for";
      return false;
    }
    --values_left_;
    if (depth >= kMaxMetadataDepth) {
      problem = fmt::format("more than {} levels of nesting", kMaxMetadataDepth);
      return false;
    }
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return true;
      case YAML::NodeType::Scalar:
        if (node.Scalar().size() > text_left_) {
          problem = "more text than its size";
          return false;
        }
        text_left_ -= node.Scalar().size();
        out.kind = MetadataValue::Kind::text;
        out.text = node.Scalar();
        return true;
      case YAML::NodeType::Sequence:
        out.kind = MetadataValue::Kind::list;
        for (const auto& item : node) {
          if (!copy(item, out.items.emplace_back(), depth + 1)) return false;
        }
        return true;
      case YAML::NodeType::Map:
        out.kind = MetadataValue::Kind::map;
        for (const auto& item : node) {
          if (!copy(item.first, out.items.emplace_back(), depth + 1)) return false;
          if (!copy(item.second, out.items.emplace_back(), depth + 1)) return false;
        }
        return true;
    }
    return true;
  }

  std::string problem;

 private:
  uint64_t values_left_;
  uint64_t text_left_;
};

}  // namespace

Expected<std::vector<KernelMetadata>> parse_yaml_metadata(ByteView bytes, uint64_t offset) {
  if (bytes.size() > kMaxMetadataBytes) {
    return bad("The metadata note at offset {:#x} has {} bytes; the limit is {}.", offset, bytes.size(),
               kMaxMetadataBytes);
  }
  // The note may be padded with NULs.
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text = text.substr(0, text.find('\0'));
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    MetadataValue tree;
    TreeCopier copier(bytes.size());
    if (!copier.copy(root, tree)) {
      return bad("The metadata note at offset {:#x} cannot be read: {}.", offset, copier.problem);
    }
    return read_metadata(tree, true);
  } catch (const std::exception& e) {
    return bad("The metadata note at offset {:#x} is not well-formed YAML: {}.", offset, printable(e.what()));
  }
}

}  // namespace wavejit::codeobject
