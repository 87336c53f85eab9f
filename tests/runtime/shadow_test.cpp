// Shadow mode: what it compares, what it says of a difference, and that the program goes on as without it.
#include "runtime/shadow/shadow.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "runtime/memory/memory_registry.h"
#include "runtime/shadow/options.h"
#include "shadow_dispatch.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

bool is_off(const runtime::LaunchRequest& request, std::string_view name) {
  const auto& off = request.disabled_passes;
  return std::find(off.begin(), off.end(), name) != off.end();
}

TEST_F(ShadowMode, EnginesAgreeAndTheProcessSeesNothing) {
  const Out out(kItems * 4);
  const Counters counters = counters_of(Dispatch(ids(), {out.words()}));
  EXPECT_EQ(counters.of(Verdict::equal), 1u);
  EXPECT_EQ(counters.compared(), 1u);
  EXPECT_GE(counters.bytes, 2 * kItems * 4);
  EXPECT_EQ(said_, "");
  EXPECT_TRUE(std::all_of(out.words(), out.words() + kItems, [](uint32_t word) { return word == 0; }));
}

TEST_F(ShadowMode, TheLaunchRunsBesideIt) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  Shadow shadow({}, [this](std::string_view text) { said_ += text; });
  for (unsigned round = 0; round < 20; ++round) {
    shadow.begin(dispatch.request());
    dispatch.launch();
    for (uint32_t i = 0; i < kItems; ++i) {
      ASSERT_EQ(out.words()[i], i);
      out.words()[i] = round;
    }
  }
  shadow.finish();
  EXPECT_EQ(shadow.counters().of(Verdict::equal), 20u);
  EXPECT_EQ(said_, "");
}

// Test programs of AMD's libraries catch SIGSEGV themselves, once everything is loaded.
TEST_F(ShadowMode, TheProgramMayHaveAHandlerOfItsOwn) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  EXPECT_EQ(counters_of(dispatch).of(Verdict::equal), 1u);
  struct sigaction own{}, before{};
  own.sa_handler = [](int) { _exit(3); };
  ASSERT_EQ(sigaction(SIGSEGV, &own, &before), 0);
  const Counters counters = counters_of(dispatch);
  ASSERT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
  EXPECT_EQ(counters.of(Verdict::equal), 1u);
}

TEST_F(ShadowMode, ASignalThatEndsAnEngineIsADifference) {
  const Out out(kItems * 4);
  const Counters counters = counters_of(Dispatch(ids(), {out.words()}), [](const runtime::LaunchRequest& request) {
    if (request.engine == runtime::Engine::jit) raise(SIGTERM);
  });
  EXPECT_EQ(counters.of(Verdict::different), 1u);
  EXPECT_EQ(said_, "shadow: Kernel 'ids': signal 15 ended the process of its JIT.");
}

// A JIT that is wrong unless one optimisation is off.
TEST_F(ShadowMode, ADifferenceIsNamedWithItsSwitch) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  const Counters counters = counters_of(dispatch, [&](const runtime::LaunchRequest& request) {
    if (request.engine == runtime::Engine::jit && !is_off(request, "full-exec")) out.words()[33] = 0x3f800000;
  });
  EXPECT_EQ(counters.of(Verdict::different), 1u);
  EXPECT_NE(said_.find("Kernel 'ids' (gfx906"), std::string::npos) << said_;
  EXPECT_NE(said_.find("at byte 132 of buffer 'out' (1024 bytes"), std::string::npos) << said_;
  EXPECT_NE(said_.find("0x00 before, interpreter 0x21, JIT 0x00"), std::string::npos) << said_;
  EXPECT_NE(said_.find("interpreter 0x00000021 (4.62428e-44), JIT 0x3f800000 (1)"), std::string::npos) << said_;
  EXPECT_NE(said_.find("3 bytes differ, in 1 pages"), std::string::npos) << said_;
  EXPECT_NE(said_.find("They agree when one of these optimisations is off: full-exec."), std::string::npos) << said_;
}

TEST_F(ShadowMode, SwitchesThatHaveToBeOffTogetherAreFound) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  (void)counters_of(dispatch, [&](const runtime::LaunchRequest& request) {
    if (request.engine == runtime::Engine::jit && (!is_off(request, "full-exec") || !is_off(request, "lds-size")))
      out.words()[33] = 1;
  });
  EXPECT_NE(said_.find("They agree when all of these optimisations are off: full-exec, lds-size."), std::string::npos)
      << said_;
}

