// Matrix instructions whose sums are more than the host's registers: in straight code they live in memory from one VGPR to the
// next (matrix-homes), in code with barriers in the wave state (resident-rows). Every engine, with and without, gives what the
// interpreter gives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep_case.h"

namespace wavejit::test {
namespace {

constexpr const char* kMatrixTarget = "gfx90a";

// Small whole numbers as factors in v[4:5] and v[6:7], f32 in v8 and v9, and as sums in v16 to v47, which `body` adds to.
LockstepCase sums_case(const std::string& name, bool doubles, const std::string& body) {
  std::string text = R"(
  v_and_b32_e32 v3, 15, v0
  v_cvt_f64_u32_e32 v[4:5], v3
  v_cvt_f32_u32_e32 v8, v3
  v_lshrrev_b32_e32 v3, 4, v0
  v_add_u32_e32 v3, 3, v3
  v_cvt_f64_u32_e32 v[6:7], v3
  v_cvt_f32_u32_e32 v9, v3
)";
  for (unsigned v = 16; v < 48; v += doubles ? 2 : 1) {
    text += "  v_add_u32_e32 v3, 1, v3\n";
    text += doubles ? fmt::format("  v_cvt_f64_u32_e32 v[{}:{}], v3\n", v, v + 1)
                    : fmt::format("  v_cvt_f32_u32_e32 v{}, v3\n", v);
  }
  text += body + "  v_mov_b32_e32 v10, 0\n";
  for (unsigned v = 16; v < 48; ++v)
    text += fmt::format("  v_lshlrev_b32_e32 v10, 1, v10\n  v_xor_b32_e32 v10, v10, v{}\n", v);
  text += "  v_mov_b32_e32 v11, v17\n  v_mov_b32_e32 v12, v31\n  v_mov_b32_e32 v13, v46\n";
  text += "  out 0, v10\n  out 1, v11\n  out 2, v12\n  out 3, v13\n";
  return {.name = name, .body = text, .prepare = {}, .reference = {}};
}

// d = a * b + c, of 16 x 16 f64 with 4 terms; numbers of the first registers.
std::string f64(unsigned d, unsigned a, unsigned b, unsigned c) {
  return fmt::format("  v_mfma_f64_16x16x4f64 v[{}:{}], v[{}:{}], v[{}:{}], v[{}:{}]\n", d, d + 7, a, a + 1, b, b + 1,
                     c, c + 7);
}
std::string f32(unsigned d, unsigned a, unsigned b) {
  return fmt::format("  v_mfma_f32_32x32x2f32 v[{0}:{1}], v{2}, v{3}, v[{0}:{1}]\n", d, d + 15, a, b);
}
std::string all_f64(unsigned a, unsigned b) {
  std::string text;
  for (unsigned d = 16; d < 48; d += 8) text += f64(d, a, b, d);
  return text;
}

// The same with other factors for each sum.
std::string mixed_f64(unsigned first) {
  constexpr unsigned kFactors[4][2] = {{4, 6}, {6, 4}, {4, 4}, {6, 6}};
  std::string text;
  for (unsigned i = 0; i < 4; ++i)
    text += f64(16 + 8 * i, kFactors[(first + i) % 4][0], kFactors[(first + i) % 4][1], 16 + 8 * i);
  return text;
}
// v16 to v47 to AGPRs, or back.
std::string to_agprs(bool there) {
  std::string text = "  s_nop 15\n  s_nop 15\n";
  for (unsigned i = 0; i < 32; ++i)
    text += there ? fmt::format("  v_accvgpr_write_b32 a{}, v{}\n", i, 16 + i)
                  : fmt::format("  v_accvgpr_read_b32 v{}, a{}\n", 16 + i, i);
  return text;
}
std::string f64_agprs(unsigned d, unsigned a, unsigned b) {
  return fmt::format("  v_mfma_f64_16x16x4f64 a[{0}:{1}], v[{2}:{3}], v[{4}:{5}], a[{0}:{1}]\n", d, d + 7, a, a + 1, b,
                     b + 1);
}
std::string f32_agprs(unsigned d, unsigned a, unsigned b) {
  return fmt::format("  v_mfma_f32_32x32x2f32 a[{0}:{1}], v{2}, v{3}, a[{0}:{1}]\n", d, d + 15, a, b);
}

// Work-groups of two waves, so that waves do stop.
LockstepCase with_barriers(LockstepCase c) {
  c.name += "_barriers";
  c.group_size = 128;
  c.groups = 2;
  return c;
}

std::vector<LockstepCase> cases_with_barriers(const std::string& branch, const std::string& loop,
                                              const std::string& again, const std::string& store_pair) {
  const std::string barrier = "  s_barrier\n";
  const std::string of_f32 = f32(16, 8, 9) + f32(32, 9, 8);
  std::vector<LockstepCase> all = {
      sums_case("f64_blocks", true, all_f64(4, 6) + barrier + all_f64(6, 4) + barrier + all_f64(4, 4)),
      sums_case("f64_loop", true, loop + all_f64(4, 6) + barrier + f64(16, 6, 6, 16) + f64(40, 4, 4, 40) + again),
      sums_case("f64_loop_of_all", true, loop + all_f64(4, 6) + all_f64(6, 6) + barrier + again),
      sums_case("f64_branch", true, all_f64(4, 6) + branch + all_f64(6, 4) + ".Lskip:\n" + barrier + all_f64(4, 6)),
      sums_case("f64_mixed", true, mixed_f64(0) + barrier + mixed_f64(1) + barrier + mixed_f64(2)),
      sums_case("f64_mixed_twice", true, mixed_f64(0) + barrier + mixed_f64(1) + mixed_f64(3) + barrier + mixed_f64(2)),
      sums_case("f64_mixed_loop", true,
                loop + mixed_f64(0) + barrier + mixed_f64(1) + mixed_f64(2) + f64(24, 4, 6, 24) + again),
      sums_case("f64_agprs", true,
                to_agprs(true) + loop + f64_agprs(0, 4, 6) + f64_agprs(8, 6, 4) + f64_agprs(16, 4, 4) + barrier +
                    f64_agprs(0, 6, 6) + f64_agprs(24, 6, 4) + again + barrier + to_agprs(false)),
      sums_case("f64_and_f32_agprs", true,
                to_agprs(true) + loop + f64_agprs(0, 4, 6) + f32_agprs(16, 8, 9) + f64_agprs(8, 6, 4) + barrier +
                    f64_agprs(0, 6, 6) + f32_agprs(16, 9, 9) + again + barrier + to_agprs(false)),
      // A loop that has a sum's registers for something else, before they are sums.
      sums_case("f64_behind_another_loop", true,
                loop + "  v_add_u32_e32 v24, 1, v24\n  v_xor_b32_e32 v25, v24, v25\n" + again + barrier + mixed_f64(0) +
                    barrier + mixed_f64(1)),
      // Sums that are looked at, or changed, beside the products.
      sums_case("f64_stored", true, all_f64(4, 6) + store_pair + barrier + all_f64(6, 4) + store_pair),
      sums_case("f64_read_in_front", true,
                all_f64(4, 6) + barrier + "  v_xor_b32_e32 v14, v20, v33\n" + all_f64(6, 4) +
                    "  v_xor_b32_e32 v15, v14, v20\n" + barrier + "  out 4, v15\n"),
      sums_case("f64_set", true,
                all_f64(4, 6) + barrier + "  v_mov_b32_e32 v24, 0\n  v_mov_b32_e32 v25, v5\n" + all_f64(6, 4) +
                    "  v_mov_b32_e32 v40, 0\n" + barrier),
      sums_case("f64_set_by_some_lanes", true,
                all_f64(4, 6) + barrier + "  s_mov_b64 exec, 0xf0f0f0f0\n  v_mov_b32_e32 v24, 0\n" +
                    "  v_mov_b32_e32 v25, v5\n  s_mov_b64 exec, -1\n" + all_f64(6, 4) + barrier),
      sums_case("f64_of_other_registers", true,
                all_f64(4, 6) + barrier + f64(16, 4, 6, 24) + f64(24, 6, 4, 16) + f64(32, 4, 4, 40) + barrier +
                    all_f64(4, 4)),
      sums_case("f64_moved", true,
                all_f64(4, 6) + barrier + f64(16, 4, 6, 16) + "  v_mov_b32_e32 v24, v16\n  v_mov_b32_e32 v17, v18\n" +
                    f64(24, 4, 6, 24) + barrier + f64(16, 6, 6, 16)),
      sums_case("f64_overlapping", true, all_f64(4, 6) + barrier + f64(18, 4, 6, 18) + barrier + f64(20, 4, 6, 20)),
      sums_case("f64_as_factor", true, all_f64(4, 6) + barrier + f64(16, 24, 6, 16) + f64(24, 4, 16, 24) + barrier),
      sums_case("f64_twice_of_one", true, all_f64(4, 6) + barrier + f64(16, 4, 6, 16) + f64(24, 4, 4, 16) + barrier),
      sums_case("f32_blocks", false, of_f32 + barrier + of_f32 + barrier + of_f32),
      sums_case("f32_loop", false, loop + of_f32 + barrier + f32(16, 9, 9) + again),
      sums_case("f32_branch", false, of_f32 + branch + of_f32 + ".Lskip:\n" + barrier + of_f32),
      sums_case("f32_set", false,
                of_f32 + barrier + "  v_mov_b32_e32 v24, 0\n  v_add_f32_e32 v33, v24, v9\n" + of_f32 + barrier),
      sums_case("f32_negated", false, of_f32 + barrier + "  v_xor_b32_e32 v20, 0x80000000, v20\n" + barrier + of_f32),
      sums_case("f32_by_number", false,
                of_f32 + barrier +
                    "  s_set_gpr_idx_on 5, gpr_idx(SRC0)\n  v_mov_b32_e32 v14, v16\n  s_set_gpr_idx_off\n" + of_f32 +
                    barrier + "  out 4, v14\n"),
  };
  for (LockstepCase& c : all) c = with_barriers(std::move(c));
  return all;
}

std::vector<LockstepCase> cases() {
  const std::string store_pair = R"(
  v_lshlrev_b32_e32 v3, 3, v1
  v_add_u32_e32 v3, 0x2000, v3
  at 60, 3
  global_store_dwordx2 v[60:61], v[20:21], off
)";
  const std::string branch = "  s_and_b32 s9, s2, 1\n  s_cmp_eq_u32 s9, 0\n  s_cbranch_scc1 .Lskip\n";
  const std::string loop = "  s_mov_b32 s9, 3\n.Lagain:\n";
  const std::string again = "  s_sub_u32 s9, s9, 1\n  s_cmp_lg_u32 s9, 0\n  s_cbranch_scc1 .Lagain\n";
  std::vector<LockstepCase> all = {
      sums_case("f64_once", true, all_f64(4, 6)),
      sums_case("f64_twice", true, all_f64(4, 6) + all_f64(6, 4)),
      sums_case("f64_two_blocks", true, all_f64(4, 6) + branch + all_f64(6, 4) + ".Lskip:\n"),
      sums_case("f64_behind_a_loop", true, loop + all_f64(4, 6) + again + all_f64(6, 6)),
      sums_case("f64_two_of_one_sum", true,
                f64(16, 4, 6, 16) + f64(24, 4, 4, 16) + f64(32, 6, 6, 16) + f64(40, 6, 4, 40)),
      sums_case("f64_of_another_sum", true,
                f64(16, 4, 6, 24) + f64(24, 6, 4, 16) + f64(32, 4, 4, 40) + f64(40, 6, 6, 32)),
      sums_case("f64_stored_whole", true, all_f64(4, 6) + store_pair),
      sums_case("f32_once", false, f32(16, 8, 9) + f32(32, 9, 8)),
      sums_case("f32_two_blocks", false,
                f32(16, 8, 9) + f32(32, 9, 8) + branch + f32(16, 9, 9) + f32(32, 8, 8) + ".Lskip:\n"),
  };
  for (LockstepCase& c : cases_with_barriers(branch, loop, again, store_pair)) all.push_back(std::move(c));
  return all;
}

