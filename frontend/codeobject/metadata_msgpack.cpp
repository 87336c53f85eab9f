#include <msgpack.hpp>
#include <new>
#include <optional>
#include <utility>

#include "frontend/codeobject/metadata.h"
#include "frontend/codeobject/msgpack_scanner.h"

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

// Finds the kernels of a document.
class KernelFinder {
 public:
  KernelFinder(ByteView bytes, uint64_t offset, std::vector<KernelNote>& out)
      : scanner_(bytes), bytes_(bytes), offset_(offset), out_(out) {}

  Expected<void> find() {
    Item root;
    if (!scanner_.read(root)) return malformed();
    if (root.kind != Kind::map) {
      if (!scanner_.skip_contents(root, 0)) return malformed();
      return bad("Metadata: the document is not a map.");
    }
    bool found = false;
    for (uint64_t i = 0; i < root.count; ++i) {
      Item key, value;
      if (!read_whole(key, 1) || !scanner_.read(value)) return malformed();
      const bool is_list_of_kernels = !found && key.kind == Kind::text && key.text == kKernelsKey;
      found |= is_list_of_kernels;
      if (is_list_of_kernels && value.kind == Kind::list) {
        for (uint64_t k = 0; k < value.count; ++k)
          if (auto done = find_kernel(static_cast<uint32_t>(k)); !done) return done;
        continue;
      }
      if (!scanner_.skip_contents(value, 1)) return malformed();
      if (is_list_of_kernels && value.kind != Kind::null)
        return bad("Metadata: the document has a {} that is not a list.", kKernelsKey);
    }
    return {};
  }

 private:
  using Kind = MsgpackScanner::Kind;
  using Item = MsgpackScanner::Item;

  Expected<void> find_kernel(uint32_t number) {
    KernelNote note{.number = number};
    const uint64_t begin = scanner_.position();
    Item kernel;
    if (!scanner_.read(kernel)) return malformed();
    if (kernel.kind != Kind::map) {
      if (!scanner_.skip_contents(kernel, 2)) return malformed();
      return bad("Metadata: kernel {} is not a map.", number);
    }
    std::optional<Item> name, symbol;
    for (uint64_t i = 0; i < kernel.count; ++i) {
      Item key, value;
      if (!read_whole(key, 3) || !read_whole(value, 3)) return malformed();
      if (key.kind != Kind::text) continue;
      if (!name && key.text == kNameKey) name = value;
      if (!symbol && key.text == kSymbolKey) symbol = value;
    }
    for (const auto& [item, key] : {std::pair(name, kNameKey), std::pair(symbol, kSymbolKey)}) {
      if (!item) return bad("Metadata: kernel {} has no {}.", number, key);
      if (item->kind != Kind::text) return bad("Metadata: kernel {} has a {} that is not text.", number, key);
    }
    note.name = name->text;
    note.symbol = symbol->text;
    note.bytes = *bytes_.slice(begin, scanner_.position() - begin);
    note.offset = offset_ + begin;
    out_.push_back(note);
    return {};
  }

  bool read_whole(Item& item, unsigned depth) { return scanner_.read(item) && scanner_.skip_contents(item, depth); }

  tl::unexpected<Error> malformed() const {
    return bad("The metadata note at offset {:#x} cannot be read: {} (byte {} of {}).", offset_, scanner_.problem(),
               scanner_.position(), bytes_.size());
  }

  MsgpackScanner scanner_;
  ByteView bytes_;
  uint64_t offset_;
  std::vector<KernelNote>& out_;
};

}  // namespace

Expected<void> find_msgpack_kernels(ByteView bytes, uint64_t offset, std::vector<KernelNote>& out) {
  if (bytes.size() > kMaxMetadataBytes) {
    return bad("The metadata note at offset {:#x} has {} bytes; the limit is {}.", offset, bytes.size(),
               kMaxMetadataBytes);
  }
  return KernelFinder(bytes, offset, out).find();
}

Expected<KernelMetadata> read_msgpack_kernel(const KernelNote& note) {
  TreeBuilder builder(max_metadata_values(note.bytes.size()));
  size_t end = 0;
  bool complete = false;
  try {
    complete = msgpack::parse(reinterpret_cast<const char*>(note.bytes.data()), note.bytes.size(), end, builder);
  } catch (const std::bad_alloc&) {
    throw;  // nothing is wrong with the metadata
  } catch (const std::exception& e) {
    builder.problem = e.what();
  }
  if (!complete) {
    return bad("The metadata of kernel \"{}\" at offset {:#x} cannot be read: {} (byte {} of {}).",
               printable(note.name), note.offset, builder.problem.empty() ? "malformed MsgPack" : builder.problem,
               builder.error_offset, note.bytes.size());
  }
  return read_kernel_map(builder.root, note.number);
}

}  // namespace wavejit::codeobject
