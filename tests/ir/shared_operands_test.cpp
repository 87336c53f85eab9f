// Values that use another value twice, which uses a third one twice, and so on: an analysis that follows each operand by
// itself would look at 2^64 of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/pass.h"
#include "ir/text.h"

namespace wavejit::ir {
namespace {

struct Start {
  std::string_view type, op, write, read, address;  // address: the value behind the barrier as a v32
};
struct Step {
  std::string_view first, second, joint;
};

// The code before a barrier computes the value, the code behind it stores at the value.
std::string program(const Start& start, const Step& step) {
  constexpr unsigned kSteps = 64;
  std::string text = fmt::format(
      "function \"f\"\nentry 0x100 b0\nentry 0x200 b1 resumed\nblock b0\n  %0:{0} = {1}\n  %1:{0} = const #1\n"
      "  %2:{0} = const #0x5a5a5\n",
      start.type, start.op);
  unsigned value = 0, id = 10;
  for (unsigned i = 0; i < kSteps; ++i, id += 3) {
    text += fmt::format("  %{}:{} = {} %{}, %1\n", id, start.type, step.first, value);
    text += fmt::format("  %{}:{} = {} %{}, %2\n", id + 1, start.type, step.second, value);
    text += fmt::format("  %{}:{} = {} %{}, %{}\n", id + 2, start.type, step.joint, id, id + 1);
    value = id + 2;
  }
  text += fmt::format("  {} #2 %{}\n  exit.barrier #0x200\n", start.write, value);
  text += fmt::format("block b1\n  %3:{} = {} #2\n{}", start.type, start.read, start.address);
  text += "  %5:mask = const #0xffffffffffffffff\n  store [lds lds_offset 4x1] %5, %4, %4\n  exit.end\n";
  return text;
}

TEST(IrSharedOperands, CostNoTime) {
  constexpr Start kStarts[] = {
      {"v32", "lane_id", "set_vgpr", "get_vgpr", "  %4:v32 = add %3, %3\n"},
      {"i32", "get_sgpr #4", "set_sgpr", "get_sgpr", "  %4:v32 = splat %3\n"},
      {"i64", "get_sgpr64 #4", "set_sgpr64", "get_sgpr64", "  %6:i32 = lo32 %3\n  %4:v32 = splat %6\n"},
  };
  constexpr Step kSteps[] = {
      {"add", "lshr", "add"}, {"lshr", "add", "add"}, {"lshr", "and", "add"}, {"add", "xor", "umin"},
      {"add", "or", "and"},   {"shl", "lshr", "xor"}, {"mul", "sub", "or"},   {"ashr", "smax", "smin"},
  };
  for (const Start& start : kStarts) {
    for (const Step& step : kSteps) {
      auto function = parse(program(start, step));
      ASSERT_TRUE(function) << function.error().message;
      optimise(**function, {.verify = true});
      EXPECT_EQ(verify(**function), "");
    }
  }
}

}  // namespace
}  // namespace wavejit::ir
