// Constant evaluation of every pure integer operation against its meaning in ops.def, and folding on top of it.
#include <gtest/gtest.h>

#include <set>

#include "ir/fold.h"
#include "ir/signature.h"

namespace wavejit::ir {
namespace {

constexpr uint64_t kOnes = ~uint64_t{0};

// Builds the instruction on operands of these types and evaluates it.
std::optional<uint64_t> run(Op op, std::vector<Type> types, std::vector<uint64_t> values, uint32_t attr = 0) {
  std::vector<Inst> operands(types.size());
  Inst inst;
  inst.op = op;
  inst.attr = attr;
  for (size_t i = 0; i < types.size(); ++i) {
    operands[i].op = Op::const_;
    operands[i].type = types[i];
    operands[i].imm = values[i];
    inst.operands.push_back(&operands[i]);
  }
  const std::optional<Type> type = infer_type(op, inst.operands);
  EXPECT_TRUE(type.has_value()) << op_info(op).name;
  inst.type = *type;
  EXPECT_EQ(truncate_to(*type, evaluate(inst, values).value_or(0)), evaluate(inst, values).value_or(0))
      << op_info(op).name;
  return evaluate(inst, values);
}

struct Case {
  Op op;
  unsigned bits;  // of the operands
  std::vector<uint64_t> arguments;
  uint64_t result;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> table = {
      {Op::add, 32, {0xffffffff, 2}, 1},
      {Op::add, 64, {kOnes, 2}, 1},
      {Op::sub, 32, {1, 2}, 0xffffffff},
      {Op::sub, 64, {1, 2}, kOnes},
      {Op::mul, 32, {0x10001, 0x10001}, 0x20001},
      {Op::mul, 64, {0x100000001, 0x100000001}, 0x200000001},
      {Op::addc, 32, {0xffffffff, 0, 1}, 0},
      {Op::addc, 64, {1, 2, 1}, 4},
      {Op::addc_carry, 32, {0xffffffff, 0, 1}, 1},
      {Op::addc_carry, 32, {0xffffffff, 0, 0}, 0},
      {Op::addc_carry, 32, {0x80000000, 0x80000000, 0}, 1},
      {Op::addc_carry, 64, {kOnes, 0, 1}, 1},
      {Op::addc_carry, 64, {kOnes, kOnes, 1}, 1},
      {Op::subb, 32, {5, 3, 1}, 1},
      {Op::subb, 64, {0, 0, 1}, kOnes},
      {Op::subb_borrow, 32, {3, 3, 0}, 0},
      {Op::subb_borrow, 32, {3, 3, 1}, 1},
      {Op::subb_borrow, 32, {0, 0xffffffff, 1}, 1},
      {Op::subb_borrow, 64, {kOnes, 1, 1}, 0},
      {Op::mulhi_u, 32, {0xffffffff, 0xffffffff}, 0xfffffffe},
      {Op::mulhi_s, 32, {0xffffffff, 0xffffffff}, 0},
      {Op::mulhi_s, 32, {0x80000000, 2}, 0xffffffff},
      {Op::mul_wide_u, 32, {0xffffffff, 0xffffffff}, 0xfffffffe00000001},
      {Op::mul_wide_s, 32, {0xffffffff, 2}, 0xfffffffffffffffe},
      {Op::and_, 32, {0xc, 0xa}, 0x8},
      {Op::or_, 32, {0xc, 0xa}, 0xe},
      {Op::xor_, 32, {0xc, 0xa}, 0x6},
      {Op::andn, 32, {0xc, 0xa}, 0x4},
      {Op::not_, 32, {1}, 0xfffffffe},
      {Op::not_, 64, {1}, 0xfffffffffffffffe},
      {Op::shl, 32, {3, 31}, 0x80000000},
      {Op::shl, 32, {3, 32}, 3},  // the amount is taken modulo the width
      {Op::shl, 64, {3, 65}, 6},
      {Op::lshr, 32, {0x80000000, 63}, 1},
      {Op::lshr, 64, {kOnes, 63}, 1},
      {Op::ashr, 32, {0x80000000, 4}, 0xf8000000},
      {Op::ashr, 64, {1ull << 63, 63}, kOnes},
      {Op::smin, 32, {0xffffffff, 1}, 0xffffffff},
      {Op::smax, 32, {0xffffffff, 1}, 1},
      {Op::umin, 32, {0xffffffff, 1}, 1},
      {Op::umax, 32, {0xffffffff, 1}, 0xffffffff},
      {Op::smin, 64, {kOnes, 1}, kOnes},
      {Op::umax, 64, {kOnes, 1}, kOnes},
      {Op::sabs, 32, {0xfffffff0}, 0x10},
      {Op::sabs, 32, {0x80000000}, 0x80000000},
      {Op::sabs, 64, {1ull << 63}, 1ull << 63},
      {Op::popcount, 32, {0xf0f0f0f0}, 16},
      {Op::popcount, 64, {kOnes}, 64},
      {Op::ctz, 32, {0x100}, 8},
      {Op::ctz, 32, {0}, 0xffffffff},
      {Op::ctz, 64, {0}, kOnes},
      {Op::clz, 32, {1}, 31},
      {Op::clz, 32, {0}, 0xffffffff},
      {Op::clz, 64, {1}, 63},
      {Op::bitrev, 32, {1}, 0x80000000},
      {Op::bitrev, 64, {2}, 1ull << 62},
      {Op::bfe_u, 32, {0xabcd1234, 8, 12}, 0xd12},
      {Op::bfe_u, 32, {0xabcd1234, 8, 0}, 0},
      {Op::bfe_u, 32, {0xabcd1234, 24, 16}, 0xab},
      {Op::bfe_u, 64, {0xabcd123400000000, 40, 8}, 0x12},
      {Op::bfe_s, 32, {0x00000800, 8, 4}, 0xfffffff8},
      {Op::bfe_s, 32, {0x00000700, 8, 4}, 7},
      {Op::bfe_s, 32, {0xf0000000, 28, 8}, 0xffffffff},  // beyond the width: copies of the sign
      {Op::bfe_s, 64, {1ull << 43, 40, 4}, 0xfffffffffffffff8},
      {Op::bfi, 32, {0xff00, 0x1234, 0xabcd}, 0x12cd},
      {Op::bfi, 64, {0xffull << 56, 0x12ull << 56, 1}, 0x12ull << 56 | 1},
      {Op::alignbit, 32, {0x11223344, 0x55667788, 8}, 0x44556677},
      {Op::alignbit, 32, {0x11223344, 0x55667788, 32}, 0x55667788},
      {Op::perm, 32, {0x04050607, 0x00010203, 0x07040300}, 0x04070003},
      {Op::perm, 32, {0x80000000, 0x80008000, 0x0b0a0908}, 0xff00ffff},
      {Op::perm, 32, {0, 0, 0x0c0d0e0f}, 0x00ffffff},
      {Op::pack64, 32, {1, 2}, 0x200000001},
      {Op::lo32, 64, {0x200000001}, 1},
      {Op::hi32, 64, {0x200000001}, 2},
      {Op::zext64, 32, {0x80000000}, 0x80000000},
      {Op::sext64, 32, {0x80000000}, 0xffffffff80000000},
  };
  return table;
}

const std::vector<Case>& packed_cases() {
  static const std::vector<Case> table = {
      {Op::pk_add, 32, {0xffff0001, 0x00010001}, 0x00000002},  {Op::pk_sub, 32, {0x00000001, 0x00010002}, 0xffffffff},
      {Op::pk_mul, 32, {0xffff0100, 0x00020100}, 0xfffe0000},  {Op::pk_shl, 32, {0x00010001, 0x000f0011}, 0x80000002},
      {Op::pk_lshr, 32, {0x80008000, 0x000f0010}, 0x00018000}, {Op::pk_ashr, 32, {0x80008000, 0x000f0001}, 0xffffc000},
      {Op::pk_smin, 32, {0xffff0001, 0x0001ffff}, 0xffffffff}, {Op::pk_smax, 32, {0xffff0001, 0x0001ffff}, 0x00010001},
      {Op::pk_umin, 32, {0xffff0001, 0x0001ffff}, 0x00010001}, {Op::pk_umax, 32, {0xffff0001, 0x0001ffff}, 0xffffffff},
  };
  return table;
}

bool is_condition(Op op, size_t operand) {
  const std::string_view letters = op_info(op).operands;
  return operand < letters.size() && letters[operand] == 'c';
}

TEST(IrEvaluate, ScalarsAndLanes) {
  for (const Case& c : cases()) {
    for (const bool vector : {false, true}) {
      std::vector<Type> types;
      for (size_t i = 0; i < c.arguments.size(); ++i) {
        types.push_back(is_condition(c.op, i) ? (vector ? kMask : kI1)
                        : c.bits == 32        ? (vector ? kV32 : kI32)
                                              : (vector ? kV64 : kI64));
      }
      EXPECT_EQ(run(c.op, types, c.arguments), c.result) << op_info(c.op).name << " of " << c.bits << " bits";
    }
  }
  for (const Case& c : packed_cases()) EXPECT_EQ(run(c.op, {kV32, kV32}, c.arguments), c.result) << op_info(c.op).name;
}

TEST(IrEvaluate, MasksAndBooleans) {
  EXPECT_EQ(run(Op::mask_any, {kMask}, {4}), 1u);
  EXPECT_EQ(run(Op::mask_any, {kMask}, {0}), 0u);
  EXPECT_EQ(run(Op::mask_all, {kMask}, {kOnes}), 1u);
  EXPECT_EQ(run(Op::mask_all, {kMask}, {kOnes - 1}), 0u);
  EXPECT_EQ(run(Op::mask_to_i64, {kMask}, {7}), 7u);
  EXPECT_EQ(run(Op::i64_to_mask, {kI64}, {7}), 7u);
  EXPECT_EQ(run(Op::splat_mask, {kI1}, {1}), kOnes);
  EXPECT_EQ(run(Op::splat_mask, {kI1}, {0}), 0u);
  EXPECT_EQ(run(Op::zext_i1, {kI1}, {1}), 1u);
  EXPECT_EQ(run(Op::splat, {kI32}, {9}), 9u);
  EXPECT_EQ(run(Op::splat64, {kI64}, {9}), 9u);
  EXPECT_EQ(run(Op::not_, {kI1}, {1}), 0u);
  EXPECT_EQ(run(Op::not_, {kMask}, {1}), kOnes - 1);
  EXPECT_EQ(run(Op::andn, {kMask, kMask}, {7, 2}), 5u);
  EXPECT_EQ(run(Op::select, {kI1, kI64, kI64}, {1, 5, 6}), 5u);
  EXPECT_EQ(run(Op::select, {kI1, kMask, kMask}, {0, 5, 6}), 6u);
  EXPECT_EQ(run(Op::select, {kMask, kV32, kV32}, {1, 5, 6}), 5u);  // a lane whose bit is set
}

TEST(IrEvaluate, Quotients) {
  EXPECT_EQ(run(Op::udiv64, {kV64, kV64}, {kOnes, 10}), 0x1999999999999999u);
  EXPECT_EQ(run(Op::udiv64, {kV64, kV64}, {1, kOnes}), 0u);
  EXPECT_EQ(run(Op::udiv64, {kV64, kV64}, {0x500000007, 0}), 0x500000007u - 5 + 1);
  EXPECT_EQ(run(Op::udiv64, {kV64, kV64}, {0x500000000, 0}), 0x500000000u - 5 + 2);
}

TEST(IrEvaluate, Compares) {
  const struct {
    ICmp predicate;
    bool less, equal, greater;  // of 0xffffffff with 1: unsigned greater, signed less
  } table[] = {
      {ICmp::eq, false, true, false},  {ICmp::ne, true, false, true},   {ICmp::ult, true, false, false},
      {ICmp::ule, true, true, false},  {ICmp::ugt, false, false, true}, {ICmp::uge, false, true, true},
      {ICmp::slt, true, false, false}, {ICmp::sle, true, true, false},  {ICmp::sgt, false, false, true},
      {ICmp::sge, false, true, true},
  };
  for (const auto& row : table) {
    const auto attr = static_cast<uint32_t>(row.predicate);
    for (const Type type : {kI32, kI64, kV32, kV64}) {
      EXPECT_EQ(run(Op::icmp, {type, type}, {3, 5}, attr), uint64_t{row.less});
      EXPECT_EQ(run(Op::icmp, {type, type}, {5, 5}, attr), uint64_t{row.equal});
      EXPECT_EQ(run(Op::icmp, {type, type}, {5, 3}, attr), uint64_t{row.greater});
      const uint64_t minus_one = type.bits() == 32 ? 0xffffffff : kOnes;
      const bool is_signed = row.predicate >= ICmp::slt;
      EXPECT_EQ(run(Op::icmp, {type, type}, {minus_one, 1}, attr), uint64_t{is_signed ? row.less : row.greater});
    }
  }
}

// Every pure operation is either in a table above or one of those that have no value per lane or are not integer.
TEST(IrEvaluate, NothingIsLeftOut) {
  std::set<Op> tested = {Op::mask_any, Op::mask_all, Op::mask_to_i64, Op::i64_to_mask, Op::splat_mask, Op::zext_i1,
                         Op::splat,    Op::splat64,  Op::select,      Op::icmp,        Op::const_,     Op::udiv64};
  for (const Case& c : cases()) tested.insert(c.op);
  for (const Case& c : packed_cases()) tested.insert(c.op);
  const std::set<Op> no_lane_value = {Op::undef,     Op::lane_id,  Op::phi,      Op::extract,
                                      Op::tuple,     Op::helper,   Op::readlane, Op::readfirstlane,
                                      Op::writelane, Op::bpermute, Op::permute,  Op::dpp,
                                      Op::dpp_valid, Op::swizzle,  Op::mbcnt,    Op::mfma_i16};
  for (unsigned i = 0; i < kNumOps; ++i) {
    const Op op = static_cast<Op>(i);
    const std::string_view name = op_info(op).name;
    const bool floating = name.find("_f16") != std::string_view::npos || name.find("_f32") != std::string_view::npos ||
                          name.find("_f64") != std::string_view::npos;
    if (!is_pure(op) || floating || no_lane_value.contains(op)) continue;
    EXPECT_TRUE(tested.contains(op)) << name << " has no test of its value";
  }
}

TEST(IrFold, MasksOfSomeLanesDoNotMakeSplats) {
  // select(mask 1, 5, 6) differs between lanes, so it is no constant; compares of splats are full or empty masks.
  Function f("f");
  Inst* some = f.create(Op::const_, kMask);
  some->imm = 1;
  Inst* full = f.create(Op::const_, kMask);
  full->imm = kOnes;
  Inst* five = f.create(Op::const_, kV32);
  five->imm = 5;
  Inst* six = f.create(Op::const_, kV32);
  six->imm = 6;
  EXPECT_FALSE(fold_to_constant(*f.create(Op::select, kV32, {some, five, six})).has_value());
  EXPECT_EQ(fold_to_constant(*f.create(Op::select, kV32, {full, five, six})), 5u);
  EXPECT_FALSE(fold_to_constant(*f.create(Op::addc, kV32, {five, six, some})).has_value());
  EXPECT_EQ(fold_to_constant(*f.create(Op::addc, kV32, {five, six, full})), 12u);
  Inst* less = f.create(Op::icmp, kMask, {five, six});
  less->attr = static_cast<uint32_t>(ICmp::ult);
  EXPECT_EQ(fold_to_constant(*less), kOnes);
  EXPECT_EQ(fold_to_constant(*f.create(Op::and_, kMask, {some, full})), 1u);
}

}  // namespace
}  // namespace wavejit::ir
