// The kernels and their host references against an independent OpenCL implementation.
#include "opencl_peer.h"

#include <gtest/gtest.h>

#include "kernel_case.h"

namespace wavejit::kernels {
namespace {

class OpenClPeerTest : public testing::TestWithParam<KernelCaseFactory> {};

void run_case(const KernelCase& kernel_case) {
  std::string why;
  std::unique_ptr<OpenClRun> run = OpenClRun::create(kernel_case, WAVEJIT_KERNEL_SOURCE_DIR, &why);
  ASSERT_NE(run, nullptr) << why;
  ASSERT_TRUE(run->launch(&why)) << why;
  std::vector<Buffer> buffers;
  ASSERT_TRUE(run->read(&buffers, &why)) << why;
  EXPECT_TRUE(kernel_case.check(buffers, &why)) << kernel_case.name << ": " << why;
  // The check must be able to fail: untouched buffers are not a result.
  EXPECT_FALSE(kernel_case.check(kernel_case.buffers, nullptr)) << kernel_case.name;
}

TEST_P(OpenClPeerTest, TestSize) {
  KernelCase kernel_case = GetParam().make(Size::kTest);
  if (!kernel_case.opencl_exclusion.empty()) GTEST_SKIP() << kernel_case.opencl_exclusion;
  run_case(kernel_case);
}

TEST_P(OpenClPeerTest, BenchSize) {
  KernelCase kernel_case = GetParam().make(Size::kBench);
  if (!kernel_case.opencl_exclusion.empty()) GTEST_SKIP() << kernel_case.opencl_exclusion;
  run_case(kernel_case);
}

INSTANTIATE_TEST_SUITE_P(Kernels, OpenClPeerTest, testing::ValuesIn(all_cases().begin(), all_cases().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wavejit::kernels
