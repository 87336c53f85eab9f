#include <msgpack.hpp>

#include "frontend/codeobject/metadata.h"

namespace wavejit::codeobject {
namespace {

// Builds the document as msgpack-cxx walks it. The library's own object tree allocates what array and map headers
// promise before any element is seen; here memory grows only with elements that exist.
class TreeBuilder : public msgpack::null_visitor {
 public:
  explicit TreeBuilder(uint64_t max_values) : values_left_(max_values) { stack_.reserve(kMaxMetadataDepth + 1); }

  MetadataValue root;
  std::string problem;

  bool visit_nil() { return add(MetadataValue{}); }
  bool visit_boolean(bool v) { return add({.kind = MetadataValue::Kind::boolean, .number = v}); }
  bool visit_positive_integer(uint64_t v) { return add({.kind = MetadataValue::Kind::number, .number = v}); }
  bool visit_str(const char* v, uint32_t size) {
    return add({.kind = MetadataValue::Kind::text, .text = std::string_view(v, size)});
  }
  // Kinds that the metadata does not use become null: reading such a field fails by its name.
  bool visit_negative_integer(int64_t) { return add(MetadataValue{}); }
  bool visit_float32(float) { return add(MetadataValue{}); }
  bool visit_float64(double) { return add(MetadataValue{}); }
  bool visit_bin(const char*, uint32_t) { return add(MetadataValue{}); }
  bool visit_ext(const char*, uint32_t) { return add(MetadataValue{}); }

  bool start_array(uint32_t) { return open(MetadataValue::Kind::list); }
  bool end_array() { return close(); }
  bool start_map(uint32_t) { return open(MetadataValue::Kind::map); }
  bool end_map() { return close(); }

  void parse_error(size_t, size_t error_offset) { note("malformed MsgPack", error_offset); }
  void insufficient_bytes(size_t, size_t error_offset) { note("MsgPack document is cut short", error_offset); }

  uint64_t error_offset = 0;

 private:
  void note(std::string_view what, size_t offset) {
    if (problem.empty()) problem = what;
    error_offset = offset;
  }
  MetadataValue* place(MetadataValue&& value) {
    if (values_left_ == 0) {
      problem = "more values than its size is plausible for";
      return nullptr;
    }
    --values_left_;
    if (stack_.empty()) {
      root = std::move(value);
      return &root;
    }
    return &stack_.back()->items.emplace_back(std::move(value));
  }
  bool add(MetadataValue&& value) { return place(std::move(value)) != nullptr; }
  bool open(MetadataValue::Kind kind) {
    if (stack_.size() >= kMaxMetadataDepth) {
      problem = fmt::format("more than {} levels of nesting", kMaxMetadataDepth);
      return false;
    }
    MetadataValue* value = place({.kind = kind});
    if (value == nullptr) return false;
    stack_.push_back(value);  // stays valid: its parent's list does not grow while it is open
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  std::vector<MetadataValue*> stack_;
  uint64_t values_left_;
};

}  // namespace

Expected<std::vector<KernelMetadata>> parse_msgpack_metadata(ByteView bytes, uint64_t offset) {
  if (bytes.size() > kMaxMetadataBytes) {
    return bad("The metadata note at offset {:#x} has {} bytes; the limit is {}.", offset, bytes.size(),
               kMaxMetadataBytes);
  }
  TreeBuilder builder(max_metadata_values(bytes.size()));
  size_t end = 0;
  bool complete = false;
  try {
    complete = msgpack::parse(reinterpret_cast<const char*>(bytes.data()), bytes.size(), end, builder);
  } catch (const std::exception& e) {
    builder.problem = e.what();
  }
  if (!complete) {
    return bad("The metadata note at offset {:#x} cannot be read: {} (byte {} of {}).", offset,
               builder.problem.empty() ? "malformed MsgPack" : builder.problem, builder.error_offset, bytes.size());
  }
  return read_metadata(builder.root, false);
}

}  // namespace wavejit::codeobject
