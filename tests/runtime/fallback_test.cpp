// Code that cannot be translated: AUTO interprets it, the JIT says why, and everything is usable afterwards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "failing_allocations.h"
#include "internal/check.h"
#include "internal/stop_scope.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

// The work-item id is multiplied by itself in a function, so that there are two units.
KernelSource square() {
  return {.name = "square",
          .body = std::string(kOwnAddress) + R"(
  s_getpc_b64 s[10:11]
.Lhere:
  s_add_u32 s10, s10, .Lsquare-.Lhere
  s_addc_u32 s11, s11, 0
  v_mov_b32_e32 v1, v0
  s_swappc_b64 s[12:13], s[10:11]
  s_barrier
  s_branch .Lend
.Lsquare:
  v_mul_u32_u24_e32 v1, v1, v1
  s_setpc_b64 s[12:13]
.Lend:
  store v[6:7], v1
)",
          .args = {{"out"}}};
}

Module loaded(const std::vector<uint8_t>& object) {
  return Module::load_memory(object.data(), object.size());
}

class Fallback : public testing::Test {
 protected:
  void SetUp() override { unsetenv("WAVEJIT_STRICT"); }
  void TearDown() override {
    checks::g_failing = 0;
    g_failing_allocation = 0;
    setenv("WAVEJIT_STRICT", "1", 1);
  }

