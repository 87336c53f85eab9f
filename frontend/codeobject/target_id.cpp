// Target ids: text form, compatibility, and how each code object version encodes them.
// Facts: AMDGPUUsage "Processors", "Target ID", "ELF Header" (EF_AMDGPU_* tables), "Code Object V2 Note Records".
#include <algorithm>
#include <array>
#include <string>

#include "frontend/codeobject/bytes.h"
#include "frontend/codeobject/processors.h"

namespace wavejit::codeobject {
namespace {

// name, mach, major, xnack, sramecc, agprs, unified_vgprs
constexpr auto kProcessors = std::to_array<Processor>({
    {"gfx600", 0x20, 6, false, false, false, false},
    {"gfx601", 0x21, 6, false, false, false, false},
    {"gfx602", 0x3a, 6, false, false, false, false},
    {"gfx700", 0x22, 7, false, false, false, false},
    {"gfx701", 0x23, 7, false, false, false, false},
    {"gfx702", 0x24, 7, false, false, false, false},
    {"gfx703", 0x25, 7, false, false, false, false},
    {"gfx704", 0x26, 7, false, false, false, false},
    {"gfx705", 0x3b, 7, false, false, false, false},
    {"gfx801", 0x28, 8, true, false, false, false},
    {"gfx802", 0x29, 8, false, false, false, false},
    {"gfx803", 0x2a, 8, false, false, false, false},
    {"gfx805", 0x3c, 8, false, false, false, false},
    {"gfx810", 0x2b, 8, true, false, false, false},
    {"gfx900", 0x2c, 9, true, false, false, false},
    {"gfx902", 0x2d, 9, true, false, false, false},
    {"gfx904", 0x2e, 9, true, false, false, false},
    {"gfx906", 0x2f, 9, true, true, false, false},
    {"gfx908", 0x30, 9, true, true, true, false},
    {"gfx909", 0x31, 9, true, false, false, false},
    {"gfx90a", 0x3f, 9, true, true, true, true},
    {"gfx90c", 0x32, 9, true, false, false, false},
    {"gfx940", 0x40, 9, true, true, true, true},
    {"gfx941", 0x4b, 9, true, true, true, true},
    {"gfx942", 0x4c, 9, true, true, true, true},
    {"gfx950", 0x4f, 9, true, true, true, true},
    {"gfx9-generic", 0x51, 9, true, false, false, false},
    {"gfx9-4-generic", 0x5f, 9, true, true, true, true},
    {"gfx1010", 0x33, 10, true, false, false, false},
    {"gfx1011", 0x34, 10, true, false, false, false},
    {"gfx1012", 0x35, 10, true, false, false, false},
    {"gfx1013", 0x42, 10, true, false, false, false},
    {"gfx1030", 0x36, 10, false, false, false, false},
    {"gfx1031", 0x37, 10, false, false, false, false},
    {"gfx1032", 0x38, 10, false, false, false, false},
    {"gfx1033", 0x39, 10, false, false, false, false},
    {"gfx1034", 0x3e, 10, false, false, false, false},
    {"gfx1035", 0x3d, 10, false, false, false, false},
    {"gfx1036", 0x45, 10, false, false, false, false},
    {"gfx10-1-generic", 0x52, 10, true, false, false, false},
    {"gfx10-3-generic", 0x53, 10, false, false, false, false},
    {"gfx1100", 0x41, 11, false, false, false, false},
    {"gfx1101", 0x46, 11, false, false, false, false},
    {"gfx1102", 0x47, 11, false, false, false, false},
    {"gfx1103", 0x44, 11, false, false, false, false},
    {"gfx1150", 0x43, 11, false, false, false, false},
    {"gfx1151", 0x4a, 11, false, false, false, false},
    {"gfx1152", 0x55, 11, false, false, false, false},
    {"gfx11-generic", 0x54, 11, false, false, false, false},
    {"gfx1200", 0x48, 12, false, false, false, false},
    {"gfx1201", 0x4e, 12, false, false, false, false},
    {"gfx12-generic", 0x59, 12, false, false, false, false},
});

struct GenericMember {
  std::string_view generic, processor;
};
// AMDGPUUsage "Generic Processors".
constexpr auto kGenericMembers = std::to_array<GenericMember>({
    {"gfx9-generic", "gfx900"},     {"gfx9-generic", "gfx902"},     {"gfx9-generic", "gfx904"},
    {"gfx9-generic", "gfx906"},     {"gfx9-generic", "gfx909"},     {"gfx9-generic", "gfx90c"},
    {"gfx9-4-generic", "gfx940"},   {"gfx9-4-generic", "gfx941"},   {"gfx9-4-generic", "gfx942"},
    {"gfx9-4-generic", "gfx950"},   {"gfx10-1-generic", "gfx1010"}, {"gfx10-1-generic", "gfx1011"},
    {"gfx10-1-generic", "gfx1012"}, {"gfx10-1-generic", "gfx1013"}, {"gfx10-3-generic", "gfx1030"},
    {"gfx10-3-generic", "gfx1031"}, {"gfx10-3-generic", "gfx1032"}, {"gfx10-3-generic", "gfx1033"},
    {"gfx10-3-generic", "gfx1034"}, {"gfx10-3-generic", "gfx1035"}, {"gfx10-3-generic", "gfx1036"},
    {"gfx11-generic", "gfx1100"},   {"gfx11-generic", "gfx1101"},   {"gfx11-generic", "gfx1102"},
    {"gfx11-generic", "gfx1103"},   {"gfx11-generic", "gfx1150"},   {"gfx11-generic", "gfx1151"},
    {"gfx11-generic", "gfx1152"},   {"gfx12-generic", "gfx1200"},   {"gfx12-generic", "gfx1201"},
});

bool settings_match(FeatureSetting code, FeatureSetting device) {
  const auto free = [](FeatureSetting s) { return s == FeatureSetting::any || s == FeatureSetting::unsupported; };
  return free(code) || free(device) || code == device;
}

FeatureSetting default_setting(bool supported) {
  return supported ? FeatureSetting::any : FeatureSetting::unsupported;
}

Expected<TargetId> parse(std::string_view text, bool known_only) {
  const std::string whole = printable(text);
  constexpr std::string_view kTriple = "amdgcn-amd-amdhsa-";
  if (text.starts_with(kTriple)) {
    // Four-component triple: the environment is empty or, since LLVM 20, "unknown".
    text.remove_prefix(kTriple.size());
    if (const size_t dash = text.find('-'); dash == 0 || text.starts_with("unknown-")) text.remove_prefix(dash + 1);
  }
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const Processor* processor = find_processor(name);
  if (processor == nullptr && (known_only || name.empty())) {
    return make_error(ErrorCode::kTargetMismatch,
                      fmt::format("\"{}\" is not a target id: unknown processor \"{}\".", whole, printable(name)));
  }
  TargetId id{.processor = std::string(name),
              .xnack = default_setting(processor == nullptr || processor->xnack),
              .sramecc = default_setting(processor == nullptr || processor->sramecc)};
  std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  bool seen_xnack = false, seen_sramecc = false;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const size_t next = std::min(rest.find(':'), rest.size());
    const std::string_view feature = rest.substr(0, next);
    rest.remove_prefix(next);
    const bool is_xnack = feature == "xnack+" || feature == "xnack-";
    const bool is_sramecc = feature == "sramecc+" || feature == "sramecc-";
    if ((!is_xnack && !is_sramecc) || (is_xnack && seen_xnack) || (is_sramecc && seen_sramecc)) {
      return make_error(ErrorCode::kTargetMismatch,
                        fmt::format("\"{}\" is not a target id: bad feature \"{}\"; expected xnack+, xnack-, sramecc+ "
                                    "or sramecc-, each at most once.",
                                    whole, printable(feature)));
    }
    FeatureSetting& setting = is_xnack ? id.xnack : id.sramecc;
    if (setting == FeatureSetting::unsupported) {
      return make_error(ErrorCode::kTargetMismatch, fmt::format("\"{}\" is not a target id: {} has no {}.", whole, name,
                                                                is_xnack ? "xnack" : "sramecc"));
    }
    setting = feature.ends_with('+') ? FeatureSetting::on : FeatureSetting::off;
    (is_xnack ? seen_xnack : seen_sramecc) = true;
  }
  return id;
}

}  // namespace

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  const bool cut = text.size() > limit;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  if (cut) out += "...";
  return out;
}

