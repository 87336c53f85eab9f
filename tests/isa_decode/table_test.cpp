#include <gtest/gtest.h>

#include <set>

#include "frontend/isa/info.h"
#include "frontend/isa/opcode.h"
#include "frontend/isa/target.h"

namespace wavejit::isa::test {
namespace {

TEST(Table, NamesAreUnique) {
  std::set<std::string_view> names;
  for (unsigned i = 0; i < kNumOpcodes; ++i) EXPECT_TRUE(names.insert(opcode_name(static_cast<Opcode>(i))).second);
}

TEST(Table, EveryRowExistsSomewhere) {
  for (unsigned i = 0; i < kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    bool somewhere = false;
    for (const Target target : all_targets()) somewhere |= available(opcode, target);
    EXPECT_TRUE(somewhere) << opcode_name(opcode);
  }
}

TEST(Table, Availability) {
  EXPECT_TRUE(available(Opcode::v_mad_mix_f32, Target::gfx900));
  EXPECT_FALSE(available(Opcode::v_mad_mix_f32, Target::gfx906));
  EXPECT_TRUE(available(Opcode::v_fma_mix_f32, Target::gfx906));
  EXPECT_FALSE(available(Opcode::v_mfma_f32_4x4x1f32, Target::gfx906));
  EXPECT_TRUE(available(Opcode::v_mfma_f32_4x4x1f32, Target::gfx908));
  EXPECT_TRUE(available(Opcode::v_pk_fma_f32, Target::gfx90a));
  EXPECT_FALSE(available(Opcode::v_pk_fma_f32, Target::gfx908));
  EXPECT_FALSE(available(Opcode::global_load_dword, Target::gfx803));
  EXPECT_TRUE(available(Opcode::v_mov_b64, Target::gfx942));
  EXPECT_FALSE(available(Opcode::v_mov_b64, Target::gfx90a));
  EXPECT_FALSE(available(Opcode::image_load, Target::gfx940));
}

TEST(Table, ImplicitState) {
  EXPECT_TRUE(info(Opcode::s_addc_u32).implicit.reads_scc);
  EXPECT_TRUE(info(Opcode::s_and_saveexec_b64).implicit.writes_exec);
  EXPECT_TRUE(info(Opcode::v_cmpx_lt_f32).implicit.writes_exec);
  EXPECT_TRUE(info(Opcode::v_div_fmas_f32).implicit.reads_vcc);
  EXPECT_EQ(info(Opcode::s_swappc_b64).control_flow, ControlFlow::call);
  EXPECT_EQ(info(Opcode::s_endpgm).control_flow, ControlFlow::end);
  EXPECT_EQ(info(Opcode::s_sendmsghalt).control_flow, ControlFlow::end);
  EXPECT_EQ(info(Opcode::s_cbranch_i_fork).control_flow, ControlFlow::fork);
  EXPECT_TRUE(info(Opcode::ds_bpermute_b32).is_cross_lane);
  EXPECT_TRUE(info(Opcode::image_sample_cl).is_graphics);
  EXPECT_TRUE(info(Opcode::global_store_dword).is_store);
}

TEST(Targets, NamesAndMachRoundTrip) {
  for (const Target target : all_targets()) {
    EXPECT_EQ(parse_target(to_string(target)), target);
    EXPECT_EQ(target_from_mach(mach_of(target)), target);
  }
  EXPECT_EQ(parse_target("gfx906:xnack-"), std::nullopt);
  EXPECT_EQ(mach_of(Target::gfx90a), 0x3fu);
  EXPECT_EQ(mach_of(Target::gfx942), 0x4cu);
}

}  // namespace
}  // namespace wavejit::isa::test
