// Kernels without races leave the same bytes whatever the order in which their work-groups and waves have their turns.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "kernel_case.h"
#include "wavejit_run.h"

namespace wavejit::kernels {
namespace {

// WAVEJIT_SCHEDULES=N: so many seeds.
unsigned num_seeds() {
  const char* text = std::getenv("WAVEJIT_SCHEDULES");
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 2;
}

// Another one each time, unless WAVEJIT_SEED says otherwise.
uint64_t first_seed() {
  const char* text = std::getenv("WAVEJIT_SEED");
  if (text) return std::strtoull(text, nullptr, 0);
  return static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1'000'000'007 + 1;
}

class Schedules : public testing::TestWithParam<KernelCaseFactory> {};

TEST_P(Schedules, LeaveTheSameBytes) {
  const KernelCase kernel_case = GetParam().make(Size::kTest);
  std::string why;
  const std::string path = code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, "gfx906", "O3");
  const std::unique_ptr<WavejitRun> run = WavejitRun::create(kernel_case, path, "gfx906", &why);
  ASSERT_NE(run, nullptr) << why;
  const uint64_t first = first_seed();
  for (const EngineChoice& engine : {kInterpreter, kAvx2, kAvx512, kAuto}) {
    if (engine.engine == WAVEJIT_ENGINE_JIT && wavejit_isa_supported(engine.isa) == 0) continue;
    for (uint64_t seed = first; seed < first + num_seeds(); ++seed) {
      SCOPED_TRACE(fmt::format("{}, schedule {}", engine.name, seed));
      run->reset();
      run->set_schedule(seed);
      const wavejit_status status = run->launch(engine, 1 + seed % 3, kTimeoutNs, &why);
      ASSERT_EQ(status, kernel_case.expect_trap ? WAVEJIT_GUEST_TRAP : WAVEJIT_OK) << why;
      EXPECT_TRUE(kernel_case.check(run->read(), &why)) << why;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Schedules, testing::ValuesIn(all_cases().begin(), all_cases().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wavejit::kernels
