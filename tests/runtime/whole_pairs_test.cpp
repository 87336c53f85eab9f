// Two aligned dwords of a lane may be one 64-bit atomic access: what another thread writes or reads there is never half
// of it. That is what decoupled look-back relies on, with a flag beside each sum.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

constexpr unsigned kLanes = 64, kRounds = 8000;

struct Shape {
  std::string_view target;
  bool global;    // else flat
  unsigned step;  // bytes from lane to lane
  bool known;     // in the code; else an argument
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const std::string_view target : {"gfx803", "gfx906", "gfx90a"})
    for (const bool global : {false, true})
      for (const unsigned step : {0u, 8u, 24u})
        for (const bool known : {false, true})
          if (!global || !is_gfx8(target)) all.push_back({target, global, step, known});
  return all;
}

// Each lane loads a pair again and again and says whether the halves have ever differed, or stores pairs of equal
// halves.
KernelSource pairs(const Shape& shape, bool loads) {
  const std::string_view space = shape.global ? "global" : "flat", off = shape.global ? ", off" : "";
  const std::string access = loads ? fmt::format("{}_load_dwordx2 v[10:11], v[8:9]{} glc", space, off)
                                   : fmt::format("{}_store_dwordx2 v[8:9], v[10:11]{}", space, off);
  return {.name = "pairs",
          .body = fmt::format(R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s9, s[0:1], 0x10
  s_waitcnt lgkmcnt(0)
  v_mul_u32_u24_e32 v1, {}, v0
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v4, s7
  add_co v8, s6, v1
  addc v9, v4, v3
  v_mov_b32_e32 v12, 0
  s_movk_i32 s8, {}
.Lloop:
  v_mov_b32_e32 v10, s8
  v_mov_b32_e32 v11, s8
  {}
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_cmp_ne_u32_e32 vcc, v10, v11
  v_cndmask_b32_e64 v5, 0, 1, vcc
  v_or_b32_e32 v12, v12, v5
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lloop
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v4, s5
  add_co v6, s4, v2
  addc v7, v4, v3
  store v[6:7], v12
)",
                              shape.known ? fmt::format("{}", shape.step) : "s9", kRounds, access),
          .args = {{"out"}, {"data"}, {"step", 4, "by_value"}}};
}

class WholePairs : public testing::TestWithParam<TestEngine> {};

// The other thread does `work` until the kernel ends.
template <class Work>
void with_thread(const Shape& shape, bool loads, Buffer<uint32_t>& out, Buffer<uint64_t>& data, Work work) {
  const Module module = load(shape.target, {pairs(shape, loads)});
  Kernel kernel = module.kernel("pairs");
  kernel.set_args(out, data, shape.step);
  std::atomic<bool> running{false}, done{false};
  std::thread thread([&] {
    for (uint32_t i = 0; !done; ++i) {
      for (uint64_t& pair : data) work(pair, i);
      running = true;
    }
  });
  while (!running) std::this_thread::yield();
  (void)kernel.launch(launch_options(WholePairs::GetParam(), kLanes, kLanes));
  done = true;
  thread.join();
}

TEST_P(WholePairs, OfLoads) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(fmt::format("{} {} {} {}", shape.target, shape.global ? "global" : "flat", shape.step, shape.known));
    Buffer<uint32_t> out(kLanes);
    Buffer<uint64_t> data(3 * kLanes);
    with_thread(shape, true, out, data, [](uint64_t& pair, uint32_t i) {
      std::atomic_ref(pair).store(uint64_t{i} << 32 | i, std::memory_order_relaxed);
    });
    for (unsigned lane = 0; lane < kLanes; ++lane) ASSERT_EQ(out[lane], 0u) << lane;
  }
}

TEST_P(WholePairs, OfStores) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(fmt::format("{} {} {} {}", shape.target, shape.global ? "global" : "flat", shape.step, shape.known));
    Buffer<uint32_t> out(kLanes);
    Buffer<uint64_t> data(3 * kLanes);
    unsigned torn = 0;
    with_thread(shape, false, out, data, [&](uint64_t& place, uint32_t) {
      const uint64_t pair = std::atomic_ref(place).load(std::memory_order_relaxed);
      torn += pair >> 32 != (pair & 0xffffffff);
    });
    EXPECT_EQ(torn, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, WholePairs, testing::ValuesIn(engines()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wavejit::test
