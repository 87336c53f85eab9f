// Translated code counts as many executed instructions as the interpreter, for every kernel case.
#include <gtest/gtest.h>

#include "kernel_case.h"
#include "miscompiled.h"
#include "wavejit_run.h"

namespace wavejit::kernels {
namespace {

class InstructionCount : public testing::TestWithParam<KernelCaseFactory> {};

TEST_P(InstructionCount, IsTheInterpreters) {
  const KernelCase kernel_case = GetParam().make(Size::kTest);
  if (kernel_case.object == "atomics64")
    GTEST_SKIP() << "its compare-and-swap loop goes round as often as other waves come in between";
  const auto wanted = kernel_case.expect_trap ? WAVEJIT_GUEST_TRAP : WAVEJIT_OK;
  for (const auto& [target, level] : {std::pair{"gfx906", "O3"}, {"gfx803", "O3"}, {"gfx90a", "O0"}}) {
    if (!kernel_case.is_for(target) || miscompiled(kernel_case.object, target, level) != nullptr) continue;
    SCOPED_TRACE(std::string(target) + "/" + level);
    std::string why;
    const std::string path = code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, target, level);
    const std::unique_ptr<WavejitRun> run = WavejitRun::create(kernel_case, path, target, &why);
    ASSERT_NE(run, nullptr) << why;
    // On one thread, so that work-groups that act on what others left in memory do the same every time.
    ASSERT_EQ(run->launch(kInterpreter, 1, kTimeoutNs, &why), wanted) << why;
    const std::vector<uint64_t> expected = run->instructions();
    for (const uint64_t count : expected) EXPECT_GT(count, 0u);
    for (const EngineChoice& engine : {kAvx2, kAvx512}) {
      if (wavejit_isa_supported(engine.isa) == 0) continue;
      run->reset();
      ASSERT_EQ(run->launch(engine, 1, kTimeoutNs, &why, true), wanted) << engine.name << ": " << why;
      EXPECT_EQ(run->instructions(), expected) << engine.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, InstructionCount, testing::ValuesIn(all_cases().begin(), all_cases().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wavejit::kernels
