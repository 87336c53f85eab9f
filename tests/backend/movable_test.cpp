// Code that is kept and placed again, and the check that it can be.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "backend-x86/encode/address_audit.h"
#include "runner.h"

namespace wavejit::backend {
namespace {

using ir::Inst;
using ir::Op;

class Movable : public testing::TestWithParam<Tier> {
 protected:
  void SetUp() override {
    if (!host_supports(GetParam())) GTEST_SKIP() << "this CPU cannot run " << to_string(GetParam());
  }
  // Nobody can have anything in the first page.
  static std::shared_ptr<const CompiledCode> compile_movable(Straight& f, AddressRange within = {1, 2}) {
    f.end();
    const auto code = compile(f.function, {.tier = GetParam(), .movable_within = within});
    EXPECT_TRUE(code) << code.error().message;
    return *code;
  }
};

Inst* vgpr(ir::Builder& b, unsigned row) {
  return b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, row);
}
void set_vgpr(ir::Builder& b, unsigned row, Inst* value) {
  b.op_typed(Op::set_vgpr, ir::kNone, {value}, 0, row);
}
Inst* helper(ir::Builder& b, ir::Helper which) {
  return b.op_typed(Op::helper, ir::kV32, {vgpr(b, 1), vgpr(b, 2), vgpr(b, 3)}, static_cast<uint32_t>(which));
}

// Both helpers, an immediate of 64 bits, a vector constant, and a clock.
void add_calls(Straight& f) {
  set_vgpr(f.b, 10, helper(f.b, ir::Helper::sad_u8));
  set_vgpr(f.b, 11, helper(f.b, ir::Helper::lerp_u8));
  set_vgpr(f.b, 12, f.b.op(Op::add, {vgpr(f.b, 1), f.b.v32(0x12345678)}));
  f.b.op_typed(Op::set_sgpr64, ir::kNone, {f.b.i64(0xfedcba9876543210)}, 0, 60);
  f.b.op_typed(Op::set_sgpr64, ir::kNone, {f.b.op_typed(Op::clock, ir::kI64, {}, 1)}, 0, 62);
}

void expect_equal_rows(const TestWave& a, const TestWave& b) {
  auto &x = const_cast<TestWave&>(a), &y = const_cast<TestWave&>(b);
  for (const unsigned row : {10u, 11u, 12u})
    for (unsigned lane = 0; lane < 64; ++lane) ASSERT_EQ(x->vgpr[row][lane], y->vgpr[row][lane]) << row << " " << lane;
  EXPECT_EQ(x->sgpr64(60), y->sgpr64(60));
}

TEST_P(Movable, RunsWhereItIsPlacedAgain) {
  Straight f;
  add_calls(f);
  const auto code = compile_movable(f);
  ASSERT_TRUE(code->is_movable());
  EXPECT_EQ(code->slots().size(), 3u);
  std::vector<uint8_t> bytes(code->code().begin(), code->code().end());
  for (const FunctionSlot& slot : code->slots()) std::memset(&bytes[slot.offset], 0xcc, sizeof(uint64_t));
  const auto placed = place({.code = bytes,
                             .slots = code->slots(),
                             .fault_ranges = {code->fault_ranges().begin(), code->fault_ranges().end()},
                             .host_instructions = code->host_instructions()});
  ASSERT_TRUE(placed) << placed.error().message;
  EXPECT_NE((*placed)->code().data(), code->code().data());
  EXPECT_TRUE(std::equal(code->code().begin(), code->code().end(), (*placed)->code().begin(), (*placed)->code().end()));
  EXPECT_TRUE((*placed)->is_movable());
  EXPECT_EQ((*placed)->host_instructions(), code->host_instructions());
  std::fill(bytes.begin(), bytes.end(), 0xcc);  // the bytes are a copy
  std::mt19937_64 random(7);
  TestWave fresh;
  fresh.randomise(random);
  TestWave again = fresh;
  EXPECT_EQ(enter(*code, *fresh, 0), ExitReason::kEnd);
  EXPECT_EQ(enter(**placed, *again, 0), ExitReason::kEnd);
  expect_equal_rows(fresh, again);
  EXPECT_GE(again->sgpr64(62), fresh->sgpr64(62)) << "the clock";
}

TEST_P(Movable, IsKnownOnlyIfAskedFor) {
  Straight f;
  add_calls(f);
  f.end();
  const auto code = compile(f.function, {.tier = GetParam()});
  ASSERT_TRUE(code);
  EXPECT_FALSE((*code)->is_movable());
  EXPECT_TRUE((*code)->slots().empty());
}

// An address of this process gets into code as a constant of the IR: as a number, as an address, in a vector.
TEST_P(Movable, IsNotCodeThatHoldsAnAddress) {
  static uint32_t variable = 3;
  const auto on_heap = std::make_unique<uint64_t>(5);
  const auto address = reinterpret_cast<uint64_t>(&variable);
  for (const uint64_t value : {address, reinterpret_cast<uint64_t>(on_heap.get()), reinterpret_cast<uint64_t>(&address),
                               reinterpret_cast<uint64_t>(&compile)}) {
    Straight number;
    number.b.op_typed(Op::set_sgpr64, ir::kNone, {number.b.i64(value)}, 0, 60);
    EXPECT_FALSE(compile_movable(number)->is_movable()) << std::hex << value;
    Straight vector;
    Inst* wide =
        vector.b.op(Op::add, {vector.b.op(Op::pack64, {vgpr(vector.b, 1), vgpr(vector.b, 2)}), vector.b.v64(value)});
    set_vgpr(vector.b, 10, vector.b.op(Op::lo32, {wide}));
    set_vgpr(vector.b, 11, vector.b.op(Op::hi32, {wide}));
    EXPECT_FALSE(compile_movable(vector)->is_movable()) << std::hex << value;
    // Unless it is where the guest's code is.
    Straight known;
    known.b.op_typed(Op::set_sgpr64, ir::kNone, {known.b.i64(value)}, 0, 60);
    EXPECT_TRUE(compile_movable(known, {value, value + 1})->is_movable()) << std::hex << value;
  }
}

TEST(AddressAudit, KnowsAddressesFromNumbers) {
  const auto found = [](uint64_t value) {
    AddressAudit audit({0x2000'0000'0000, 0x2000'0001'0000});
    audit.look_at(value);
    return audit.found();
  };
  static int variable;
  int local = 0;
  EXPECT_TRUE(found(reinterpret_cast<uint64_t>(&variable)));
  EXPECT_TRUE(found(reinterpret_cast<uint64_t>(&local)));
  EXPECT_TRUE(found(reinterpret_cast<uint64_t>(&std::memcpy)));
  for (const uint64_t number :
       {uint64_t{0}, uint64_t{1}, uint64_t{0x0000000100000000}, uint64_t{0x0000000700000006},
        uint64_t{0x3ff0000000000000}, ~uint64_t{0}, uint64_t{0x2000'0000'0010}, uint64_t{0x0000'5a5a'0000'5a5a}})
    EXPECT_FALSE(found(number)) << std::hex << number;
  AddressAudit data({0, 0});
  const uint64_t words[3] = {1, 2, reinterpret_cast<uint64_t>(&local)};
  data.look_at_data(words, 16);
  EXPECT_FALSE(data.found());
  data.look_at_data(words, 24);
  EXPECT_TRUE(data.found());
}

// Neighbours in a table of masks that together are the address of something.
TEST(AddressAudit, KnowsTablesOfMasks) {
  constexpr uint64_t kPlace = 0x7fff'0000'3000;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  void* const page = mmap(reinterpret_cast<void*>(kPlace), 4096, PROT_NONE, kFlags, -1, 0);
  uint32_t masks[16];
  for (unsigned lane = 0; lane < 16; ++lane) masks[lane] = (1U << lane) - 1;
  AddressAudit table({0, 0}), pair({0, 0});
  table.look_at_data(masks, sizeof masks);
  EXPECT_FALSE(table.found());
  pair.look_at_data(masks + 14, 8);
  EXPECT_TRUE(pair.found()) << "the page is there, whoever has it";
  if (page != MAP_FAILED) munmap(page, 4096);
}

INSTANTIATE_TEST_SUITE_P(Tiers, Movable, testing::ValuesIn(kTiers),
                         [](const auto& info) { return info.param == Tier::avx2 ? "avx2" : "avx512"; });

}  // namespace
}  // namespace wavejit::backend
