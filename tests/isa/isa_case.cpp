#include "tests/isa/isa_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "frontend/isa/info.h"
#include "internal/check.h"
#include "tests/support/assembler.h"

namespace wavejit::test {
namespace {

constexpr uint32_t kGdsAt = 32768, kScratchAt = 16384, kScratchBytes = (kGdsAt - kScratchAt) / kWaveSize;
constexpr uint64_t kMarker = 0x5ca1ab1e0ddba11ull;  // separates cases in one assembled section

}  // namespace

std::map<std::string, std::vector<std::string>> isa_files(const std::string& directory) {
  namespace fs = std::filesystem;
  std::map<std::string, std::vector<std::string>> groups;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().extension() != ".isa") continue;
    const fs::path relative = fs::relative(entry.path(), directory);
    groups[relative.has_parent_path() ? relative.begin()->string() : relative.stem().string()].push_back(
        entry.path().string());
  }
  for (auto& [name, files] : groups) std::sort(files.begin(), files.end());
  return groups;
}

Expected<std::vector<std::vector<uint8_t>>> assemble_all(isa::Target target, const std::vector<const IsaCase*>& cases) {
  std::string source = ".text\n";
  for (const IsaCase* c : cases) source += c->assembly + fmt::format(".quad {:#x}\n", kMarker);
  auto bytes = assemble(target, source);
  if (!bytes) return tl::make_unexpected(bytes.error());
  std::vector<std::vector<uint8_t>> result;
  size_t begin = 0;
  for (size_t i = 0; i + 8 <= bytes->size(); i += 4) {
    uint64_t word;
    std::memcpy(&word, bytes->data() + i, 8);
    if (word != kMarker) continue;
    result.emplace_back(bytes->begin() + static_cast<std::ptrdiff_t>(begin),
                        bytes->begin() + static_cast<std::ptrdiff_t>(i));
    begin = i + 8;
    i += 4;
  }
  return result;
}

Bytes& live_memory() {
  static Bytes memory(kMemoryBytes);
  return memory;
}

uint64_t resolve(const IsaValue& value, unsigned lane) {
  const auto memory = reinterpret_cast<uint64_t>(live_memory().data());
  const uint64_t base = value.kind == IsaValue::Kind::address ? memory
                        : value.kind == IsaValue::Kind::page  ? memory / kPage
                                                              : uint64_t{0};
  return base + value.bits + value.per_lane * lane;
}

void apply(WaveState& wave, Memory& memory, const IsaAssignment& a) {
  using Where = IsaAssignment::Where;
  switch (a.where) {
    case Where::scc:
      wave.scc = static_cast<uint32_t>(a.values[0].bits);
      break;
    case Where::mode:
      wave.mode = static_cast<uint32_t>(a.values[0].bits);
      break;
    case Where::sgpr: {
      const uint64_t bits = resolve(a.values[0], 0);
      wave.sgpr[a.index] = static_cast<uint32_t>(bits);
      if (a.dwords == 2) wave.sgpr[a.index + 1] = static_cast<uint32_t>(bits >> 32);
      break;
    }
    case Where::lds:
    case Where::memory: {
      auto& bytes = a.where == Where::lds ? memory.lds : memory.global;
      WAVEJIT_CHECK(a.index + 4 * a.values.size() <= bytes.size(), "the case writes beyond its memory");
      for (size_t i = 0; i < a.values.size(); ++i) {
        const auto word = static_cast<uint32_t>(a.values[i].bits);
        std::memcpy(bytes.data() + a.index + 4 * i, &word, 4);
      }
      break;
    }
    default:
      for (unsigned lane = 0; lane < kWaveSize; ++lane) {
        const uint64_t bits = resolve(a.values[lane % a.values.size()], lane);
        auto& file = a.where == Where::vgpr ? wave.vgpr : wave.agpr;
        file[a.index][lane] = static_cast<uint32_t>(bits);
        if (a.dwords == 2) file[a.index + 1][lane] = static_cast<uint32_t>(bits >> 32);
      }
  }
}

void set_initial(const IsaCase& c, WaveState& wave, Memory& memory) {
  wave.mode = c.mode;
  wave.set_exec(c.exec);
  wave.lds_size = kLdsBytes;
  for (const IsaAssignment& a : c.initial) apply(wave, memory, a);
  wave.vccz = wave.vcc() == 0;
}

void attach(WaveState& wave, Memory& memory) {
  live_memory() = memory.global;
  const auto global = reinterpret_cast<uint64_t>(live_memory().data());
  wave.lds_base = reinterpret_cast<uint64_t>(memory.lds.data());
  wave.gds_base = global + kGdsAt;
  wave.gds_size = kMemoryBytes - kGdsAt;
  wave.scratch_base = global + kScratchAt;
  wave.scratch_bytes_per_lane = kScratchBytes;
}

std::optional<IsaCase> case_of(const IsaCase& c, isa::Target target) {
  const auto listed = [&](isa::Target t) {
    return std::find(c.targets.begin(), c.targets.end(), t) != c.targets.end();
  };
  if (listed(target)) return c;
  if (target != isa::Target::gfx942 || !listed(isa::Target::gfx90a) || !c.unsupported.empty() || !c.not_targets.empty())
    return std::nullopt;
  static const std::set<std::string, std::less<>> kMissing = [] {
    std::set<std::string, std::less<>> names;
    for (unsigned i = 0; i < isa::kNumOpcodes; ++i) {
      const auto opcode = static_cast<isa::Opcode>(i);
      if (!isa::available(opcode, isa::Target::gfx942)) names.emplace(isa::opcode_name(opcode));
    }
    return names;
  }();
  static const std::regex kGds(R"(\bgds\b)"), kToLds(R"(^(global|scratch)_.*\blds\b)"), kSuffix("_(e32|e64|sdwa|dpp)$");
  // There v_cndmask has the modifiers of floating-point numbers instead, and dot products no op_sel (LLVM).
  static const std::regex kOther(R"(^v_cndmask_b32_sdwa.*\bsext\b|^v_dot\d_.*\bop_sel)");
  static const std::regex kGlc(R"(\bglc\b)"), kSlc(R"(\bslc\b)"), kScc(R"(\bscc\b)");
  IsaCase result = c;
  result.assembly.clear();
  std::istringstream lines(c.assembly);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    const std::string name = std::regex_replace(line.substr(0, line.find(' ')), kSuffix, "");
    if (kMissing.contains(name) || std::regex_search(line, kGds) || std::regex_search(line, kToLds) ||
        std::regex_search(line, kOther))
      return std::nullopt;
    if (!line.starts_with("s_")) {
      line = std::regex_replace(line, kGlc, "sc0");
      line = std::regex_replace(line, kSlc, "nt");
      line = std::regex_replace(line, kScc, "sc1");
    }
    result.assembly += line + "\n";
  }
  return result;
}

}  // namespace wavejit::test
