// Functions of one code object that kernels of another call by their addresses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

constexpr uint32_t kLanes = 192, kLaunchedGroups = 5;

// A kernel that stores the address of the function behind it, which gets v1 and returns it changed.
KernelSource function(const std::string& name, const std::string& body) {
  return {.name = "where_" + name,
          .body = fmt::format(R"({1}
  s_getpc_b64 s[8:9]
.L{0}_base:
  s_add_u32 s8, s8, {0}-.L{0}_base
  s_addc_u32 s9, s9, 0
  v_mov_b32_e32 v8, s8
  v_mov_b32_e32 v9, s9
  flat_store_dwordx2 v[6:7], v[8:9]
  s_endpgm
.L{0}_where_end:
.size where_{0}, .L{0}_where_end-where_{0}
.globl {0}
.type {0},@function
{0}:
{2}
  s_setpc_b64 s[30:31]
.L{0}_function_end:
.size {0}, .L{0}_function_end-{0}
)",
                              name, kOwnAddress, body),
          .args = {{"out"}}};
}

uint64_t address_of(const Module& module, const std::string& name) {
  Kernel kernel = module.kernel("where_" + name);
  Buffer<uint64_t> out(1);
  kernel.set_args(out);
  LaunchOptions options;
  options.global[0] = options.local[0] = 1;
  options.engine = WAVEJIT_ENGINE_INTERP;  // translations in the background would keep the module
  (void)kernel.launch(options);
  return out[0];
}

// out[i] = what the function returns for i, `calls` times.
KernelSource caller(unsigned calls = 1, const std::string& before = {}) {
  return {.name = "caller",
          .body = fmt::format(R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v5, {0}
  v_mad_u32_u24 v1, s2, v5, v0
  v_lshlrev_b32_e32 v2, 2, v1
  v_mov_b32_e32 v3, 0
  {2}
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  add_co v6, s4, v2
  addc v7, v4, v3
  s_movk_i32 s8, {1}
.Lnext:
  s_swappc_b64 s[30:31], s[6:7]
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lnext
  store v[6:7], v1
)",
                              kLanes, calls, before),
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"out"}, {"function", 8, "by_value"}},
          .lds = 4 * kLanes};
}

struct CalledCase {
  std::string target;
  TestEngine engine;
};

class CalledModules : public testing::TestWithParam<CalledCase> {
 protected:
  void launch(const Module& module, uint64_t address) {
    Kernel kernel = module.kernel("caller");
    kernel.set_args(out_, address);
    (void)kernel.launch(launch_options(GetParam().engine, kLanes * kLaunchedGroups, kLanes, 2));
  }
  // The error of a launch that calls what is at the address.
  std::optional<Exception> error(const Module& module, uint64_t address) {
    try {
      launch(module, address);
    } catch (const Exception& e) {
      return e;
    }
    return std::nullopt;
  }
  [[nodiscard]] const Buffer<uint32_t>& out() const { return out_; }

 private:
  Buffer<uint32_t> out_{kLanes * kLaunchedGroups};
};

TEST_P(CalledModules, AreCalled) {
  const std::string& target = GetParam().target;
  const Module first = load(target, {caller()});
  const Module second = load(target, {function("other", "s_nop 0"), function("triple", "v_mad_u32_u24 v1, v1, 3, 1")});
  launch(first, address_of(second, "triple"));
  for (uint32_t i = 0; i < out().size(); ++i) ASSERT_EQ(out()[i], 3 * i + 1);
  // And with the code of the first still there, another.
  launch(first, address_of(second, "other"));
  for (uint32_t i = 0; i < out().size(); ++i) ASSERT_EQ(out()[i], i);
}

TEST_P(CalledModules, AreCalledManyTimes) {
  constexpr unsigned kCalls = 3000;
  const std::string& target = GetParam().target;
  const Module first = load(target, {caller(kCalls)});
  const Module second = load(target, {function("lane_odd", R"(
  v_and_b32_e32 v10, 1, v0
  v_mad_u32_u24 v1, v10, 2, v1
)")});
  launch(first, address_of(second, "lane_odd"));
  for (uint32_t i = 0; i < out().size(); ++i) ASSERT_EQ(out()[i], i + i % 2 * 2 * kCalls);
}

// Some lanes only; they meet again behind the call.
TEST_P(CalledModules, AreCalledBySomeLanes) {
  const std::string& target = GetParam().target;
  const Module first = load(target, {caller(4, "v_cmp_gt_u32_e32 vcc, 40, v0\n  s_and_saveexec_b64 s[10:11], vcc\n")});
  const Module second = load(target, {function("ten", "v_mov_b32_e32 v10, 10\n  v_mad_u32_u24 v1, v10, 1, v1\n")});
  for (uint32_t i = 0; i < out().size(); ++i) out().data()[i] = 7;
  launch(first, address_of(second, "ten"));
  for (uint32_t i = 0; i < out().size(); ++i) ASSERT_EQ(out()[i], i % kLanes < 40 ? i + 40 : 7) << i;
}

// The waves of a work-group wait for each other inside of the function: v1 of the work-item at the other end.
TEST_P(CalledModules, HaveBarriers) {
  const std::string& target = GetParam().target;
  const Module first = load(target, {caller(3)});
  const Module second = load(target, {function("turn_round", fmt::format(R"(
  s_mov_b32 m0, -1
  v_lshlrev_b32_e32 v10, 2, v0
  v_mov_b32_e32 v11, -4
  v_mov_b32_e32 v12, {}
  v_mad_i32_i24 v11, v0, v11, v12
  ds_write_b32 v10, v1
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v1, v11
  s_waitcnt lgkmcnt(0)
  s_barrier
)",
                                                                         4 * (kLanes - 1)))});
  launch(first, address_of(second, "turn_round"));
  for (uint32_t i = 0; i < out().size(); ++i) ASSERT_EQ(out()[i], i / kLanes * kLanes + kLanes - 1 - i % kLanes);
}

// The function's own calls: of a function of the kernel's code object, and of one of a third.
TEST_P(CalledModules, CallOthers) {
  const std::string& target = GetParam().target;
  const std::string call_s12 = R"(
  s_mov_b64 s[14:15], s[30:31]
  s_swappc_b64 s[30:31], s[12:13]
  s_mov_b64 s[30:31], s[14:15]
)";
  const Module third = load(target, {function("five", "v_mov_b32_e32 v10, 5\n  v_mad_u32_u24 v1, v1, 2, v10\n")});
  const uint64_t five = address_of(third, "five");
  const auto pointer = [](uint64_t address) {
    return fmt::format("s_mov_b32 s12, {:#x}\n  s_mov_b32 s13, {:#x}\n", address & 0xffffffff, address >> 32);
  };
  const Module first = load(target, {caller(), function("seven", "v_mad_u32_u24 v1, v1, 2, 7")});
  const Module second =
      load(target, {function("both", pointer(five) + call_s12 + pointer(address_of(first, "seven")) + call_s12)});
  launch(first, address_of(second, "both"));
  for (uint32_t i = 0; i < out().size(); ++i) ASSERT_EQ(out()[i], (2 * i + 5) * 2 + 7);
}