TEST_F(ShadowMode, ADifferenceWithoutOptimisationsIsSaid) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  (void)counters_of(dispatch, [&](const runtime::LaunchRequest& request) {
    if (request.engine == runtime::Engine::jit) out.words()[33] = 1;
  });
  EXPECT_NE(said_.find("It is the same without all optimisations."), std::string::npos) << said_;
}

// Writes of one engine alone: to pages that the other one leaves as they were.
TEST_F(ShadowMode, WritesElsewhereAreFound) {
  const Out out(kItems * 4), other(1 << 20);
  const Dispatch dispatch(ids(), {out.words()});
  const Counters counters = counters_of(dispatch, [&](const runtime::LaunchRequest& request) {
    if (request.engine == runtime::Engine::interpreter) other.words()[100'000] = 1;
  });
  EXPECT_EQ(counters.of(Verdict::different), 1u);
  EXPECT_NE(said_.find("at byte 400000 of buffer 'out' (1048576 bytes"), std::string::npos) << said_;
}

TEST_F(ShadowMode, PayloadsOfNansDoNotCount) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  const AfterRun nans = [&](const runtime::LaunchRequest& request) {
    out.words()[5] = request.engine == runtime::Engine::jit ? 0x7fc00000 : 0xffc12345;
  };
  EXPECT_EQ(counters_of(dispatch, nans).of(Verdict::other_nans), 1u);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(counters_of(dispatch, nans, {.strict_nans = true}).of(Verdict::different), 1u);
  EXPECT_NE(said_.find("bytes of NaNs differ"), std::string::npos) << said_;
}

// 0 and 1 as f64: all bits of either are set in a NaN, too.
TEST_F(ShadowMode, NumbersAreNoNans) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  const Counters counters = counters_of(dispatch, [&](const runtime::LaunchRequest& request) {
    out.words()[32] = 0;
    out.words()[33] = request.engine == runtime::Engine::jit ? 0x3ff00000 : 0;
  });
  EXPECT_EQ(counters.of(Verdict::different), 1u);
  EXPECT_NE(said_.find("2 bytes differ, in 1 pages"), std::string::npos) << said_;
}

TEST_F(ShadowMode, NansOf64BitsDoNotCountEither) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  const Counters counters = counters_of(dispatch, [&](const runtime::LaunchRequest& request) {
    out.words()[32] = request.engine == runtime::Engine::jit ? 1 : 2;
    out.words()[33] = 0x7ff80000;
  });
  EXPECT_EQ(counters.of(Verdict::other_nans), 1u);
  EXPECT_EQ(said_, "");
}

