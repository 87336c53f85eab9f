// Products of matrices by matrix instructions, on every engine, against the host.
#include <gtest/gtest.h>

#include "cases_matrix.h"
#include "wavejit_run.h"

namespace wavejit::kernels {
namespace {

constexpr uint64_t kTimeoutNs = 600'000'000'000;

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

INSTANTIATE_TEST_SUITE_P(Kernels, MatrixTest, testing::ValuesIn(matrix_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wavejit::kernels
