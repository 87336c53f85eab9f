// The hand-written kernels pass the checks of their cases.
#include "ceilings/ceilings.h"

#include <gtest/gtest.h>

#include "ceilings/ceiling_run.h"
#include "wavejit/wavejit.h"

namespace wavejit::perf {
namespace {

TEST(Ceilings, PassTheChecks) {
  unsigned found = 0;
  for (const kernels::KernelCaseFactory& factory : kernels::all_cases()) {
    for (const CeilingTier tier : {CeilingTier::avx2, CeilingTier::avx512}) {
      const CeilingFunction function = ceiling_function(factory.name, tier);
      if (function == nullptr) continue;
      ++found;
      if (!ceiling_supported(tier)) continue;
      for (const kernels::Size size : {kernels::Size::kTest, kernels::Size::kBench}) {
        SCOPED_TRACE(testing::Message() << factory.name << (tier == CeilingTier::avx2 ? " avx2" : " avx512")
                                        << (size == kernels::Size::kTest ? "" : ", bench size"));
        const kernels::KernelCase kernel_case = factory.make(size);
        CeilingRun run(kernel_case, function);
        run.reset();
        run.run();
        std::string why;
        EXPECT_TRUE(kernel_case.check(run.read(), &why)) << why;
      }
    }
  }
  EXPECT_EQ(found, 18u);
}

}  // namespace
}  // namespace wavejit::perf
