#include "frontend/codeobject/code_object.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <deque>
#include <iterator>
#include <limits>
#include <mutex>
#include <set>

#include "frontend/codeobject/dynamic.h"
#include "frontend/codeobject/elf_file.h"
#include "frontend/codeobject/identity.h"
#include "frontend/codeobject/image.h"
#include "frontend/codeobject/kernel_descriptor.h"
#include "frontend/codeobject/metadata.h"
#include "frontend/codeobject/name_index.h"
#include "frontend/codeobject/object_bytes.h"
#include "frontend/codeobject/processors.h"
#include "frontend/codeobject/source_line.h"
#include "internal/check.h"
#include "internal/edit_distance.h"

namespace wavejit::codeobject {
namespace {

constexpr uint32_t kNoteYamlMetadata = 10;      // NT_AMD_HSA_METADATA, owner "AMD" (V2)
constexpr uint32_t kNoteMsgpackMetadata = 32;   // NT_AMDGPU_METADATA, owner "AMDGPU" (V3 on)
constexpr uint32_t kMaxKernargSize = 1u << 20;  // no ABI passes more than a few KiB
constexpr std::string_view kDescriptorSuffix = ".kd";

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
  std::span<const KernelName> kernel_names() const override { return names_; }
  Expected<const Kernel*> kernel(size_t index) const override;
  KernelDescriptor descriptor(size_t index) const override;
  std::optional<size_t> kernel_at(uint64_t object) const override;
  std::span<const Variable> variables() const override { return variables_; }
  std::span<const FunctionSymbol> functions() const override { return functions_; }
  std::optional<FunctionSymbol> function_at(uint64_t address) const override;
  std::span<const std::span<const uint8_t>> code() const override { return code_; }
  uint64_t load_bias() const override { return image_.bias(); }
  std::pair<uint64_t, uint64_t> lasting_addresses() const override {
    const LoadedImage::Addresses addresses = image_.lasting_addresses();
    return {addresses.begin, addresses.end};
  }

  std::optional<std::string> source_line(uint64_t address) const override {
    if (!has_source_lines_) return std::nullopt;
    return find_source_line(bytes_.view().span(), address - image_.bias());
  }

  Expected<const Kernel*> find_kernel(std::string_view name) const override {
    for (const std::string_view key :
         {name, name.ends_with(kDescriptorSuffix) ? name.substr(0, name.size() - kDescriptorSuffix.size()) : name}) {
      if (const uint32_t* index = kernel_index_.find(key)) return kernel(*index);
    }
    return tl::make_unexpected(not_found<KernelName>("kernel", name, names_));
  }
  Expected<const Variable*> find_variable(std::string_view name) const override {
    if (const uint32_t* index = variable_index_.find(name)) return &variables_[*index];
    return tl::make_unexpected(not_found<Variable>("variable", name, variables_));
  }

  Expected<void> load_from(ObjectBytes bytes, const SymbolResolver& resolver);

 private:
  // Where a kernel's facts are.
  struct KernelSource {
    uint32_t symbol = 0;           // of symbols_
    uint32_t note = kNone;         // of notes_ (V3 on)
    uint32_t v2_metadata = kNone;  // of v2_metadata_
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  Expected<void> identify(const ElfFile& elf);
  Expected<void> read_symbols(const ElfFile& elf);
  Expected<void> add_symbols(std::vector<ElfSymbol>&& symbols);
  Expected<void> read_metadata_notes();
  Expected<void> add_kernels();
  Expected<void> add_kernel(std::string_view name, const KernelSource& source);
  [[nodiscard]] Expected<DecodedDescriptor> decode_descriptor(const ElfSymbol& symbol) const;
  [[nodiscard]] Expected<Kernel> decode_kernel(size_t index) const;
  [[nodiscard]] uint32_t code_size(const KernelName& name, const ElfSymbol& symbol, uint64_t entry) const;
  uint64_t code_end(uint64_t entry) const;
  void add_functions_and_variables();
  void build_indices();

