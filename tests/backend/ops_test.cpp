// Every pure row of ops.def on both tiers, with operands in registers and as constants, against scalar models.
#include <array>
#include <bit>
#include <cstring>
#include <map>

#include "float_model.h"
#include "ir/fold.h"
#include "runner.h"

namespace wavejit::backend {
namespace {

using ir::Builder;
using ir::Inst;
using ir::Op;
using ir::Type;
namespace fpenv = ir::fpenv;

constexpr unsigned kResultRow = 100, kResultSgpr = 60;

// One operation with its operand types, attribute, and which operand is a constant (-1: none).
struct Case {
  Op op;
  std::vector<Type> operands;
  Type result;
  uint32_t attr = 0;
  int constant = -1;
  std::optional<uint64_t> bits = {};  // of the constant; drawn if empty
};

std::string describe(const Case& c) {
  std::string text(ir::op_info(c.op).mnemonic);
  for (const Type t : c.operands) text.append(1, ' ').append(ir::to_string(t));
  return fmt::format("{} attr {:#x} constant {}", text, c.attr, c.constant);
}

Inst* read_operand(Builder& b, Type type, unsigned index) {
  if (type == ir::kV32) return b.op_typed(Op::get_vgpr, type, {}, 0, 2 * index);
  if (type == ir::kV64) {
    Inst* lo = b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 2 * index);
    Inst* hi = b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 2 * index + 1);
    return b.op(Op::pack64, {lo, hi});
  }
  if (type == ir::kMask) return b.op_typed(Op::get_mask, type, {}, 0, 20 + 2 * index);
  if (type == ir::kI64) return b.op_typed(Op::get_sgpr64, type, {}, 0, 20 + 2 * index);
  Inst* word = b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 20 + 2 * index);
  return type == ir::kI1 ? b.icmp(ir::ICmp::slt, word, b.i32(0)) : word;
}

uint64_t operand_value(const TestWave& wave_in, Type type, unsigned index, unsigned lane) {
  auto& wave = const_cast<TestWave&>(wave_in);
  if (type == ir::kV32) return wave->vgpr[2 * index][lane];
  if (type == ir::kV64) return wave->vgpr[2 * index][lane] | uint64_t{wave->vgpr[2 * index + 1][lane]} << 32;
  if (type == ir::kMask) return wave->sgpr64(20 + 2 * index);
  if (type == ir::kI64) return wave->sgpr64(20 + 2 * index);
  const uint32_t word = wave->sgpr[20 + 2 * index];
  return type == ir::kI1 ? word >> 31 : word;
}

void write_result(Builder& b, Inst* value) {
  if (value->type == ir::kV32) {
    b.op_typed(Op::set_vgpr, ir::kNone, {value}, 0, kResultRow);
  } else if (value->type == ir::kV64) {
    b.op_typed(Op::set_vgpr, ir::kNone, {b.op(Op::lo32, {value})}, 0, kResultRow);
    b.op_typed(Op::set_vgpr, ir::kNone, {b.op(Op::hi32, {value})}, 0, kResultRow + 1);
  } else if (value->type == ir::kMask) {
    b.op_typed(Op::set_mask, ir::kNone, {value}, 0, kResultSgpr);
  } else if (value->type == ir::kI64) {
    b.op_typed(Op::set_sgpr64, ir::kNone, {value}, 0, kResultSgpr);
  } else {
    b.op_typed(Op::set_sgpr, ir::kNone, {value->type == ir::kI1 ? b.op(Op::zext_i1, {value}) : value}, 0, kResultSgpr);
  }
}

uint64_t result_value(TestWave& wave, Type type, unsigned lane) {
  if (type == ir::kV32) return wave->vgpr[kResultRow][lane];
  if (type == ir::kV64) return wave->vgpr[kResultRow][lane] | uint64_t{wave->vgpr[kResultRow + 1][lane]} << 32;
  if (type == ir::kMask || type == ir::kI64) return wave->sgpr64(kResultSgpr);
  return wave->sgpr[kResultSgpr];
}