TEST_F(ShadowMode, VariablesOfOtherCodeObjectsCount) {
  const auto other = *runtime::Module::load(assemble(kShadowTarget, {{.name = "k", .body = R"(
.pushsection .data,"aw"
.globl counters
.type counters,@object
.p2align 4
counters: .fill 256, 4, 0
.size counters, 1024
.popsection
)"}}));
  ASSERT_EQ(other->object().variables().size(), 1u);
  auto* const counters = reinterpret_cast<uint32_t*>(other->object().variables()[0].address);
  const Dispatch dispatch(ids(), {counters});
  EXPECT_EQ(counters_of(dispatch).of(Verdict::equal), 1u) << said_;
  EXPECT_EQ(said_, "");
  const AfterRun wrong = [&](const runtime::LaunchRequest& request) {
    if (request.engine == runtime::Engine::jit) counters[5] = 12;
  };
  EXPECT_EQ(counters_of(dispatch, wrong).of(Verdict::different), 1u);
}

// Work-groups take tickets. Both engines have them take turns in the same order, so the JIT is made wrong.
TEST_F(ShadowMode, KernelsThatDependOnOrderAreRecognised) {
  const Out next(4), out(64 * 4);
  const KernelSource tickets{.name = "tickets",
                             .body = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_lshl_b32 s8, s2, 2
  v_mov_b32_e32 v5, 1
  s_waitcnt lgkmcnt(0)
  s_add_u32 s6, s6, s8
  s_addc_u32 s7, s7, 0
  s_mov_b64 exec, 1
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  flat_atomic_add v4, v[2:3], v5 glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_mov_b32_e32 v6, s6
  v_mov_b32_e32 v7, s7
  store v[6:7], v4
)",
                             .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
                             .args = {{"next"}, {"out"}}};
  const Dispatch dispatch(tickets, {next.words(), out.words()}, 64 * kItems);
  EXPECT_EQ(counters_of(dispatch).of(Verdict::equal), 1u);
  const Counters counters = counters_of(dispatch, [&](const runtime::LaunchRequest& request) {
    if (request.engine == runtime::Engine::jit) std::swap(out.words()[3], out.words()[4]);
  });
  EXPECT_EQ(counters.of(Verdict::order_dependent), 1u);
  EXPECT_EQ(counters.compared(), 0u);
  EXPECT_EQ(said_, "");
}

// Waits for a word that the host writes.
KernelSource waiter() {
  return {.name = "waiter",
          .body = std::string(kOwnAddress) + R"(
.Lagain:
  s_load_dword s8, s[4:5], 0x400 glc
  s_waitcnt lgkmcnt(0)
  s_sleep 1
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 .Lagain
  store v[6:7], v0
)",
          .args = {{"out"}}};
}

TEST_F(ShadowMode, KernelsThatWaitForTheHostAreLeftOut) {
  const Out out(2 * kItems * 4);
  const Dispatch dispatch(waiter(), {out.words()});
  EXPECT_EQ(counters_of(dispatch).of(Verdict::waits), 1u);
  EXPECT_EQ(counters_of(dispatch, nullptr, {.limit_s = 0.2}).of(Verdict::too_long), 1u);
}

// System calls write to what a dispatch uses while it and its shadow run.
TEST_F(ShadowMode, SystemCallsMayWriteToTheMemory) {
  const Out out(1 << 20);
  const Dispatch dispatch(waiter(), {out.words()});
  Shadow shadow({}, [this](std::string_view text) { said_ += text; });
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(zeros, 0);
  std::fill_n(out.words(), (1 << 20) / 4, 7u);
  out.words()[0x400 / 4] = 0;
  shadow.begin(dispatch.request());
  std::thread kernel([&] { dispatch.launch(); });
  for (unsigned round = 0; round < 100; ++round) {
    ASSERT_EQ(read(zeros, out.words() + 1024, 1'000'000), 1'000'000);
    out.words()[1024] = 7;
  }
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const uint32_t go = 1;
  ASSERT_EQ(write(ends[1], &go, sizeof go), 4);
  ASSERT_EQ(read(ends[0], out.words() + 0x400 / 4, sizeof go), 4);  // the kernel's end
  kernel.join();
  for (const int file : {zeros, ends[0], ends[1]}) close(file);
  EXPECT_EQ(out.words()[kItems - 1], kItems - 1);
  shadow.finish();
  EXPECT_EQ(shadow.counters().of(Verdict::waits), 1u);
  EXPECT_EQ(said_, "");
}

// Memory that other processes share is not theirs in the shadow.
TEST_F(ShadowMode, SharedMappingsAreCopied) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  runtime::register_memory(reinterpret_cast<uint64_t>(memory), kItems * 4, "shared");
  EXPECT_EQ(counters_of(Dispatch(ids(), {memory})).of(Verdict::equal), 1u);
  EXPECT_EQ(static_cast<uint32_t*>(memory)[1], 0u);
  EXPECT_EQ(counters_of(Dispatch(ids(), {memory}),
                        [&](const runtime::LaunchRequest& request) {
                          if (request.engine == runtime::Engine::jit) static_cast<uint32_t*>(memory)[9] = 1;
                        })
                .of(Verdict::different),
            1u);
  EXPECT_NE(said_.find("at byte 36 of buffer 'shared'"), std::string::npos) << said_;
  runtime::unregister_memory(reinterpret_cast<uint64_t>(memory));
  munmap(memory, 4096);
}

TEST_F(ShadowMode, ErrorsOfBothEnginesAreNoDifference) {
  EXPECT_EQ(counters_of(Dispatch(ids(), {nullptr})).of(Verdict::error), 1u);
}

