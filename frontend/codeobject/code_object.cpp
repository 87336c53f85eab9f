#include "frontend/codeobject/code_object.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "frontend/codeobject/dynamic.h"
#include "frontend/codeobject/elf_file.h"
#include "frontend/codeobject/identity.h"
#include "frontend/codeobject/image.h"
#include "frontend/codeobject/kernel_descriptor.h"
#include "frontend/codeobject/metadata.h"
#include "frontend/codeobject/processors.h"
#include "frontend/codeobject/source_line.h"

namespace wavejit::codeobject {
namespace {

constexpr uint32_t kNoteYamlMetadata = 10;      // NT_AMD_HSA_METADATA, owner "AMD" (V2)
constexpr uint32_t kNoteMsgpackMetadata = 32;   // NT_AMDGPU_METADATA, owner "AMDGPU" (V3 on)
constexpr uint32_t kMaxKernargSize = 1u << 20;  // no ABI passes more than a few KiB
constexpr std::string_view kDescriptorSuffix = ".kd";

// Edit distance, for suggestions only; long names are compared by their first part.
size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, 96);
  b = b.substr(0, 96);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same =
          std::tolower(static_cast<unsigned char>(a[i - 1])) == std::tolower(static_cast<unsigned char>(b[j - 1]));
      const size_t next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1)});
      diagonal = row[j];
      row[j] = next;
    }
  }
  return row[b.size()];
}

// "No kernel X; did you mean Y?" over anything with a name.
template <typename Item>
Error not_found(std::string_view what, std::string_view name, std::span<const Item> items) {
  std::string message = fmt::format("The code object has no {} \"{}\"", what, printable(name));
  if (items.empty()) {
    message += fmt::format("; it has no {}s at all.", what);
    return {.code = ErrorCode::kNotFound, .message = message};
  }
  const Item* best = nullptr;
  size_t best_distance = std::numeric_limits<size_t>::max();
  constexpr size_t kMaxCompared = 4096;
  for (const Item& item : items.first(std::min(items.size(), kMaxCompared))) {
    // A mangled name that contains the wanted one is nearer than any misspelling.
    const bool contains = name.size() >= 3 && item.name.find(name) != std::string::npos;
    const size_t distance = contains ? 0 : edit_distance(name, item.name);
    if (distance < best_distance) {
      best = &item;
      best_distance = distance;
    }
  }
  message += fmt::format("; the nearest of {} is \"{}\".", items.size(), printable(best->name));
  return {.code = ErrorCode::kNotFound, .message = message};
}

class LoadedCodeObject final : public CodeObject {
 public:
  const TargetId& target() const override { return target_; }
  unsigned version() const override { return version_; }
  std::span<const Kernel> kernels() const override { return kernels_; }
  std::span<const Variable> variables() const override { return variables_; }
  std::span<const FunctionSymbol> functions() const override { return functions_; }
  std::span<const std::span<const uint8_t>> code() const override { return code_; }
  uint64_t load_bias() const override { return image_.bias(); }
  std::pair<uint64_t, uint64_t> lasting_addresses() const override {
    const LoadedImage::Addresses addresses = image_.lasting_addresses();
    return {addresses.begin, addresses.end};
  }

  std::optional<std::string> source_line(uint64_t address) const override {
    if (debug_elf_.empty()) return std::nullopt;
    return find_source_line(debug_elf_, address - image_.bias());
  }

  Expected<const Kernel*> find_kernel(std::string_view name) const override {
    for (const std::string_view key :
         {name, name.ends_with(kDescriptorSuffix) ? name.substr(0, name.size() - 3) : name}) {
      if (const auto it = kernel_index_.find(key); it != kernel_index_.end()) return &kernels_[it->second];
    }
    return tl::make_unexpected(not_found<Kernel>("kernel", name, kernels_));
  }
  Expected<const Variable*> find_variable(std::string_view name) const override {
    const auto it = variable_index_.find(name);
    if (it != variable_index_.end()) return &variables_[it->second];
    return tl::make_unexpected(not_found<Variable>("variable", name, variables_));
  }

  Expected<void> load_from(ByteView bytes, const SymbolResolver& resolver);

 private:
  Expected<void> identify();
  Expected<void> read_symbols();
  Expected<void> read_metadata_notes();
  Expected<void> add_kernels();
  Expected<Kernel> make_kernel(const ElfSymbol& symbol);
  uint64_t code_end(uint64_t entry) const;
  void add_functions_and_variables();
  void build_indices();
  [[nodiscard]] bool has_source_lines() const;