bool is_pair_of_f16(Op op) {
  return op == Op::cvt_pkrtz_f16_f32 || op == Op::pk_fma_f16;
}

bool is_f16(Op op) {
  return ir::op_info(op).name.find("f16") != std::string_view::npos && op != Op::cvt_f16_f32 &&
         op != Op::cvt_pkrtz_f16_f32;
}

void check(const Case& c, std::mt19937_64& random, unsigned rounds) {
  const bool lanes = c.result.is_vector() || c.result.is_mask();
  for (unsigned round = 0; round < rounds; ++round) {
    Straight f;
    TestWave input;
    input.randomise(random);
    for (unsigned i = 0; i < c.operands.size(); ++i) {
      for (unsigned lane = 0; lane < kWaveSize; ++lane) {
        if (c.operands[i] == ir::kV64) {
          const uint64_t value = interesting64(random);
          input->vgpr[2 * i][lane] = static_cast<uint32_t>(value);
          input->vgpr[2 * i + 1][lane] = static_cast<uint32_t>(value >> 32);
        } else if (is_f16(c.op)) {
          input->vgpr[2 * i][lane] = is_pair_of_f16(c.op)
                                         ? (interesting16(random) & 0xffff) | interesting16(random) << 16
                                         : interesting16(random);
        }
      }
    }
    std::vector<Inst*> operands;
    std::vector<std::optional<uint64_t>> constants(c.operands.size());
    for (unsigned i = 0; i < c.operands.size(); ++i) {
      if (static_cast<int>(i) == c.constant) {
        uint64_t bits = c.operands[i].bits() == 64 ? interesting64(random)
                        : is_f16(c.op)             ? interesting16(random)
                                                   : interesting32(random);
        if (c.bits) bits = *c.bits;
        if (c.operands[i] == ir::kMask) bits = round % 3 == 0 ? random() : round % 3 == 1 ? ~uint64_t{0} : 0;
        operands.push_back(f.b.constant(c.operands[i], bits));
        constants[i] = operands.back()->imm;
      } else {
        operands.push_back(read_operand(f.b, c.operands[i], i));
      }
    }
    // Not through the builder: it would fold.
    Inst* value = f.function.create(c.op, c.result, operands);
    value->attr = c.attr;
    f.function.append(f.block, value);
    write_result(f.b, value);
    f.end();

    for (const Tier tier : kTiers) {
      if (!host_supports(tier)) continue;
      TestWave wave(input);
      ASSERT_EQ(run(f.function, tier, wave), ExitReason::kEnd);
      for (unsigned lane = 0; lane < (lanes ? kWaveSize : 1); ++lane) {
        std::vector<uint64_t> arguments;
        for (unsigned i = 0; i < c.operands.size(); ++i) {
          uint64_t bits = constants[i] ? *constants[i] : operand_value(input, c.operands[i], i, lane);
          // Whole masks for mask logic, the lane's bit where they are conditions.
          if (c.operands[i] == ir::kMask && lanes) bits = bits >> lane & 1;
          arguments.push_back(bits);
        }
        std::optional<uint64_t> expected = float_model(*value, arguments);
        if (!expected) expected = ir::evaluate(*value, arguments);
        ASSERT_TRUE(expected.has_value()) << "no model for " << describe(c);
        uint64_t actual = result_value(wave, c.result, lane);
        if (c.result == ir::kMask) {
          actual = actual >> lane & 1;
          *expected &= 1;
        }
        const bool floating =
            c.op >= Op::fadd_f32 && c.op <= Op::cvt_u16_f16 && c.result.is_vector() && !is_pair_of_f16(c.op);
        if (is_pair_of_f16(c.op)) {  // NaN by NaN in each half
          for (const unsigned shift : {0u, 16u}) {
            const auto nan = [&](uint64_t bits) { return (bits >> shift & 0x7fff) > 0x7c00; };
            if (nan(actual) && nan(*expected))
              actual = (actual & ~(uint64_t{0xffff} << shift)) | (*expected & uint64_t{0xffff} << shift);
          }
        }
        if (floating && is_nan_result(*value, *expected) && is_nan_result(*value, actual)) continue;
        ASSERT_EQ(actual, *expected) << to_string(tier) << " lane " << lane << " " << describe(c) <<
            [&] {
              std::string text;
              for (const uint64_t a : arguments) text += fmt::format(" {:#x}", a);
              return text;
            }() << " expected " << std::hex
                                     << *expected << " got " << actual << "\n"
                                     << ir::print(f.function) << compile_or_fail(f.function, tier, true)->listing();
      }
    }
  }
}