  // Launches until nothing is interpreted any more, or what is has been found to stay so. The number of fallbacks.
  [[nodiscard]] static uint32_t launch(const Module& module, const TestEngine& engine) {
    Kernel kernel = module.kernel("square");
    for (;;) {
      Buffer<uint32_t> out(256);
      kernel.set_args(out);
      const LaunchStats stats = kernel.launch(launch_options(engine, 256, 128));
      for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(out[i], i * i);
      if (engine.engine == WAVEJIT_ENGINE_INTERP || stats.fallbacks != 0 || stats.interpreted_workgroups == 0)
        return stats.fallbacks;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // Has one fail after the other, of the later ones some, until none is left; returns how many there were.
  static unsigned fail_each(std::atomic<uint64_t>& failing) {
    const std::vector<uint8_t> object = assemble("gfx906", {square()});
    unsigned failed = 0;
    for (uint64_t number = 1;; number += 1 + number / 16) {
      failing = number;
      const Module module = loaded(object);
      (void)launch(module, auto_engine());
      const bool all_passed = failing != 0;
      failing = 0;
      // What is kept of a failed translation does no harm to the next one.
      for (const TestEngine& engine : engines()) (void)launch(loaded(object), engine);
      if (all_passed) return failed;
      ++failed;
      if (testing::Test::HasFailure()) return failed;
    }
  }
};

TEST_F(Fallback, EachCheckOfTheTranslator) {
  EXPECT_GT(fail_each(checks::g_failing), 20u);
}

TEST_F(Fallback, AllocationsOfTheTranslator) {
  if (!kAllocationsFail) GTEST_SKIP() << "sanitizer";
  EXPECT_GT(fail_each(g_failing_allocation), 20u);
}

TEST_F(Fallback, IsSaidAndCounted) {
  checks::g_failing = 1;
  const Module module = load("gfx906", {square()});
  testing::internal::CaptureStderr();
  EXPECT_GT(launch(module, auto_engine()), 0u);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("Kernel 'square' is interpreted from"), std::string::npos) << said;
  EXPECT_EQ(said.find("wavejit:"), said.rfind("wavejit:")) << said;
}

TEST_F(Fallback, IsAnErrorForTheJitAndIfStrict) {
  for (const TestEngine& engine : engines()) {
    if (engine.engine != WAVEJIT_ENGINE_JIT) continue;
    checks::g_failing = 1;
    const Module module = load("gfx906", {square()});
    try {
      (void)launch(module, engine);
      FAIL() << "ended";
    } catch (const Exception& e) {
      EXPECT_EQ(e.status(), WAVEJIT_INTERNAL) << e.what();
      EXPECT_NE(std::string_view(e.what()).find("internal error at"), std::string_view::npos) << e.what();
    }
  }
  setenv("WAVEJIT_STRICT", "1", 1);
  checks::g_failing = 1;
  const Module module = load("gfx906", {square()});
  try {
    (void)launch(module, auto_engine());
    FAIL() << "ended";
  } catch (const Exception& e) {
    EXPECT_EQ(e.status(), WAVEJIT_INTERNAL) << e.what();
  }
}

// As at the process's exit. Nothing is remembered of it: the next launch has the kernel translated.
TEST_F(Fallback, TranslationsThatAreStopped) {
  for (const TestEngine& engine : engines()) {
    if (engine.engine != WAVEJIT_ENGINE_JIT) continue;
    const Module module = load("gfx906", {square()});
    std::atomic<bool> stop{true};
    {
      const StopScope scope(stop);
      try {
        (void)launch(module, engine);
        FAIL() << "ended";
      } catch (const Exception& e) {
        EXPECT_EQ(e.status(), WAVEJIT_TIMEOUT) << e.what();
        EXPECT_NE(std::string_view(e.what()).find("translation of square was stopped"), std::string_view::npos)
            << e.what();
      }
      stop = false;
      (void)launch(module, engine);
    }
    (void)launch(module, engine);
  }
}

// Wherever the translation has come to.
TEST_F(Fallback, TranslationsThatAreStoppedAnywhere) {
  const std::vector<TestEngine> all = engines();
  const TestEngine engine = *std::ranges::find(all, WAVEJIT_ENGINE_JIT, &TestEngine::engine);
  const auto expect_ends_or_stops = [&](std::chrono::microseconds after) {
    const Module module = load("gfx906", {square()});
    std::atomic<bool> stop{false};
    std::thread other([&] {
      std::this_thread::sleep_for(after);
      stop = true;
    });
    bool stopped = false;
    try {
      const StopScope scope(stop);
      (void)launch(module, engine);
    } catch (const Exception& e) {
      EXPECT_EQ(e.status(), WAVEJIT_TIMEOUT) << e.what();
      stopped = true;
    }
    other.join();
    (void)launch(module, engine);
    return !stopped;
  };
  constexpr std::chrono::microseconds kStep{20}, kMost{1'000'000};
  // From the first of its steps to where it is over.
  auto after = kStep;
  while (after < kMost && !expect_ends_or_stops(after)) after += std::max(kStep, after / 16);
  EXPECT_LT(after, kMost);
}

// However short the launch is: it does not wait for the background to find out again.
TEST_F(Fallback, WhatIsKnownIsKnownAtOnce) {
  const TestEngine jit{"jit", WAVEJIT_ENGINE_JIT, WAVEJIT_ISA_AUTO};
  if (!wavejit_isa_supported(WAVEJIT_ISA_AVX2)) GTEST_SKIP() << "this CPU has no JIT";
  const Module module = load("gfx906", {square()});
  Kernel kernel = module.kernel("square");
  Buffer<uint32_t> out(256);
  kernel.set_args(out);
  checks::g_failing = 1;
  EXPECT_THROW((void)kernel.launch(launch_options(jit, 256, 128)), Exception);
  for (int round = 0; round < 3; ++round) {
    const LaunchStats stats = kernel.launch(launch_options(auto_engine(), 256, 128));
    EXPECT_EQ(stats.fallbacks, 1u);
    EXPECT_EQ(stats.interpreted_workgroups, 2u);
    for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(out[i], i * i);
  }
  setenv("WAVEJIT_STRICT", "1", 1);
  EXPECT_THROW((void)kernel.launch(launch_options(auto_engine(), 256, 128)), Exception);
}

// Too many blocks for one unit, in a loop that goes through all of them: the lanes count the blocks that they take part in.
TEST_F(Fallback, VeryLargeFunctionsAreCut) {
  constexpr unsigned kBlocks = 17'000, kRounds = 3;
  KernelSource large{.name = "large",
                     .body = std::string(kOwnAddress) + fmt::format(R"(
  v_mov_b32_e32 v1, 0
  v_and_b32_e32 v5, 3, v0
  s_mov_b32 s6, 0
  s_mov_b32 s7, 0
  s_getpc_b64 s[14:15]
  .rept {}
  s_add_u32 s6, s6, 1
  s_bitcmp1_b32 s6, 1
  s_cbranch_scc1 1f
  v_add_u32_e32 v1, v1, v5
1:
  .endr
  s_add_u32 s7, s7, 1
  s_cmp_eq_u32 s7, {}
  s_cbranch_scc1 2f
  s_setpc_b64 s[14:15]
2:
  store v[6:7], v1
)",
                                                                    kBlocks, kRounds),
                     .args = {{"out"}}};
  setenv("WAVEJIT_STRICT", "1", 1);
  const std::vector<uint8_t> object = assemble("gfx906", {large});
  unsigned taken = 0;
  for (unsigned i = 1; i <= kBlocks * kRounds; ++i) taken += (i >> 1 & 1) == 0;
  for (const TestEngine& engine : engines_and_auto()) {
    SCOPED_TRACE(engine.name);
    const Module module = loaded(object);
    Kernel kernel = module.kernel("large");
    Buffer<uint32_t> out(256);
    kernel.set_args(out);
    const LaunchStats stats = kernel.launch(launch_options(engine, 128, 128));
    if (engine.engine == WAVEJIT_ENGINE_JIT) {
      EXPECT_GE(stats.translations + stats.cached_translations, 2u);
    }
    for (unsigned i = 0; i < 128; ++i) ASSERT_EQ(out[i], taken * (i & 3)) << i;
  }
}

