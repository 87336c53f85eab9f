// Runs every *.isa file of this folder and those below on every engine: one test per file here or folder below, and
// target.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "backend-x86/compiler.h"
#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "internal/check.h"
#include "tests/isa/isa_file.h"
#include "tests/support/assembler.h"
#include "tests/support/engine_runner.h"

namespace wavejit::test {
namespace {

constexpr uint32_t kLdsBytes = 4096;
constexpr uint32_t kMemoryBytes = 65536;
constexpr uint32_t kGdsAt = 32768, kScratchAt = 16384, kScratchBytes = (kGdsAt - kScratchAt) / kWaveSize;
constexpr uint64_t kMarker = 0x5ca1ab1e0ddba11ull;  // separates cases in one assembled section

// Files that are assembled and run together, by the name of the test.
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

// Machine code of each case, from one run of the assembler.
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

// Images start at multiples of 256 bytes.
constexpr size_t kPage = 256;
template <typename T>
struct PageAllocator {
  using value_type = T;
  T* allocate(size_t count) { return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kPage})); }
  void deallocate(T* memory, size_t) { ::operator delete (memory, std::align_val_t{kPage}); }
  bool operator==(const PageAllocator&) const = default;
};
using Bytes = std::vector<uint8_t, PageAllocator<uint8_t>>;

// Global memory and LDS of a case.
struct Memory {
  Bytes global = Bytes(kMemoryBytes);
  Bytes lds = Bytes(kLdsBytes + backend::kLdsSlack);
};

// Every engine works on this buffer, so that addresses are the same in all of them.
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

bool is_nan(uint64_t bits, unsigned dwords) {
  if (dwords == 2) return (bits << 1) > (0x7ff0000000000000ull << 1);
  return (bits & 0x7fffffff) > 0x7f800000 || ((bits >> 16) == 0 && (bits & 0x7fff) > 0x7c00);
}

class Checker {
 public:
  Checker(const WaveState& actual, const Memory& memory) : actual_(actual), memory_(memory) {}

  // Marks what the case names, compares it, then compares everything else with the state before.
  std::string check(const IsaCase& c, const WaveState& before, const Memory& memory_before) {
    WaveState& model = *model_;
    std::memcpy(static_cast<void*>(&model), &before, sizeof(WaveState));
    Memory memory_model = memory_before;
    for (const IsaAssignment& a : c.expected) apply_expected(model, memory_model, a);
    for (unsigned i = 0; i < 128; ++i)
      if (i != kReturnSgpr && i != kReturnSgpr + 1) expect(fmt::format("s{}", i), model.sgpr[i], actual_.sgpr[i]);
    expect("scc", model.scc, actual_.scc);
    expect("mode", model.mode, actual_.mode);
    for (unsigned row = 0; row < kNumVgprs; ++row) {
      for (unsigned lane = 0; lane < kWaveSize; ++lane) {
        expect(fmt::format("v{} lane {}", row, lane), model.vgpr[row][lane], actual_.vgpr[row][lane]);
        expect(fmt::format("a{} lane {}", row, lane), model.agpr[row][lane], actual_.agpr[row][lane]);
      }
    }
    expect_words("lds", memory_model.lds, memory_.lds, kLdsBytes);
    expect_words("mem", memory_model.global, memory_.global, kMemoryBytes);
    return text_;
  }

 private:
  void expect(std::string_view what, uint64_t want, uint64_t got) {
    if (want != got && text_.size() < 800) text_ += fmt::format("    {}: expected {:#x}, got {:#x}\n", what, want, got);
  }

  void expect_words(std::string_view what, const Bytes& want, const Bytes& got, size_t bytes) {
    if (std::memcmp(want.data(), got.data(), bytes) == 0) return;
    for (size_t i = 0; i < bytes; i += 4) {
      uint32_t w, g;
      std::memcpy(&w, &want[i], 4);
      std::memcpy(&g, &got[i], 4);
      expect(fmt::format("{}[{}]", what, i), w, g);
    }
  }

  // Writes the expected value into the model; where the case leaves freedom (nan, *), the actual value if it complies.
  void apply_expected(WaveState& model, Memory& memory, const IsaAssignment& a) {
    using Where = IsaAssignment::Where;
    if (a.where != Where::vgpr && a.where != Where::agpr) {
      if (a.values[0].kind != IsaValue::Kind::any) return apply(model, memory, a);
      if (a.where == Where::scc) model.scc = actual_.scc;
      for (unsigned i = 0; a.where == Where::sgpr && i < a.dwords; ++i)
        model.sgpr[a.index + i] = actual_.sgpr[a.index + i];
      return;
    }
    auto& file = a.where == Where::vgpr ? model.vgpr : model.agpr;
    const auto& source = a.where == Where::vgpr ? actual_.vgpr : actual_.agpr;
    for (unsigned lane = 0; lane < kWaveSize; ++lane) {
      const IsaValue& value = a.values[lane % a.values.size()];
      uint64_t got = source[a.index][lane];
      if (a.dwords == 2) got |= uint64_t{source[a.index + 1][lane]} << 32;
      uint64_t want = resolve(value, lane);
      if (value.kind == IsaValue::Kind::any) want = got;
      if (value.kind == IsaValue::Kind::nan)
        want = is_nan(got, a.dwords) ? got : a.dwords == 2 ? 0x7ff8000000000000ull : 0x7fc00000u;
      file[a.index][lane] = static_cast<uint32_t>(want);
      if (a.dwords == 2) file[a.index + 1][lane] = static_cast<uint32_t>(want >> 32);
    }
  }

