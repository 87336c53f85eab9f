// Every instruction that a processor has and wavejit executes has a file of its own, <unit>/<mnemonic>.isa, with a
// case that gets to it on that processor; or the table below says where it is tested.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "frontend/interp/interpreter.h"
#include "frontend/isa/fidelity.h"
#include "frontend/isa/info.h"
#include "tests/isa/isa_case.h"
#include "tests/support/engine_runner.h"

namespace wavejit::test {
namespace {

// What a wave on its own cannot show, or does not return from. The file names the instruction.
struct Elsewhere {
  std::string_view name;
  std::string_view test;  // below tests/
};
constexpr Elsewhere kElsewhere[] = {
    {"s_endpgm", "runtime/ends_test.cpp"},
    {"s_endpgm_saved", "runtime/ends_test.cpp"},
    {"s_endpgm_ordered_ps_done", "runtime/ends_test.cpp"},
    {"s_sendmsghalt", "runtime/ends_test.cpp"},
    {"s_trap", "runtime/ends_test.cpp"},
    {"s_barrier", "runtime/ends_test.cpp"},
    {"ds_gws_init", "runtime/global_sync_test.cpp"},
    {"ds_gws_barrier", "runtime/global_sync_test.cpp"},
    {"ds_gws_sema_v", "runtime/global_sync_test.cpp"},
    {"ds_gws_sema_p", "runtime/global_sync_test.cpp"},
    {"ds_gws_sema_br", "runtime/global_sync_test.cpp"},
    {"ds_gws_sema_release_all", "runtime/global_sync_test.cpp"},
    {"ds_ordered_count", "runtime/global_sync_test.cpp"},
};

bool is_elsewhere(isa::Opcode opcode) {
  const std::string_view name = isa::opcode_name(opcode);
  return std::any_of(std::begin(kElsewhere), std::end(kElsewhere), [&](const Elsewhere& e) { return e.name == name; });
}

// Files by mnemonic, in the folder of the instruction's unit: its format, where it has several the one in which most
// processors have it.
const std::map<std::string, std::filesystem::path, std::less<>>& directed_files() {
  static const auto files = [] {
    std::map<std::string, std::filesystem::path, std::less<>> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(WAVEJIT_ISA_TEST_DIR)) {
      const std::string folder = entry.path().parent_path().filename();
      if (entry.path().extension() == ".isa" && folder != "exceptions" && folder != "limits")
        all.emplace(entry.path().stem(), entry.path());
    }
    return all;
  }();
  return files;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

using Counts = std::array<uint64_t, isa::kNumOpcodes>;

// Adds what the case executes until its end, or until it stops.
void count_executed(const IsaCase& c, isa::Target target, const std::vector<uint8_t>& code, Counts& counts) {
  const Snippet snippet(target, code);
  const interp::CodeRegion region{.base = snippet.base(), .bytes = snippet.bytes()};
  const interp::Interpreter interpreter(target, {&region, 1});
  const WavePtr wave = make_wave();
  Memory memory;
  set_initial(c, *wave, memory);
  attach(*wave, memory);
  wave->pc = snippet.base();
  wave->set_sgpr64(kReturnSgpr, snippet.end_pc());
  constexpr unsigned kResumes = 1000;  // after s_sleep
  for (unsigned i = 0; i < kResumes; ++i)
    if (interpreter.run_counting(*wave, 100'000, counts) != ExitReason::kYield) return;
}

class CoverageTest : public testing::TestWithParam<isa::Target> {};

TEST_P(CoverageTest, EveryInstructionHasAFileThatExecutesIt) {
  const isa::Target target = GetParam();
  std::vector<isa::Opcode> wanted;
  std::vector<IsaCase> selected;
  std::vector<isa::Opcode> tested;  // by each of `selected`
  std::vector<const IsaCase*> cases;
  std::vector<std::string> missing;
  for (unsigned i = 0; i < isa::kNumOpcodes; ++i) {
    const auto opcode = static_cast<isa::Opcode>(i);
    if (!isa::available(opcode, target) || !interp::Interpreter::supports(opcode) || is_elsewhere(opcode)) continue;
    wanted.push_back(opcode);
    const auto file = directed_files().find(isa::opcode_name(opcode));
    if (file == directed_files().end()) continue;
    auto parsed = parse_isa_file(read(file->second));
    ASSERT_TRUE(parsed) << file->second << ": " << parsed.error().message;
    for (const IsaCase& c : *parsed) {
      std::optional<IsaCase> own = case_of(c, target);
      if (!own) continue;
      selected.push_back(std::move(*own));
      tested.push_back(opcode);
    }
  }
  EXPECT_GT(wanted.size(), 700u);
  for (const IsaCase& c : selected) cases.push_back(&c);
  const auto code = assemble_all(target, cases);
  ASSERT_TRUE(code) << code.error().message;
  ASSERT_EQ(code->size(), cases.size());
  std::set<isa::Opcode> executed;
  Counts counts{};
  for (size_t i = 0; i < selected.size(); ++i) {
    if (executed.contains(tested[i])) continue;
    counts.fill(0);
    count_executed(selected[i], target, (*code)[i], counts);
    if (counts[static_cast<size_t>(tested[i])] != 0) executed.insert(tested[i]);
  }
  for (const isa::Opcode opcode : wanted)
    if (!executed.contains(opcode))
      missing.push_back(fmt::format("{} {}", isa::format_name(opcode), isa::opcode_name(opcode)));
  EXPECT_TRUE(missing.empty()) << missing.size() << " without a case that executes the instruction:\n  "
                               << fmt::format("{}", fmt::join(missing, "\n  "));
}

INSTANTIATE_TEST_SUITE_P(Targets, CoverageTest, testing::ValuesIn(kIsaTargets),
                         [](const auto& param) { return std::string(isa::to_string(param.param)); });

// Each entry of the table is an instruction without a file, which the test it names has.
TEST(CoverageTable, IsCurrent) {
  std::set<std::string_view> names;
  for (unsigned i = 0; i < isa::kNumOpcodes; ++i) {
    const auto opcode = static_cast<isa::Opcode>(i);
    names.insert(isa::opcode_name(opcode));
    if (is_elsewhere(opcode)) {
      EXPECT_FALSE(directed_files().contains(isa::opcode_name(opcode))) << isa::opcode_name(opcode);
    }
    // What nothing executes is graphics or for trap handlers; tests/diff/claims_test.cpp has the errors.
    if (!interp::Interpreter::supports(opcode)) {
      EXPECT_TRUE(isa::info(opcode).is_graphics || isa::is_privileged(opcode)) << isa::opcode_name(opcode);
    }
  }
  for (const Elsewhere& e : kElsewhere) {
    EXPECT_TRUE(names.contains(e.name)) << e.name;
    const std::string text = read(std::filesystem::path(WAVEJIT_ISA_TEST_DIR) / ".." / e.test);
    size_t at = 0;
    const auto is_word = [&](size_t i) { return i < text.size() && (std::isalnum(text[i]) || text[i] == '_'); };
    do at = text.find(e.name, at == 0 ? 0 : at + 1);
    while (at != std::string::npos && (is_word(at - 1) || is_word(at + e.name.size())));
    EXPECT_NE(at, std::string::npos) << e.test << " does not have " << e.name;
  }
}

}  // namespace
}  // namespace wavejit::test