// Operand and result types of a row for each choice of its type variables.
std::vector<Case> cases_of(Op op) {
  const ir::OpInfo& info = ir::op_info(op);
  std::string letters(info.operands);
  letters.push_back(info.result);
  std::vector<Case> cases;
  const auto expand = [&](Type n, bool vector) {
    const auto type_of = [&](char letter) {
      switch (letter) {
        case 'b':
          return ir::kI1;
        case 's':
          return ir::kI32;
        case 'd':
          return ir::kI64;
        case 'm':
          return ir::kMask;
        case 'v':
          return ir::kV32;
        case 'w':
          return ir::kV64;
        case 'c':
          return vector ? ir::kMask : ir::kI1;
        case 'V':
          return vector ? ir::kV32 : ir::kI32;
        case 'X':
          return vector ? ir::kV64 : ir::kI64;
        default:
          return n;  // N, L, T
      }
    };
    Case c{.op = op, .operands = {}, .result = type_of(info.result)};
    for (const char letter : info.operands) c.operands.push_back(type_of(letter));
    cases.push_back(c);
  };
  const bool any_n = letters.find('N') != std::string::npos, any_l = letters.find_first_of("LT") != std::string::npos;
  if (any_n || any_l) {
    for (const Type t : {ir::kI32, ir::kI64, ir::kV32, ir::kV64}) expand(t, t.is_vector());
    if (any_l) expand(ir::kI1, false), expand(ir::kMask, op != Op::select);
    if (op == Op::select) expand(ir::kV32, false), expand(ir::kV64, false);  // one condition for all lanes
  } else if (letters.find_first_of("VXc") != std::string::npos) {
    expand(ir::kNone, false);
    expand(ir::kNone, true);
  } else {
    expand(ir::kNone, false);
  }
  return cases;
}

