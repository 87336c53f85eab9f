// The file with translated code that profilers read.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

// A unit in the file: what it says of the code, and the code.
struct Unit {
  uint64_t address = 0;
  std::string name, code;
};

std::vector<Unit> units_of(const std::string& folder, pid_t process) {
  const std::string path = fmt::format("{}/jit-{}.dump", folder, process);
  std::ifstream file(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::remove(path.c_str());
  const auto number = [&](size_t at, size_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, all.data() + at, bytes);
    return value;
  };
  std::vector<Unit> units;
  if (all.size() < 40) return units;
  EXPECT_EQ(all.substr(0, 4), "DTiJ");
  EXPECT_EQ(number(8, 4), 40u);
  EXPECT_EQ(number(20, 4), static_cast<uint64_t>(process));
  uint64_t time = number(24, 8);
  for (size_t at = 40; at < all.size(); at += number(at + 4, 4)) {
    const uint64_t bytes_of_record = number(at + 4, 4);
    EXPECT_GT(bytes_of_record, 56u);
    EXPECT_LE(at + bytes_of_record, all.size());
    if (bytes_of_record <= 56 || at + bytes_of_record > all.size()) return {};
    EXPECT_LE(time, number(at + 8, 8));
    time = number(at + 8, 8);
    EXPECT_EQ(number(at, 4), 0u);
    EXPECT_EQ(number(at + 16, 4), static_cast<uint64_t>(process));
    EXPECT_EQ(number(at + 24, 8), number(at + 32, 8));
    EXPECT_EQ(number(at + 48, 8), units.size());
    const std::string name = all.c_str() + at + 56;
    const size_t code = at + 56 + name.size() + 1, bytes = number(at + 40, 8);
    EXPECT_EQ(code + bytes, at + number(at + 4, 4));
    units.push_back({.address = number(at + 32, 8), .name = name, .code = all.substr(code, bytes)});
  }
  return units;
}

void launch(const TestEngine& engine, const std::string& name) {
  const Module module =
      load("gfx906", {{.name = name, .body = std::string(kOwnAddress) + "  store v[6:7], v0\n", .args = {{"out"}}}});
  Kernel kernel = module.kernel(name);
  Buffer<uint32_t> out(64);
  kernel.set_args(out);
  (void)kernel.launch(launch_options(engine, 64, 64));
  EXPECT_EQ(out[63], 63u);
}

std::vector<TestEngine> translators() {
  std::vector<TestEngine> all = engines();
  std::erase_if(all, [](const TestEngine& engine) { return engine.engine == WAVEJIT_ENGINE_INTERP; });
  return all;
}

class JitDump : public testing::TestWithParam<TestEngine> {};

// Calls `work` in a child process and waits for it. Each process writes a jitdump of its own.
template <typename Work>
pid_t child_running(Work&& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return child;
}

TEST_P(JitDump, HasTranslatedCode) {
  const std::string folder = testing::TempDir();
  const pid_t parent = child_running([&] {
    launch(GetParam(), "before");
    setenv("WAVEJIT_JITDUMP", folder.c_str(), 1);
    launch(GetParam(), "first");
    launch(GetParam(), "second");
    const pid_t child = child_running([&] { launch(GetParam(), "third"); });
    const std::vector<Unit> units = units_of(folder, child);
    ASSERT_EQ(units.size(), 1u);
    EXPECT_EQ(units[0].name.substr(0, 7), "third [");
  });
  const std::vector<Unit> units = units_of(folder, parent);
  ASSERT_EQ(units.size(), 2u);
  const std::string tier = GetParam().isa == WAVEJIT_ISA_AVX512 ? " [AVX-512]" : " [AVX2]";
  EXPECT_EQ(units[0].name, "first" + tier);
  EXPECT_EQ(units[1].name, "second" + tier);
  for (const Unit& unit : units) {
    EXPECT_NE(unit.address, 0u);
    EXPECT_GT(unit.code.size(), 16u);
    EXPECT_NE(unit.code.find('\xc3'), std::string::npos) << "no ret";
  }
}

TEST_P(JitDump, FoldersThatAreNotThere) {
  (void)child_running([] {
    setenv("WAVEJIT_JITDUMP", "/nowhere/at/all", 1);
    testing::internal::CaptureStderr();
    launch(GetParam(), "first");
    launch(GetParam(), "second");
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              fmt::format("wavejit: WAVEJIT_JITDUMP: /nowhere/at/all/jit-{}.dump cannot be created: No such file or "
                          "directory\n",
                          getpid()));
  });
}

INSTANTIATE_TEST_SUITE_P(Engines, JitDump, testing::ValuesIn(translators()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wavejit::test
