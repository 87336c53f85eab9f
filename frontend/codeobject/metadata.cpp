#include "frontend/codeobject/metadata.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

namespace wavejit::codeobject {
namespace {

struct KindName {
  std::string_view v2, v3;
  ArgKind kind;
};
constexpr auto kKindNames = std::to_array<KindName>({
    {"ByValue", "by_value", ArgKind::by_value},
    {"GlobalBuffer", "global_buffer", ArgKind::global_buffer},
    {"DynamicSharedPointer", "dynamic_shared_pointer", ArgKind::dynamic_shared_pointer},
    {"Sampler", "sampler", ArgKind::sampler},
    {"Image", "image", ArgKind::image},
    {"Pipe", "pipe", ArgKind::pipe},
    {"Queue", "queue", ArgKind::queue},
    {"HiddenGlobalOffsetX", "hidden_global_offset_x", ArgKind::hidden_global_offset_x},
    {"HiddenGlobalOffsetY", "hidden_global_offset_y", ArgKind::hidden_global_offset_y},
    {"HiddenGlobalOffsetZ", "hidden_global_offset_z", ArgKind::hidden_global_offset_z},
    {"HiddenNone", "hidden_none", ArgKind::hidden_none},
    {"HiddenPrintfBuffer", "hidden_printf_buffer", ArgKind::hidden_printf_buffer},
    {"HiddenHostcallBuffer", "hidden_hostcall_buffer", ArgKind::hidden_hostcall_buffer},
    {"HiddenDefaultQueue", "hidden_default_queue", ArgKind::hidden_default_queue},
    {"HiddenCompletionAction", "hidden_completion_action", ArgKind::hidden_completion_action},
    {"HiddenMultiGridSyncArg", "hidden_multigrid_sync_arg", ArgKind::hidden_multigrid_sync_arg},
    // V5 on.
    {"", "hidden_block_count_x", ArgKind::hidden_block_count_x},
    {"", "hidden_block_count_y", ArgKind::hidden_block_count_y},
    {"", "hidden_block_count_z", ArgKind::hidden_block_count_z},
    {"", "hidden_group_size_x", ArgKind::hidden_group_size_x},
    {"", "hidden_group_size_y", ArgKind::hidden_group_size_y},
    {"", "hidden_group_size_z", ArgKind::hidden_group_size_z},
    {"", "hidden_remainder_x", ArgKind::hidden_remainder_x},
    {"", "hidden_remainder_y", ArgKind::hidden_remainder_y},
    {"", "hidden_remainder_z", ArgKind::hidden_remainder_z},
    {"", "hidden_grid_dims", ArgKind::hidden_grid_dims},
    {"", "hidden_heap_v1", ArgKind::hidden_heap_v1},
    {"", "hidden_dynamic_lds_size", ArgKind::hidden_dynamic_lds_size},
    {"", "hidden_private_base", ArgKind::hidden_private_base},
    {"", "hidden_shared_base", ArgKind::hidden_shared_base},
    {"", "hidden_queue_ptr", ArgKind::hidden_queue_ptr},
});

struct SpaceName {
  std::string_view v2, v3;
  AddressSpace space;
};
constexpr auto kSpaceNames = std::to_array<SpaceName>({
    {"Private", "private", AddressSpace::private_},
    {"Global", "global", AddressSpace::global},
    {"Constant", "constant", AddressSpace::constant},
    {"Local", "local", AddressSpace::local},
    {"Generic", "generic", AddressSpace::generic},
    {"Region", "region", AddressSpace::region},
});

// The two vocabularies. V2 keeps some facts of a kernel in the sub-maps Attrs and CodeProps.
struct Key {
  std::string_view v2_map, v2, v3;
};
constexpr Key kKernels{"", "Kernels", kKernelsKey};
constexpr Key kName{"", "Name", kNameKey};
constexpr Key kSymbol{"", "SymbolName", kSymbolKey};
constexpr Key kArgs{"", "Args", ".args"};
constexpr Key kReqdWorkgroupSize{"Attrs", "ReqdWorkGroupSize", ".reqd_workgroup_size"};
constexpr Key kKernargSize{"CodeProps", "KernargSegmentSize", ".kernarg_segment_size"};
constexpr Key kKernargAlign{"CodeProps", "KernargSegmentAlign", ".kernarg_segment_align"};
constexpr Key kGroupSize{"CodeProps", "GroupSegmentFixedSize", ".group_segment_fixed_size"};
constexpr Key kPrivateSize{"CodeProps", "PrivateSegmentFixedSize", ".private_segment_fixed_size"};
constexpr Key kMaxFlat{"CodeProps", "MaxFlatWorkGroupSize", ".max_flat_workgroup_size"};
constexpr Key kWavefrontSize{"CodeProps", "WavefrontSize", ".wavefront_size"};
constexpr Key kSgprs{"CodeProps", "NumSGPRs", ".sgpr_count"};
constexpr Key kVgprs{"CodeProps", "NumVGPRs", ".vgpr_count"};
constexpr Key kAgprs{"", "", ".agpr_count"};
constexpr Key kSgprSpills{"CodeProps", "NumSpilledSGPRs", ".sgpr_spill_count"};
constexpr Key kVgprSpills{"CodeProps", "NumSpilledVGPRs", ".vgpr_spill_count"};
constexpr Key kDynamicStack{"CodeProps", "IsDynamicCallStack", ".uses_dynamic_stack"};
constexpr Key kArgOffset{"", "", ".offset"};
constexpr Key kArgSize{"", "Size", ".size"};
constexpr Key kArgAlign{"", "Align", ""};
constexpr Key kArgKind{"", "ValueKind", ".value_kind"};
constexpr Key kArgType{"", "TypeName", ".type_name"};
constexpr Key kArgPointeeAlign{"", "PointeeAlign", ".pointee_align"};
constexpr Key kArgSpace{"", "AddrSpaceQual", ".address_space"};

// Reads fields of one map and keeps the first thing that was wrong, so that reading code stays a list of fields.
class Reader {
 public:
  Reader(const MetadataValue& map, bool v2, std::string what) : map_(map), v2_(v2), what_(std::move(what)) {
    if (map.kind != MetadataValue::Kind::map) fail("is not a map");
  }