  const WaveState& actual_;
  const Memory& memory_;
  WavePtr model_ = make_wave();
  std::string text_;
};

// GFX942 runs the cases of GFX90A, too, if it has all their instructions, with its names for what it calls otherwise.
// Nothing for a case that it cannot run.
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

class IsaFileTest : public testing::Test {
 public:
  IsaFileTest(std::vector<std::string> paths, isa::Target target) : paths_(std::move(paths)), target_(target) {}

  void TestBody() override {
    std::vector<std::pair<const std::string*, IsaCase>> selected;
    std::vector<const IsaCase*> cases;
    for (const std::string& path : paths_) {
      std::ifstream file(path);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      auto parsed = parse_isa_file(text);
      ASSERT_TRUE(parsed) << path << ": " << parsed.error().message;
      for (const IsaCase& c : *parsed)
        if (std::optional<IsaCase> own = case_of(c, target_)) selected.emplace_back(&path, std::move(*own));
    }
    for (const auto& [path, c] : selected) cases.push_back(&c);
    const auto code = assemble_all(target_, cases);
    ASSERT_TRUE(code) << code.error().message;
    ASSERT_EQ(code->size(), selected.size());
    for (size_t i = 0; i < selected.size(); ++i) run_case(*selected[i].first, selected[i].second, (*code)[i]);
  }

 private:
  // Empty if the case ended as it should.
  static std::string ending_problem(const IsaCase& c, const Snippet& snippet, const Expected<void>& result) {
    if (c.unsupported.empty()) return result ? "" : result.error().message;
    if (result) return "runs to its end";
    if (result.error().code != ErrorCode::kUnsupported) return result.error().message;
    const uint64_t pc = result.error().pc.value_or(0), offset = pc - snippet.base();
    isa::Instruction inst;
    if (offset >= snippet.bytes().size() ||
        isa::decode(snippet.target(), snippet.bytes().subspan(offset), pc, inst) != isa::DecodeStatus::ok)
      return "stops at no instruction";
    const std::string_view name = isa::info(inst.opcode).name;
    return name == c.unsupported ? "" : fmt::format("stops at {}", name);
  }

  void run_case(const std::string& path, const IsaCase& c, const std::vector<uint8_t>& code) {
    const Snippet snippet(target_, code);
    WavePtr before = make_wave(), wave = make_wave();
    Memory memory_before;
    before->mode = c.mode;
    before->set_exec(c.exec);
    before->lds_size = kLdsBytes;
    for (const IsaAssignment& a : c.initial) apply(*before, memory_before, a);
    before->vccz = before->vcc() == 0;
    for (const EngineConfig& engine : host_engines()) {
      std::memcpy(static_cast<void*>(wave.get()), before.get(), sizeof(WaveState));
      Memory memory = memory_before;
      live_memory() = memory.global;
      wave->lds_base = reinterpret_cast<uint64_t>(memory.lds.data());
      wave->gds_base = reinterpret_cast<uint64_t>(live_memory().data()) + kGdsAt;
      wave->gds_size = kMemoryBytes - kGdsAt;
      wave->scratch_base = reinterpret_cast<uint64_t>(live_memory().data()) + kScratchAt;
      wave->scratch_bytes_per_lane = kScratchBytes;
      const auto result = run(engine, snippet, *wave);
      if (const std::string problem = ending_problem(c, snippet, result); !problem.empty()) {
        ADD_FAILURE() << path << ":" << c.line << ": " << c.name << " [" << engine.name() << "]: " << problem;
        continue;
      }
      memory.global = live_memory();
      const std::string difference = Checker(*wave, memory).check(c, *before, memory_before);
      EXPECT_TRUE(difference.empty()) << path << ":" << c.line << ": " << c.name << " [" << engine.name() << "]\n"
                                      << difference;
    }
  }

  std::vector<std::string> paths_;
  isa::Target target_;
};

void register_tests(const std::string& directory) {
  for (const auto& group : isa_files(directory)) {
    const std::string& name = group.first;
    const std::vector<std::string>& paths = group.second;
    for (const isa::Target target :
         {isa::Target::gfx600, isa::Target::gfx700, isa::Target::gfx803, isa::Target::gfx900, isa::Target::gfx906,
          isa::Target::gfx908, isa::Target::gfx90a, isa::Target::gfx942}) {
      testing::RegisterTest(name.c_str(), std::string(isa::to_string(target)).c_str(), nullptr, nullptr, __FILE__,
                            __LINE__, [=]() -> testing::Test* { return new IsaFileTest(paths, target); });
    }
  }
}

}  // namespace
}  // namespace wavejit::test

// Another folder may be given.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  wavejit::test::register_tests(argc > 1 ? argv[1] : WAVEJIT_ISA_TEST_DIR);
  return RUN_ALL_TESTS();
}