  // Parsing state; empty afterwards, as it points into the caller's bytes.
  ElfFile elf_;
  std::vector<ElfNote> notes_;
  std::vector<ElfSymbol> symbols_;
  std::unordered_map<std::string_view, const ElfSymbol*> symbol_by_name_;
  std::set<uint64_t> code_starts_;  // ELF addresses where a function or kernel starts
  std::vector<KernelMetadata> metadata_;

  const Processor* processor_ = nullptr;
  TargetId target_;
  unsigned version_ = 0;
  LoadedImage image_;
  std::vector<Kernel> kernels_;
  std::vector<Variable> variables_;
  std::vector<FunctionSymbol> functions_;
  std::vector<std::span<const uint8_t>> code_;
  std::vector<uint8_t> debug_elf_;  // the whole file, if it has source lines
  std::unordered_map<std::string_view, size_t> kernel_index_, variable_index_;
};

Expected<void> LoadedCodeObject::load_from(ByteView bytes, const SymbolResolver& resolver) {
  auto elf = ElfFile::parse(bytes);
  if (!elf) return forward_error(std::move(elf));
  elf_ = *std::move(elf);
  if (auto done = identify(); !done) return done;
  auto image = LoadedImage::map(elf_);
  if (!image) return forward_error(std::move(image));
  image_ = *std::move(image);
  if (auto done = image_.relocate(elf_, resolver); !done) return done;
  for (const auto& segment : image_.segments()) {
    if (segment.executable) code_.emplace_back(image_.at(segment.vaddr, segment.size));
  }
  if (auto done = read_symbols(); !done) return done;
  if (auto done = read_metadata_notes(); !done) return done;
  if (auto done = add_kernels(); !done) return done;
  if (auto done = image_.protect(); !done) return done;
  add_functions_and_variables();
  build_indices();
  if (has_source_lines()) debug_elf_.assign(bytes.data(), bytes.data() + bytes.size());
  elf_ = {};
  notes_ = {};
  symbols_ = {};
  symbol_by_name_ = {};
  code_starts_ = {};
  metadata_ = {};
  return {};
}

bool LoadedCodeObject::has_source_lines() const {
  return std::ranges::any_of(elf_.sections(), [&](const Elf64_Shdr& section) {
    const auto name = elf_.section_name(section);
    return name && *name == ".debug_line";
  });
}

Expected<void> LoadedCodeObject::identify() {
  auto notes = elf_.notes();
  if (!notes) return forward_error(std::move(notes));
  notes_ = *std::move(notes);
  auto identity = identify_code_object(elf_, notes_);
  if (!identity) return forward_error(std::move(identity));
  version_ = identity->version;
  target_ = std::move(identity->target);
  processor_ = find_processor(target_.processor);
  return {};
}

Expected<void> LoadedCodeObject::read_symbols() {
  // .symtab has everything, .dynsym survives stripping.
  std::set<std::pair<std::string_view, uint64_t>> seen;
  const auto add = [&](Expected<std::vector<ElfSymbol>>&& symbols) -> Expected<void> {
    if (!symbols) return forward_error(std::move(symbols));
    for (const ElfSymbol& symbol : *symbols) {
      if (!symbol.defined() || symbol.name.empty() || symbol.raw.st_shndx == SHN_ABS) continue;
      if (seen.emplace(symbol.name, symbol.raw.st_value).second) symbols_.push_back(symbol);
    }
    return {};
  };
  if (elf_.sections().empty()) {
    auto table = read_dynamic_table(elf_);
    if (!table) return forward_error(std::move(table));
    if (auto done = add(read_dynamic_symbols(*table, image_, elf_.bytes().size())); !done) return done;
  } else {
    if (auto done = add(elf_.symbols(SHT_DYNSYM)); !done) return done;
    if (auto done = add(elf_.symbols(SHT_SYMTAB)); !done) return done;
  }
  symbol_by_name_.reserve(symbols_.size());
  for (const ElfSymbol& symbol : symbols_) {
    auto [it, fresh] = symbol_by_name_.emplace(symbol.name, &symbol);
    // Among equal names a global symbol is meant.
    if (!fresh && it->second->binding() == STB_LOCAL && symbol.binding() != STB_LOCAL) it->second = &symbol;
    if (symbol.type() == STT_FUNC || symbol.type() == kSymbolTypeHsaKernel) code_starts_.insert(symbol.raw.st_value);
  }
  return {};
}

Expected<void> LoadedCodeObject::read_metadata_notes() {
  for (const ElfNote& note : notes_) {
    const bool yaml = version_ == 2 && note.name == "AMD" && note.type == kNoteYamlMetadata;
    const bool msgpack = version_ > 2 && note.name == "AMDGPU" && note.type == kNoteMsgpackMetadata;
    if (!yaml && !msgpack) continue;
    auto parsed = yaml ? parse_yaml_metadata(note.description, note.offset)
                       : parse_msgpack_metadata(note.description, note.offset);
    if (!parsed) return forward_error(std::move(parsed));
    std::ranges::move(*parsed, std::back_inserter(metadata_));
  }
  return {};
}

