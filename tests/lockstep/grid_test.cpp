// Grids that do not fill their work-groups, in one to three dimensions, and groups whose size is not that of waves:
// every work-item exactly once, with its own ids, and nobody else. Kernels of the shapes compilers emit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "lockstep_case.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

using Dim = std::array<uint32_t, 3>;

struct GridShape {
  Dim global, local;
};

constexpr GridShape kShapes[] = {
    {{100, 1, 1}, {64, 1, 1}},    {{1, 1, 1}, {64, 1, 1}},    {{129, 1, 1}, {128, 1, 1}}, {{700, 1, 1}, {256, 1, 1}},
    {{1030, 1, 1}, {1024, 1, 1}}, {{37, 21, 1}, {16, 16, 1}}, {{33, 17, 1}, {32, 8, 1}},  {{64, 9, 1}, {64, 4, 1}},
    {{20, 7, 1}, {20, 3, 1}},     {{5, 130, 1}, {1, 64, 1}},  {{19, 9, 5}, {8, 4, 4}},    {{7, 10, 15}, {3, 5, 7}},
    {{16, 16, 9}, {4, 4, 4}},     {{2, 3, 70}, {1, 1, 64}},   {{40, 2, 3}, {24, 2, 2}},   {{65, 3, 2}, {64, 2, 1}},
};

std::string to_string(const GridShape& s) {
  return fmt::format("{}x{}x{} by {}x{}x{}", s.global[0], s.global[1], s.global[2], s.local[0], s.local[1], s.local[2]);
}

// out[item] += 1 + 3 * in[item] + (x << 8 | y << 16 | z << 24), where item is the linear index in the grid; with an
// atomic counter per group-local id, and a conditional store that only a 2-D stencil would do (x > 0: left neighbour).
KernelSource grid_kernel(const GridShape& s, std::string_view target) {
  const bool packed = target == "gfx90a";
  std::string ids = packed ? R"(
  v_bfe_u32 v32, v0, 20, 10
  v_bfe_u32 v31, v0, 10, 10
  v_and_b32_e32 v30, 0x3ff, v0
)"
                           : R"(
  v_mov_b32_e32 v32, v2
  v_mov_b32_e32 v31, v1
  v_mov_b32_e32 v30, v0
)";
  return {.name = "grid",
          .body = lockstep_macros(target) + ids +
                  fmt::format(R"(
  s_load_dwordx4 s[12:15], s[0:1], 0x0
  s_mul_i32 s20, s2, {0}
  s_mul_i32 s21, s3, {1}
  s_mul_i32 s22, s4, {2}
  v_mov_b32_e32 v33, s20
  addu v33, v33, v30
  v_mov_b32_e32 v34, s21
  addu v34, v34, v31
  v_mov_b32_e32 v35, s22
  addu v35, v35, v32
  // linear index, times 4
  s_movk_i32 s23, {4}
  v_mul_lo_u32 v36, v35, s23
  addu v36, v36, v34
  s_movk_i32 s23, {3}
  v_mul_lo_u32 v36, v36, s23
  addu v36, v36, v33
  v_lshlrev_b32_e32 v36, 2, v36
  s_waitcnt lgkmcnt(0)
  s_mov_b64 s[4:5], s[12:13]
  get_at 40, 36
  v_mov_b32_e32 v41, -1
  v_cmp_ne_u32_e32 vcc, 0, v33
  s_and_saveexec_b64 s[24:25], vcc
  v_mov_b32_e32 v42, 4
  subu v42, v36, v42
  get_at 41, 42
  s_mov_b64 exec, s[24:25]
  v_mul_u32_u24_e32 v40, 3, v40
  addu v40, v40, v41
  v_lshlrev_b32_e32 v42, 8, v33
  v_xor_b32_e32 v40, v42, v40
  v_lshlrev_b32_e32 v42, 16, v34
  v_xor_b32_e32 v40, v42, v40
  v_lshlrev_b32_e32 v42, 24, v35
  v_xor_b32_e32 v40, v42, v40
  s_mov_b64 s[4:5], s[14:15]
  get_at 43, 36
  addu v43, v43, v40
  put_at 36, 43
)",
                              s.local[0], s.local[1], s.local[2], s.global[0], s.global[1]),
          .directives =
              "  .amdhsa_system_sgpr_workgroup_id_x 1\n  .amdhsa_system_sgpr_workgroup_id_y 1\n"
              "  .amdhsa_system_sgpr_workgroup_id_z 1\n  .amdhsa_system_vgpr_workitem_id 2\n",
          .args = {{"in"}, {"out"}}};
}

