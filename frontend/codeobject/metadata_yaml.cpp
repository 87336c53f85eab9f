#include <yaml.h>

#include "frontend/codeobject/metadata.h"

namespace wavejit::codeobject {
namespace {

std::string_view scalar_text(const yaml_node_t& node) {
  return {reinterpret_cast<const char*>(node.data.scalar.value), node.data.scalar.length};
}

// Plain scalars that YAML's core schema resolves to null.
bool is_null(const yaml_node_t& node) {
  const std::string_view text = scalar_text(node);
  return node.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
         (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL");
}

// Copies the shape of a YAML document. An alias is one node in libyaml's document but a copy here, hence the
// counters.
class TreeCopier {
 public:
  TreeCopier(yaml_document_t& document, uint64_t bytes)
      : document_(document), values_left_(max_metadata_values(bytes)), text_left_(bytes) {}

  bool copy(const yaml_node_t* node, MetadataValue& out, unsigned depth = 0) {
    if (values_left_ == 0) {
      problem = "more values than its size is plausible for";
      return false;
    }
    --values_left_;
    if (depth >= kMaxMetadataDepth) {
      problem = fmt::format("more than {} levels of nesting", kMaxMetadataDepth);
      return false;
    }
    if (!node) return true;
    switch (node->type) {
      case YAML_NO_NODE:
        return true;
      case YAML_SCALAR_NODE:
        return copy_scalar(*node, out);
      case YAML_SEQUENCE_NODE:
        out.kind = MetadataValue::Kind::list;
        for (const yaml_node_item_t* item = node->data.sequence.items.start; item != node->data.sequence.items.top;
             ++item) {
          if (!copy_item(*item, out, depth)) return false;
        }
        return true;
      case YAML_MAPPING_NODE:
        out.kind = MetadataValue::Kind::map;
        for (const yaml_node_pair_t* pair = node->data.mapping.pairs.start; pair != node->data.mapping.pairs.top;
             ++pair) {
          if (!copy_item(pair->key, out, depth) || !copy_item(pair->value, out, depth)) return false;
        }
        return true;
    }
    return true;
  }

  std::string problem;

 private:
  bool copy_scalar(const yaml_node_t& node, MetadataValue& out) {
    if (is_null(node)) return true;
    const std::string_view text = scalar_text(node);
    if (text.size() > text_left_) {
      problem = "more text than its size";
      return false;
    }
    text_left_ -= text.size();
    out.kind = MetadataValue::Kind::text;
    out.text = text;
    return true;
  }

  // `id` is libyaml's number of a node.
  bool copy_item(int id, MetadataValue& out, unsigned depth) {
    return copy(yaml_document_get_node(&document_, id), out.items.emplace_back(), depth + 1);
  }

  yaml_document_t& document_;
  uint64_t values_left_;
  uint64_t text_left_;
};

// libyaml's parser and the document that it reads; both are freed with the object.
class Document {
 public:
  explicit Document(std::string_view text) {
    if (yaml_parser_initialize(&parser_) == 0) return;
    initialised_ = true;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    loaded_ = yaml_parser_load(&parser_, &document_) != 0;
  }
  ~Document() {
    if (loaded_) yaml_document_delete(&document_);
    if (initialised_) yaml_parser_delete(&parser_);
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  // Null unless the text is well-formed.
  [[nodiscard]] yaml_document_t* get() { return loaded_ ? &document_ : nullptr; }

  [[nodiscard]] std::string problem() const {
    return fmt::format("line {}: {}", parser_.problem_mark.line + 1, parser_.problem ? parser_.problem : "no memory");
  }

 private:
  yaml_parser_t parser_{};
  yaml_document_t document_{};
  bool initialised_ = false, loaded_ = false;
};

// libyaml's scanner looks at all open brackets for each token, and knows no bound. So this stops before it loads a document that
// nests deeper than any metadata does.
bool nests_too_deep(std::string_view text) {
  constexpr unsigned kMaxDepth = 100;
  yaml_parser_t parser;
  if (yaml_parser_initialize(&parser) == 0) return false;
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  unsigned depth = 0;
  bool more = true;
  while (more && depth <= kMaxDepth) {
    yaml_event_t event;
    if (yaml_parser_parse(&parser, &event) == 0) break;  // which the loader will report
    if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT) ++depth;
    if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) --depth;
    more = event.type != YAML_STREAM_END_EVENT && event.type != YAML_NO_EVENT;
    yaml_event_delete(&event);
  }
  yaml_parser_delete(&parser);
  return depth > kMaxDepth;
}

}  // namespace

Expected<std::vector<KernelMetadata>> parse_yaml_metadata(ByteView bytes, uint64_t offset) {
  if (bytes.size() > kMaxMetadataBytes) {
    return bad("The metadata note at offset {:#x} has {} bytes; the limit is {}.", offset, bytes.size(),
               kMaxMetadataBytes);
  }
  // The note may be padded with NULs.
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text = text.substr(0, text.find('\0'));
  if (nests_too_deep(text)) return bad("The metadata note at offset {:#x} nests deeper than 100 levels.", offset);
  Document document(text);
  if (!document.get()) {
    return bad("The metadata note at offset {:#x} is not well-formed YAML: {}.", offset, printable(document.problem()));
  }
  MetadataValue tree;
  TreeCopier copier(*document.get(), bytes.size());
  if (!copier.copy(yaml_document_get_root_node(document.get()), tree)) {
    return bad("The metadata note at offset {:#x} cannot be read: {}.", offset, copier.problem);
  }
  return read_yaml_kernels(tree);
}

}  // namespace wavejit::codeobject
