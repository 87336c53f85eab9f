// Passes, text in and text out: passes/*.ir hold cases separated by lines of '='. A case is
//   ; what it shows
//   ; passes: name, name
//   function ... (input)
//   ; ---
//   function ... (expected, with values numbered in order)
// WAVEJIT_UPDATE_IR_TESTS=1 writes what the passes produce into the files; read the difference before keeping it.
#include "ir/pass.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "ir/interpret.h"
#include "ir/rules.h"
#include "ir/text.h"

namespace wavejit::ir {
namespace {

constexpr std::string_view kSeparator = "; ---\n";
constexpr std::string_view kNextCase = "; ====\n";

std::vector<std::string> split(const std::string& text, std::string_view separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::string> pass_names(const std::string& text) {
  constexpr std::string_view kKey = "; passes: ";
  const size_t start = text.find(kKey);
  if (start == std::string::npos) return {};
  const size_t begin = start + kKey.size();
  return split(text.substr(begin, text.find('\n', begin) - begin), ", ");
}

// Runs the pass, and says so if it does not say what it has done.
std::string run(const Pass& pass, Function& function) {
  const std::string before = print(function);
  const PassResult result = pass.run(function, {});
  if (const std::string problem = verify(function); !problem.empty())
    return "after " + std::string(pass.name) + ": " + problem;
  const std::string after = print(function);
  if (result.changed != (after != before))
    return fmt::format("{} says that it has changed {}", pass.name, result.changed ? "something" : "nothing");
  if (result.settled && pass.run(function, {}).changed) return fmt::format("{} says that it has settled", pass.name);
  return {};
}

// Passes after which all that interpret() records is the same: what lanes read and write, in the same order, and what
// registers hold, whatever led to an entry.
bool keeps_events(const std::string& pass) {
  constexpr std::string_view kPasses[] = {"peephole",     "mask-algebra", "recombine", "phi-pairs",
                                          "gvn",          "cfg",          "dce",       "mask-terms",
                                          "branch-facts", "address",      "licm",      "joined-sums"};
  return std::find(std::begin(kPasses), std::end(kPasses), pass) != std::end(kPasses);
}

// What the function does from each entry, with some register and memory contents.
std::vector<std::string> observe(const Function& function) {
  constexpr uint64_t kSeeds = 4, kMaxSteps = 1000;
  std::vector<std::string> all;
  for (unsigned entry = 0; entry < function.entries.size(); ++entry) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto result = interpret(function, entry, seed, kMaxSteps);
      if (!result) return {};
      all.insert(all.end(), result->events.begin(), result->events.end());
    }
  }
  return all;
}

// `counts`: by Rule, of all cases together.
std::string transform(const std::string& text, std::vector<uint32_t>& counts) {
  auto function = parse(text);
  if (!function) return function.error().message;
  if (const std::string problem = verify(**function); !problem.empty()) return "input: " + problem;
  const std::vector<std::string> names = pass_names(text);
  const bool compare = std::all_of(names.begin(), names.end(), keeps_events);
  const std::vector<std::string> expected = compare ? observe(**function) : std::vector<std::string>();
  for (const std::string& name : names) {
    const auto all = pipeline();
    const auto pass = std::find_if(all.begin(), all.end(), [&](const Pass& p) { return p.name == name; });
    if (pass == all.end()) return "no pass " + name;
    if (std::string problem = run(*pass, **function); !problem.empty()) return problem;
  }
  if (!expected.empty() && observe(**function) != expected) return "another meaning:\n" + print(**function);
  for (size_t i = 0; i < counts.size(); ++i) counts[i] += (*function)->rule_counts[i];
  (*function)->renumber();
  return print(**function);
}

std::filesystem::path path_of(const std::string& file) {
  return std::filesystem::path(WAVEJIT_IR_PASS_CASES) / file;
}
std::string read(const std::string& file) {
  std::ifstream in(path_of(file));
  return {std::istreambuf_iterator<char>(in), {}};
}

class IrPass : public testing::TestWithParam<std::string> {};

TEST_P(IrPass, Cases) {
  const std::string text = read(GetParam());
  ASSERT_FALSE(text.empty());
  std::vector<uint32_t> counts(kNumRules);
  const bool update = std::getenv("WAVEJIT_UPDATE_IR_TESTS") != nullptr;
  std::string updated;
  for (const std::string& test_case : split(text, kNextCase)) {
    const std::vector<std::string> halves = split(test_case, kSeparator);
    const std::string result = transform(halves[0], counts);
    ASSERT_FALSE(pass_names(halves[0]).empty()) << halves[0];
    ASSERT_TRUE(parse(result).has_value()) << result << halves[0];
    if (!updated.empty()) updated += kNextCase;
    updated += halves[0] + std::string(kSeparator) + result;
    if (update) continue;
    ASSERT_EQ(halves.size(), 2u) << halves[0];
    EXPECT_EQ(result, halves[1]) << halves[0];
  }
  if (update) std::ofstream(path_of(GetParam())) << updated;
}

std::vector<std::string> case_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(WAVEJIT_IR_PASS_CASES)) {
    if (entry.path().extension() == ".ir") files.push_back(entry.path().filename());
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Files, IrPass, testing::ValuesIn(case_files()), [](const auto& info) {
  std::string name = info.param.substr(0, info.param.find('.'));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// A rule that fires nowhere is a fault of the rule, or of its condition. Every row has a case that shows it.
TEST(IrRules, EachFiresInACase) {
  std::vector<uint32_t> counts(kNumRules);
  for (const std::string& file : case_files())
    for (const std::string& test_case : split(read(file), kNextCase))
      (void)transform(split(test_case, kSeparator)[0], counts);
  for (size_t i = 0; i < kNumRules; ++i)
    EXPECT_NE(counts[i], 0u) << "no case of tests/ir/passes fires " << rules()[i].pass << ' ' << rules()[i].name << ": "
                             << rules()[i].meaning;
}

TEST(IrRules, BelongToPasses) {
  for (const RuleInfo& rule : rules()) {
    const auto all = pipeline();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Pass& pass) { return pass.name == rule.pass; }))
        << rule.name << " is of " << rule.pass;
    EXPECT_NE(rule.meaning, "") << rule.name;
  }
}

TEST(IrPipeline, DisablesAndDumpsByName) {
  constexpr std::string_view kText = R"(function "f"
entry 0x0 b0
block b0
  %0:i32 = const #1
  %1:i32 = add %0, %0
  set_sgpr #4 %1
  exit.end
)";
  auto function = parse(kText);
  ASSERT_TRUE(function.has_value());
  PassContext context;
  context.verify = true;
  for (const Pass& pass : pipeline()) context.disabled.emplace_back(pass.name);
  std::vector<std::string> titles;
  context.dump = {"before:peephole", "after:all"};
  context.dump_sink = [&](std::string_view title, const Function&) { titles.emplace_back(title); };
  optimise(**function, context);
  EXPECT_EQ(print(**function), kText);
  EXPECT_TRUE(titles.empty());
  std::erase(context.disabled, "peephole");
  std::erase(context.disabled, "dce");
  optimise(**function, context);
  EXPECT_EQ((*function)->num_insts(), 3u);
  EXPECT_EQ(titles.at(0), "before:peephole");
  EXPECT_EQ(titles.at(1), "after:peephole");
  EXPECT_EQ(titles.back(), "after:dce");
}

}  // namespace
}  // namespace wavejit::ir