std::span<const Processor> all_processors() {
  return kProcessors;
}

const Processor* find_processor(std::string_view name) {
  const auto* it = std::ranges::find(kProcessors, name, &Processor::name);
  return it == kProcessors.end() ? nullptr : it;
}

const Processor* find_processor_by_mach(uint32_t mach) {
  const auto* it = std::ranges::find(kProcessors, mach, &Processor::mach);
  return it == kProcessors.end() ? nullptr : it;
}

bool generic_covers(std::string_view generic, std::string_view processor) {
  return std::ranges::any_of(kGenericMembers,
                             [&](const auto& m) { return m.generic == generic && m.processor == processor; });
}

std::string TargetId::to_string() const {
  std::string text = processor;
  const auto append = [&](std::string_view feature, FeatureSetting setting) {
    if (setting == FeatureSetting::on) text += fmt::format(":{}+", feature);
    if (setting == FeatureSetting::off) text += fmt::format(":{}-", feature);
  };
  append("sramecc", sramecc);  // the canonical order is alphabetical
  append("xnack", xnack);
  return text;
}

Expected<TargetId> parse_target_id(std::string_view text) {
  return parse(text, true);
}
Expected<TargetId> parse_target_id_any_processor(std::string_view text) {
  return parse(text, false);
}

bool compatible(const TargetId& code, const TargetId& device) {
  return (code.processor == device.processor || generic_covers(code.processor, device.processor)) &&
         settings_match(code.xnack, device.xnack) && settings_match(code.sramecc, device.sramecc);
}