// End of the code that starts at `entry`: the next symbol or the end of its segment.
uint64_t LoadedCodeObject::code_end(uint64_t entry) const {
  const LoadedImage::Segment* segment = image_.segment_of(entry, 1);
  uint64_t end = segment == nullptr ? entry : segment->vaddr + segment->size;
  if (const auto next = code_starts_.upper_bound(entry); next != code_starts_.end()) end = std::min(end, *next);
  return end;
}

// Everything the object itself says about the kernel that `symbol` (descriptor, or V2 header) stands for.
Expected<Kernel> LoadedCodeObject::make_kernel(const ElfSymbol& symbol) {
  const uint64_t address = symbol.raw.st_value;
  const uint64_t size = version_ == 2 ? kKernelCodeHeaderSize : kKernelDescriptorSize;
  const auto shown = [&] { return printable(symbol.name); };
  if (image_.segment_of(address, size) == nullptr) {
    return bad("The descriptor of \"{}\" at address {:#x} is outside the loaded segments.", shown(), address);
  }
  const ByteView bytes(image_.at(address, size));
  auto decoded =
      version_ == 2 ? decode_kernel_code_header(bytes, *processor_) : decode_kernel_descriptor(bytes, *processor_);
  if (!decoded) return bad("The descriptor of \"{}\" at address {:#x}: {}.", shown(), address, decoded.error().message);

  Kernel kernel{
      .symbol = std::string(symbol.name), .object = address + image_.bias(), .descriptor = decoded->descriptor};
  kernel.name =
      version_ == 2 ? kernel.symbol : kernel.symbol.substr(0, kernel.symbol.size() - kDescriptorSuffix.size());
  kernel.wavefront_size = decoded->wavefront_size;
  kernel.kernarg_align = decoded->kernarg_align;
  kernel.max_flat_workgroup_size = 1024;

  const uint64_t entry = address + static_cast<uint64_t>(decoded->entry_offset);
  const LoadedImage::Segment* segment = image_.segment_of(entry, 4);
  if (segment == nullptr || !segment->executable || entry % 4 != 0) {
    return bad(
        "The descriptor of \"{}\" at address {:#x} has its entry point at {:#x}, which is not in executable code.",
        shown(), address, entry);
  }
  kernel.descriptor.entry = entry + image_.bias();
  uint64_t end = code_end(entry);
  const ElfSymbol* code_symbol = &symbol;
  if (version_ != 2) {
    const auto it = symbol_by_name_.find(std::string_view(symbol.name).substr(0, kernel.name.size()));
    code_symbol = it != symbol_by_name_.end() && it->second->raw.st_value == entry ? it->second : nullptr;
  }
  if (code_symbol != nullptr && code_symbol->raw.st_size != 0) {
    const uint64_t start = code_symbol->raw.st_value, stated = start + code_symbol->raw.st_size;
    if (stated > entry && stated >= start && image_.segment_of(entry, stated - entry) != nullptr) end = stated;
  }
  kernel.code_size = static_cast<uint32_t>(std::min<uint64_t>(end - entry, std::numeric_limits<uint32_t>::max()));
  return kernel;
}

