// Code lifted for one shape of dispatch: work-item ids, work-group ids, the dispatch packet and hidden arguments.
#include "frontend/lift/dispatch_shape.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>

#include "frontend/lift/lifter.h"
#include "ir/analysis/known_bits.h"
#include "ir/interpret.h"
#include "ir/pass.h"
#include "ir/text.h"
#include "tests/support/assembler.h"

namespace wavejit {
namespace {

using ir::Inst;
using ir::Op;

// One lane of what initial_id_row() makes.
uint32_t evaluate(const Inst* inst, uint32_t wave, uint32_t lane) {
  const auto operand = [&](unsigned i) { return evaluate(inst->operands[i], wave, lane); };
  switch (inst->op) {
    case Op::const_:
      return static_cast<uint32_t>(inst->imm);
    case Op::lane_id:
      return lane;
    case Op::get_field:
      EXPECT_EQ(inst->imm, offsetof(WaveState, wave_in_group));
      return wave;
    case Op::splat:
      return operand(0);
    case Op::add:
      return operand(0) + operand(1);
    case Op::sub:
      return operand(0) - operand(1);
    case Op::mul:
      return operand(0) * operand(1);
    case Op::and_:
      return operand(0) & operand(1);
    case Op::or_:
      return operand(0) | operand(1);
    case Op::umin:
      return std::min(operand(0), operand(1));
    case Op::shl:
      return operand(0) << operand(1);
    case Op::lshr:
      return operand(0) >> operand(1);
    default:
      ADD_FAILURE() << "unexpected operation";
      return 0;
  }
}

TEST(DispatchShape, IdsOfEveryLane) {
  for (const std::array<uint32_t, 3> size : std::initializer_list<std::array<uint32_t, 3>>{
           {1, 1, 1},   {64, 1, 1}, {63, 1, 1},  {100, 1, 1}, {256, 1, 1}, {1024, 1, 1}, {16, 16, 1}, {32, 32, 1},
           {8, 4, 1},   {64, 4, 1}, {128, 8, 1}, {192, 5, 1}, {320, 3, 1}, {1, 64, 1},   {1, 1, 64},  {1, 1024, 1},
           {20, 20, 1}, {10, 5, 2}, {8, 8, 8},   {4, 4, 64},  {4, 1, 16},  {3, 5, 7},    {64, 2, 8},  {31, 33, 1},
           {2, 3, 64},  {96, 2, 5}, {1, 7, 9},   {128, 1, 8}, {512, 2, 1}, {7, 1, 146}}) {
    SCOPED_TRACE(fmt::format("{}x{}x{}", size[0], size[1], size[2]));
    for (const bool packed : {false, true}) {
      ir::Function function("ids");
      ir::Builder builder(function);
      builder.set_block(function.add_block(0));
      const lift::DispatchShape shape{.workgroup = size, .id_dimensions = 3, .packed_ids = packed};
      std::array<Inst*, 3> rows{};
      for (unsigned i = 0; i < 3; ++i) rows[i] = lift::initial_id_row(builder, shape, i);
      EXPECT_EQ(lift::initial_id_row(builder, shape, 3), nullptr);
      EXPECT_EQ(rows[1] == nullptr, packed);
      const uint32_t items = size[0] * size[1] * size[2];
      std::array<uint32_t, 3> highest{};
      for (uint32_t i = 0; i < (items + 63) / 64 * 64; ++i) {
        // Beyond the work-group the last dimension in use goes on.
        std::array<uint32_t, 3> id{i, 0, 0};
        if (size[1] > 1 || size[2] > 1) id = {i % size[0], i / size[0], 0};
        if (size[2] > 1) id = {i % size[0], i / size[0] % size[1], i / (size[0] * size[1])};
        const auto value = [&](unsigned row) { return evaluate(rows[row], i / 64, i % 64); };
        if (packed) {
          ASSERT_EQ(value(0), id[0] | id[1] << 10 | id[2] << 20) << i;
        } else {
          for (unsigned d = 0; d < 3; ++d) {
            ASSERT_EQ(value(d), id[d]) << "dimension " << d << " of work-item " << i;
            highest[d] = std::max(highest[d], id[d]);
          }
        }
      }
      const bool easy = std::all_of(size.begin(), size.end(), [](uint32_t n) { return std::has_single_bit(n); });
      for (unsigned d = 0; d < 3 && !packed; ++d) {
        EXPECT_GE(ir::unsigned_maximum(rows[d], 12), highest[d]);
        if (easy && items % 64 == 0) {
          EXPECT_EQ(ir::unsigned_maximum(rows[d], 12), size[d] - 1) << d;
        }
      }
    }
  }
}

TEST(DispatchShape, GlobalIdsDoNotWrap) {
  for (uint32_t size = 1; size <= 1024; ++size) {
    const lift::DispatchShape shape{.workgroup = {size, 1, 1}};
    EXPECT_LE(uint64_t{shape.max_group_id(0)} * size + size - 1, UINT32_MAX);
    EXPECT_GT((uint64_t{shape.max_group_id(0)} + 1) * size + size - 1, UINT32_MAX);
  }
}

TEST(DispatchShape, KnownDwords) {
  lift::DispatchShape shape{.workgroup = {64, 4, 2}};
  EXPECT_EQ(shape.packet_dword(4).value, 0x40040u);
  EXPECT_EQ(shape.packet_dword(4).mask, 0xffffffff);
  EXPECT_EQ(shape.packet_dword(8).value, 2u);
  EXPECT_EQ(shape.packet_dword(2).mask, 0xffff0000) << "the setup field is not known";
  EXPECT_EQ(shape.packet_dword(2).value, 0x400000u);
  EXPECT_EQ(shape.packet_dword(0).mask, 0u);
  EXPECT_EQ(shape.packet_dword(12).mask, 0u) << "the grid";
  EXPECT_EQ(shape.packet_dword(-4).mask, 0u);
  shape.kernarg = {{.offset = 12, .bytes = 2, .value = 64}, {.offset = 32, .bytes = 8, .value = 0x100000002}};
  EXPECT_EQ(shape.kernarg_dword(12).mask, 0xffffu);
  EXPECT_EQ(shape.kernarg_dword(12).value, 64u);
  EXPECT_EQ(shape.kernarg_dword(32).value, 2u);
  EXPECT_EQ(shape.kernarg_dword(36).value, 1u);
  EXPECT_EQ(shape.kernarg_dword(36).mask, 0xffffffff);
  EXPECT_EQ(shape.kernarg_dword(40).mask, 0u);
}

class ShapedLift : public testing::Test {
 protected:
  static constexpr uint64_t kBase = 0x10000;

