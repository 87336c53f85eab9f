// Products of matrices by matrix instructions, on every engine, against the host.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "cases_matrix.h"
#include "wavejit_run.h"

namespace wavejit::kernels {
namespace {

class MatrixTest : public testing::TestWithParam<MatrixCase> {};

TEST_P(MatrixTest, MatchesTheHost) {
  const KernelCase kernel_case = GetParam().make(Size::kTest);
  std::vector<EngineChoice> engines = {kInterpreter, kAvx2};
  if (wavejit_isa_supported(WAVEJIT_ISA_AVX512) != 0) engines.push_back(kAvx512);
  for (const std::string_view target : GetParam().targets) {
    for (const char* level : {"O0", "O3"}) {
      for (const EngineChoice& engine : engines) {
        SCOPED_TRACE(std::string(target) + "/" + level + "/" + engine.name);
        std::string why;
        const std::string path = code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, std::string(target), level);
        const std::unique_ptr<WavejitRun> run = WavejitRun::create(kernel_case, path, std::string(target), &why);
        ASSERT_NE(run, nullptr) << why;
        ASSERT_EQ(run->launch(engine, 1, kTimeoutNs, &why), WAVEJIT_OK) << why;
        EXPECT_TRUE(kernel_case.check(run->read(), &why)) << why;
      }
    }
  }
}

// Without each of the optimisations of matrix instructions, and without any: the same result, and each of them changes
// the code of some kernel.
TEST(MatrixSwitches, ChangeCodeAndNoResult) {
  std::vector<std::string> names;
  for (size_t i = 0; const char* name = wavejit_optimisation_name(i); ++i)
    if (std::string_view(name).starts_with("matrix-")) names.emplace_back(name);
  ASSERT_GE(names.size(), 4u);
  std::set<std::string> unchanged(names.begin(), names.end());
  if (!__builtin_cpu_supports("avx512vnni")) unchanged.erase("matrix-dot-products");
  names.emplace_back("all");
  for (const MatrixCase& c : matrix_cases()) {
    const KernelCase kernel_case = c.make(Size::kTest);
    const std::string target(c.targets.back());
    const std::string path = code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, target, "O3");
    for (const EngineChoice& engine : {kAvx2, kAvx512}) {
      if (wavejit_isa_supported(engine.isa) == 0) continue;
      std::string why;
      const std::unique_ptr<WavejitRun> run = WavejitRun::create(kernel_case, path, target, &why);
      ASSERT_NE(run, nullptr) << why;
      const std::string code = run->dump(0, WAVEJIT_DUMP_X86, engine.isa);
      for (const std::string& name : names) {
        SCOPED_TRACE(std::string(c.name) + "/" + engine.name + " without " + name);
        setenv("WAVEJIT_DISABLE_PASSES", name.c_str(), 1);
        run->reset();
        EXPECT_EQ(run->launch(engine, 1, kTimeoutNs, &why), WAVEJIT_OK) << why;
        EXPECT_TRUE(kernel_case.check(run->read(), &why)) << why;
        if (run->dump(0, WAVEJIT_DUMP_X86, engine.isa) != code) unchanged.erase(name);
        unsetenv("WAVEJIT_DISABLE_PASSES");
      }
    }
  }
  EXPECT_EQ(unchanged, std::set<std::string>()) << "names that change no code";
}

INSTANTIATE_TEST_SUITE_P(Kernels, MatrixTest, testing::ValuesIn(matrix_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wavejit::kernels
