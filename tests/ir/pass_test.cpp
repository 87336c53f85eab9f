// Passes, text in and text out: passes/*.ir hold cases separated by lines of '='. A case is
//   ; what it shows
//   ; passes: name, name
//   function ... (input)
//   ; ---
//   function ... (expected, with values numbered in order)
// WAVEJIT_UPDATE_IR_TESTS=1 writes what the passes produce into the files; read the difference before keeping it.
#include "ir/pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

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

std::string transform(const std::string& text) {
  auto function = parse(text);
  if (!function) return function.error().message;
  if (const std::string problem = verify(**function); !problem.empty()) return "input: " + problem;
  for (const std::string& name : pass_names(text)) {
    const auto all = pipeline();
    const auto pass = std::find_if(all.begin(), all.end(), [&](const Pass& p) { return p.name == name; });
    if (pass == all.end()) return "no pass " + name;
    (void)pass->run(**function, {});
    if (const std::string problem = verify(**function); !problem.empty()) return "after " + name + ": " + problem;
  }
  (*function)->renumber();
  return print(**function);
}

class IrPass : public testing::TestWithParam<std::string> {};

TEST_P(IrPass, Cases) {
  const std::filesystem::path path = std::filesystem::path(WAVEJIT_IR_PASS_CASES) / GetParam();
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  ASSERT_FALSE(text.empty());
  const bool update = std::getenv("WAVEJIT_UPDATE_IR_TESTS") != nullptr;
  std::string updated;
  for (const std::string& test_case : split(text, kNextCase)) {
    const std::vector<std::string> halves = split(test_case, kSeparator);
    const std::string result = transform(halves[0]);
    ASSERT_FALSE(pass_names(halves[0]).empty()) << halves[0];
    if (!updated.empty()) updated += kNextCase;
    updated += halves[0] + std::string(kSeparator) + result;
    if (update) continue;
    ASSERT_EQ(halves.size(), 2u) << halves[0];
    EXPECT_EQ(result, halves[1]) << halves[0];
  }
  if (update) std::ofstream(path) << updated;
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