std::vector<uint32_t> attributes_of(Op op) {
  if (op == Op::icmp) return {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  constexpr uint32_t kIn = fpenv::kKeepInputDenorm, kOut = fpenv::kKeepOutputDenorm;
  if (op == Op::fcmp_f32 || op == Op::fcmp_f64 || op == Op::fcmp_f16) {
    std::vector<uint32_t> all;
    all.reserve(16);
    for (uint32_t p = 0; p < 16; ++p) all.push_back(p << fpenv::kFCmpShift | (p % 2 ? kIn | kOut : 0));
    return all;
  }
  if (op < Op::fadd_f32 || op > Op::cvt_u16_f16) return {0};
  std::vector<uint32_t> all;
  all.reserve(16);
  for (uint32_t rounding = 0; rounding < 4; ++rounding) all.push_back(rounding | kIn | kOut);
  for (const uint32_t keep : {0u, kIn, kOut}) all.push_back(keep);
  all.push_back(kIn | kOut | fpenv::kIeee);
  all.push_back(fpenv::kIeee | fpenv::kDx10Clamp);
  all.push_back(kIn | kOut | fpenv::kDx10Clamp | fpenv::kFp16Ovfl);
  all.push_back(2 | kOut);
  return all;
}

// Rows tested elsewhere: they have state, memory, several lanes, or control flow, or a model of their own.
bool elsewhere(Op op) {
  switch (op) {
    case Op::const_:
    case Op::undef:
    case Op::lane_id:
    case Op::phi:
    case Op::extract:
    case Op::tuple:
    case Op::helper:
    case Op::readlane:
    case Op::readfirstlane:
    case Op::writelane:
    case Op::bpermute:
    case Op::permute:
    case Op::dpp:
    case Op::dpp_valid:
    case Op::swizzle:
    case Op::mbcnt:
    case Op::mfma_f32:
    case Op::mfma_f64:
    case Op::mfma_i16:
    case Op::mask_to_i64:
    case Op::i64_to_mask:
    case Op::mask_any:
    case Op::mask_all:
    case Op::splat_mask:
    case Op::trig_preop_f64:
    case Op::fldexp_f64:
    case Op::div_scale_f32:
    case Op::div_scale_vcc_f32:
    case Op::div_scale_f64:
    case Op::div_scale_vcc_f64:
    case Op::div_fmas_f32:
    case Op::div_fmas_f64:
    case Op::div_fixup_f32:
    case Op::div_fixup_f64:
    case Op::div_fixup_f16:
      return true;
    default:
      return !ir::is_pure(op);
  }
}

class OpTest : public testing::TestWithParam<Op> {};

TEST_P(OpTest, MatchesTheScalarModel) {
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()) * 977 + 5);
  for (Case c : cases_of(GetParam())) {
    for (const uint32_t attr : attributes_of(GetParam())) {
      c.attr = attr;
      for (c.constant = -1; c.constant < static_cast<int>(c.operands.size()); ++c.constant) {
        check(c, random, c.constant < 0 ? 3 : 2);
        if (HasFatalFailure()) return;
      }
    }
  }
}

std::vector<Op> tested_ops() {
  std::vector<Op> ops;
  for (unsigned i = 0; i < ir::kNumOps; ++i) {
    if (!elsewhere(static_cast<Op>(i))) ops.push_back(static_cast<Op>(i));
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Rows, OpTest, testing::ValuesIn(tested_ops()),
                         [](const auto& info) { return std::string(ir::op_info(info.param).name); });

// Products by constants that have code of their own, and by values whose upper half is 0.
TEST(Products, OfShortFactors) {
  std::mt19937_64 random(43);
  Case c{.op = Op::mul, .operands = {ir::kV64, ir::kV64}, .result = ir::kV64, .constant = 1};
  for (const uint64_t factor : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{5}, uint64_t{7},
                                uint64_t{0x10001}, uint64_t{0x80000001}, uint64_t{0xffffffff}, uint64_t{1} << 32,
                                (uint64_t{1} << 32) + 1, (uint64_t{1} << 63) + 1, ~uint64_t{0}}) {
    c.bits = factor;
    check(c, random, 2);
    if (HasFatalFailure()) return;
  }
  Straight f;
  Inst* factor = f.b.op(Op::zext64, {read_operand(f.b, ir::kV32, 1)});
  write_result(f.b, f.b.op(Op::mul, {read_operand(f.b, ir::kV64, 0), factor}));
  f.end();
  for (const Tier tier : kTiers) {
    if (!host_supports(tier)) continue;
    TestWave wave;
    for (auto& row : wave->vgpr)
      for (uint32_t& lane : row) lane = interesting32(random);
    const TestWave input(wave);
    ASSERT_EQ(run(f.function, tier, wave), ExitReason::kEnd);
    for (unsigned lane = 0; lane < kWaveSize; ++lane)
      EXPECT_EQ(result_value(wave, ir::kV64, lane),
                operand_value(input, ir::kV64, 0, lane) * operand_value(input, ir::kV32, 1, lane));
  }
}