  [[nodiscard]] const MetadataValue* find(const Key& key) const {
    if (!v2_) return map_.find(key.v3);
    const MetadataValue* map = &map_;
    if (!key.v2_map.empty()) map = map_.find(key.v2_map);
    return map == nullptr ? nullptr : map->find(key.v2);
  }
  void u32(const Key& key, uint32_t& out, bool required = false) {
    const MetadataValue* value = find(key);
    if (value == nullptr) {
      if (required) fail(fmt::format("has no {}", name(key)));
      return;
    }
    const auto number = value->as_number();
    if (!number || *number > std::numeric_limits<uint32_t>::max()) {
      return fail(fmt::format("has a {} that is not an unsigned 32-bit number", name(key)));
    }
    out = static_cast<uint32_t>(*number);
  }
  void boolean(const Key& key, bool& out) {
    const MetadataValue* value = find(key);
    if (value == nullptr) return;
    const auto read = value->as_boolean();
    if (!read) return fail(fmt::format("has a {} that is not true or false", name(key)));
    out = *read;
  }
  void text(const Key& key, std::string& out, bool required = false) {
    const MetadataValue* value = find(key);
    if (value == nullptr) {
      if (required) fail(fmt::format("has no {}", name(key)));
      return;
    }
    if (value->kind != MetadataValue::Kind::text) return fail(fmt::format("has a {} that is not text", name(key)));
    out = value->text;
  }
  // The elements of an optional list.
  [[nodiscard]] std::span<const MetadataValue> list(const Key& key) {
    const MetadataValue* value = find(key);
    if (value == nullptr || value->kind == MetadataValue::Kind::null) return {};
    if (value->kind != MetadataValue::Kind::list) {
      fail(fmt::format("has a {} that is not a list", name(key)));
      return {};
    }
    return value->items;
  }
  void fail(const std::string& problem) {
    if (!error_) error_ = fmt::format("Metadata: {} {}.", what_, problem);
  }
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  [[nodiscard]] std::string_view name(const Key& key) const { return v2_ ? key.v2 : key.v3; }

