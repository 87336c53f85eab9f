// Two aligned dwords of a lane may be one 64-bit atomic access: what another thread writes or reads there is never half
// of it. That is what decoupled look-back relies on, with a flag beside each sum.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

constexpr unsigned kLanes = 64, kRounds = 3000;

struct Shape {
  std::string_view target;
  std::string_view space;
  unsigned step;             // bytes from lane to lane
  bool known;                // in the code; else an argument
  bool one_private = false;  // the last lane's place is in its scratch
};

std::string name_of(const Shape& shape) {
  return fmt::format("{}_{}_{}{}", shape.space, shape.step, shape.known ? "known" : "argument",
                     shape.one_private ? "_one_private" : "");
}

std::vector<std::pair<std::string_view, std::vector<Shape>>> shapes_of_targets() {
  std::vector<std::pair<std::string_view, std::vector<Shape>>> all;
  const std::pair<std::string_view, std::vector<std::string_view>> spaces[] = {
      {"gfx701", {"flat", "buffer"}},
      {"gfx803", {"flat"}},
      {"gfx906", {"flat", "global", "buffer"}},
      {"gfx90a", {"flat", "global", "buffer"}}};
  for (const auto& [target, of_target] : spaces) {
    std::vector<Shape>& shapes = all.emplace_back(target, std::vector<Shape>()).second;
    for (const std::string_view space : of_target)
      for (const unsigned step : {0u, 8u, 24u})
        for (const bool known : {false, true})
          for (const bool one_private : {false, true})
            if (!one_private || space == "flat") shapes.push_back({target, space, step, known, one_private});
  }
  return all;
}

// The operands of the access behind its data. GFX7 has 64-bit addresses in buffer instructions; GFX9 has offsets of 32 bits
// from the beginning of the buffer, which the descriptor in s[12:15] says.
std::string place_of(const Shape& shape) {
  if (shape.space != "buffer") return "";
  return shape.target == "gfx701" ? ", s[12:15], 0 addr64" : ", s[12:15], 0 offen";
}

// Each lane loads a pair again and again and says whether the halves have ever differed, or stores pairs of equal
// halves.
KernelSource pairs(const Shape& shape, bool loads) {
  const bool buffer = shape.space == "buffer", wide = !buffer || shape.target == "gfx701";
  const std::string_view address = wide ? "v[8:9]" : "v1", off = shape.space == "global" ? ", off" : "";
  const std::string_view to_scratch = R"(
  v_cmp_eq_u32_e32 vcc, 63, v0
  v_mov_b32_e32 v4, 16
  v_cndmask_b32_e32 v8, v8, v4, vcc
  v_mov_b32_e32 v4, 0x20000
  v_cndmask_b32_e32 v9, v9, v4, vcc
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
  s_mov_b64 s[16:17], exec
  s_mov_b64 exec, vcc
  flat_store_dwordx2 v[8:9], v[10:11]
  s_mov_b64 exec, s[16:17])";
  std::string access =
      loads    ? fmt::format("{}_load_dwordx2 v[10:11], {}{}{} glc", shape.space, address, off, place_of(shape))
      : buffer ? fmt::format("buffer_store_dwordx2 v[10:11], {}{}", address, place_of(shape))
               : fmt::format("{}_store_dwordx2 {}, v[10:11]{}", shape.space, address, off);
  return {
      .name = name_of(shape),
      .body = fmt::format(R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s9, s[0:1], {}
  s_waitcnt lgkmcnt(0)
  v_mul_u32_u24_e32 v1, {}, v0
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v4, s7
  add_co v8, s6, v1
  addc v9, v4, v3{}
  v_mov_b32_e32 v12, 0
  s_mov_b32 s12, {}
  s_mov_b32 s13, {}
  s_mov_b32 s14, 0x7fffffff
  s_mov_b32 s15, 0x27000
  s_movk_i32 s8, {}
1:
  v_mov_b32_e32 v10, s8
  v_mov_b32_e32 v11, s8
  {}
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_cmp_ne_u32_e32 vcc, v10, v11
  v_cndmask_b32_e64 v5, 0, 1, vcc
  v_or_b32_e32 v12, v12, v5
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 1b
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v4, s5
  add_co v6, s4, v2
  addc v7, v4, v3
  store v[6:7], v12
)",
                          shape.target == "gfx701" ? 4 : 16, shape.known ? fmt::format("{}", shape.step) : "s9",
                          shape.one_private ? to_scratch : "", wide ? "0" : "s6", wide ? "0" : "s7", kRounds, access),
      .args = {{"out"}, {"data"}, {"step", 4, "by_value"}},
      .scratch = shape.one_private ? 64U : 0U};
}

class WholePairs : public testing::TestWithParam<TestEngine> {};

// Runs the kernel of each shape, while another thread does `work` on each pair; then calls `check`.
template <class Work, class Check>
void with_thread(bool loads, Work work, Check check) {
  for (const auto& [target, shapes] : shapes_of_targets()) {
    std::vector<KernelSource> sources;
    for (const Shape& shape : shapes) sources.push_back(pairs(shape, loads));
    const Module module = load(target, sources);
    for (const Shape& shape : shapes) {
      SCOPED_TRACE(fmt::format("{} {}", target, name_of(shape)));
      Buffer<uint32_t> out(kLanes);
      Buffer<uint64_t> data(3 * kLanes);
      Kernel kernel = module.kernel(name_of(shape));
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
      check(out);
    }
  }
}

TEST_P(WholePairs, OfLoads) {
  with_thread(
      true,
      [](uint64_t& pair, uint32_t i) { std::atomic_ref(pair).store(uint64_t{i} << 32 | i, std::memory_order_relaxed); },
      [](const Buffer<uint32_t>& out) {
        for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(out[lane], 0u) << lane;
      });
}

TEST_P(WholePairs, OfStores) {
  unsigned torn = 0;
  with_thread(
      false,
      [&](uint64_t& place, uint32_t) {
        const uint64_t pair = std::atomic_ref(place).load(std::memory_order_relaxed);
        torn += pair >> 32 != (pair & 0xffffffff);
      },
      [&](const Buffer<uint32_t>&) {
        EXPECT_EQ(torn, 0u);
        torn = 0;
      });
}

INSTANTIATE_TEST_SUITE_P(Engines, WholePairs, testing::ValuesIn(engines()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wavejit::test
