// Scalar code as in copies of loops for one lane: conditions, addresses, indices, constants as operands.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <sstream>

#include "runner.h"

namespace wavejit::backend {
namespace {

using ir::ICmp;
using ir::Inst;
using ir::Op;
using testing::HasSubstr;
using testing::Not;

// The names of the LIR instructions, in order.
std::string selected(std::string_view text, Tier tier) {
  auto function = ir::parse(text);
  if (!function) {
    ADD_FAILURE() << function.error().message;
    return {};
  }
  const std::string problem = ir::verify(**function);
  if (!problem.empty()) ADD_FAILURE() << problem;
  const auto code = compile(**function, {.tier = tier, .listing = ListingKind::lir});
  if (!code) {
    ADD_FAILURE() << code.error().message;
    return {};
  }
  std::istringstream lines((*code)->listing());
  std::string names;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ") || line.starts_with("  ;")) continue;
    names += line.substr(2, line.find(' ', 2) - 2) + " ";
  }
  return names;
}

class ScalarCode : public testing::TestWithParam<Tier> {
 protected:
  [[nodiscard]] static std::string names(std::string_view text) { return selected(text, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Tiers, ScalarCode, testing::ValuesIn(kTiers), [](const auto& info) {
  return info.param == Tier::avx2 ? std::string("avx2") : std::string("avx512");
});

// Two selects and a branch in another block read one compare.
TEST_P(ScalarCode, ReadersCompareThemselves) {
  const std::string code = names(R"(function "t"
entry 0x0 b0
block b0
  %0:i32 = get_sgpr #1
  %1:i32 = get_sgpr #2
  %2:i1 = icmp.ult %0, %1
  %3:i32 = select %2, %0, %1
  %4:i32 = const #7
  %5:i32 = select %2, %0, %4
  set_sgpr #3 %3
  set_sgpr #4 %5
  br b1
block b1
  cond_br %2, b2, b3
block b2
  set_sgpr #5 %0
  exit.end #0x2000
block b3
  set_sgpr #6 %1
  exit.end #0x2004
)");
  EXPECT_THAT(code, HasSubstr("cmp mov cmovb mov cmovb "));  // flags of one compare
  EXPECT_THAT(code, HasSubstr("cmp jae "));
  EXPECT_THAT(code, Not(HasSubstr("setb ")));
  EXPECT_THAT(code, Not(HasSubstr("test ")));
}

TEST_P(ScalarCode, OppositeConditions) {
  const std::string code = names(R"(function "t"
entry 0x0 b0
block b0
  %0:i32 = get_sgpr #1
  %1:i32 = const #0
  %2:i1 = icmp.eq %0, %1
  %3:i1 = not %2
  cond_br %2, b1, b2
block b1
  set_sgpr #5 %0
  br b2
block b2
  cond_br %3, b3, b4
block b3
  set_sgpr #6 %0
  br b4
block b4
  exit.end #0x2000
)");
  EXPECT_THAT(code, Not(HasSubstr("sete ")));
  EXPECT_THAT(code, Not(HasSubstr("xor ")));
}

// The condition is in a register as a phi needs it; its opposite is not.
TEST_P(ScalarCode, ConditionsThatAreNumbers) {
  const std::string code = names(R"(function "t"
entry 0x0 b0
block b0
  %0:i32 = get_sgpr #1
  %1:i32 = get_sgpr #2
  %2:i1 = icmp.slt %0, %1
  %3:i1 = not %2
  %4:i32 = zext_i1 %2
  set_sgpr #3 %4
  %5:i32 = select %3, %0, %1
  set_sgpr #4 %5
  exit.end #0x2000
)");
  EXPECT_THAT(code, HasSubstr("mov cmp setl "));
  EXPECT_THAT(code, Not(HasSubstr("movzx ")));
  EXPECT_THAT(code, Not(HasSubstr("xor ")));
  EXPECT_THAT(code, HasSubstr("test mov cmove "));
}

// A register that is written in between holds another number.
TEST_P(ScalarCode, OverwrittenNumbersAreNotComparedAgain) {
  const std::string code = names(R"(function "t"
entry 0x0 b0
block b0
  %0:i32 = get_sgpr #1
  %1:i32 = const #1
  br b1
block b1
  %2:i32 = phi %0, %3
  %4:i32 = const #10
  %5:i1 = icmp.ult %2, %4
  %3:i32 = add %2, %1
  br b2
block b2
  cond_br %5, b1, b3
block b3
  set_sgpr #5 %3
  exit.end #0x2000
)");
  EXPECT_THAT(code, HasSubstr("setb "));
}

TEST_P(ScalarCode, ResultsOfBitwiseOperationsAreNotTested) {
  const std::string code = names(R"(function "t"
entry 0x0 b0
block b0
  %0:i32 = get_sgpr #1
  %1:i32 = get_sgpr #2
  %2:i32 = and %0, %1
  %3:i32 = const #0
  %4:i1 = icmp.ne %2, %3
  cond_br %4, b1, b2
block b1
  set_sgpr #5 %2
  br b2
block b2
  exit.end #0x2000
)");
  EXPECT_THAT(code, HasSubstr("and je "));
}

TEST_P(ScalarCode, AddressesAreOperands) {
  const std::string code = names(R"(function "t"
entry 0x0 b0
block b0
  %0:i64 = get_sgpr64 #2
  %1:i32 = get_sgpr #4
  %2:i1 = const #1
  %3:i64 = zext64 %1
  %4:i64 = const #2
  %5:i64 = shl %3, %4
  %6:i64 = add %0, %5
  %7:i32 = load_lane [global base_only 4x1 imm 8] %2, %6
  %8:i64 = zext64 %7
  %9:i64 = add %8, %0
  store_lane [global base_only 1x1] %2, %9, %1
  exit.end #0x2000
)");
  EXPECT_THAT(code, Not(HasSubstr("shl ")));
  EXPECT_THAT(code, Not(HasSubstr("lea ")));
  EXPECT_THAT(code, Not(HasSubstr("add ")));
}

// A number that a phi takes as one lane's comes from memory without a general register in between; not where all lanes are read.
TEST_P(ScalarCode, LoadsOfNumbersForPhis) {
  const auto code = [](std::string_view reader) {
    return names(fmt::format(R"(function "t"
entry 0x0 b0
block b0
  %0:i64 = get_sgpr64 #2
  %1:i32 = get_sgpr #4
  %2:i1 = const #1
  %3:i32 = const #0
  %4:v32 = const #0x3f800000
  %5:i1 = icmp.eq %1, %3
  cond_br %5, b1, b2
block b1
  %6:i32 = load_lane [global base_only 4x1] %2, %0
  %7:v32 = splat %6
  br b2
block b2 preds b0 b1
  %8:v32 = phi %4, %7
  %9:v32 = fadd.f32 attr 0x3c %8, %4
{}  exit.end #0x2000
)",
                             reader));
  };
  const std::string one = code("  %10:i32 = readlane %9, %3\n  set_sgpr #5 %10\n");
  const std::string all = code("  set_vgpr #5 %9\n");
  EXPECT_THAT(one, HasSubstr("vpbroadcastd "));
  EXPECT_THAT(one, Not(HasSubstr("mov vpbroadcastd ")));
  EXPECT_THAT(one, Not(HasSubstr("vmovd vpbroadcastd ")));
  EXPECT_THAT(all, testing::AnyOf(HasSubstr("mov vpbroadcastd "), HasSubstr("vmovd vpbroadcastd ")));
}

// The register of a 32-bit number is an index as it is. That of the lower half of a 64-bit number may have the upper half
// above it, by itself or through a phi.
TEST_P(ScalarCode, HalvesAreExtendedForAddresses) {
  const auto moves = [](std::string_view index) {
    const std::string code = names(fmt::format(R"(function "t"
entry 0x0 b0
block b0
  %0:i64 = get_sgpr64 #4
  %1:i32 = lo32 %0
  %2:i32 = get_sgpr #6
  set_sgpr #7 %1
  set_sgpr #8 %2
  %3:i1 = icmp.ult %1, %2
  cond_br %3, b1, b2
block b1
  br b2
block b2
  %4:i32 = phi %2, %1
  %5:i32 = phi %2, %2
  set_sgpr #9 %4
  set_sgpr #10 %5
  %6:i32 = get_lane #0 {}
  set_sgpr #11 %6
  exit.end #0x2000
)",
                                               index));
    unsigned count = 0;
    for (size_t at = code.find("mov "); at != std::string::npos; at = code.find("mov ", at + 4)) ++count;
    return count;
  };
  EXPECT_EQ(moves("%1"), moves("%2") + 1);
  EXPECT_EQ(moves("%4"), moves("%5") + 1);
}

TEST_P(ScalarCode, ConstantsAsOperands) {
  const std::string code = names(R"(function "t"
entry 0x0 b0
block b0
  %0:i32 = get_sgpr #1
  %1:i32 = const #8
  %2:i32 = const #5
  %3:i32 = bfe_u %0, %1, %2
  set_sgpr #2 %3
  %4:i32 = bfe_s %0, %1, %2
  set_sgpr #3 %4
  %5:i32 = mul %0, %2
  set_sgpr #4 %5
  %6:i64 = mul_wide_u %0, %2
  set_sgpr64 #6 %6
  %7:i32 = alignbit %0, %0, %1
  set_sgpr #5 %7
  %8:i32 = const #0
  %9:i32 = sub %8, %0
  set_sgpr #8 %9
  %10:i32 = const #0xffff
  %11:i32 = and %0, %10
  set_sgpr #9 %11
  %12:i32 = const #0xff
  %13:i32 = and %0, %12
  set_sgpr #10 %13
  exit.end #0x2000
)");
  for (const char* part :
       {"mov shr and ", "mov shl sar ", "imul mov ", "mov imul mov mov ", "rorx ", "mov neg ", "movzx mov movzx mov "})
    EXPECT_THAT(code, HasSubstr(part));
  for (const char* other : {"shrx ", "bzhi ", "sarx ", "shlx ", "or "}) EXPECT_THAT(code, Not(HasSubstr(other)));
}

// One look at a mask that all chunks share.
TEST_P(ScalarCode, SharedMasks) {
  const std::string code = names(R"(function "t"
entry 0x0 b0
block b0
  %0:i32 = get_sgpr #1
  %1:v32 = splat %0
  %2:i32 = get_sgpr #2
  %3:v32 = splat %2
  %4:mask = fcmp.f32.lt attr 0x3c %1, %3
  %5:i1 = mask_any %4
  %6:i32 = zext_i1 %5
  set_sgpr #3 %6
  exit.end #0x2000
)");
  EXPECT_THAT(code, Not(HasSubstr("vpor ")));
  EXPECT_THAT(code, Not(HasSubstr("korw ")));
}

// Random scalar functions with a loop, branches and merges. With `literal`, their constants are operands; without,
// registers of the wave state have them.
class RandomScalars {
 public:
  static constexpr unsigned kConstants = 24, kFirstConstant = 40, kWords = 5, kWides = 3;