Expected<void> LoadedCodeObject::add_kernels() {
  std::unordered_set<const ElfSymbol*> done;
  const auto finish = [&](Kernel&& kernel) -> Expected<void> {
    if (kernel.descriptor.kernarg_size > kMaxKernargSize) {
      return bad("Kernel \"{}\" has a kernarg segment of {} bytes; the limit is {}.", printable(kernel.name),
                 kernel.descriptor.kernarg_size, kMaxKernargSize);
    }
    kernels_.push_back(std::move(kernel));
    return {};
  };
  for (KernelMetadata& metadata : metadata_) {
    // V2 names the symbol "x@kd" in the metadata and "x" in the ELF.
    std::string_view symbol_name = metadata.symbol;
    if (version_ == 2 && symbol_name.ends_with("@kd")) symbol_name.remove_suffix(3);
    const auto it = symbol_by_name_.find(symbol_name);
    const bool suffix_ok = version_ == 2 || symbol_name.ends_with(kDescriptorSuffix);
    if (it == symbol_by_name_.end() || !suffix_ok) {
      return bad("The metadata of kernel \"{}\" names the symbol \"{}\", which the object does not have.",
                 printable(metadata.name), printable(symbol_name));
    }
    if (!done.insert(it->second).second) {
      return bad("The metadata describes the symbol \"{}\" twice.", printable(symbol_name));
    }
    auto kernel = make_kernel(*it->second);
    if (!kernel) return forward_error(std::move(kernel));
    kernel->name = std::move(metadata.name);
    kernel->args = std::move(metadata.args);
    kernel->required_workgroup_size = metadata.required_workgroup_size;
    if (metadata.max_flat_workgroup_size != 0) kernel->max_flat_workgroup_size = metadata.max_flat_workgroup_size;
    if (kernel->wavefront_size != metadata.wavefront_size) {
      return bad("Kernel \"{}\": the metadata says wavefront size {}, the descriptor {}.", printable(kernel->name),
                 metadata.wavefront_size, kernel->wavefront_size);
    }
    kernel->kernarg_align = std::max(metadata.kernarg_align, 16u);
    kernel->sgpr_spill_count = metadata.sgpr_spill_count;
    kernel->vgpr_spill_count = metadata.vgpr_spill_count;
    kernel->used_sgpr_count = metadata.sgpr_count;
    kernel->used_vgpr_count = metadata.vgpr_count;
    kernel->used_agpr_count = metadata.agpr_count;
    kernel->has_metadata = true;
    // Descriptors before LLVM 11 leave kernarg_size 0; otherwise the two agree.
    KernelDescriptor& descriptor = kernel->descriptor;
    descriptor.kernarg_size = std::max(descriptor.kernarg_size, metadata.kernarg_size);
    descriptor.group_segment_size = std::max(descriptor.group_segment_size, metadata.group_segment_size);
    descriptor.private_segment_size = std::max(descriptor.private_segment_size, metadata.private_segment_size);
    descriptor.uses_dynamic_stack |= metadata.uses_dynamic_stack;
    if (auto added = finish(*std::move(kernel)); !added) return added;
  }
  // Kernels without metadata: hand-written assembly with only a descriptor.
  for (const ElfSymbol& symbol : symbols_) {
    const bool is_kernel = version_ == 2
                               ? symbol.type() == kSymbolTypeHsaKernel
                               : symbol.name.ends_with(kDescriptorSuffix) && symbol.name.size() > 3 &&
                                     symbol.type() == STT_OBJECT && symbol.raw.st_size == kKernelDescriptorSize;
    if (!is_kernel || !done.insert(&symbol).second) continue;
    auto kernel = make_kernel(symbol);
    if (!kernel) return forward_error(std::move(kernel));
    if (auto added = finish(*std::move(kernel)); !added) return added;
  }
  return {};
}

void LoadedCodeObject::add_functions_and_variables() {
  for (const ElfSymbol& symbol : symbols_) {
    const LoadedImage::Segment* segment = image_.segment_of(symbol.raw.st_value, symbol.raw.st_size);
    if (segment == nullptr) continue;  // not part of the loaded object, so there is nothing to address
    const uint64_t address = symbol.raw.st_value + image_.bias();
    if (symbol.type() == STT_FUNC && segment->executable) {
      functions_.push_back({.name = std::string(symbol.name), .address = address, .size = symbol.raw.st_size});
    } else if (symbol.type() == STT_OBJECT && !(version_ > 2 && symbol.name.ends_with(kDescriptorSuffix))) {
      variables_.push_back({.name = std::string(symbol.name),
                            .address = address,
                            .size = symbol.raw.st_size,
                            .constant = !segment->declared_writable,
                            .writable = image_.is_writable(symbol.raw.st_value, symbol.raw.st_size)});
    }
  }
  if (version_ == 2) {
    for (const Kernel& kernel : kernels_) {
      functions_.push_back({.name = kernel.name, .address = kernel.descriptor.entry, .size = kernel.code_size});
    }
  }
}

void LoadedCodeObject::build_indices() {
  for (size_t i = 0; i < kernels_.size(); ++i) {
    kernel_index_.emplace(kernels_[i].name, i);
    kernel_index_.emplace(kernels_[i].symbol, i);
  }
  // "name" of "name.kd", where the metadata's name is another one (a demangled or source-level name).
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const std::string_view symbol = kernels_[i].symbol;
    if (symbol.ends_with(kDescriptorSuffix)) kernel_index_.emplace(symbol.substr(0, symbol.size() - 3), i);
  }
  for (size_t i = 0; i < variables_.size(); ++i) variable_index_.emplace(variables_[i].name, i);
}

}  // namespace

Expected<std::shared_ptr<const CodeObject>> CodeObject::load(std::span<const uint8_t> bytes,
                                                             const SymbolResolver& resolver) {
  auto object = std::make_shared<LoadedCodeObject>();
  if (auto done = object->load_from(ByteView(bytes), resolver); !done) return forward_error(std::move(done));
  return std::shared_ptr<const CodeObject>(std::move(object));
}

}  // namespace wavejit::codeobject
