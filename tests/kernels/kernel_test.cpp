// Every kernel case on every target, optimisation level and engine, against its host reference.
//
// One test per case runs all combinations and names those that fail. WAVEJIT_KERNEL_FILTER in the environment limits
// them to those whose name ("gfx906/O3/avx2") contains one of the given comma-separated pieces; WAVEJIT_KERNEL_TIMES=1
// prints the time of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "kernel_case.h"
#include "miscompiled.h"
#include "wavejit_run.h"

namespace wavejit::kernels {
namespace {

constexpr const char* kTargets[] = {"gfx803", "gfx900", "gfx906", "gfx908", "gfx90a"};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> pieces;
  std::stringstream stream(text);
  for (std::string piece; std::getline(stream, piece, separator);)
    if (!piece.empty()) pieces.push_back(piece);
  return pieces;
}

bool selected(const std::string& combination) {
  const char* filter = std::getenv("WAVEJIT_KERNEL_FILTER");
  if (filter == nullptr || *filter == '\0') return true;
  for (const std::string& piece : split(filter, ','))
    if (combination.find(piece) != std::string::npos) return true;
  return false;
}

struct Variant {
  std::string directory;  // "gfx906" or "gfx906-v5"
  std::string target;     // "gfx906"
  std::string level;      // "O0" or "O3"
};

// From "gfx906-v5/O3".
Variant variant_of(const std::string& path) {
  const std::string directory = path.substr(0, path.find('/'));
  return {directory, directory.substr(0, directory.find('-')), path.substr(path.find('/') + 1)};
}

// All variants a case was compiled for. The lists of code object versions and compilers come from CMakeLists.txt.
std::vector<Variant> variants_of(const KernelCase& kernel_case) {
  std::vector<Variant> variants;
  for (const char* target : kTargets)
    for (const char* level : {"O0", "O3"}) variants.push_back({target, target, level});
  const auto add_some = [&](const char* kernels, const char* directories) {
    const std::vector<std::string> names = split(kernels, ',');
    if (std::find(names.begin(), names.end(), kernel_case.object) == names.end()) return;
    for (const std::string& path : split(directories, ',')) variants.push_back(variant_of(path));
  };
  add_some(WAVEJIT_VERSIONED_KERNELS, WAVEJIT_VERSIONED_DIRECTORIES);
  add_some(WAVEJIT_OTHER_KERNELS, WAVEJIT_OTHER_DIRECTORIES);
  if (kernel_case.language == Language::kOpenCl) {
    const std::vector<std::string> excluded = split(WAVEJIT_CLANG14_EXCLUDED, ',');
    const bool clang14 = std::find(excluded.begin(), excluded.end(), kernel_case.object) == excluded.end();
    for (const std::string& path : split(WAVEJIT_COMPILER_DIRECTORIES, ',')) {
      if (clang14 || path.find("-clang14/") == std::string::npos) variants.push_back(variant_of(path));
    }
  }
  std::erase_if(variants, [&](const Variant& variant) { return !kernel_case.is_for(variant.target); });
  return variants;
}

// Runs one combination; an empty result is success, anything else says what went wrong.
std::string run_combination(const KernelCase& kernel_case, const Variant& variant, const EngineChoice& engine) {
  std::string why;
  const std::string path = code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, variant.directory, variant.level);
  std::unique_ptr<WavejitRun> run = WavejitRun::create(kernel_case, path, variant.target, &why);
  if (run == nullptr) return why;
  const wavejit_status status = run->launch(engine, 2, kTimeoutNs, &why);
  if (kernel_case.expect_trap) {
    if (status != WAVEJIT_GUEST_TRAP)
      return std::string("expected a trap, got ") + wavejit_status_string(status) + ": " + why;
    const wavejit_error* error = wavejit_last_error();
    const char* kernel = wavejit_error_kernel(error);
    uint64_t pc = 0;
    if (kernel == nullptr || kernel_case.launches.back().kernel != kernel)
      return std::string("the error names kernel ") + (kernel == nullptr ? "(none)" : kernel) + ": " + why;
    if (wavejit_error_pc(error, &pc) == 0) return "the error has no PC: " + why;
  } else if (status != WAVEJIT_OK) {
    return std::string(wavejit_status_string(status)) + ": " + why;
  }
  return kernel_case.check(run->read(), &why) ? std::string() : "wrong result: " + why;
}