class Grids : public testing::TestWithParam<std::string> {};

TEST_P(Grids, EveryWorkItemOnce) {
  const std::string& target = GetParam();
  for (const GridShape& s : kShapes) {
    const Module module = load(target, {grid_kernel(s, target)});
    const uint32_t items = s.global[0] * s.global[1] * s.global[2];
    constexpr uint32_t kGuard = 64;
    for (const TestEngine& engine : some_engines(target)) {
      SCOPED_TRACE(to_string(s) + " " + describe(engine));
      Kernel kernel = module.kernel("grid");
      Buffer<uint32_t> in(items), out(items + 2 * kGuard);
      for (uint32_t i = 0; i < items; ++i) in[i] = i * 2654435761u >> 12;
      for (uint32_t i = 0; i < out.size(); ++i) out[i] = 7 * i;
      kernel.set_arg_pointer(0, in.data());
      kernel.set_arg_pointer(1, out.data() + kGuard);
      LaunchOptions options = launch_options(engine, 0, 0, 2);
      for (unsigned d = 0; d < 3; ++d) {
        options.global[d] = s.global[d];
        options.local[d] = s.local[d];
      }
      const LaunchStats stats = kernel.launch(options);
      EXPECT_EQ(stats.work_items, items);
      for (uint32_t z = 0, i = 0; z < s.global[2]; ++z)
        for (uint32_t y = 0; y < s.global[1]; ++y)
          for (uint32_t x = 0; x < s.global[0]; ++x, ++i) {
            const uint32_t left = x == 0 ? ~0u : in[i - 1];
            const uint32_t value = (in[i] * 3 + left) ^ (x << 8) ^ (y << 16) ^ (z << 24);
            ASSERT_EQ(out[kGuard + i], 7 * (kGuard + i) + value) << "at " << x << ", " << y << ", " << z;
          }
      for (uint32_t i = 0; i < kGuard; ++i) {
        ASSERT_EQ(out[i], 7 * i);
        ASSERT_EQ(out[kGuard + items + i], 7 * (kGuard + items + i));
      }
    }
  }
}

// One kernel object, launched with one shape after the other: what was specialised for a shape must not leak into the
// next.
TEST_P(Grids, OneKernelManyShapes) {
  const std::string& target = GetParam();
  KernelSource k = {.name = "ids",
                    .body = lockstep_macros(target) + R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  s_waitcnt lgkmcnt(0)
  s_mul_i32 s8, s2, s6
  v_and_b32_e32 v10, 0x3ff, v0
  v_mov_b32_e32 v11, s8
  addu v10, v11, v10
  v_lshlrev_b32_e32 v12, 2, v10
  v_mov_b32_e32 v13, s7
  addu v13, v13, v10
  put_at 12, 13
)",
                    .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
                    .args = {{"out"}, {"local", 4, "by_value"}, {"add", 4, "by_value"}}};
  const Module module = load(target, {k});
  for (const TestEngine& engine : some_engines(target)) {
    Kernel kernel = module.kernel("ids");
    uint32_t round = 0;
    for (const uint32_t local : {64u, 32u, 100u, 256u, 1u, 64u, 1024u, 65u, 32u}) {
      for (const uint32_t items : {64u, 63u, 257u, 1000u}) {
        SCOPED_TRACE(fmt::format("{} items in groups of {} {}", items, local, describe(engine)));
        Buffer<uint32_t> out(items);
        const uint32_t add = ++round * 5000;
        kernel.set_args(out, local, add);
        (void)kernel.launch(launch_options(engine, items, local));
        for (uint32_t i = 0; i < items; ++i) ASSERT_EQ(out[i], add + i);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Grids, testing::Values("gfx803", "gfx906", "gfx90a"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace wavejit::test