// Stores to a page that may only be read and lies in front of all that is compared.
TEST_F(ShadowMode, StoresElsewhereAreErrors) {
  auto* const low = reinterpret_cast<void*>(uint64_t{1} << 28);
  void* const memory = mmap(low, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(memory, low);
  const Out out(kItems * 4);
  EXPECT_EQ(counters_of(Dispatch(ids(), {memory})).of(Verdict::error), 1u);
  munmap(memory, 4096);
}

TEST_F(ShadowMode, ManyScatteredPagesAreCompared) {
  constexpr size_t kBytes = 64 << 20;
  const Out out(kBytes);
  KernelSource scattered = ids();  // 64 KiB apart
  scattered.body =
      scattered.body.replace(scattered.body.find("v_lshlrev_b32_e32 v2, 2"), 23, "v_lshlrev_b32_e32 v2, 16");
  const Dispatch dispatch(scattered, {out.words()});
  EXPECT_EQ(counters_of(dispatch).of(Verdict::equal), 1u);
  const Counters counters = counters_of(dispatch, [&](const runtime::LaunchRequest& request) {
    if (request.engine == runtime::Engine::jit) out.words()[kBytes / 4 - 1] = 5;
  });
  EXPECT_EQ(counters.of(Verdict::different), 1u);
}

TEST(ShadowOptions, AreParsed) {
  const auto parse = runtime::shadow::parse;
  EXPECT_EQ(parse("")->every, 1u);
  EXPECT_EQ(parse("1")->every, 1u);
  const Expected<Options> options = parse("every:7,limit:0.5,jobs:3,nans,abort,kernel:^a,b$");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->every, 7u);
  EXPECT_EQ(options->limit_s, 0.5);
  EXPECT_EQ(options->jobs, 3u);
  EXPECT_TRUE(options->abort && options->strict_nans);
  EXPECT_TRUE(std::regex_search("a,b", *options->kernel));
  EXPECT_FALSE(std::regex_search("xa,b", *options->kernel));
  for (const char* wrong : {"every:0", "every:x", "limit:-1", "limit:0", "jobs:0", "jobs:65", "often", "kernel:(",
                            "kernel:a,abort", "kernel:a,limit:2"})
    EXPECT_FALSE(parse(wrong)) << wrong;
}

TEST(ShadowCounters, SummaryNamesEachCount) {
  runtime::shadow::Counters counters{.dispatches = 27, .verdicts = {0, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(counters.skipped(), 13u);
  EXPECT_EQ(summary(counters),
            "27 dispatches: 9 compared (2 equal, 3 equal but for NaNs' payloads, 4 different), 5 order-dependent, "
            "13 skipped (6 left out by the options, 7 waiting for the host or other dispatches).");
}

TEST_F(ShadowMode, AsManyAreUnderWayAsWanted) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  for (const unsigned jobs : {1u, 4u}) {
    Shadow shadow(*runtime::shadow::parse("jobs:" + std::to_string(jobs)), [](std::string_view) {});
    for (unsigned i = 0; i < 9; ++i) shadow.begin(dispatch.request());
    EXPECT_EQ(shadow.counters().compared(), 9 - jobs);
    shadow.finish();
    EXPECT_EQ(shadow.counters().of(Verdict::equal), 9u);
  }
}

TEST_F(ShadowMode, OptionsChooseDispatches) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  Options options = *runtime::shadow::parse("every:3");
  Shadow shadow(options, [](std::string_view) {});
  for (unsigned i = 0; i < 7; ++i) shadow.begin(dispatch.request());
  shadow.finish();
  EXPECT_EQ(
      summary(shadow.counters()),
      "7 dispatches: 3 compared (3 equal, 0 different), 0 order-dependent, 4 skipped (4 left out by the options).");
  EXPECT_EQ(counters_of(dispatch, nullptr, *runtime::shadow::parse("kernel:other")).of(Verdict::left_out), 1u);
  EXPECT_EQ(counters_of(dispatch, nullptr, *runtime::shadow::parse("kernel:i.s")).compared(), 1u);
}

// Code that parent and child translate after a fork lies in different memory.
TEST_F(ShadowMode, ForkedProcessesTranslateForThemselves) {
  const auto runs_right = [](const Dispatch& dispatch, const Out& out, uint32_t factor) {
    dispatch.launch();
    for (uint32_t i = 0; i < kItems; ++i)
      if (out.words()[i] != factor * i) return false;
    return true;
  };
  KernelSource doubled = ids();
  doubled.body = std::string(kOwnAddress) + "  v_add_u32_e32 v1, v0, v0\n  store v[6:7], v1\n";
  const Out out(kItems * 4);
  const Dispatch warm(ids(), {out.words()}), in_child(ids(), {out.words()}), in_parent(doubled, {out.words()});
  ASSERT_TRUE(runs_right(warm, out, 1));
  int to_child[2], to_parent[2];
  ASSERT_TRUE(pipe(to_child) == 0 && pipe(to_parent) == 0);
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    bool right = runs_right(in_child, out, 1) && write(to_parent[1], &byte, 1) == 1;
    right = right && read(to_child[0], &byte, 1) == 1 && runs_right(in_child, out, 1);
    _exit(right ? 0 : 1);
  }
  ASSERT_EQ(read(to_parent[0], &byte, 1), 1);
  EXPECT_TRUE(runs_right(in_parent, out, 2));
  ASSERT_EQ(write(to_child[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (const int file : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) close(file);
}

}  // namespace
}  // namespace wavejit::test