class KernelTest : public testing::TestWithParam<KernelCaseFactory> {};

TEST_P(KernelTest, MatchesTheHostReference) {
  const KernelCase kernel_case = GetParam().make(Size::kTest);
  std::vector<EngineChoice> engines = {kInterpreter, kAvx2};
  if (wavejit_isa_supported(WAVEJIT_ISA_AVX512) != 0) engines.push_back(kAvx512);
  const bool print_times = std::getenv("WAVEJIT_KERNEL_TIMES") != nullptr;
  int combinations = 0;
  for (const Variant& variant : variants_of(kernel_case)) {
    for (const EngineChoice& engine : engines) {
      const std::string name = variant.directory + "/" + variant.level + "/" + engine.name;
      if (!selected(name)) continue;
      ++combinations;
      const auto start = std::chrono::steady_clock::now();
      const std::string why = run_combination(kernel_case, variant, engine);
      if (print_times) {
        const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
        std::printf("  %-24s %8.1f ms  %s\n", name.c_str(), ms.count(), why.empty() ? "ok" : "FAILED");
      }
      if (const char* reason = miscompiled(kernel_case.object, variant.directory, variant.level))
        EXPECT_TRUE(why.starts_with("wrong result") || why.starts_with("guest fault"))
            << kernel_case.name << " " << name << ": expected to fail (" << reason
            << "), but: " << (why.empty() ? "passed" : why);
      else if (!why.empty())
        ADD_FAILURE() << kernel_case.name << " " << name << ": " << why;
    }
  }
  if (combinations == 0) GTEST_SKIP() << "WAVEJIT_KERNEL_FILTER matches no combination";
}

INSTANTIATE_TEST_SUITE_P(Kernels, KernelTest, testing::ValuesIn(all_cases().begin(), all_cases().end()),
                         [](const auto& info) { return std::string(info.param.name); });

// The tests above leave AVX-512 out on a CPU without it; this says so.
TEST(KernelEngines, Avx512IsCovered) {
  if (wavejit_isa_supported(WAVEJIT_ISA_AVX512) == 0) GTEST_SKIP() << "this CPU has no AVX-512";
}

TEST(KernelEngines, Avx2IsCovered) {
  ASSERT_NE(wavejit_isa_supported(WAVEJIT_ISA_AVX2), 0);
}

// A code object holds what its path promises, so that a mix-up in the build cannot hide a missing combination.
TEST(KernelObjects, HaveTheirTargetAndVersion) {
  const KernelCase kernel_case = find_case("vector_add")->make(Size::kTest);
  for (const Variant& variant : variants_of(kernel_case)) {
    wavejit_load_options options{};
    options.size = sizeof options;
    wavejit_module* module = nullptr;
    const std::string path = code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, variant.directory, variant.level);
    ASSERT_EQ(wavejit_module_load_file(path.c_str(), &options, &module), WAVEJIT_OK) << path;
    EXPECT_EQ(std::string(wavejit_module_target(module)).substr(0, 6), variant.target) << path;
    const size_t dash = variant.directory.find("-v");
    const uint32_t version = dash == std::string::npos ? 4 : static_cast<uint32_t>(variant.directory[dash + 2] - '0');
    EXPECT_EQ(wavejit_module_object_version(module), version) << path;
    wavejit_module_destroy(module);
  }
}

}  // namespace
}  // namespace wavejit::kernels