  const MetadataValue& map_;
  bool v2_;
  std::string what_;
  std::optional<std::string> error_;
};

// V3 on states no alignment; what the offset and size allow is what the compiler used at most.
uint32_t natural_alignment(uint32_t offset, uint32_t size) {
  const uint32_t by_size = std::bit_floor(std::clamp(size, 1u, 16u));
  return offset == 0 ? by_size : std::min(by_size, 1u << std::min(std::countr_zero(offset), 4));
}

Expected<KernelArg> read_arg(const MetadataValue& value, bool v2, std::string what, uint64_t& next_offset) {
  Reader reader(value, v2, std::move(what));
  KernelArg arg;
  reader.text(kName, arg.name);
  reader.text(kArgType, arg.type_name);
  reader.u32(kArgSize, arg.size, true);
  reader.u32(kArgPointeeAlign, arg.pointee_align);
  if (v2) {
    reader.u32(kArgAlign, arg.align, true);
    if (!std::has_single_bit(arg.align)) reader.fail("has an Align that is not a power of two");
  } else {
    reader.u32(kArgOffset, arg.offset, true);
    arg.align = natural_alignment(arg.offset, arg.size);
  }
  if (arg.pointee_align != 0 && !std::has_single_bit(arg.pointee_align)) {
    reader.fail("has a pointee alignment that is not a power of two");
  }
  std::string kind, space;
  reader.text(kArgKind, kind, true);
  reader.text(kArgSpace, space);
  const auto* kind_row = std::ranges::find(kKindNames, std::string_view(kind), v2 ? &KindName::v2 : &KindName::v3);
  if (kind.empty() || kind_row == kKindNames.end()) {
    reader.fail(fmt::format("has the unknown value kind \"{}\"", printable(kind)));
  } else {
    arg.kind = kind_row->kind;
  }
  if (!space.empty()) {
    const auto* space_row =
        std::ranges::find(kSpaceNames, std::string_view(space), v2 ? &SpaceName::v2 : &SpaceName::v3);
    if (space_row == kSpaceNames.end()) {
      reader.fail(fmt::format("has the unknown address space \"{}\"", printable(space)));
    } else {
      arg.address_space = space_row->space;
    }
  }
  if (reader.error()) return bad("{}", *reader.error());
  if (v2) {
    // V2 lists sizes and alignments; arguments follow each other as in a C struct.
    const uint64_t offset = (next_offset + arg.align - 1) & ~(uint64_t{arg.align} - 1);
    if (offset > std::numeric_limits<uint32_t>::max()) return bad("Metadata: argument offsets exceed 4 GiB.");
    arg.offset = static_cast<uint32_t>(offset);
  }
  next_offset = uint64_t{arg.offset} + arg.size;
  return arg;
}

Expected<KernelMetadata> read_kernel(const MetadataValue& value, bool v2, size_t index) {
  Reader reader(value, v2, fmt::format("kernel {}", index));
  KernelMetadata kernel;
  reader.text(kName, kernel.name, true);
  reader.text(kSymbol, kernel.symbol, true);
  reader.u32(kKernargSize, kernel.kernarg_size);
  reader.u32(kKernargAlign, kernel.kernarg_align);
  reader.u32(kGroupSize, kernel.group_segment_size);
  reader.u32(kPrivateSize, kernel.private_segment_size);
  reader.u32(kMaxFlat, kernel.max_flat_workgroup_size);
  reader.u32(kWavefrontSize, kernel.wavefront_size);
  reader.u32(kSgprs, kernel.sgpr_count);
  reader.u32(kVgprs, kernel.vgpr_count);
  reader.u32(kAgprs, kernel.agpr_count);
  reader.u32(kSgprSpills, kernel.sgpr_spill_count);
  reader.u32(kVgprSpills, kernel.vgpr_spill_count);
  reader.boolean(kDynamicStack, kernel.uses_dynamic_stack);
  // GCC states an alignment of 0 for kernels without arguments.
  if (kernel.kernarg_align == 0 && kernel.kernarg_size == 0) kernel.kernarg_align = KernelMetadata{}.kernarg_align;
  if (!std::has_single_bit(kernel.kernarg_align)) reader.fail("has a kernarg alignment that is not a power of two");
  if (const auto sizes = reader.list(kReqdWorkgroupSize); !sizes.empty()) {
    if (sizes.size() != 3) reader.fail("has a required work-group size without 3 dimensions");
    for (size_t i = 0; i < 3 && i < sizes.size(); ++i) {
      const auto number = sizes[i].as_number();
      if (!number || *number == 0 || *number > std::numeric_limits<uint32_t>::max()) {
        reader.fail("has a required work-group size with a dimension that is not a positive number");
      } else {
        kernel.required_workgroup_size[i] = static_cast<uint32_t>(*number);
      }
    }
  }
  const auto args = reader.list(kArgs);
  if (reader.error()) return bad("{}", *reader.error());

  uint64_t next_offset = 0;
  kernel.args.reserve(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    auto what = fmt::format("argument {} of kernel \"{}\"", i, printable(kernel.name));
    auto arg = read_arg(args[i], v2, std::move(what), next_offset);
    if (!arg) return forward_error(std::move(arg));
    if (next_offset > kernel.kernarg_size) {
      return bad("Metadata: argument {} of kernel \"{}\" ends at byte {} of a kernarg segment of {} bytes.", i,
                 printable(kernel.name), next_offset, kernel.kernarg_size);
    }
    kernel.args.push_back(*std::move(arg));
  }
  return kernel;
}

}  // namespace

std::string_view to_string(ArgKind kind) {
  const auto* row = std::ranges::find(kKindNames, kind, &KindName::kind);
  return row == kKindNames.end() ? std::string_view("unknown") : row->v3;
}

const MetadataValue* MetadataValue::find(std::string_view key) const {
  if (kind != Kind::map) return nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind == Kind::text && items[i].text == key) return &items[i + 1];
  }
  return nullptr;
}

std::optional<uint64_t> MetadataValue::as_number() const {
  if (kind == Kind::number) return number;
  if (kind != Kind::text) return std::nullopt;
  uint64_t value = 0;
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto [stop, status] = std::from_chars(begin, end, value);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<bool> MetadataValue::as_boolean() const {
  if (kind == Kind::boolean || (kind == Kind::number && number <= 1)) return number != 0;
  if (kind == Kind::text && (text == "true" || text == "false")) return text == "true";
  return std::nullopt;
}

Expected<std::vector<KernelMetadata>> read_yaml_kernels(const MetadataValue& root) {
  Reader reader(root, true, "the document");
  const auto list = reader.list(kKernels);
  if (reader.error()) return bad("{}", *reader.error());
  std::vector<KernelMetadata> kernels;
  kernels.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    auto kernel = read_kernel(list[i], true, i);
    if (!kernel) return forward_error(std::move(kernel));
    kernels.push_back(*std::move(kernel));
  }
  return kernels;
}

Expected<KernelMetadata> read_kernel_map(const MetadataValue& kernel, uint32_t number) {
  return read_kernel(kernel, false, number);
}

}  // namespace wavejit::codeobject
