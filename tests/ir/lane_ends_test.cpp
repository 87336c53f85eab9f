// What LaneEnds says of all lanes holds for each of them, also where numbers wrap around.
#include "ir/passes/lane_ends.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/builder.h"
#include "ir/interpret.h"
#include "ir/text.h"

namespace wavejit::ir {
namespace {

constexpr int64_t kLimit = int64_t{1} << 27;
constexpr uint32_t kPlaces[] = {0,           1,          0x7fffffffU, 0x80000000U, 0xffffffffU, 0x08000000U,
                                0xf8000000U, 0x4000000U, 0x7ffffff0U, 0xfffffff0U, 100,         0x10000000U};
constexpr ICmp kPredicates[] = {ICmp::slt, ICmp::sle, ICmp::sgt, ICmp::sge, ICmp::ult, ICmp::ule, ICmp::ugt, ICmp::uge};

// A function that computes a test of all lanes as LaneEnds does, and as it is meant.
class TestOfLanes {
 public:
  explicit TestOfLanes(uint64_t seed) : random_(seed), function_("f"), builder_(function_) {
    Block* const block = function_.add_block();
    function_.entries.push_back({.guest_pc = 0x100, .block = block});
    builder_.set_block(block);
    Inst* const value = lanes();
    Inst* const other = random_() % 3 == 0 ? lanes() : builder_.op(Op::splat, {number()});
    Inst* const factor = number();
    passes::LaneEnds ends(function_);
    const auto make = [&](Op op, Type type, std::vector<Inst*> operands, uint32_t attr, uint64_t imm) {
      return builder_.op_typed(op, type, std::move(operands), attr, imm);
    };
    std::vector<Inst*> conditions;
    Inst* meant = nullptr;
    const auto addend = static_cast<uint32_t>(random_() % 5) - 2;
    Inst* const moved = builder_.op(Op::add, {value, builder_.v32(addend)});
    switch (random_() % 3) {
      case 0:
        meant = builder_.icmp(kPredicates[random_() % std::size(kPredicates)], moved, other);
        known_ = ends.all_lanes(meant, make, conditions);
        break;
      case 1:
        meant = small(moved);
        known_ = ends.all_small(moved, kLimit, make, conditions);
        break;
      default: {
        // The product of 32 bits is small, and it is the product.
        Inst* const product = builder_.op(Op::mul, {value, builder_.op(Op::splat, {factor})});
        Inst* const wide = builder_.op(
            Op::mul, {builder_.op(Op::sext64, {value}), builder_.op(Op::sext64, {builder_.op(Op::splat, {factor})})});
        meant =
            builder_.op(Op::and_, {small(product), builder_.icmp(ICmp::eq, wide, builder_.op(Op::sext64, {product}))});
        known_ = ends.all_small(value, factor, kLimit, make, conditions);
      }
    }
    Inst* all = builder_.i1(true);
    for (Inst* condition : conditions) all = builder_.op(Op::and_, {all, condition});
    Inst* const said = builder_.select(all, builder_.i32(1), builder_.i32(0));
    Inst* const is = builder_.select(builder_.op(Op::mask_all, {meant}), builder_.i32(1), builder_.i32(0));
    builder_.op(Op::set_sgpr, {said}, 0, 0);
    builder_.op(Op::set_sgpr, {is}, 0, 1);
    builder_.exit_jump(builder_.i64(0x1000));
  }

  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] const Function& function() const { return function_; }

 private:
  // One of the numbers where something ends, or close to it; passes do not know which.
  Inst* number() {
    const uint64_t from = 10 + random_() % 4;
    const uint32_t place = kPlaces[random_() % std::size(kPlaces)];
    const auto before = static_cast<uint32_t>(random_() % 70);
    Inst* const low = builder_.op(Op::and_, {builder_.op_typed(Op::get_sgpr, kI32, {}, 0, from), builder_.i32(7)});
    return builder_.op(Op::add, {low, builder_.i32(place - before)});
  }
  // A number of the wave and some bits of the lane's.
  Inst* lanes() {
    Inst* lane = builder_.op_typed(Op::lane_id, kV32, {});
    if (random_() % 2 == 0) lane = builder_.op(Op::lshr, {lane, builder_.v32(static_cast<uint32_t>(random_() % 6))});
    if (random_() % 2 == 0) lane = builder_.op(Op::and_, {lane, builder_.v32(static_cast<uint32_t>(random_() % 64))});
    if (random_() % 4 == 0) lane = builder_.op(Op::shl, {lane, builder_.v32(static_cast<uint32_t>(random_() % 24))});
    return random_() % 5 == 0 ? builder_.op(Op::sub, {builder_.op(Op::splat, {number()}), lane})
                              : builder_.op(Op::add, {builder_.op(Op::splat, {number()}), lane});
  }
  Inst* small(Inst* value) {
    return builder_.icmp(ICmp::ult, builder_.op(Op::add, {value, builder_.v32(static_cast<uint32_t>(kLimit))}),
                         builder_.v32(static_cast<uint32_t>(2 * kLimit)));
  }

  std::mt19937_64 random_;
  Function function_;
  Builder builder_;
  bool known_ = false;
};

TEST(LaneEnds, SayOfAllLanesWhatHolds) {
  size_t known = 0, said = 0, missed = 0;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    const TestOfLanes test(seed);
    if (!test.known()) continue;
    ++known;
    const auto result = interpret(test.function(), 0, seed);
    ASSERT_TRUE(result) << result.error().message << "\n" << print(test.function());
    ASSERT_EQ(result->events.size(), 3U);
    const bool says = result->events[0] == "s0 1", holds = result->events[1] == "s1 1";
    ASSERT_TRUE(holds || !says) << "seed " << seed << "\n" << print(test.function());
    said += says;
    missed += holds && !says;
  }
  EXPECT_GT(known, 3000U);
  EXPECT_GT(said, 300U);
  EXPECT_LT(missed, said / 20);
}

}  // namespace
}  // namespace wavejit::ir