// A unit that begins with VGPR indexing on would choose between 256 registers for each operand.
TEST_F(Fallback, CodeEnteredWithIndexingOnIsInterpreted) {
  constexpr unsigned kRounds = 40, kCalls = 3;
  const KernelSource indexing{.name = "indexing",
                              .body = std::string(kOwnAddress) + fmt::format(R"(
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v10, 5
  v_mov_b32_e32 v11, 7
  v_lshlrev_b32_e32 v12, 1, v0
  s_mov_b32 s6, 2
  s_mov_b32 s7, 0
  s_getpc_b64 s[14:15]
1:
  s_add_u32 s14, s14, 3f-1b
  s_addc_u32 s15, s15, 0
4:
  s_set_gpr_idx_on s6, 1
  s_swappc_b64 s[16:17], s[14:15]
  v_add_u32_e32 v1, v10, v1
  s_barrier
  v_add_u32_e32 v1, v10, v1
  s_set_gpr_idx_off
  v_add_u32_e32 v1, v10, v1
  s_add_u32 s7, s7, 1
  s_cmp_lt_u32 s7, {1}
  s_cbranch_scc1 4b
  s_branch 2f
3:
  .rept {0}
  v_add_u32_e32 v1, v10, v1
  .endr
  s_setpc_b64 s[16:17]
2:
  store v[6:7], v1
)",
                                                                             kRounds, kCalls),
                              .args = {{"out"}}};
  setenv("WAVEJIT_STRICT", "1", 1);
  const std::vector<uint8_t> object = assemble("gfx906", {indexing});
  for (const TestEngine& engine : engines_and_auto()) {
    SCOPED_TRACE(engine.name);
    const Module module = loaded(object);
    Kernel kernel = module.kernel("indexing");
    Buffer<uint32_t> out(256);
    kernel.set_args(out);
    const LaunchStats stats = kernel.launch(launch_options(engine, 128, 128));
    EXPECT_LT(stats.host_instructions, 10'000u);
    if (engine.engine == WAVEJIT_ENGINE_JIT) {
      // What follows has a unit of its own, and counts of what was interpreted alone are none.
      EXPECT_GE(stats.translations + stats.cached_translations, 2u);
      EXPECT_EQ(stats.guest_instructions, 0u);
      EXPECT_EQ(stats.moved_waves, 0u);
    }
    for (unsigned i = 0; i < 128; ++i) ASSERT_EQ(out[i], kCalls * ((kRounds + 2) * 2 * i + 5)) << i;
  }
}

}  // namespace
}  // namespace wavejit::test