class MatrixHomes : public testing::TestWithParam<LockstepCase> {};

TEST_P(MatrixHomes, Agree) {
  const LockstepCase& c = GetParam();
  const Module module = load(kMatrixTarget, {lockstep_source(c, kMatrixTarget)});
  const Memory initial = lockstep_data(c);
  Memory expected;
  for (TestEngine engine : engines()) {
    for (const char* disabled : {"", "matrix-homes", "matrix-loops", "resident-rows", "resident-rows,matrix-homes"}) {
      SCOPED_TRACE(engine.name + std::string(" without ") + disabled);
      engine.disabled = disabled;
      Kernel kernel = module.kernel(c.name);
      Buffer<uint32_t> data(initial);
      kernel.set_args(data);
      (void)kernel.launch(launch_options(engine, c.groups * c.group_size, c.group_size));
      const Memory got(data.begin(), data.end());
      if (expected.empty()) {
        expected = got;
        ASSERT_NE(expected, initial) << "the case does nothing";
      }
      EXPECT_EQ(got, expected);
    }
  }
}

TEST(ResidentRows, MakeLessCode) {
  const std::vector<LockstepCase> all = cases();
  const auto loop = std::find_if(all.begin(), all.end(), [](const auto& c) { return c.name == "f64_loop_barriers"; });
  ASSERT_NE(loop, all.end());
  const Module module = load(kMatrixTarget, {lockstep_source(*loop, kMatrixTarget)});
  const Kernel kernel = module.kernel(loop->name);
  for (const TestEngine& engine : engines()) {
    if (engine.engine == WAVEJIT_ENGINE_INTERP) continue;
    const auto size = [&](const char* disabled) {
      wavejit_dump_options options{};
      options.size = sizeof options;
      options.kind = WAVEJIT_DUMP_X86;
      options.isa = engine.isa;
      options.disabled_passes = disabled;
      size_t bytes = 0;
      const auto count = [](void* sum, const char*, size_t length) { *static_cast<size_t*>(sum) += length; };
      EXPECT_EQ(wavejit_kernel_dump(kernel.handle(), &options, count, &bytes), WAVEJIT_OK);
      return bytes;
    };
    EXPECT_LT(size(""), size("resident-rows")) << engine.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatrixHomes, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace wavejit::test