  RandomScalars(uint64_t seed, bool literal) : function("random"), random_(seed), b_(function) {
    ir::Block *start = add(), *head = add(), *then = add(), *merge = add(), *end = add();
    function.entries.push_back({0, start});
    b_.set_block(start);
    b_.set_guest_pc(0x1000);
    for (unsigned i = 0; i < kConstants; ++i) {
      constexpr std::array<uint32_t, 10> kSmall{0, 1, 2, 3, 8, 16, 31, 0xff, 0xffff, 0xffffffff};
      const uint32_t value = random_() % 2 != 0 ? kSmall[random_() % kSmall.size()] : interesting32(random_);
      values[i] = value;
      constants_.push_back(literal ? b_.i32(value) : b_.op_typed(Op::get_sgpr, ir::kI32, {}, 0, kFirstConstant + i));
    }
    base_ = b_.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 30);
    b_.op_typed(Op::set_lanes, ir::kNone, {b_.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1)}, 0, 0);
    for (unsigned i = 0; i < kWords; ++i) words_.push_back(b_.op_typed(Op::get_sgpr, ir::kI32, {}, 0, i));
    for (unsigned i = 0; i < kWides; ++i) wides_.push_back(b_.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10 + 2 * i));
    bits_.push_back(b_.icmp(ICmp::ult, words_[0], words_[1]));
    const Inst *zero = b_.i32(0), *first_bit = bits_[0];
    b_.br(head);

    b_.set_block(head);
    std::vector<Inst*> phis;
    std::vector<const Inst*> initial;
    const auto carry = [&](std::vector<Inst*>& list) {
      for (Inst*& value : list) {
        initial.push_back(value);
        value = b_.op_typed(Op::phi, value->type, {});
        phis.push_back(value);
      }
    };
    carry(words_);
    carry(wides_);
    carry(bits_);
    Inst* count = b_.op_typed(Op::phi, ir::kI32, {});
    grow(12);
    Inst* condition = any(bits_);
    const auto at_branch = std::array{words_, wides_, bits_};
    Inst *word = any(words_), *bit = any(bits_);
    b_.cond_br(condition, then, merge);

    b_.set_block(then);
    grow(8);
    Inst *other_word = words_.back(), *other_bit = bits_.back();
    b_.br(merge);

    b_.set_block(merge);
    words_ = at_branch[0];
    wides_ = at_branch[1];
    bits_ = at_branch[2];
    Inst *merged = b_.op_typed(Op::phi, ir::kI32, {}), *merged_bit = b_.op_typed(Op::phi, ir::kI1, {});
    close(merged, word, other_word);
    close(merged_bit, bit, other_bit);
    words_.push_back(merged);
    bits_.push_back(merged_bit);
    grow(12);
    for (size_t i = 0; i < phis.size(); ++i) {
      std::vector<Inst*>& list = i < kWords ? words_ : i < kWords + kWides ? wides_ : bits_;
      close(phis[i], initial[i], list[list.size() - 1 - random_() % std::min<size_t>(list.size(), 6)]);
    }
    Inst* next = b_.op(Op::add, {count, b_.i32(1)});
    close(count, zero, next);
    static_cast<void>(first_bit);
    b_.cond_br(b_.icmp(ICmp::ult, next, b_.i32(5)), head, end);

    b_.set_block(end);
    unsigned row = 100;
    for (size_t i = 0; i < kWords; ++i) b_.op_typed(Op::set_sgpr, ir::kNone, {words_[words_.size() - 1 - i]}, 0, i);
    for (size_t i = 0; i < kWides; ++i)
      b_.op_typed(Op::set_sgpr64, ir::kNone, {wides_[wides_.size() - 1 - i]}, 0, 10 + 2 * i);
    b_.op_typed(Op::set_sgpr, ir::kNone, {b_.op(Op::zext_i1, {any(bits_)})}, 0, 20);
    b_.op_typed(Op::set_vgpr, ir::kNone, {b_.op_typed(Op::get_lanes, ir::kV32, {}, 0, 0)}, 0, row);
    b_.exit(ExitReason::kEnd, 0x2000);
  }

  ir::Function function;
  std::array<uint32_t, kConstants> values{};

 private:
  ir::Block* add() { return function.add_block(); }
  Inst* any(const std::vector<Inst*>& list) {
    return list[list.size() - 1 - random_() % std::min<size_t>(list.size(), 9)];
  }
  Inst* word() { return random_() % 3 == 0 ? constants_[random_() % kConstants] : any(words_); }
  static void close(Inst* phi, const Inst* first, const Inst* next) {
    for (const Inst* operand : {first, next}) {
      auto* value = const_cast<Inst*>(operand);
      phi->operands.push_back(value);
      value->users.push_back(phi);
    }
  }
  Inst* index() { return b_.op(Op::and_, {any(words_), b_.i32(63)}); }
  Inst* place() {
    Inst* offset = b_.op(Op::zext64, {index()});
    if (random_() % 2 != 0) offset = b_.op(Op::shl, {offset, b_.i64(random_() % 4)});
    return random_() % 2 != 0 ? b_.op(Op::add, {base_, offset}) : b_.op(Op::add, {offset, base_});
  }

  void grow(unsigned count) {
    constexpr std::array kBinary{Op::add,  Op::sub,  Op::and_, Op::or_,  Op::xor_, Op::andn,    Op::mul,    Op::shl,
                                 Op::lshr, Op::ashr, Op::smin, Op::smax, Op::umin, Op::mulhi_u, Op::mulhi_s};
    constexpr std::array kWideBinary{Op::add, Op::sub, Op::and_, Op::or_, Op::mul};
    for (unsigned i = 0; i < count; ++i) {
      switch (random_() % 20) {
        case 0:
        case 1:
        case 2:
        case 3:
          words_.push_back(b_.op(kBinary[random_() % kBinary.size()], {word(), word()}));
          break;
        case 4:
          words_.push_back(b_.op(random_() % 2 != 0 ? Op::bfe_u : Op::bfe_s, {any(words_), word(), word()}));
          break;
        case 5: {
          Inst* a = any(words_);
          words_.push_back(b_.op(Op::alignbit, {a, random_() % 2 != 0 ? a : any(words_), word()}));
          break;
        }
        case 6:
          words_.push_back(b_.op(random_() % 2 != 0 ? Op::addc : Op::subb, {any(words_), word(), any(bits_)}));
          break;
        case 7:
        case 8:
          words_.push_back(b_.select(any(bits_), word(), word()));
          break;
        case 9:
          wides_.push_back(b_.select(any(bits_), any(wides_), any(wides_)));
          break;
        case 10:
          wides_.push_back(b_.op(random_() % 2 != 0 ? Op::mul_wide_u : Op::mul_wide_s, {any(words_), word()}));
          break;
        case 11:
          wides_.push_back(b_.op(Op::pack64, {word(), word()}));
          break;
        case 12:
          words_.push_back(b_.op(random_() % 2 != 0 ? Op::lo32 : Op::hi32, {any(wides_)}));
          break;
        case 13:
          wides_.push_back(b_.op(kWideBinary[random_() % kWideBinary.size()], {any(wides_), any(wides_)}));
          break;
        case 14:
          words_.push_back(b_.op_typed(Op::get_lane, ir::kI32, {index()}, 0, 0));
          break;
        case 15:
          b_.op_typed(Op::set_lane, ir::kNone, {index(), word()}, 0, 0);
          break;
        case 16: {
          const ir::MemAttr mem{.space = ir::Space::global,
                                .form = ir::AddressForm::base_only,
                                .bytes = static_cast<uint8_t>(random_() % 2 != 0 ? 4 : 1),
                                .count = 1,
                                .imm = static_cast<int64_t>(random_() % 8)};
          const bool stores = random_() % 3 == 0;
          Inst *truth = b_.i1(true), *address = place();
          Inst* access = stores ? b_.op_typed(Op::store_lane, ir::kNone, {truth, address, word()})
                                : b_.op_typed(Op::load_lane, ir::kI32, {truth, address});
          access->mem = mem;
          if (!stores) words_.push_back(access);
          break;
        }
        case 17:
          bits_.push_back(b_.op(Op::not_, {any(bits_)}));
          break;
        default:
          if (random_() % 4 == 0) {
            bits_.push_back(b_.icmp(static_cast<ICmp>(random_() % 10), any(wides_), any(wides_)));
          } else {
            bits_.push_back(b_.icmp(static_cast<ICmp>(random_() % 10), any(words_), word()));
          }
          break;
      }
    }
  }

  std::mt19937_64 random_;
  ir::Builder b_;
  std::vector<Inst*> constants_, words_, wides_, bits_;
  Inst* base_ = nullptr;
};

