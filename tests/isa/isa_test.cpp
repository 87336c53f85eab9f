// Runs every *.isa file of this folder and those below on every engine: one test per file here or folder below, and
// target.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "tests/isa/isa_case.h"
#include "tests/support/engine_runner.h"

namespace wavejit::test {
namespace {

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
      if (i != kReturnSgpr && i != kReturnSgpr + 1)
        expect([&] { return fmt::format("s{}", i); }, model.sgpr[i], actual_.sgpr[i]);
    expect([] { return "scc"; }, model.scc, actual_.scc);
    expect([] { return "mode"; }, model.mode, actual_.mode);
    for (unsigned row = 0; row < kNumVgprs; ++row) {
      expect_row('v', row, model.vgpr[row], actual_.vgpr[row]);
      expect_row('a', row, model.agpr[row], actual_.agpr[row]);
    }
    expect_words("lds", memory_model.lds, memory_.lds, kLdsBytes);
    expect_words("mem", memory_model.global, memory_.global, kMemoryBytes);
    return text_;
  }

 private:
  // `name()` is the name of what is compared; only differences need it.
  template <typename Name>
  void expect(Name&& name, uint64_t want, uint64_t got) {
    if (want != got && text_.size() < 800)
      text_ += fmt::format("    {}: expected {:#x}, got {:#x}\n", name(), want, got);
  }

  void expect_row(char file, unsigned row, const uint32_t (&want)[kWaveSize], const uint32_t (&got)[kWaveSize]) {
    if (std::memcmp(want, got, sizeof want) == 0) return;
    for (unsigned lane = 0; lane < kWaveSize; ++lane)
      expect([&] { return fmt::format("{}{} lane {}", file, row, lane); }, want[lane], got[lane]);
  }

  void expect_words(std::string_view what, const Bytes& want, const Bytes& got, size_t bytes) {
    if (std::memcmp(want.data(), got.data(), bytes) == 0) return;
    for (size_t i = 0; i < bytes; i += 4) {
      uint32_t w, g;
      std::memcpy(&w, &want[i], 4);
      std::memcpy(&g, &got[i], 4);
      expect([&] { return fmt::format("{}[{}]", what, i); }, w, g);
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
    set_initial(c, *before, memory_before);
    for (const EngineConfig& engine : host_engines()) {
      std::memcpy(static_cast<void*>(wave.get()), before.get(), sizeof(WaveState));
      Memory memory = memory_before;
      attach(*wave, memory);
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
    for (const isa::Target target : kIsaTargets) {
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
  // --help is left in argv, and no tests run.
  const bool given = argc > 1 && argv[1][0] != '-';
  const std::string folder = given ? argv[1] : WAVEJIT_ISA_TEST_DIR;
  if (std::error_code error; !std::filesystem::is_directory(folder, error)) {
    std::cerr << "There is no folder '" << folder << "' of .isa files.\n";
    return 2;
  }
  wavejit::test::register_tests(folder);
  return RUN_ALL_TESTS();
}
