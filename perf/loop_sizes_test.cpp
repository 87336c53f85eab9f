// Compares the host instructions in the inner loops of kernels with a table that was made by the same count. Nothing here is
// about results: a pass that stops improving a loop leaves them right, and times are too noisy to show it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "inner_loop.h"
#include "kernel_case.h"
#include "wavejit/wavejit.h"
#include "wavejit_run.h"

namespace wavejit::perf {
namespace {

struct LoopSize {
  const char* kernel;
  uint64_t avx2, avx512;
};

constexpr int kLlvm = 15;  // of the clang that has compiled the table's kernels
constexpr LoopSize kLoopSizes[] = {
#define WAVEJIT_LOOP_SIZE(kernel, avx2, avx512) {#kernel, avx2, avx512},
#include "loop_sizes.def"
#undef WAVEJIT_LOOP_SIZE
};

uint64_t host_instructions(const char* kernel, wavejit_isa isa) {
  const kernels::KernelCaseFactory* factory = kernels::find_case(kernel);
  if (factory == nullptr) {
    ADD_FAILURE() << "no kernel " << kernel;
    return 0;
  }
  const kernels::KernelCase kernel_case = factory->make(kernels::Size::kTest);
  std::string why;
  const auto run = kernels::WavejitRun::create(
      kernel_case, kernels::code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, "gfx906", "O3"), "gfx906", &why);
  if (run == nullptr) {
    ADD_FAILURE() << kernel << ": " << why;
    return 0;
  }
  return inner_loop(run->dump(0, WAVEJIT_DUMP_GCN, isa), run->dump(0, WAVEJIT_DUMP_X86, isa)).host;
}

// With WAVEJIT_PRINT_LOOP_SIZES in the environment: prints the sizes as they are, in the order of the table.
void compare(wavejit_isa isa, uint64_t LoopSize::* expected) {
  if (wavejit_isa_supported(isa) == 0) GTEST_SKIP() << "this CPU has no " << wavejit_isa_string(isa);
  const bool print = std::getenv("WAVEJIT_PRINT_LOOP_SIZES") != nullptr;
  if (WAVEJIT_LLVM != kLlvm && !print) GTEST_SKIP() << "the table is of kernels by clang 15, these are by another one";
  for (const LoopSize& size : kLoopSizes) {
    const uint64_t now = host_instructions(size.kernel, isa), before = size.*expected;
    if (print) {
      std::printf("%s %s %llu\n", size.kernel, wavejit_isa_string(isa), static_cast<unsigned long long>(now));
      continue;
    }
    // Extensions of single CPUs change some loops by a few instructions.
    EXPECT_LE(now, before + before / 10 + 2) << size.kernel << ": the loop has grown";
    EXPECT_GE(now, before - before / 5) << size.kernel << ": the loop has shrunk; let loop_sizes.def say so";
  }
}

TEST(LoopSizes, Avx2) {
  compare(WAVEJIT_ISA_AVX2, &LoopSize::avx2);
}

TEST(LoopSizes, Avx512) {
  compare(WAVEJIT_ISA_AVX512, &LoopSize::avx512);
}

}  // namespace
}  // namespace wavejit::perf
