// Runs every *.isa file of this folder on every engine: one test per file and target.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "backend-x86/compiler.h"
#include "tests/isa/isa_file.h"
#include "tests/support/assembler.h"
#include "tests/support/engine_runner.h"

namespace wavejit::test {
namespace {

constexpr uint32_t kLdsBytes = 4096;
constexpr uint64_t kMarker = 0x5ca1ab1e0ddba11ull;  // separates cases in one assembled section

std::vector<std::string> isa_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(WAVEJIT_ISA_TEST_DIR))
    if (entry.path().extension() == ".isa") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
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

uint64_t resolve(const IsaValue& value, unsigned lane) {
  return value.kind == IsaValue::Kind::lane ? lane : value.bits;
}

void apply(WaveState& wave, std::vector<uint8_t>& lds, const IsaAssignment& a) {
  using Where = IsaAssignment::Where;
  switch (a.where) {
    case Where::scc:
      wave.scc = static_cast<uint32_t>(a.values[0].bits);
      break;
    case Where::sgpr:
      wave.sgpr[a.index] = static_cast<uint32_t>(a.values[0].bits);
      if (a.dwords == 2) wave.sgpr[a.index + 1] = static_cast<uint32_t>(a.values[0].bits >> 32);
      break;
    case Where::lds: {
      const auto word = static_cast<uint32_t>(a.values[0].bits);
      std::memcpy(lds.data() + a.index, &word, 4);
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
  Checker(const WaveState& actual, const std::vector<uint8_t>& lds) : actual_(actual), lds_(lds) {}

  // Marks what the case names, compares it, then compares everything else with the state before.
  std::string check(const IsaCase& c, const WaveState& before, const std::vector<uint8_t>& lds_before) {
    WaveState& model = *model_;
    std::memcpy(static_cast<void*>(&model), &before, sizeof(WaveState));
    std::vector<uint8_t> lds_model = lds_before;
    for (const IsaAssignment& a : c.expected) apply_expected(model, lds_model, a);
    for (unsigned i = 0; i < 128; ++i)
      if (i != kReturnSgpr && i != kReturnSgpr + 1) expect(fmt::format("s{}", i), model.sgpr[i], actual_.sgpr[i]);
    expect("scc", model.scc, actual_.scc);
    for (unsigned row = 0; row < kNumVgprs; ++row) {
      for (unsigned lane = 0; lane < kWaveSize; ++lane) {
        expect(fmt::format("v{} lane {}", row, lane), model.vgpr[row][lane], actual_.vgpr[row][lane]);
        expect(fmt::format("a{} lane {}", row, lane), model.agpr[row][lane], actual_.agpr[row][lane]);
      }
    }
    for (unsigned i = 0; i < kLdsBytes; i += 4) {
      uint32_t want, got;
      std::memcpy(&want, &lds_model[i], 4);
      std::memcpy(&got, &lds_[i], 4);
      expect(fmt::format("lds[{}]", i), want, got);
    }
    return text_;
  }

 private:
  void expect(std::string_view what, uint64_t want, uint64_t got) {
    if (want != got && text_.size() < 800) text_ += fmt::format("    {}: expected {:#x}, got {:#x}\n", what, want, got);
  }

  // Writes the expected value into the model; where the case leaves freedom (nan, *), the actual value if it complies.
  void apply_expected(WaveState& model, std::vector<uint8_t>& lds, const IsaAssignment& a) {
    using Where = IsaAssignment::Where;
    if (a.where != Where::vgpr && a.where != Where::agpr) {
      if (a.values[0].kind != IsaValue::Kind::any) return apply(model, lds, a);
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
  const std::vector<uint8_t>& lds_;
  WavePtr model_ = make_wave();
  std::string text_;
};

class IsaFileTest : public testing::Test {
 public:
  IsaFileTest(std::string path, isa::Target target) : path_(std::move(path)), target_(target) {}

  void TestBody() override {
    std::ifstream file(path_);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto cases = parse_isa_file(text);
    ASSERT_TRUE(cases) << path_ << ": " << cases.error().message;
    std::vector<const IsaCase*> selected;
    for (const IsaCase& c : *cases)
      if (std::find(c.targets.begin(), c.targets.end(), target_) != c.targets.end()) selected.push_back(&c);
    const auto code = assemble_all(target_, selected);
    ASSERT_TRUE(code) << path_ << ": " << code.error().message;
    ASSERT_EQ(code->size(), selected.size());
    for (size_t i = 0; i < selected.size(); ++i) run_case(*selected[i], (*code)[i]);
  }

 private:
  void run_case(const IsaCase& c, const std::vector<uint8_t>& code) {
    const Snippet snippet(target_, code);
    WavePtr before = make_wave(), wave = make_wave();
    std::vector<uint8_t> lds_before(kLdsBytes + backend::kLdsSlack);
    before->mode = c.mode;
    before->set_exec(c.exec);
    before->lds_size = kLdsBytes;
    for (const IsaAssignment& a : c.initial) apply(*before, lds_before, a);
    before->vccz = before->vcc() == 0;
    for (const EngineConfig& engine : host_engines()) {
      std::memcpy(static_cast<void*>(wave.get()), before.get(), sizeof(WaveState));
      std::vector<uint8_t> lds = lds_before;
      wave->lds_base = reinterpret_cast<uint64_t>(lds.data());
      const auto result = run(engine, snippet, *wave);
      if (!result) {
        ADD_FAILURE() << path_ << ":" << c.line << ": " << c.name << " [" << engine.name()
                      << "]: " << result.error().message;
        continue;
      }
      const std::string difference = Checker(*wave, lds).check(c, *before, lds_before);
      EXPECT_TRUE(difference.empty()) << path_ << ":" << c.line << ": " << c.name << " [" << engine.name() << "]\n"
                                      << difference;
    }
  }

  std::string path_;
  isa::Target target_;
};

void register_tests() {
  for (const std::string& path : isa_files()) {
    for (const isa::Target target :
         {isa::Target::gfx803, isa::Target::gfx900, isa::Target::gfx906, isa::Target::gfx908, isa::Target::gfx90a}) {
      const std::string name = std::filesystem::path(path).stem().string();
      testing::RegisterTest(name.c_str(), std::string(isa::to_string(target)).c_str(), nullptr, nullptr, path.c_str(),
                            1, [=]() -> testing::Test* { return new IsaFileTest(path, target); });
    }
  }
}

}  // namespace
}  // namespace wavejit::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  wavejit::test::register_tests();
  return RUN_ALL_TESTS();
}
