#include "tests/isa/isa_file.h"

#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <sstream>

#include "internal/wave_state.h"

namespace wavejit::test {
namespace {

// binary32 -> binary16 for constants that are exact in binary16.
uint64_t half_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const int exponent = static_cast<int>((bits >> 23) & 0xff) - 127 + 15;
  const uint32_t mantissa = (bits >> 13) & 0x3ffu;
  if (((bits >> 23) & 0xff) == 0xff) return sign | 0x7c00u | mantissa;
  if (exponent <= 0) {
    if (exponent < -10) return sign;
    return sign | ((0x400u | mantissa) >> (1 - exponent));
  }
  return sign | (static_cast<uint32_t>(exponent) << 10) | mantissa;
}

std::optional<IsaValue> parse_value(std::string text) {
  if (text == "*") return IsaValue{IsaValue::Kind::any, 0};
  if (text.ends_with("lane")) {  // [N+][N*]lane
    const size_t plus = text.rfind('+');
    IsaValue value;
    if (plus != std::string::npos) {
      const auto first = parse_value(text.substr(0, plus));
      if (!first || first->per_lane != 0) return std::nullopt;
      value = *first;
      text.erase(0, plus + 1);
    }
    value.per_lane = text == "lane" ? 1 : std::strtoull(text.c_str(), nullptr, 0);
    return text == "lane" || text.ends_with("*lane") ? std::optional(value) : std::nullopt;
  }
  if (text.starts_with("mem/256+")) return IsaValue{IsaValue::Kind::page, std::strtoull(text.c_str() + 8, nullptr, 0)};
  if (text.starts_with("mem") && (text.size() == 3 || text[3] == '+' || text[3] == '-'))
    return IsaValue{IsaValue::Kind::address, static_cast<uint64_t>(std::strtoll(text.c_str() + 3, nullptr, 0))};
  if (text == "nan") return IsaValue{IsaValue::Kind::nan, 0};
  const bool hex = text.find("0x") != std::string::npos;
  const bool is_float = !hex && (text.find('.') != std::string::npos || text.find("inf") != std::string::npos);
  char* end = nullptr;
  if (is_float) {
    char suffix = 'f';
    if (text.back() == 'h' || text.back() == 'd') {
      suffix = text.back();
      text.pop_back();
    }
    const double value = std::strtod(text.c_str(), &end);
    if (*end != '\0') return std::nullopt;
    if (suffix == 'd') return IsaValue{IsaValue::Kind::bits, std::bit_cast<uint64_t>(value)};
    const auto single = static_cast<float>(value);
    return IsaValue{IsaValue::Kind::bits, suffix == 'h' ? half_bits(single) : std::bit_cast<uint32_t>(single)};
  }
  const uint64_t value = text[0] == '-' ? static_cast<uint64_t>(std::strtoll(text.c_str(), &end, 0))
                                        : std::strtoull(text.c_str(), &end, 0);
  if (*end != '\0') return std::nullopt;
  return IsaValue{IsaValue::Kind::bits, value};
}

// "v0", "v[0:1]", "s4", "s[4:5]", "a0", "vcc", "exec", "m0", "scc", "mode", "lds[16]", "mem[16]".
bool parse_place(std::string_view text, IsaAssignment& out) {
  using Where = IsaAssignment::Where;
  const auto fixed = [&](unsigned index, unsigned dwords) {
    out.where = Where::sgpr;
    out.index = index;
    out.dwords = dwords;
    return true;
  };
  if (text == "vcc") return fixed(sreg::kVccLo, 2);
  if (text == "exec") return fixed(sreg::kExecLo, 2);
  if (text == "vcc_lo") return fixed(sreg::kVccLo, 1);
  if (text == "vcc_hi") return fixed(sreg::kVccLo + 1, 1);
  if (text == "m0") return fixed(sreg::kM0, 1);
  if (text == "scc") {
    out.where = Where::scc;
    return true;
  }
  if (text == "mode") {
    out.where = Where::mode;
    return true;
  }
  if (text.starts_with("lds[") || text.starts_with("mem[")) {
    out.where = text[0] == 'l' ? Where::lds : Where::memory;
    out.index = static_cast<unsigned>(std::strtoul(std::string(text.substr(4)).c_str(), nullptr, 0));
    return true;
  }
  if (text.empty()) return false;
  switch (text[0]) {
    case 'v':
      out.where = Where::vgpr;
      break;
    case 'a':
      out.where = Where::agpr;
      break;
    case 's':
      out.where = Where::sgpr;
      break;
    default:
      return false;
  }
  const std::string rest(text.substr(1));
  unsigned first = 0, last = 0;
  if (std::sscanf(rest.c_str(), "[%u:%u]", &first, &last) == 2) {
    out.index = first;
    out.dwords = last - first + 1;
    return last >= first && out.dwords <= 2;
  }
  if (std::sscanf(rest.c_str(), "%u", &first) != 1) return false;
  out.index = first;
  return true;
}

}  // namespace

