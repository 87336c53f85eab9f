// Every kernel case in three processes: one that finds an empty cache, one that finds what the first has left and must
// not translate anything, and one with an empty cache of its own, which must come to the same files byte by byte. The
// processes have their libraries, heaps and stacks in different places, so files that are equal hold no address of
// theirs.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "kernel_case.h"
#include "miscompiled.h"
#include "scratch_directory.h"
#include "wavejit/wavejit.hpp"
#include "wavejit_run.h"

namespace wavejit::test {
namespace {

struct Variant {
  const char *target, *level;
};
constexpr Variant kVariants[] = {{"gfx906", "O3"}, {"gfx906", "O0"}, {"gfx90a", "O3"}};

// Runs everything with a cache in `directory`. A line for each: name, units translated, units from the cache, and OK or
// what went wrong. Code that its compiler has made wrong has to go wrong.
int work(const char* directory, const char* tier) {
  CacheOptions options;
  options.mode = WAVEJIT_CACHE_ON;
  options.directory = directory;
  configure_cache(options);
  const kernels::EngineChoice engine = std::strcmp(tier, "avx512") == 0 ? kernels::kAvx512 : kernels::kAvx2;
  for (const kernels::KernelCaseFactory& factory : kernels::all_cases()) {
    const kernels::KernelCase kernel_case = factory.make(kernels::Size::kTest);
    for (const Variant& variant : kVariants) {
      if (!kernel_case.is_for(variant.target)) continue;
      std::string why;
      uint64_t translations = 0, cached = 0;
      const std::string path =
          kernels::code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, variant.target, variant.level);
      if (const auto run = kernels::WavejitRun::create(kernel_case, path, variant.target, &why)) {
        const wavejit_status status = run->launch(engine, 1, 600'000'000'000, &why);
        const wavejit_status wanted = kernel_case.expect_trap ? WAVEJIT_GUEST_TRAP : WAVEJIT_OK;
        const bool is_right = status == wanted && kernel_case.check(run->read(), &why);
        const bool is_expected = kernels::miscompiled(kernel_case.object, variant.target, variant.level) == nullptr;
        if (is_right && !is_expected) why = "right, which miscompiled.h does not expect";
        if (is_right == is_expected) why = "OK";
        translations = run->translations();
        cached = run->cached_translations();
      }
      std::replace(why.begin(), why.end(), '\n', ' ');
      fmt::print("{}/{}/{} {} {} {}\n", kernel_case.name, variant.target, variant.level, translations, cached, why);
    }
  }
  const wavejit_cache_info info = cache_info();
  fmt::print("cache {} {} {}\n", info.rejected, info.failures, info.problem);
  return 0;
}

struct Outcome {
  uint64_t translations = 0, cached = 0;
  std::string text;
};

class CachedKernels : public testing::TestWithParam<const char*> {
 protected:
  // In a process of its own.
  std::map<std::string, Outcome> run(const std::filesystem::path& directory) {
    const std::string line =
        fmt::format("'{}' --worker '{}' {}", std::filesystem::read_symlink("/proc/self/exe").string(),
                    directory.string(), GetParam());
    std::map<std::string, Outcome> outcomes;
    FILE* pipe = popen(line.c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::string text;
    char buffer[4096];
    while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
    EXPECT_EQ(pclose(pipe), 0);
    std::stringstream lines(text);
    for (std::string name; lines >> name;) {
      Outcome& outcome = outcomes[name];
      lines >> outcome.translations >> outcome.cached;
      std::getline(lines >> std::ws, outcome.text);
    }
    return outcomes;
  }
};

TEST_P(CachedKernels, AreTranslatedOnce) {
  if (wavejit_isa_supported(std::strcmp(GetParam(), "avx512") == 0 ? WAVEJIT_ISA_AVX512 : WAVEJIT_ISA_AVX2) == 0)
    GTEST_SKIP() << "this CPU has no " << GetParam();
  const ScratchDirectory scratch;
  const auto cold = run(scratch.path() / "one");
  const auto warm = run(scratch.path() / "one");
  const auto other = run(scratch.path() / "other");
  ASSERT_EQ(cold.size(), warm.size());
  ASSERT_GT(cold.size(), std::size(kVariants) * kernels::all_cases().size() / 2);
  for (const auto& [name, first] : cold) {
    SCOPED_TRACE(name);
    const Outcome& second = warm.at(name);
    if (name == "cache") {
      // Files that could not be used, writes that failed.
      EXPECT_EQ(first.translations + first.cached, 0u) << first.text;
      EXPECT_EQ(second.translations + second.cached, 0u) << second.text;
      continue;
    }
    EXPECT_EQ(first.text, "OK");
    EXPECT_EQ(second.text, "OK");
    EXPECT_GT(first.translations + first.cached, 0u);  // cases share kernels
    EXPECT_EQ(second.translations, 0u);
    EXPECT_EQ(second.cached, first.translations + first.cached);
  }
  const auto files = entries_of(scratch.path() / "one"), others = entries_of(scratch.path() / "other");
  ASSERT_EQ(files.size(), others.size());
  for (const auto& [name, bytes] : files) EXPECT_TRUE(others.at(name) == bytes) << name;
}

INSTANTIATE_TEST_SUITE_P(Tiers, CachedKernels, testing::Values("avx2", "avx512"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace wavejit::test

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--worker") == 0) return wavejit::test::work(argv[2], argv[3]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