// 1000 lanes' worth of one chain: the f32 sequences on many arguments.
TEST(Transcendental, AgreesWithTheSequencesOnManyArguments) {
  std::mt19937_64 random(42);
  for (const Op op :
       {Op::frcp_f32, Op::frsq_f32, Op::fsqrt_f32, Op::fexp_f32, Op::flog_f32, Op::fsin_f32, Op::fcos_f32}) {
    for (const uint32_t attr : {0u, fpenv::kKeepInputDenorm | fpenv::kKeepOutputDenorm}) {
      check({.op = op, .operands = {ir::kV32}, .result = ir::kV32, .attr = attr}, random, 40);
      if (HasFatalFailure()) return;
    }
  }
}

// Trees of bitwise operations, which the backend may put into fewer instructions: values used several times, constants,
// operations whose result is an operand elsewhere.
TEST(BitwiseTrees, MatchTheModel) {
  for (const Tier tier : kTiers) {
    if (!host_supports(tier)) continue;
    for (unsigned seed = 0; seed < 150; ++seed) {
      std::mt19937_64 random{seed};
      const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
      const Type type = seed % 3 == 2 ? ir::kV64 : ir::kV32;
      Straight code;
      Builder& b = code.b;
      TestWave wave;
      wave.randomise(random);
      std::vector<Inst*> values;
      std::vector<std::array<uint64_t, kWaveSize>> model;
      for (unsigned i = 0; i < 3 + seed % 3; ++i) {
        values.push_back(read_operand(b, type, i));
        for (unsigned lane = 0; lane < kWaveSize; ++lane) {
          if (lane == 0) model.emplace_back();
          model.back()[lane] = operand_value(wave, type, i, lane);
        }
      }
      if (seed % 2 != 0) {
        const uint64_t bits = type == ir::kV64 ? random() : random() & 0xffffffff;
        values.push_back(type == ir::kV64 ? b.v64(bits) : b.v32(static_cast<uint32_t>(bits)));
        model.emplace_back().fill(bits);
      }
      for (unsigned i = 0; i < 4 + seed % 9; ++i) {
        static constexpr Op kOps[] = {Op::and_, Op::or_, Op::xor_, Op::xor_, Op::andn, Op::not_, Op::bfi};
        const Op op = kOps[pick(std::size(kOps))];
        std::vector<size_t> from;
        from.reserve(ir::op_info(op).operands.size());
        // Mostly of what was computed last, so that trees come about.
        for (unsigned k = 0; k < ir::op_info(op).operands.size(); ++k) {
          from.push_back(pick(3) != 0 ? values.size() - 1 - pick(std::min<size_t>(values.size(), 3))
                                      : pick(values.size()));
        }
        std::vector<Inst*> operands;
        operands.reserve(from.size());
        for (const size_t index : from) operands.push_back(values[index]);
        std::array<uint64_t, kWaveSize> result;
        for (unsigned lane = 0; lane < kWaveSize; ++lane) {
          const uint64_t x = model[from[0]][lane];
          const uint64_t y = from.size() > 1 ? model[from[1]][lane] : 0, z = from.size() > 2 ? model[from[2]][lane] : 0;
          result[lane] = op == Op::and_   ? x & y
                         : op == Op::or_  ? x | y
                         : op == Op::xor_ ? x ^ y
                         : op == Op::andn ? x & ~y
                         : op == Op::not_ ? ~x
                                          : (x & y) | (~x & z);
          if (type == ir::kV32) result[lane] &= 0xffffffff;
        }
        values.push_back(b.op_typed(op, type, operands));
        model.push_back(result);
      }
      write_result(b, values.back());
      code.end();
      ASSERT_EQ(run(code.function, tier, wave), ExitReason::kEnd);
      for (unsigned lane = 0; lane < kWaveSize; ++lane) {
        ASSERT_EQ(result_value(wave, type, lane), model.back()[lane])
            << to_string(tier) << " seed " << seed << " lane " << lane << "\n"
            << ir::print(code.function);
      }
    }
  }
}