Expected<TargetId> target_id_from_flags(unsigned version, uint32_t e_flags) {
  const uint32_t mach = e_flags & 0xffu;
  const Processor* processor = find_processor_by_mach(mach);
  if (processor == nullptr) {
    return make_error(
        ErrorCode::kTargetMismatch,
        fmt::format("The code object is for an unknown processor (EF_AMDGPU_MACH {:#x} in e_flags {:#x}).", mach,
                    e_flags));
  }
  TargetId id{.processor = std::string(processor->name)};
  if (version <= 3) {
    // EF_AMDGPU_FEATURE_XNACK_V3 and _SRAMECC_V3: one bit each, no "any".
    const auto setting = [&](bool supported, uint32_t bit) {
      if (!supported) return FeatureSetting::unsupported;
      return (e_flags & bit) != 0 ? FeatureSetting::on : FeatureSetting::off;
    };
    id.xnack = setting(processor->xnack, 0x100);
    id.sramecc = setting(processor->sramecc, 0x200);
  } else {
    // EF_AMDGPU_FEATURE_XNACK_V4 and _SRAMECC_V4: two bits each, 0 unsupported, 1 any, 2 off, 3 on.
    id.xnack = static_cast<FeatureSetting>((e_flags >> 8) & 3);
    id.sramecc = static_cast<FeatureSetting>((e_flags >> 10) & 3);
  }
  // EF_AMDGPU_GENERIC_VERSION, used by V6.
  if (version >= 6) id.generic_version = e_flags >> 24;
  return id;
}

Expected<TargetId> v2_target_id(uint32_t major, uint32_t minor, uint32_t stepping) {
  // AMDGPUUsage "Code Object V2 Note Records": the stepping also says whether XNACK is enabled.
  struct Row {
    uint32_t major, minor, stepping;
    std::string_view target;
  };
  static constexpr auto kRows = std::to_array<Row>({
      {8, 0, 0, "gfx802"},
      {8, 0, 1, "gfx801:xnack+"},
      {8, 0, 4, "gfx803"},
      {8, 1, 0, "gfx810:xnack+"},
      {9, 0, 0, "gfx900:xnack-"},
      {9, 0, 1, "gfx900:xnack+"},
      {9, 0, 2, "gfx902:xnack-"},
      {9, 0, 3, "gfx902:xnack+"},
      {9, 0, 4, "gfx904:xnack-"},
      {9, 0, 5, "gfx904:xnack+"},
      {9, 0, 6, "gfx906:sramecc-:xnack-"},
      {9, 0, 7, "gfx906:sramecc-:xnack+"},
      {9, 0, 12, "gfx90c:xnack-"},
  });
  for (const Row& row : kRows) {
    if (row.major == major && row.minor == minor && row.stepping == stepping) return parse_target_id(row.target);
  }
  // The others (7:0:x, 8:0:2, 8:0:3, 8:0:5, and processors newer than the table) have no second meaning.
  if (minor <= 9 && stepping <= 15) {
    const std::string name = fmt::format("gfx{}{}{:x}", major, minor, stepping);
    if (find_processor(name) != nullptr) return parse_target_id(name);
  }
  return make_error(
      ErrorCode::kTargetMismatch,
      fmt::format("The ISA note names processor AMD:AMDGPU:{}:{}:{}, which is unknown.", major, minor, stepping));
}

}  // namespace wavejit::codeobject