  // Optimised, for 256x1x1 with group id x in s8, the packet in s[4:5] and the kernarg segment in s[6:7].
  ir::Function& lift(const std::string& source) {
    auto code = test::assemble(isa::Target::gfx906, source);
    EXPECT_TRUE(code.has_value());
    code_ = code ? std::move(*code) : std::vector<uint8_t>(4);
    options.entry_pc = options.code_base = kBase;
    options.code = code_;
    result_ = lift::lift(options);
    EXPECT_TRUE(result_.has_value());
    ir::optimise(*result_->function, {.verify = true});
    return *result_->function;
  }
  [[nodiscard]] unsigned count(Op op, uint64_t imm) const {
    unsigned found = 0;
    for (const auto& block : result_->function->blocks)
      for (const Inst* inst : block->insts) found += inst->op == op && inst->imm == imm;
    return found;
  }
  [[nodiscard]] bool from_shape() const { return result_->ids_from_shape; }
  [[nodiscard]] std::string text() const { return ir::print(*result_->function); }

  lift::LiftOptions options{
      .name = "shaped",
      .mode = 0x3c0,
      .exec_full = true,
      .is_kernel_entry = true,
      .lds_size = 1024,
      .shape = lift::DispatchShape{.workgroup = {256, 1, 1},
                                   .group_id_sgpr = {8, -1, -1},
                                   .dispatch_packet_sgpr = 4,
                                   .kernarg_sgpr = 6,
                                   .kernarg = {{.offset = 32, .bytes = 8, .value = 0}}},
  };