// The compiler's f32 division, folded and step by step: numbers of all kinds, and quotients next to the middle of two
// floats.
// `outside`: what becomes of denormals before and behind the multiply-adds.
void compare_divisions(uint32_t outside) {
  Straight code;
  Builder& b = code.b;
  constexpr uint32_t kKeep = fpenv::kKeepInputDenorm | fpenv::kKeepOutputDenorm;
  const auto op = [&](Op o, std::initializer_list<Inst*> operands) { return b.op(o, operands, kKeep); };
  Inst* d = read_operand(b, ir::kV32, 0);
  Inst* n = read_operand(b, ir::kV32, 1);
  Inst* scaled_d = op(Op::div_scale_f32, {d, d, n});
  Inst* scaled_n = op(Op::div_scale_f32, {n, d, n});
  Inst* vcc = op(Op::div_scale_vcc_f32, {n, d, n});
  Inst* estimate = b.op(Op::frcp_f32, {scaled_d}, outside);
  Inst* negative = b.op(Op::xor_, {scaled_d, b.v32(0x80000000)});
  Inst* residual = op(Op::fma_f32, {negative, estimate, b.v32(0x3f800000)});
  Inst* reciprocal = op(Op::fma_f32, {residual, estimate, estimate});
  Inst* first = op(Op::fmul_f32, {scaled_n, reciprocal});
  Inst* second = op(Op::fma_f32, {op(Op::fma_f32, {negative, first, scaled_n}), reciprocal, first});
  Inst* remainder = op(Op::fma_f32, {negative, second, scaled_n});
  Inst* last = b.op(Op::div_fmas_f32, {remainder, reciprocal, second, vcc}, outside);
  write_result(b, b.op(Op::div_fixup_f32, {last, d, n}, outside));
  code.end();
  ASSERT_EQ(ir::verify(code.function), "");
  for (const Tier tier : kTiers) {
    if (!host_supports(tier)) continue;
    CompileOptions options{.tier = tier, .listing = ListingKind::x86};
    const auto folded = compile(code.function, options);
    options.optimisations.remove(Optimisation::folded_divisions);
    const auto steps = compile(code.function, options);
    ASSERT_TRUE(folded.has_value() && steps.has_value());
    EXPECT_NE((*folded)->listing(), (*steps)->listing());
    std::mt19937_64 random{5};
    for (unsigned round = 0; round < 4000; ++round) {
      TestWave wave;
      for (unsigned lane = 0; lane < kWaveSize; ++lane) {
        uint32_t& divisor = wave->vgpr[0][lane];
        uint32_t& dividend = wave->vgpr[2][lane];
        if (round % 8 == 0) {
          divisor = interesting32(random);
          dividend = interesting32(random);
          continue;
        }
        if (round % 8 == 4) {
          divisor = static_cast<uint32_t>(random());
          dividend = static_cast<uint32_t>(random());
          continue;
        }
        divisor = static_cast<uint32_t>(random() % 0x0e000000 + 0x38000000);
        if (round % 8 == 2 && lane % 5 == 0) {
          constexpr uint32_t kSpecial[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc01234, 0x7f812345, 0x00000001};
          const uint32_t special = kSpecial[random() % (round % 16 == 2 ? 7 : 6)];
          dividend = lane % 2 == 0 ? special : divisor;
          if (lane % 3 == 0) divisor = special;
          continue;
        }
        if (round % 2 == 0) {
          dividend = static_cast<uint32_t>(random() % 0x0e000000 + 0x38000000);
        } else {
          // d * (q + half a unit), rounded: quotients close to a tie.
          const double q = static_cast<double>(random() % 0x800000 + 0x800000) + 0.5;
          dividend = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<float>(divisor) * q * 0x1p-24));
        }
      }
      TestWave other(wave);
      ASSERT_EQ(enter(**folded, *wave, 0), ExitReason::kEnd);
      ASSERT_EQ(enter(**steps, *other, 0), ExitReason::kEnd);
      for (unsigned lane = 0; lane < kWaveSize; ++lane) {
        ASSERT_EQ(wave->vgpr[kResultRow][lane], other->vgpr[kResultRow][lane])
            << to_string(tier) << ": " << wave->vgpr[2][lane] << " / " << wave->vgpr[0][lane];
      }
    }
  }
}
TEST(Division, FoldedGivesTheBitsOfTheSteps) {
  constexpr uint32_t kIn = fpenv::kKeepInputDenorm, kOut = fpenv::kKeepOutputDenorm;
  for (const uint32_t outside : {kIn | kOut, 0u, kIn, kOut}) compare_divisions(outside);
}

