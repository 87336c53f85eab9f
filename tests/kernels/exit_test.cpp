// Threads that translate and run kernels, and destructors of programs that launch some, may outlive static destruction.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "wavejit_run.h"

namespace wavejit::kernels {
namespace {

// 64-bit divisions, for one: the pass that finds them keeps a pattern.
void divide() {
  const KernelCase kernel_case = find_case("u64_math")->make(Size::kTest);
  for (const EngineChoice& engine : {kInterpreter, kAvx2}) {
    std::string why;
    const std::string path = code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, "gfx906", "O3");
    const auto run = WavejitRun::create(kernel_case, path, "gfx906", &why);
    if (run == nullptr || run->launch(engine, 2, 60'000'000'000, &why) != WAVEJIT_OK ||
        !kernel_case.check(run->read(), &why)) {
      std::fprintf(stderr, "%s: %s\n", engine.name, why.c_str());
      _exit(1);
    }
  }
}

TEST(KernelExit, KernelsRunAfterStaticDestruction) {
  EXPECT_EXIT(
      {
        // Registered first, called last: behind the destructors of what translating makes.
        std::atexit(divide);
        divide();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace wavejit::kernels
