// Values of which only lane 0 is read are computed in 128 bits, with the results that all lanes' code has.
#include <gmock/gmock.h>

#include <array>
#include <functional>

#include "backend-x86/lower/plans/narrow_values.h"
#include "runner.h"

namespace wavejit::backend {
namespace {

using ir::Builder;
using ir::Inst;
using ir::Op;

constexpr uint32_t kFirstResult = 32;  // the SGPR or VGPR
constexpr uint32_t kModes[] = {
    0, ir::fpenv::kIeee, ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm,
    ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm | ir::fpenv::kIeee | ir::fpenv::kDx10Clamp};

struct NarrowOp {
  Op op;
  unsigned operands;
};
constexpr NarrowOp kOps[] = {
    {Op::and_, 2},          {Op::or_, 2},           {Op::xor_, 2},      {Op::fadd_f32, 2},   {Op::fsub_f32, 2},
    {Op::fmul_f32, 2},      {Op::fma_f32, 3},       {Op::fmin_f32, 2},  {Op::fmax_f32, 2},   {Op::fclamp_f32, 1},
    {Op::fcanon_f32, 1},    {Op::ftrunc_f32, 1},    {Op::fceil_f32, 1}, {Op::ffloor_f32, 1}, {Op::frndne_f32, 1},
    {Op::cvt_f32_i32, 1},   {Op::cvt_f32_u32, 1},   {Op::frcp_f32, 1},  {Op::frsq_f32, 1},   {Op::fsqrt_f32, 1},
    {Op::div_scale_f32, 3}, {Op::div_fixup_f32, 3},
};

// What a kernel computes from the three SGPRs, broadcast to all lanes.
using Recipe = std::function<std::vector<Inst*>(Builder&, const std::vector<Inst*>&)>;

// The results, read from lane 0 if `narrow`, else written for all lanes.
std::vector<uint32_t> results(const Recipe& recipe, bool narrow, Tier tier, const TestWave& start) {
  Straight code;
  std::vector<Inst*> inputs;
  for (uint32_t i = 0; i < 3; ++i) inputs.push_back(code.b.op(Op::splat, {code.b.op(Op::get_sgpr, {}, 0, i)}));
  const std::vector<Inst*> values = recipe(code.b, inputs);
  for (uint32_t i = 0; i < values.size(); ++i) {
    Inst* value = values[i];
    if (value->type.is_mask() && !narrow) value = code.b.select(value, code.b.v32(1), code.b.v32(0));
    if (!narrow) {
      code.b.op(Op::set_vgpr, {value}, 0, kFirstResult + i);
      continue;
    }
    value = value->type.is_mask() ? code.b.op(Op::zext_i1, {code.b.op(Op::mask_any, {value})})
                                  : code.b.op(Op::readlane, {value, code.b.i32(0)});
    code.b.op(Op::set_sgpr, {value}, 0, kFirstResult + i);
  }
  code.end();
  const auto found = find_narrow_values(code.function, ir::LaneShapes(code.function));
  for (const Inst* value : values) EXPECT_EQ(found[value->id], narrow) << ir::print(*value);
  TestWave wave(start);
  EXPECT_EQ(run(code.function, tier, wave), ExitReason::kEnd);
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < values.size(); ++i)
    all.push_back(narrow ? wave->sgpr[kFirstResult + i] : wave->vgpr[kFirstResult + i][0]);
  return all;
}

class Narrow : public testing::TestWithParam<Tier> {
 protected:
  void SetUp() override {
    if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
  }
  static void compare(const Recipe& recipe, unsigned rounds, uint64_t seed) {
    std::mt19937_64 random(seed);
    for (unsigned i = 0; i < rounds && !HasFailure(); ++i) {
      TestWave wave;
      wave.randomise(random);
      for (uint32_t k = 0; k < 3; ++k) wave->sgpr[k] = interesting32(random);
      if (i % 4 == 0) wave->sgpr[1] = wave->sgpr[0];
      SCOPED_TRACE(testing::Message() << std::hex << wave->sgpr[0] << ' ' << wave->sgpr[1] << ' ' << wave->sgpr[2]);
      EXPECT_EQ(results(recipe, true, GetParam(), wave), results(recipe, false, GetParam(), wave));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Tiers, Narrow, testing::ValuesIn(kTiers),
                         [](const auto& info) { return std::string(info.param == Tier::avx2 ? "avx2" : "avx512"); });

TEST_P(Narrow, OperationsAgree) {
  for (const uint32_t mode : kModes) {
    for (const NarrowOp& one : kOps) {
      SCOPED_TRACE(testing::Message() << ir::op_info(one.op).mnemonic << " mode " << mode);
      const uint32_t attr = ir::op_info(one.op).environment == ir::FpUse::none ? 0 : mode;
      compare(
          [&](Builder& b, const std::vector<Inst*>& in) {
            return std::vector<Inst*>{b.op_typed(one.op, ir::kV32, {in.begin(), in.begin() + one.operands}, attr)};
          },
          24, mode + 1);
    }
  }
}

TEST_P(Narrow, ComparisonsAgree) {
  for (const uint32_t mode : {0u, ir::fpenv::kKeepInputDenorm}) {
    for (uint32_t relations = 0; relations < 16; ++relations) {
      const uint32_t attr = mode | relations << ir::fpenv::kFCmpShift;
      SCOPED_TRACE(testing::Message() << "relations " << relations << " mode " << mode);
      compare(
          [&](Builder& b, const std::vector<Inst*>& in) {
            return std::vector<Inst*>{b.op(Op::fcmp_f32, {in[0], in[1]}, attr),
                                      b.op(Op::fcmp_f32, {in[0], b.v32(0x3f800000)}, attr),
                                      b.op(Op::fcmp_f32, {b.v32(0), in[1]}, attr)};
          },
          24, relations + 1);
    }
  }
}

// Both ways of a branch that compares, also in another mode than the rest of the kernel.
TEST_P(Narrow, BranchesAgree) {
  std::mt19937_64 random(7);
  for (uint32_t i = 0; i < 16 * 24; ++i) {
    const uint32_t relations = i / 24, mode = i % 2 == 0 ? 0 : ir::fpenv::kKeepInputDenorm;
    const auto make = [&](bool narrow) {
      auto function = std::make_unique<ir::Function>("test");
      ir::Block *entry = function->add_block(), *yes = function->add_block(), *no = function->add_block();
      function->entries.push_back({0, entry});
      Builder b(*function, entry);
      Inst* x = b.op(Op::splat, {b.op(Op::get_sgpr, {}, 0, 0)});
      Inst* y = b.op(Op::splat, {b.op(Op::get_sgpr, {}, 0, 1)});
      Inst* sum = b.op(Op::fadd_f32, {x, y}, ir::fpenv::kKeepInputDenorm ^ mode);
      b.op(Op::set_vgpr, {sum}, 0, 5);
      Inst* compared = b.op(Op::fcmp_f32, {x, y}, mode | relations << ir::fpenv::kFCmpShift);
      if (!narrow) b.op(Op::set_vgpr, {b.select(compared, b.v32(1), b.v32(2))}, 0, 6);
      b.cond_br(b.op(Op::mask_any, {compared}), yes, no);
      for (ir::Block* block : {yes, no}) {
        Builder end(*function, block);
        end.op(Op::set_sgpr, {end.i32(block == yes ? 1 : 2)}, 0, kFirstResult);
        end.exit(ExitReason::kEnd, 0x2000);
      }
      return function;
    };
    TestWave wave;
    wave.randomise(random);
    for (uint32_t k = 0; k < 2; ++k) wave->sgpr[k] = interesting32(random);
    if (i % 5 == 0) wave->sgpr[1] = wave->sgpr[0];
    TestWave other(wave);
    ASSERT_EQ(run(*make(true), GetParam(), wave), ExitReason::kEnd);
    ASSERT_EQ(run(*make(false), GetParam(), other), ExitReason::kEnd);
    ASSERT_EQ(wave->sgpr[kFirstResult], other->sgpr[kFirstResult]) << relations << ' ' << i;
    ASSERT_EQ(other->vgpr[6][0], other->sgpr[kFirstResult]) << relations << ' ' << i;
    for (unsigned lane = 0; lane < 64; ++lane) ASSERT_EQ(wave->vgpr[5][lane], other->vgpr[5][lane]);
  }
}

// Dwords that a load for one lane has: each is used as a number, as a scalar, or not at all, and the first number by a phi, too.
TEST_P(Narrow, LoadedDwords) {
  constexpr uint32_t kMode = kModes[2], kPhi = 5;
  std::array<uint32_t, 4> data{0x3f800000, 0x40000000, 0x40400000, 0x40800000};
  for (const unsigned count : {2u, 3u, 4u})
    for (unsigned uses = 0; uses < 1u << 2 * count; ++uses) {
      ir::Function function("test");
      ir::Block *entry = function.add_block(), *load = function.add_block(), *end = function.add_block();
      function.entries.push_back({0, entry});
      Builder e(function, entry);
      Inst* address = e.op(Op::get_sgpr64, {}, 0, 2);
      Inst* other = e.v32(0);
      e.cond_br(e.icmp(ir::ICmp::ne, e.op(Op::get_sgpr, {}, 0, 4), e.i32(0)), load, end);
      Builder b(function, load);
      Inst* loaded = b.op_typed(Op::load_lane, {ir::TypeKind::i32, static_cast<uint8_t>(count)}, {b.i1(true), address});
      loaded->mem = {.space = ir::Space::global,
                     .form = ir::AddressForm::base_only,
                     .bytes = 4,
                     .count = static_cast<uint8_t>(count)};
      Inst* number = nullptr;
      std::array<uint32_t, 4> expected{};
      for (unsigned i = 0; i < count; ++i) {
        const unsigned use = uses >> 2 * i & 3;
        if (use == 0) continue;
        Inst* value = b.op_typed(Op::extract, ir::kI32, {loaded}, 0, i);
        expected[i] = data[i];
        if (use != 1) {
          Inst* vector = b.op(Op::splat, {value});
          if (number == nullptr && use == 3) number = vector;
          value = b.op(Op::readlane, {b.op(Op::fadd_f32, {vector, vector}, kMode), b.i32(0)});
          expected[i] += 1u << 23;
        }
        b.op(Op::set_sgpr, {value}, 0, kFirstResult + i);
      }
      b.br(end);
      Builder last(function, end);
      if (number != nullptr) {
        Inst* phi = last.op_typed(Op::phi, ir::kV32, {other, number});
        Inst* sum = last.op(Op::fadd_f32, {phi, phi}, kMode);
        last.op(Op::set_sgpr, {last.op(Op::readlane, {sum, last.i32(0)})}, 0, kFirstResult + kPhi);
      }
      last.exit(ExitReason::kEnd, 0x2000);
      ASSERT_EQ(ir::verify(function), "") << ir::print(function);
      TestWave wave;
      const auto place = reinterpret_cast<uint64_t>(data.data());
      wave->sgpr[2] = static_cast<uint32_t>(place);
      wave->sgpr[3] = static_cast<uint32_t>(place >> 32);
      wave->sgpr[4] = 1;
      ASSERT_EQ(run(function, GetParam(), wave), ExitReason::kEnd);
      const auto use_of = [&](unsigned i) { return uses >> 2 * i & 3; };
      for (unsigned i = 0; i < count; ++i) {
        if (use_of(i) == 0) continue;
        EXPECT_EQ(wave->sgpr[kFirstResult + i], expected[i]) << count << ' ' << uses;
      }
      for (unsigned i = 0; i < count; ++i) {
        if (use_of(i) != 3) continue;
        EXPECT_EQ(wave->sgpr[kFirstResult + kPhi], expected[i]) << count << ' ' << uses;
        break;
      }
      if (HasFailure()) return;
    }
}

// A phi in a loop, whose value is read as a whole at the end, is not narrow, nor is what goes into it.
TEST_P(Narrow, ReadersOfOtherLanesCount) {
  ir::Function function("test");
  ir::Block *entry = function.add_block(), *loop = function.add_block(), *end = function.add_block();
  function.entries.push_back({0, entry});
  Builder b(function, entry);
  Inst* start = b.op(Op::splat, {b.op(Op::get_sgpr, {}, 0, 0)});
  b.br(loop);
  Builder l(function, loop);
  Inst *narrow = l.op_typed(Op::phi, ir::kV32, {start}), *whole = l.op_typed(Op::phi, ir::kV32, {start});
  Inst* next_narrow = l.op(Op::fadd_f32, {narrow, start}, kModes[2]);
  Inst* next_whole = l.op(Op::fadd_f32, {whole, start}, kModes[2]);
  for (const auto& [phi, next] : {std::pair{narrow, next_narrow}, {whole, next_whole}}) {
    phi->operands.push_back(next);
    next->users.push_back(phi);
  }
  Inst* less = l.op(Op::fcmp_f32, {next_narrow, next_whole}, kModes[2] | 4u << ir::fpenv::kFCmpShift);
  l.cond_br(l.op(Op::mask_any, {less}), loop, end);
  Builder e(function, end);
  e.op(Op::set_vgpr, {next_whole}, 0, 1);
  e.exit(ExitReason::kEnd, 0x2000);
  const auto found = find_narrow_values(function, ir::LaneShapes(function));
  EXPECT_TRUE(found[narrow->id] && found[next_narrow->id] && found[less->id]);
  EXPECT_FALSE(found[whole->id] || found[next_whole->id] || found[start->id]);
  TestWave wave;
  wave->sgpr[0] = 0x40400000;
  ASSERT_EQ(run(function, GetParam(), wave), ExitReason::kEnd);
  for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(wave->vgpr[1][lane], 0x40c00000u);
}

}  // namespace
}  // namespace wavejit::backend