 private:
  std::vector<uint8_t> code_;
  Expected<lift::LiftResult> result_;
};

TEST_F(ShapedLift, LocalSizeAndOffsetAreConstants) {
  lift(
      "s_load_dword s0, s[4:5], 0x4\n s_load_dwordx2 s[2:3], s[6:7], 0x20\n s_load_dwordx2 s[10:11], s[6:7], 0x0\n"
      "s_and_b32 s0, s0, 0xffff\n s_mul_i32 s1, s8, s0\n v_add_u32 v0, s1, v0\n v_add_u32 v0, s2, v0\n"
      "v_mov_b32 v1, v0\n v_lshlrev_b32 v0, 2, v0\n s_nop 0\n global_store_dword v0, v1, s[10:11]\n s_endpgm");
  EXPECT_TRUE(from_shape());
  EXPECT_EQ(count(Op::load_scalar, 4), 0u) << text();
  EXPECT_EQ(count(Op::load_scalar, 32), 0u) << text();
  EXPECT_EQ(count(Op::load_scalar, 0), 1u) << text();
  EXPECT_EQ(count(Op::get_vgpr, 0), 0u) << text();
  EXPECT_EQ(count(Op::mul, 0), 0u) << text();
}

TEST_F(ShapedLift, OtherPointersAreLoaded) {
  lift(
      "s_add_u32 s4, s4, 16\n s_load_dword s0, s[4:5], 0x4\n s_load_dword s1, s[8:9], 0x4\n"
      "s_load_dword s2, s[6:7], s8\n s_setpc_b64 s[30:31]");
  EXPECT_EQ(count(Op::load_scalar, 4), 2u) << text();
  EXPECT_EQ(count(Op::load_scalar, 0), 1u) << text();
}

TEST_F(ShapedLift, LdsChecksVanishWhereIdsBoundTheAddress) {
  lift("v_lshlrev_b32 v1, 2, v0\n ds_write_b32 v1, v0\n s_endpgm");
  EXPECT_EQ(count(Op::icmp, 0), 0u) << text();
  options.lds_size = 1020;
  lift("v_lshlrev_b32 v1, 2, v0\n ds_write_b32 v1, v0\n s_endpgm");
  EXPECT_EQ(count(Op::icmp, 0), 1u) << "one lane is out of range\n" << text();
}

TEST_F(ShapedLift, IdsAreWrittenBackWhereTheyAreReadLater) {
  const ir::Function& f = lift("s_barrier\n v_add_u32 v1, 1, v0\n s_setpc_b64 s[30:31]");
  EXPECT_EQ(count(Op::set_vgpr, 0), 1u) << text();
  ASSERT_EQ(f.entries.size(), 2u);
  EXPECT_FALSE(f.entries[0].resumed_only);
  EXPECT_TRUE(f.entries[1].resumed_only);
  lift("s_barrier\n v_mov_b32 v1, 1\n s_endpgm");
  EXPECT_EQ(count(Op::set_vgpr, 0), 0u) << "nobody reads them\n" << text();
  lift("s_setpc_b64 s[30:31]");
  EXPECT_EQ(count(Op::set_vgpr, 0), 1u) << "code elsewhere may\n" << text();
}

TEST_F(ShapedLift, TheStartMayBeALoop) {
  lift("again:\n v_add_u32 v0, 1, v0\n s_cmp_lt_u32 s8, s9\n s_cbranch_scc1 again\n s_setpc_b64 s[30:31]");
  EXPECT_TRUE(from_shape());
  EXPECT_EQ(count(Op::get_vgpr, 0), 0u) << text();
}

// The start is reached again through a barrier: then registers hold anything.
TEST_F(ShapedLift, NoFactsWhereTheStartIsResumed) {
  const std::string source =
      "s_barrier\n again: v_add_u32 v0, 1, v0\n s_cmp_lt_u32 s8, s9\n s_cbranch_scc1 0xfffc\n"
      "s_setpc_b64 s[30:31]";
  lift(source);
  EXPECT_TRUE(from_shape());
  // Entered at the instruction behind the barrier, which the branch reaches again.
  lift::LiftOptions inner = options;
  const auto assembled = test::assemble(isa::Target::gfx906, source);
  inner.code = *assembled;
  inner.entry_pc = kBase + 4;
  const auto result = lift::lift(inner);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->ids_from_shape) << ir::print(*result->function);
}

TEST_F(ShapedLift, ReturnPointsAreNotOnlyResumed) {
  const ir::Function& f = lift(
      "s_getpc_b64 s[0:1]\n s_swappc_b64 s[30:31], s[0:1]\n v_mov_b32 v1, v0\n s_barrier\n"
      "v_mov_b32 v2, v0\n s_setpc_b64 s[30:31]");
  for (const ir::Entry& entry : f.entries) EXPECT_EQ(entry.resumed_only, entry.guest_pc == kBase + 16) << ir::print(f);
}

// What is computed again behind barriers is what was in the registers.
TEST_F(ShapedLift, PassesKeepWhatBarriersHandOn) {
  for (const bool full : {true, false})
    for (const char* source :
         {"v_lshlrev_b32 v1, 2, v0\n v_mov_b32 v2, s8\n v_cmp_gt_u32 vcc, 20, v0\n s_mov_b64 s[10:11], vcc\n "
          "s_barrier\n"
          "v_add_u32 v1, 16, v1\n s_and_saveexec_b64 s[12:13], s[10:11]\n v_sub_u32 v2, v2, v0\n"
          "s_mov_b64 exec, s[12:13]\n s_barrier\n ds_write_b32 v1, v2\n s_setpc_b64 s[30:31]",
          "v_lshlrev_b32 v1, 2, v0\n s_mov_b32 s0, 0\n v_mov_b32 v3, v1\n again: s_barrier\n ds_read_b32 v2, v1\n"
          "v_add_u32 v1, 4, v1\n ds_write_b32 v3, v2\n s_add_u32 s0, s0, 1\n s_cmp_lt_u32 s0, 5\n"
          "s_cbranch_scc1 again\n s_setpc_b64 s[30:31]"}) {
      options.exec_full = full;
      const auto code = test::assemble(isa::Target::gfx906, source);
      ASSERT_TRUE(code);
      lift::LiftOptions plain = options;
      plain.entry_pc = plain.code_base = kBase;
      plain.code = *code;
      const auto unoptimised = lift::lift(plain);
      ASSERT_TRUE(unoptimised);
      const ir::Function& optimised = lift(source);
      for (uint64_t seed = 1; seed < 20; ++seed) {
        const auto expected = ir::interpret(*unoptimised->function, 0, seed);
        const auto actual = ir::interpret(optimised, 0, seed);
        ASSERT_TRUE(expected && actual);
        ASSERT_EQ(actual->events, expected->events) << "seed " << seed << "\n" << text();
      }
    }
}

TEST_F(ShapedLift, TheTextFormKeepsWhatEntriesAre) {
  const std::string before = ir::print(lift("s_barrier\n v_mov_b32 v1, v0\n s_setpc_b64 s[30:31]"));
  const auto parsed = ir::parse(before);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(ir::print(**parsed), before);
}

}  // namespace
}  // namespace wavejit
