// Printer, parser and verifier.
#include "ir/text.h"

#include <gtest/gtest.h>

#include "ir/builder.h"

namespace wavejit::ir {
namespace {

constexpr std::string_view kLoop = R"(function "a \"loop\"\x01"
entry 0x1000 b0
entry 0x2000 b3
block b0 @0x1000
  %0:mask = get_mask #126
  %1:i32 = const #0
  %2:v32 = get_vgpr #3 @0x1004
  br b1
block b1 preds b0 b1
  %3:i32 = phi %1, %5
  %4:i32 = const #0xffffffff
  %5:i32 = sub %3, %4
  %6:i1 = icmp.slt %5, %4
  %7:mask = fcmp.f32.nlg attr 0x1c %2, %2
  %8:v32 = fadd.f32 attr 0xc %2, %2
  %9:v64 = pack64 %2, %8
  %10:v32x2 = load [global vector64 4x2 glc imm -16] %0, %9
  %11:v32 = extract #1 %10
  store [lds lds_offset 2x1 imm 4] %0, %11, %2
  %12:v32 = atomic [global vector64 4x1 cmpswap] %7, %9, %2, %11
  %13:v32 = helper.sad_u8 %2, %8, %12
  set_vgpr #3 %13
  cond_br %6, b1, b2
block b2 rare preds b1
  exit.trap #0x1020 #2
block b3 @0x2000
  exit.end
)";

std::unique_ptr<Function> must_parse(std::string_view text) {
  auto function = parse(text);
  EXPECT_TRUE(function.has_value()) << function.error().message;
  return function ? std::move(*function) : nullptr;
}

TEST(IrText, RoundTrip) {
  const auto function = must_parse(kLoop);
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(verify(*function), "");
  EXPECT_EQ(print(*function), kLoop);
}

TEST(IrText, EveryMnemonicIsUnique) {
  std::set<std::string_view> seen;
  for (unsigned i = 0; i < kNumOps; ++i) EXPECT_TRUE(seen.insert(op_info(static_cast<Op>(i)).mnemonic).second) << i;
}

TEST(IrText, PredecessorsMayBeLeftOut) {
  const auto function = must_parse(R"(
function "f" ; a comment
entry 0 b0
block b0
  %0:i1 = get_scc
  cond_br %0, b1, b1
block b1
  exit.end
)");
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(verify(*function), "");
  EXPECT_EQ(function->blocks[1]->predecessors.size(), 2u);
}

TEST(IrText, ParserErrors) {
  const struct {
    std::string_view text, message;
  } cases[] = {
      {"function f\n", "line 1: a function needs a quoted name"},
      {"function \"f\"\n  exit.end\n", "line 2: an instruction outside a block"},
      {"block b0\n  %0:i32 = frobnicate\n", "line 2: unknown operation"},
      {"block b0\n  %0:i33 = const #1\n", "needs a type"},
      {"block b0\n  %0:i32 = not %1\n", "line 2: %1 is not defined"},
      {"block b0\n  br b7\n", "block b7 is not defined"},
      {"block b0\nblock b0\n", "block b0 is defined twice"},
      {"block b0\n  %0:i32 = const #1\n  %0:i32 = const #1\n", "line 3: %0 is defined twice"},
      {"block b0\n  %0:i1 = icmp.between %0, %0\n", "unknown operation"},
      {"block b0\n  %0:v32 = load [global nowhere 4x1] %0\n", "unknown address space or form"},
      {"block b0\n  %0:v32 = load [global vector64 0x1] %0\n", "element size"},
      {"block b0\n  %0:i32 = const #1 nonsense\n", "end of the line"},
      {"block b0\n  %0:i32 = add %0,\n", "operand after the comma"},
      {"block b0\n  %99999999999:i32 = const #1\n", "unknown operation"},
  };
  for (const auto& [text, message] : cases) {
    const auto function = parse(text);
    ASSERT_FALSE(function.has_value()) << text;
    EXPECT_NE(function.error().message.find(message), std::string::npos) << function.error().message;
    EXPECT_EQ(function.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(IrVerifier, Violations) {
  const struct {
    std::string_view body, message;
  } cases[] = {
      {"  %0:i32 = const #1\n  %1:i64 = add %0, %0\n  exit.end\n", "result type i64 instead of i32"},
      {"  %0:i32 = const #1\n  %1:i64 = const #1\n  %2:i32 = add %0, %1\n  exit.end\n", "operand 1 has type i64"},
      {"  %0:i32 = const #1\n  %1:i32 = add %0\n  exit.end\n", "1 operands, the row wants 2"},
      {"  %0:i32 = const #1\n", "does not end in a terminator"},
      {"  exit.end\n  exit.end\n", "terminator inside a block"},
      {"  %1:i32 = not %0\n  %0:i32 = const #1\n  exit.end\n", "does not dominate"},
      {"  %0:i32 = phi\n  exit.end\n", ""},
      {"  %1:i32 = const #1\n  %0:i32 = phi\n  exit.end\n", "phi after another instruction"},
      {"  %0:i32 = const #1\n  %1:i32 = phi %0\n  exit.end\n", "phi"},
      {"  %0:i1 = const #1\n  %1:v32 = const #1\n  %2:v32 = addc %1, %1, %0\n  exit.end\n", "condition's type"},
      {"  %0:mask = const #1\n  %1:i32 = const #1\n  %2:i32 = select %0, %1, %1\n  exit.end\n", "condition's type"},
      {"  %0:i32 = get_sgpr #128\n  exit.end\n", "out of range"},
      {"  %0:v32 = get_vgpr #512\n  exit.end\n", "out of range"},
      {"  %0:v32 = read_row #512\n  exit.end\n", "out of range"},
      {"  %0:v32 = read_row #20\n  set_vgpr #20 %0\n  exit.end\n", "of the other kind"},
      {"  %0:mask = const #1\n  %1:v32 = const #1\n  %2:v32 = load [global lds_offset 4x1] %0, %1\n  exit.end\n",
       "lds space"},
      {"  %0:mask = const #1\n  %1:v32 = const #1\n  %2:v32 = load [lds lds_offset 4x2] %0, %1\n  exit.end\n",
       "v32 per element"},
      {"  %0:mask = const #1\n  %1:v32 = const #1\n  store [lds lds_offset 4x2] %0, %1, %1\n  exit.end\n", "operands"},
      {"  %0:mask = const #1\n  %1:v32 = const #1\n  store [lds lds_offset 8x1] %0, %1, %1\n  exit.end\n",
       "element size"},
      {"  %0:i32 = const #1\n  cond_br %0, b0, b0\n", "entry block has predecessors"},
      {"  %0:v32x2 = undef\n  %1:v32 = extract #2 %0\n  exit.end\n", "element index"},
      {"  %0:v32 = const #1\n  %1:v32 = helper.sad_u8 %0\n  exit.end\n", "operands"},
      {"  %0:i32 = get_field #8 attr 3\n  %1:v32 = get_field #8\n  exit.end\n", "a field is i32 or i64"},
  };
  for (const auto& [body, message] : cases) {
    const auto function = must_parse("function \"f\"\nentry 0 b0\nblock b0\n" + std::string(body));
    ASSERT_NE(function, nullptr);
    const std::string problem = verify(*function);
    if (message.empty()) {
      EXPECT_EQ(problem, "") << body;
    } else {
      EXPECT_NE(problem.find(message), std::string::npos) << body << " -> " << problem;
    }
  }
}

TEST(IrVerifier, EdgesUsersAndEntries) {
  const std::string good = R"(function "f"
entry 0 b0
block b0
  %0:i32 = get_sgpr #1
  %1:i32 = not %0
  br b1
block b1
  set_sgpr #1 %1
  exit.end
)";
  {
    const auto function = must_parse(good);
    EXPECT_EQ(verify(*function), "");
    function->blocks[1]->predecessors.clear();
    EXPECT_NE(verify(*function).find("predecessors do not match"), std::string::npos);
  }
  {
    const auto function = must_parse(good);
    function->blocks[0]->insts[0]->users.clear();
    EXPECT_NE(verify(*function).find("0 users listed, 1 uses"), std::string::npos);
  }
  {
    const auto function = must_parse(good);
    function->blocks[0]->insts[1]->id = 0;
    EXPECT_NE(verify(*function).find("not unique"), std::string::npos);
  }
  {
    const auto function = must_parse(good);
    function->entries.clear();
    EXPECT_NE(verify(*function).find("no entry"), std::string::npos);
  }
  // A value of one entry's block is not available where the other entry comes in.
  const auto two = must_parse(R"(function "f"
entry 0 b0
entry 4 b1
block b0
  %0:i32 = get_sgpr #1
  br b2
block b1
  br b2
block b2
  set_sgpr #1 %0
  exit.end
)");
  EXPECT_NE(verify(*two).find("does not dominate"), std::string::npos);
}

TEST(IrFunction, EdgesAndUnreachableCode) {
  const auto function = must_parse(R"(function "f"
entry 0 b0
block b0
  %0:i1 = get_scc
  %1:i32 = const #1
  %2:i32 = const #2
  %3:i32 = const #3
  cond_br %0, b1, b1
block b1 preds b0 b2 b0
  %4:i32 = phi %1, %2, %3
  set_sgpr #4 %4
  exit.end
block b2 preds b2
  %5:i1 = get_scc
  cond_br %5, b1, b2
)");
  EXPECT_EQ(verify(*function), "");
  EXPECT_TRUE(function->remove_unreachable());
  EXPECT_EQ(verify(*function), "");
  EXPECT_EQ(function->blocks.size(), 2u);
  Block* b0 = function->blocks[0].get();
  function->remove_edge(b0, 1);
  Inst* branch = b0->terminator();
  function->erase(branch);
  Builder(*function, b0);
  function->append(b0, function->create(Op::br, kNone));
  EXPECT_EQ(verify(*function), "");
  EXPECT_EQ(function->blocks[1]->insts[0]->operands.size(), 1u);
  EXPECT_TRUE(function->blocks[1]->insts[0]->operands[0]->is_const(1));  // the second edge carried 3
}

TEST(IrBuilder, InfersTypesAndFolds) {
  Function function("f");
  Block* block = function.add_block();
  function.entries.push_back({0, block});
  Builder b(function, block);
  Inst* s = b.op_typed(Op::get_sgpr, kI32, {}, 0, 4);
  Inst* v = b.op(Op::splat, {s});
  EXPECT_EQ(v->type, kV32);
  EXPECT_EQ(b.op(Op::pack64, {v, v})->type, kV64);
  EXPECT_EQ(b.op(Op::pack64, {s, s})->type, kI64);
  EXPECT_EQ(b.icmp(ICmp::eq, v, v)->type, kMask);
  EXPECT_EQ(b.op(Op::addc_carry, {s, s, b.i1(false)})->type, kI1);
  EXPECT_TRUE(b.op(Op::add, {b.i32(0xffffffff), b.i32(2)})->is_const(1));
  EXPECT_EQ(b.op(Op::add, {s, b.i32(0)}), s);
  Inst* wide = b.op(Op::pack64, {s, b.i32(3)});
  EXPECT_EQ(b.op(Op::lo32, {wide}), s);
  EXPECT_TRUE(b.op(Op::hi32, {wide})->is_const(3));
  EXPECT_EQ(b.select(b.mask(~uint64_t{0}), v, b.v32(1)), v);
  b.exit(ExitReason::kEnd, 0);
  EXPECT_EQ(verify(function), "");
}

}  // namespace
}  // namespace wavejit::ir
