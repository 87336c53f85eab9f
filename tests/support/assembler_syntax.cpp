#include "tests/support/assembler_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <regex>

namespace wavejit::test {
namespace {

unsigned number(const std::ssub_match& text) {
  return static_cast<unsigned>(std::stoul(text.str()));
}

// The data of buffer instructions with TFE.
std::string with_status(const std::string& line) {
  static const std::regex kOne(R"(^(t?buffer_\w+) v(\d+),)"), kTuple(R"(^(t?buffer_\w+) v\[(\d+):(\d+)\],)");
  std::smatch m;
  if (std::regex_search(line, m, kOne))
    return fmt::format("{} v[{}:{}],{}", m.str(1), number(m[2]), number(m[2]) + 1, m.suffix().str());
  if (std::regex_search(line, m, kTuple))
    return fmt::format("{} v[{}:{}],{}", m.str(1), number(m[2]), number(m[3]) + 1, m.suffix().str());
  return line;
}

// Sixteen address registers, of which those instructions read nine to eleven. The encoding has the first one's number,
// and each takes nine.
std::string with_nine_addresses(const std::string& line) {
  static const std::regex kAddress(R"(^(image_sample_\w+ [^,]+,) v\[(\d+):(\d+)\])");
  std::smatch m;
  if (!std::regex_search(line, m, kAddress) || number(m[3]) != number(m[2]) + 15) return line;
  return fmt::format("{} v[{}:{}]{}", m.str(1), number(m[2]), number(m[2]) + 8, m.suffix().str());
}

template <size_t kCount>
std::optional<uint32_t> index_of(const std::array<std::string_view, kCount>& names, const std::string& name) {
  for (uint32_t i = 0; i < kCount; ++i)
    if (names[i] == name) return i;
  return std::nullopt;
}

// The words of "v_cndmask_b32_sdwa v12, sext(v0), v4, vcc" with its selections: Vega ISA, VOP2 and SDWA.
std::string as_words(const std::string& line) {
  static const std::regex kForm(
      R"(^v_cndmask_b32_sdwa v(\d+), (?:v(\d+)|sext\(v(\d+)\)), (?:v(\d+)|sext\(v(\d+)\)), vcc )"
      R"(dst_sel:(\w+) dst_unused:(\w+) src0_sel:(\w+) src1_sel:(\w+)\s*$)");
  static constexpr std::array<std::string_view, 7> kSelections{"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                               "WORD_0", "WORD_1", "DWORD"};
  static constexpr std::array<std::string_view, 3> kUnused{"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  constexpr uint32_t kSdwa = 0xf9;
  std::smatch m;
  if (!std::regex_search(line, m, kForm)) return line;
  const auto dst = index_of(kSelections, m.str(6)), unused = index_of(kUnused, m.str(7)),
             src0 = index_of(kSelections, m.str(8)), src1 = index_of(kSelections, m.str(9));
  if (!dst || !unused || !src0 || !src1) return line;
  const uint32_t extend0 = m[3].matched ? 1 : 0, extend1 = m[5].matched ? 1 : 0;
  const uint32_t v0 = number(m[extend0 != 0 ? 3 : 2]), v1 = number(m[extend1 != 0 ? 5 : 4]);
  return fmt::format(".long {:#x}, {:#x}", kSdwa | v1 << 9 | number(m[1]) << 17,
                     v0 | *dst << 8 | *unused << 11 | *src0 << 16 | extend0 << 19 | *src1 << 24 | extend1 << 27);
}

bool has(const std::string& line, std::string_view piece) {
  return line.find(piece) != std::string::npos;
}

}  // namespace

std::string in_syntax_of(unsigned llvm, std::string_view source) {
  if (llvm < 17) return std::string(source);
  std::string result;
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find('\n', at), source.size());
    std::string line(source.substr(at, end - at));
    at = end + 1;
    if (has(line, "buffer_") && has(line, " tfe")) line = with_status(line);
    if (line.starts_with("image_sample_")) line = with_nine_addresses(line);
    if (line.starts_with("v_cndmask_b32_sdwa") && has(line, "sext(")) line = as_words(line);
    result += line + '\n';
  }
  return result;
}

}  // namespace wavejit::test