// The same for f64.
TEST(Division, FoldedGivesTheBitsOfTheStepsF64) {
  Straight code;
  Builder& b = code.b;
  constexpr uint32_t kKeep = fpenv::kKeepInputDenorm | fpenv::kKeepOutputDenorm;
  const auto op = [&](Op o, std::initializer_list<Inst*> operands) { return b.op(o, operands, kKeep); };
  Inst* d = read_operand(b, ir::kV64, 0);
  Inst* n = read_operand(b, ir::kV64, 1);
  Inst* scaled_d = op(Op::div_scale_f64, {d, d, n});
  Inst* scaled_n = op(Op::div_scale_f64, {n, d, n});
  Inst* vcc = op(Op::div_scale_vcc_f64, {n, d, n});
  Inst* negative = b.op(Op::xor_, {scaled_d, b.v64(uint64_t{1} << 63)});
  Inst* reciprocal = op(Op::frcp_f64, {scaled_d});
  for (int i = 0; i < 2; ++i) {
    Inst* residual = op(Op::fma_f64, {negative, reciprocal, b.v64(0x3ff0000000000000)});
    reciprocal = op(Op::fma_f64, {reciprocal, residual, reciprocal});
  }
  Inst* quotient = op(Op::fmul_f64, {scaled_n, reciprocal});
  Inst* remainder = op(Op::fma_f64, {negative, quotient, scaled_n});
  Inst* last = op(Op::div_fmas_f64, {remainder, reciprocal, quotient, vcc});
  write_result(b, op(Op::div_fixup_f64, {last, d, n}));
  code.end();
  ASSERT_EQ(ir::verify(code.function), "");
  for (const Tier tier : kTiers) {
    if (!host_supports(tier)) continue;
    CompileOptions options{.tier = tier, .listing = ListingKind::x86};
    const auto folded = compile(code.function, options);
    options.optimisations.remove(Optimisation::folded_divisions);
    const auto steps = compile(code.function, options);
    ASSERT_TRUE(folded.has_value() && steps.has_value());
    EXPECT_NE((*folded)->listing(), (*steps)->listing());
    std::mt19937_64 random{6};
    for (unsigned round = 0; round < 3000; ++round) {
      TestWave wave;
      for (unsigned lane = 0; lane < kWaveSize; ++lane) {
        uint64_t divisor = random(), dividend = random();
        if (round % 3 == 0) {
          divisor = interesting64(random);
          dividend = interesting64(random);
        } else if (round % 3 == 1) {  // of ordinary size
          for (uint64_t* x : {&divisor, &dividend}) *x = (*x & 0x800fffffffffffff) | ((*x >> 52 & 255) + 900) << 52;
        }
        for (unsigned half = 0; half < 2; ++half) {
          wave->vgpr[half][lane] = static_cast<uint32_t>(divisor >> 32 * half);
          wave->vgpr[2 + half][lane] = static_cast<uint32_t>(dividend >> 32 * half);
        }
      }
      TestWave other(wave);
      ASSERT_EQ(enter(**folded, *wave, 0), ExitReason::kEnd);
      ASSERT_EQ(enter(**steps, *other, 0), ExitReason::kEnd);
      for (unsigned lane = 0; lane < kWaveSize; ++lane) {
        ASSERT_EQ(result_value(wave, ir::kV64, lane), result_value(other, ir::kV64, lane))
            << to_string(tier) << ": round " << round << ", lane " << lane;
      }
    }
  }
}

}  // namespace
}  // namespace wavejit::backend