Expected<std::vector<IsaCase>> parse_isa_file(std::string_view text) {
  static constexpr isa::Target kDefault[] = {isa::Target::gfx803, isa::Target::gfx900, isa::Target::gfx906,
                                             isa::Target::gfx908, isa::Target::gfx90a};
  std::vector<IsaCase> cases;
  enum class Part { initial, assembly, expected } part = Part::expected;
  std::istringstream stream{std::string(text)};
  std::string line;
  const auto bad = [&](unsigned number, std::string_view why) {
    return make_error(ErrorCode::kInvalidArgument, fmt::format("line {}: {}: {}", number, why, line));
  };
  for (unsigned number = 1; std::getline(stream, line); ++number) {
    if (const size_t comment = line.find('#'); comment != std::string::npos) line.resize(comment);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    if (line.empty()) continue;
    if (line.starts_with("case ")) {
      if (!cases.empty() && part != Part::expected) return bad(number, "the case before has no expected part");
      cases.push_back({.name = line.substr(5), .line = number, .targets = {std::begin(kDefault), std::end(kDefault)}});
      part = Part::initial;
      continue;
    }
    if (cases.empty()) return bad(number, "no case yet");
    IsaCase& current = cases.back();
    if (line == "---") {
      part = part == Part::initial ? Part::assembly : Part::expected;
      continue;
    }
    if (part == Part::assembly) {
      current.assembly += line + "\n";
      continue;
    }
    std::istringstream words(line);
    std::string first, second, value;
    words >> first;
    if (part == Part::initial && first == "targets") {
      current.targets.clear();
      while (words >> value) {
        const bool is_not = value.starts_with('!');
        const auto target = isa::parse_target(is_not ? value.substr(1) : value);
        if (!target) return bad(number, "unknown target");
        (is_not ? current.not_targets : current.targets).push_back(*target);
      }
      continue;
    }
    if (part == Part::initial && (first == "mode" || first == "exec")) {
      words >> value;
      (first == "mode"
           ? static_cast<void>(current.mode = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 0)))
           : static_cast<void>(current.exec = std::strtoull(value.c_str(), nullptr, 0)));
      continue;
    }
    if (part == Part::expected && first == "unsupported") {
      if (!(words >> current.unsupported)) return bad(number, "expected a mnemonic");
      continue;
    }
    IsaAssignment assignment;
    if (!parse_place(first, assignment)) return bad(number, "unknown register");
    words >> second;
    if (second != "=") return bad(number, "expected '='");
    while (words >> value) {
      unsigned bytes = 0;
      if (value == "pattern" && words >> bytes) {
        for (unsigned at = assignment.index; at + 4 <= assignment.index + bytes; at += 4) {
          uint64_t word = 0;
          for (unsigned i = 0; i < 4; ++i) word |= uint64_t{((at + i) * 29 + (at + i) / 64 + 3) & 0xff} << (8 * i);
          assignment.values.push_back({IsaValue::Kind::bits, word});
        }
        continue;
      }
      const auto parsed = parse_value(value);
      if (!parsed) return bad(number, "not a value");
      assignment.values.push_back(*parsed);
    }
    const bool in_memory =
        assignment.where == IsaAssignment::Where::lds || assignment.where == IsaAssignment::Where::memory;
    if (assignment.values.empty() || (assignment.values.size() > kWaveSize && !in_memory))
      return bad(number, "1 to 64 values wanted");
    (part == Part::initial ? current.initial : current.expected).push_back(std::move(assignment));
  }
  if (part != Part::expected) return bad(0, "the last case has no expected part");
  return cases;
}

}  // namespace wavejit::test