TEST_P(CalledModules, AreNamedInFaults) {
  const std::string& target = GetParam().target;
  const Module first = load(target, {caller()});
  const Module second = load(target, {function("reader", R"(
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
  flat_load_dword v1, v[10:11]
  s_waitcnt vmcnt(0) lgkmcnt(0)
)"),
                                      function("trapper", "s_trap 2")});
  const uint64_t reader = address_of(second, "reader");
  std::optional<Exception> e = error(first, reader);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->status(), WAVEJIT_GUEST_FAULT) << e->what();
  EXPECT_EQ(e->kernel(), "caller");
  EXPECT_EQ(e->address(), 0u);
  ASSERT_TRUE(e->pc());
  EXPECT_EQ(*e->pc(), reader + 8);
  EXPECT_NE(std::string(e->what()).find("reader+0x8"), std::string::npos) << e->what();

  const uint64_t trapper = address_of(second, "trapper");
  e = error(first, trapper);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->status(), WAVEJIT_GUEST_TRAP) << e->what();
  EXPECT_NE(std::string(e->what()).find(": trapper (pc"), std::string::npos) << e->what();
}

TEST_P(CalledModules, AreGoneWhenTheyAreDestroyed) {
  const std::string& target = GetParam().target;
  const Module first = load(target, {caller()});
  uint64_t address = 0;
  {
    const Module second = load(target, {function("identity", "s_nop 0")});
    address = address_of(second, "identity");
    launch(first, address);
  }
  const std::optional<Exception> e = error(first, address);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->status(), WAVEJIT_ILLEGAL_INSTRUCTION) << e->what();
}

TEST_P(CalledModules, AreOfTheSameTarget) {
  const std::string& target = GetParam().target;
  const Module first = load(target, {caller()});
  const Module second = load(target == "gfx906" ? "gfx900" : "gfx906", {function("identity", "s_nop 0")});
  const std::optional<Exception> e = error(first, address_of(second, "identity"));
  ASSERT_TRUE(e);
  EXPECT_EQ(e->status(), WAVEJIT_ILLEGAL_INSTRUCTION) << e->what();
}

// A launch ends as if the module had been there all the time, or never.
TEST_P(CalledModules, GoWhileTheyAreCalled) {
  const std::string& target = GetParam().target;
  const Module first = load(target, {caller(100)});
  const std::vector<uint8_t> bytes = assemble(target, {function("triple", "v_mad_u32_u24 v1, v1, 3, 1")});
  uint32_t expected = 1;
  for (unsigned i = 0; i < 100; ++i) expected = (expected & 0xffffff) * 3 + 1;
  unsigned answers = 0;
  for (unsigned round = 0; round < 60; ++round) {
    std::optional<Module> second = Module::load_memory(bytes.data(), bytes.size());
    const uint64_t address = address_of(*second, "triple");
    std::atomic<bool> begins{false};
    std::thread other([&] {
      while (!begins.load()) {
      }
      for (unsigned i = 0; i < round * 50; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
      second.reset();
    });
    begins.store(true);
    const std::optional<Exception> e = error(first, address);
    other.join();
    if (e) {
      ASSERT_EQ(e->status(), WAVEJIT_ILLEGAL_INSTRUCTION) << e->what();
    } else {
      ASSERT_EQ(out()[1], expected);
      ++answers;
    }
  }
  RecordProperty("answers", static_cast<int>(answers));
}

std::vector<CalledCase> called_cases() {
  std::vector<CalledCase> all;
  for (const char* target : kTargets) {
    for (const TestEngine& engine : some_engines(target)) all.push_back({target, engine});
    all.push_back({target, auto_engine()});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, CalledModules, testing::ValuesIn(called_cases()), [](const auto& info) {
  return fmt::format("{}_{}_{}", info.param.target, info.param.engine.name, info.index);
});

}  // namespace
}  // namespace wavejit::test
