// Register indexing on every engine: what random instruction sequences do not reach, because it takes several
// instructions.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/assembler.h"
#include "tests/support/engine_runner.h"

namespace wavejit::test {
namespace {

class IndexingTest : public testing::Test {
 protected:
  static WavePtr initial(uint32_t index) {
    WavePtr wave = make_wave();
    wave->mode = 0x3c0;
    wave->set_exec(0xffff0f0ff00fffff);
    wave->sgpr[2] = index;
    wave->sgpr[sreg::kM0] = index;
    for (unsigned row = 0; row < kNumVgprs; ++row)
      for (unsigned lane = 0; lane < kWaveSize; ++lane) wave->vgpr[row][lane] = row * 1000 + lane;
    return wave;
  }

  static void expect_equal_engines(isa::Target target, const std::string& source, uint32_t index) {
    const auto code = assemble(target, source);
    ASSERT_TRUE(code) << code.error().message;
    const Snippet snippet(target, *code);
    WavePtr expected = initial(index);
    for (const EngineConfig& engine : host_engines()) {
      WavePtr wave = initial(index);
      const auto result = run(engine, snippet, *wave);
      ASSERT_TRUE(result) << engine.name() << ": " << result.error().message;
      if (engine.kind == EngineKind::interp) {
        expected = std::move(wave);
        continue;
      }
      EXPECT_EQ(wave->sgpr[sreg::kM0], expected->sgpr[sreg::kM0]) << engine.name();
      for (unsigned row = 0; row < kNumVgprs; ++row)
        EXPECT_EQ(std::memcmp(wave->vgpr[row], expected->vgpr[row], sizeof wave->vgpr[row]), 0)
            << engine.name() << " index " << index << " v" << row << "\n"
            << source;
    }
    const bool changed = std::memcmp(expected->vgpr, initial(index)->vgpr, sizeof expected->vgpr) != 0;
    EXPECT_TRUE(changed) << "the snippet does nothing";
  }
};

TEST_F(IndexingTest, MoveWithIndexedSource) {
  for (const uint32_t index : {0u, 1u, 5u, 17u})
    expect_equal_engines(
        isa::Target::gfx906,
        "s_set_gpr_idx_on s2, gpr_idx(SRC0)\n v_mov_b32 v1, v10\n s_set_gpr_idx_off\n v_mov_b32 v3, v4", index);
}

TEST_F(IndexingTest, MoveWithIndexedDestination) {
  for (const uint32_t index : {0u, 3u, 100u})
    expect_equal_engines(isa::Target::gfx90a,
                         "s_set_gpr_idx_on s2, gpr_idx(DST)\n v_mov_b32 v20, v10\n s_mov_b32 s9, s8\n v_mov_b32 v21, "
                         "7\n s_set_gpr_idx_off",
                         index);
}

TEST_F(IndexingTest, IndexAndEnablesChange) {
  expect_equal_engines(
      isa::Target::gfx900,
      "s_set_gpr_idx_on s2, gpr_idx(SRC0)\n v_mov_b32 v1, v10\n s_set_gpr_idx_idx 3\n v_mov_b32 v2, v10\n"
      "s_set_gpr_idx_mode gpr_idx(DST)\n v_mov_b32 v30, v10\n s_set_gpr_idx_off",
      4);
}

TEST_F(IndexingTest, Movrel) {
  for (const uint32_t index : {0u, 2u, 9u})
    expect_equal_engines(isa::Target::gfx803,
                         "v_movrels_b32 v1, v10\n v_movreld_b32 v20, v11\n v_movrelsd_b32 v40, v12", index);
}

}  // namespace
}  // namespace wavejit::test