// The same function with constants as operands, and with constants in registers and no optimisations.
TEST_P(ScalarCode, RandomFunctions) {
  if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
  OptimisationSet none;
  for (const OptimisationInfo& info : optimisations()) none.remove(info.optimisation);
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const RandomScalars literal(seed, true), registers(seed, false);
    std::mt19937_64 random{seed};
    TestWave first;
    first.randomise(random);
    for (unsigned i = 0; i < RandomScalars::kConstants; ++i)
      first->sgpr[RandomScalars::kFirstConstant + i] = literal.values[i];
    TestWave second(first);
    std::array<uint8_t, 1024> memory{}, other_memory{};
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = other_memory[i] = static_cast<uint8_t>(random());
    const auto enters = [&](const RandomScalars& scalars, const CompileOptions& options, TestWave& wave,
                            std::array<uint8_t, 1024>& data) {
      const std::string problem = ir::verify(scalars.function);
      ASSERT_EQ(problem, "") << ir::print(scalars.function);
      const auto code = compile(scalars.function, options);
      ASSERT_TRUE(code) << code.error().message;
      const auto address = reinterpret_cast<uint64_t>(data.data());
      wave->sgpr[30] = static_cast<uint32_t>(address);
      wave->sgpr[31] = static_cast<uint32_t>(address >> 32);
      ASSERT_EQ(enter(**code, *wave, 0), ExitReason::kEnd);
    };
    enters(literal, {.tier = GetParam()}, first, memory);
    enters(registers, {.tier = GetParam(), .optimisations = none}, second, other_memory);
    if (HasFatalFailure()) return;
    for (unsigned i = 0; i < 21; ++i) ASSERT_EQ(first->sgpr[i], second->sgpr[i]) << "seed " << seed << " sgpr " << i;
    ASSERT_EQ(std::memcmp(first->vgpr[100], second->vgpr[100], sizeof first->vgpr[100]), 0) << "seed " << seed;
    ASSERT_EQ(memory, other_memory) << "seed " << seed;
  }
}

}  // namespace
}  // namespace wavejit::backend