  ObjectBytes bytes_;
  std::vector<ElfNote> elf_notes_;
  std::vector<uint8_t> dynamic_names_;  // of a file without sections
  std::vector<ElfSymbol> symbols_;
  NameIndex symbol_index_;             // of symbols_
  std::vector<uint64_t> code_starts_;  // ELF addresses where a function or kernel starts, ascending
  std::vector<KernelNote> notes_;
  std::vector<KernelMetadata> v2_metadata_;

  const Processor* processor_ = nullptr;
  TargetId target_;
  unsigned version_ = 0;
  LoadedImage image_;
  bool has_source_lines_ = false;
  std::vector<KernelName> names_;
  std::vector<KernelSource> sources_;  // of each kernel
  std::vector<Variable> variables_;
  std::vector<FunctionSymbol> functions_;
  std::vector<std::span<const uint8_t>> code_;
  NameIndex kernel_index_, variable_index_;

  // Made when they are first asked for.
  mutable std::unique_ptr<std::atomic<const Kernel*>[]> decoded_;  // by index
  mutable std::mutex decoding_;
  mutable std::deque<Kernel> kernels_;  // decoding_
  mutable std::once_flag objects_once_, places_once_;
  mutable std::vector<std::pair<uint64_t, uint32_t>> objects_;  // addresses of descriptors and indices, ascending
  mutable std::vector<FunctionSymbol> places_;                  // functions and kernels, ascending
};

Expected<void> LoadedCodeObject::load_from(ObjectBytes bytes, const SymbolResolver& resolver) {
  bytes_ = std::move(bytes);
  auto elf = ElfFile::parse(bytes_.view());
  if (!elf) return forward_error(std::move(elf));
  if (auto done = identify(*elf); !done) return done;
  auto image = LoadedImage::map(*elf, bytes_);
  if (!image) return forward_error(std::move(image));
  bytes_.close_file();
  image_ = *std::move(image);
  if (auto done = image_.relocate(*elf, resolver); !done) return done;
  for (const auto& segment : image_.segments()) {
    if (segment.executable) code_.emplace_back(image_.at(segment.vaddr, segment.size));
  }
  if (auto done = read_symbols(*elf); !done) return done;
  if (auto done = read_metadata_notes(); !done) return done;
  if (auto done = add_kernels(); !done) return done;
  if (auto done = image_.protect(); !done) return done;
  add_functions_and_variables();
  build_indices();
  has_source_lines_ = std::ranges::any_of(elf->sections(), [&](const Elf64_Shdr& section) {
    const auto name = elf->section_name(section);
    return name && *name == ".debug_line";
  });
  elf_notes_ = {};
  return {};
}

Expected<void> LoadedCodeObject::identify(const ElfFile& elf) {
  auto notes = elf.notes();
  if (!notes) return forward_error(std::move(notes));
  elf_notes_ = *std::move(notes);
  auto identity = identify_code_object(elf, elf_notes_);
  if (!identity) return forward_error(std::move(identity));
  version_ = identity->version;
  target_ = std::move(identity->target);
  processor_ = find_processor(target_.processor);
  return {};
}

Expected<void> LoadedCodeObject::read_symbols(const ElfFile& elf) {
  const auto add = [&](Expected<std::vector<ElfSymbol>>&& symbols) -> Expected<void> {
    if (!symbols) return forward_error(std::move(symbols));
    return add_symbols(*std::move(symbols));
  };
  if (elf.sections().empty()) {
    auto table = read_dynamic_table(elf);
    if (!table) return forward_error(std::move(table));
    if (auto done = add(read_dynamic_symbols(*table, image_, bytes_.view().size(), dynamic_names_)); !done) return done;
  } else {
    // .symtab has everything, .dynsym survives stripping. What has no type in .symtab is a label.
    if (auto done = add(elf.symbols(SHT_DYNSYM, [](const Elf64_Sym&) { return true; })); !done) return done;
    const auto has_type = [](const Elf64_Sym& symbol) { return ELF64_ST_TYPE(symbol.st_info) != STT_NOTYPE; };
    if (auto done = add(elf.symbols(SHT_SYMTAB, has_type)); !done) return done;
  }
  for (const ElfSymbol& symbol : symbols_)
    if (symbol.type() == STT_FUNC || symbol.type() == kSymbolTypeHsaKernel) code_starts_.push_back(symbol.raw.st_value);
  std::ranges::sort(code_starts_);
  return {};
}

// Adds the symbols that are not there yet.
Expected<void> LoadedCodeObject::add_symbols(std::vector<ElfSymbol>&& symbols) {
  if (symbols_.size() + symbols.size() >= kNone) return bad("The code object has {} symbols.", symbols.size());
  if (symbols_.empty()) {
    symbols_.reserve(symbols.size());
    symbol_index_ = NameIndex(symbols.size());
  }
  // Of names that several symbols have, local ones mostly.
  std::set<std::pair<std::string_view, uint64_t>> more;
  for (const ElfSymbol& symbol : symbols) {
    if (!symbol.defined() || symbol.name.empty() || symbol.raw.st_shndx == SHN_ABS) continue;
    const auto next = static_cast<uint32_t>(symbols_.size());
    uint32_t& first = symbol_index_.add(symbol.name, next);
    if (first != next) {
      const ElfSymbol& other = symbols_[first];
      if (other.raw.st_value == symbol.raw.st_value) continue;
      if (!more.emplace(symbol.name, symbol.raw.st_value).second) continue;
      // Among equal names a global symbol is meant.
      if (other.binding() == STB_LOCAL && symbol.binding() != STB_LOCAL) first = next;
    }
    symbols_.push_back(symbol);
  }
  return {};
}

Expected<void> LoadedCodeObject::read_metadata_notes() {
  for (const ElfNote& note : elf_notes_) {
    if (version_ == 2 && note.name == "AMD" && note.type == kNoteYamlMetadata) {
      auto parsed = parse_yaml_metadata(note.description, note.offset);
      if (!parsed) return forward_error(std::move(parsed));
      std::ranges::move(*parsed, std::back_inserter(v2_metadata_));
    } else if (version_ > 2 && note.name == "AMDGPU" && note.type == kNoteMsgpackMetadata) {
      if (auto done = find_msgpack_kernels(note.description, note.offset, notes_); !done) return done;
    }
  }
  return {};
}

// End of the code that starts at `entry`: the next symbol or the end of its segment.
uint64_t LoadedCodeObject::code_end(uint64_t entry) const {
  const LoadedImage::Segment* segment = image_.segment_of(entry, 1);
  uint64_t end = segment == nullptr ? entry : segment->vaddr + segment->size;
  const auto next = std::ranges::upper_bound(code_starts_, entry);
  if (next != code_starts_.end()) end = std::min(end, *next);
  return end;
}

// `symbol` is that of a descriptor, or of a V2 header.
Expected<DecodedDescriptor> LoadedCodeObject::decode_descriptor(const ElfSymbol& symbol) const {
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
  const uint64_t entry = address + static_cast<uint64_t>(decoded->entry_offset);
  const LoadedImage::Segment* segment = image_.segment_of(entry, 4);
  if (segment == nullptr || !segment->executable || entry % 4 != 0) {
    return bad(
        "The descriptor of \"{}\" at address {:#x} has its entry point at {:#x}, which is not in executable code.",
        shown(), address, entry);
  }
  decoded->descriptor.entry = entry + image_.bias();
  return decoded;
}

// Bytes of the code of the kernel whose descriptor `symbol` stands for and whose code starts at `entry`.
uint32_t LoadedCodeObject::code_size(const KernelName& name, const ElfSymbol& symbol, uint64_t entry) const {
  uint64_t end = code_end(entry);
  const ElfSymbol* code = &symbol;
  if (version_ != 2) {
    const uint32_t* index = symbol_index_.find(name.symbol.substr(0, name.symbol.size() - kDescriptorSuffix.size()));
    code = index != nullptr && symbols_[*index].raw.st_value == entry ? &symbols_[*index] : nullptr;
  }
  if (code != nullptr && code->raw.st_size != 0) {
    const uint64_t start = code->raw.st_value, stated = start + code->raw.st_size;
    if (stated > entry && stated >= start && image_.segment_of(entry, stated - entry) != nullptr) end = stated;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(end - entry, std::numeric_limits<uint32_t>::max()));
}

// Everything that the object says about a kernel.
Expected<Kernel> LoadedCodeObject::decode_kernel(size_t index) const {
  const KernelName& name = names_[index];
  const KernelSource& source = sources_[index];
  const ElfSymbol& symbol = symbols_[source.symbol];
  auto decoded = decode_descriptor(symbol);
  if (!decoded) return forward_error(std::move(decoded));
  Kernel kernel{.name = std::string(name.name),
                .symbol = std::string(name.symbol),
                .object = name.object,
                .descriptor = decoded->descriptor};
  kernel.wavefront_size = decoded->wavefront_size;
  kernel.kernarg_align = decoded->kernarg_align;
  kernel.max_flat_workgroup_size = 1024;
  kernel.code_size = code_size(name, symbol, kernel.descriptor.entry - image_.bias());
  if (source.note == kNone && source.v2_metadata == kNone) return kernel;

  auto read = source.note != kNone ? read_msgpack_kernel(notes_[source.note]) : v2_metadata_[source.v2_metadata];
  if (!read) return forward_error(std::move(read));
  KernelMetadata& metadata = *read;
  kernel.args = std::move(metadata.args);
  kernel.required_workgroup_size = metadata.required_workgroup_size;
  if (metadata.max_flat_workgroup_size != 0) kernel.max_flat_workgroup_size = metadata.max_flat_workgroup_size;
  if (kernel.wavefront_size != metadata.wavefront_size) {
    return bad("The metadata says wavefront size {}, the descriptor {}.", metadata.wavefront_size,
               kernel.wavefront_size);
  }
  kernel.kernarg_align = std::max(metadata.kernarg_align, 16u);
  kernel.sgpr_spill_count = metadata.sgpr_spill_count;
  kernel.vgpr_spill_count = metadata.vgpr_spill_count;
  kernel.used_sgpr_count = metadata.sgpr_count;
  kernel.used_vgpr_count = metadata.vgpr_count;
  kernel.used_agpr_count = metadata.agpr_count;
  kernel.has_metadata = true;
  // Descriptors before LLVM 11 leave kernarg_size 0; otherwise the two agree.
  KernelDescriptor& descriptor = kernel.descriptor;
  descriptor.kernarg_size = std::max(descriptor.kernarg_size, metadata.kernarg_size);
  descriptor.group_segment_size = std::max(descriptor.group_segment_size, metadata.group_segment_size);
  descriptor.private_segment_size = std::max(descriptor.private_segment_size, metadata.private_segment_size);
  descriptor.uses_dynamic_stack |= metadata.uses_dynamic_stack;
  if (descriptor.kernarg_size > kMaxKernargSize) {
    return bad("The kernarg segment has {} bytes; the limit is {}.", descriptor.kernarg_size, kMaxKernargSize);
  }
  return kernel;
}

Expected<const Kernel*> LoadedCodeObject::kernel(size_t index) const {
  WAVEJIT_CHECK(index < names_.size());
  if (const Kernel* done = decoded_[index].load(std::memory_order_acquire)) return done;
  const std::lock_guard lock(decoding_);
  if (const Kernel* done = decoded_[index].load(std::memory_order_relaxed)) return done;
  auto decoded = decode_kernel(index);
  if (!decoded) {
    Error error = std::move(decoded).error();
    error.message = fmt::format("Kernel \"{}\": {}", printable(names_[index].name), error.message);
    error.kernel = names_[index].name;
    return tl::make_unexpected(std::move(error));
  }
  const Kernel* done = &kernels_.emplace_back(*std::move(decoded));
  decoded_[index].store(done, std::memory_order_release);
  return done;
}

KernelDescriptor LoadedCodeObject::descriptor(size_t index) const {
  WAVEJIT_CHECK(index < names_.size());
  // A kernel may have overwritten what was right when the object was loaded.
  const auto decoded = decode_descriptor(symbols_[sources_[index].symbol]);
  return decoded ? decoded->descriptor : KernelDescriptor{};
}

std::optional<size_t> LoadedCodeObject::kernel_at(uint64_t object) const {
  std::call_once(objects_once_, [this] {
    for (uint32_t i = 0; i < names_.size(); ++i) objects_.emplace_back(names_[i].object, i);
    std::ranges::sort(objects_);
  });
  const auto it = std::ranges::lower_bound(objects_, std::pair(object, uint32_t{0}));
  if (it == objects_.end() || it->first != object) return std::nullopt;
  return it->second;
}

std::optional<FunctionSymbol> LoadedCodeObject::function_at(uint64_t address) const {
  std::call_once(places_once_, [this] {
    places_ = functions_;
    for (size_t i = 0; i < names_.size(); ++i)
      places_.push_back({.name = names_[i].name, .address = descriptor(i).entry, .size = 0});
    // A kernel's name follows that of the function at the same place.
    std::ranges::stable_sort(places_, {}, &FunctionSymbol::address);
  });
  const auto next = std::ranges::upper_bound(places_, address, {}, &FunctionSymbol::address);
  if (next == places_.begin()) return std::nullopt;
  return *std::prev(next);
}

Expected<void> LoadedCodeObject::add_kernel(std::string_view name, const KernelSource& source) {
  const ElfSymbol& symbol = symbols_[source.symbol];
  auto decoded = decode_descriptor(symbol);
  if (!decoded) return forward_error(std::move(decoded));
  if (decoded->descriptor.kernarg_size > kMaxKernargSize) {
    return bad("Kernel \"{}\" has a kernarg segment of {} bytes; the limit is {}.", printable(name),
               decoded->descriptor.kernarg_size, kMaxKernargSize);
  }
  names_.push_back({.name = name, .symbol = symbol.name, .object = symbol.raw.st_value + image_.bias()});
  sources_.push_back(source);
  return {};
}

Expected<void> LoadedCodeObject::add_kernels() {
  std::vector<bool> described(symbols_.size());
  const auto add = [&](std::string_view name, std::string_view symbol_name, KernelSource source) -> Expected<void> {
    const uint32_t* symbol = symbol_index_.find(symbol_name);
    const bool suffix_ok = version_ == 2 || symbol_name.ends_with(kDescriptorSuffix);
    if (symbol == nullptr || !suffix_ok) {
      return bad("The metadata of kernel \"{}\" names the symbol \"{}\", which the object does not have.",
                 printable(name), printable(symbol_name));
    }
    if (described[*symbol]) return bad("The metadata describes the symbol \"{}\" twice.", printable(symbol_name));
    described[*symbol] = true;
    source.symbol = *symbol;
    return add_kernel(name, source);
  };
  const size_t count = notes_.size() + v2_metadata_.size();
  if (count >= kNone) return bad("The metadata describes {} kernels.", count);
  names_.reserve(count);
  sources_.reserve(count);
  for (uint32_t i = 0; i < notes_.size(); ++i)
    if (auto done = add(notes_[i].name, notes_[i].symbol, {.note = i}); !done) return done;
  for (uint32_t i = 0; i < v2_metadata_.size(); ++i) {
    // V2 names the symbol "x@kd" in the metadata and "x" in the ELF.
    std::string_view symbol = v2_metadata_[i].symbol;
    if (symbol.ends_with("@kd")) symbol.remove_suffix(3);
    if (auto done = add(v2_metadata_[i].name, symbol, {.v2_metadata = i}); !done) return done;
  }
  // Kernels without metadata: hand-written assembly with only a descriptor.
  for (uint32_t i = 0; i < symbols_.size(); ++i) {
    const ElfSymbol& symbol = symbols_[i];
    const bool is_kernel = version_ == 2 ? symbol.type() == kSymbolTypeHsaKernel
                                         : symbol.type() == STT_OBJECT && symbol.raw.st_size == kKernelDescriptorSize &&
                                               symbol.name.ends_with(kDescriptorSuffix) && symbol.name.size() > 3;
    if (!is_kernel || described[i]) continue;
    std::string_view name = symbol.name;
    if (version_ != 2) name.remove_suffix(kDescriptorSuffix.size());
    if (auto done = add_kernel(name, {.symbol = i}); !done) return done;
  }
  decoded_ = std::make_unique<std::atomic<const Kernel*>[]>(names_.size());
  return {};
}

void LoadedCodeObject::add_functions_and_variables() {
  for (const ElfSymbol& symbol : symbols_) {
    const LoadedImage::Segment* segment = image_.segment_of(symbol.raw.st_value, symbol.raw.st_size);
    if (segment == nullptr) continue;  // not part of the loaded object, so there is nothing to address
    const uint64_t address = symbol.raw.st_value + image_.bias();
    if (symbol.type() == STT_FUNC && segment->executable) {
      functions_.push_back({.name = symbol.name, .address = address, .size = symbol.raw.st_size});
    } else if (symbol.type() == STT_OBJECT && !(version_ > 2 && symbol.name.ends_with(kDescriptorSuffix))) {
      variables_.push_back({.name = symbol.name,
                            .address = address,
                            .size = symbol.raw.st_size,
                            .constant = !segment->declared_writable,
                            .writable = image_.is_writable(symbol.raw.st_value, symbol.raw.st_size)});
    }
  }
  if (version_ == 2) {
    for (size_t i = 0; i < names_.size(); ++i) {
      const uint64_t entry = descriptor(i).entry;
      functions_.push_back({.name = names_[i].name,
                            .address = entry,
                            .size = code_size(names_[i], symbols_[sources_[i].symbol], entry - image_.bias())});
    }
  }
}

void LoadedCodeObject::build_indices() {
  kernel_index_ = NameIndex(2 * names_.size());
  for (uint32_t i = 0; i < names_.size(); ++i) {
    kernel_index_.add(names_[i].name, i);
    kernel_index_.add(names_[i].symbol, i);
  }
  // "name" of "name.kd", where the metadata's name is another one (a demangled or source-level name).
  for (uint32_t i = 0; i < names_.size(); ++i) {
    std::string_view symbol = names_[i].symbol;
    if (!symbol.ends_with(kDescriptorSuffix)) continue;
    symbol.remove_suffix(kDescriptorSuffix.size());
    if (symbol != names_[i].name) kernel_index_.add(symbol, i);
  }
  variable_index_ = NameIndex(variables_.size());
  for (uint32_t i = 0; i < variables_.size(); ++i) variable_index_.add(variables_[i].name, i);
}

}  // namespace

Expected<std::vector<const Kernel*>> decode_kernels(const CodeObject& object) {
  std::vector<const Kernel*> kernels;
  for (size_t i = 0; i < object.kernel_names().size(); ++i) {
    const auto kernel = object.kernel(i);
    if (!kernel) return tl::make_unexpected(kernel.error());
    kernels.push_back(*kernel);
  }
  return kernels;
}

Expected<std::shared_ptr<const CodeObject>> CodeObject::load(std::span<const uint8_t> bytes,
                                                             const SymbolResolver& resolver) {
  auto held = ObjectBytes::hold(bytes);
  if (!held) return forward_error(std::move(held));
  auto object = std::make_shared<LoadedCodeObject>();
  if (auto done = object->load_from(*std::move(held), resolver); !done) return forward_error(std::move(done));
  return std::shared_ptr<const CodeObject>(std::move(object));
}

}  // namespace wavejit::codeobject
