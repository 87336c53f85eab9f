// Control flow, phis, entries, exits, wave state.
#include "backend-x86/lower/plans/phi_classes.h"
#include "runner.h"

namespace wavejit::backend {
namespace {

using ir::Inst;
using ir::Op;

class Control : public testing::TestWithParam<Tier> {
 protected:
  void SetUp() override {
    if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
    std::mt19937_64 random{3};
    wave.randomise(random);
  }
  // Parses, compiles, runs.
  ExitReason run_text(std::string_view text, unsigned entry = 0) {
    auto function = ir::parse(text);
    if (!function) {
      ADD_FAILURE() << function.error().message;
      return ExitReason::kUnsupported;
    }
    return run(**function, GetParam(), wave, entry);
  }
  TestWave wave;
};
INSTANTIATE_TEST_SUITE_P(Tiers, Control, testing::ValuesIn(kTiers), [](const auto& info) {
  return info.param == Tier::avx2 ? std::string("avx2") : std::string("avx512");
});

// sum += i * x for i in 0..n, with the counter and both accumulators in phis.
TEST_P(Control, LoopWithAccumulators) {
  ir::Function f("loop");
  ir::Block *start = f.add_block(), *body = f.add_block(), *end = f.add_block();
  f.entries.push_back({0, start});
  ir::Builder b(f, start);
  Inst* x = b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1);
  Inst* n = b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 5);
  Inst *zero = b.i32(0), *vzero = b.v32(0), *wide = b.i64(7);
  b.br(body);
  b.set_block(body);
  Inst* i = b.op_typed(Op::phi, ir::kI32, {});
  Inst* sum = b.op_typed(Op::phi, ir::kV32, {});
  Inst* w = b.op_typed(Op::phi, ir::kI64, {});
  Inst* term = b.op(Op::mul, {b.op(Op::splat, {i}), x});
  Inst* next_sum = b.op(Op::add, {sum, term});
  Inst* next_i = b.op(Op::add, {i, b.i32(1)});
  Inst* next_w = b.op(Op::mul, {w, b.i64(3)});
  Inst* again = b.icmp(ir::ICmp::ult, next_i, n);
  b.cond_br(again, body, end);
  const auto close = [&](Inst* phi, Inst* first, Inst* next) {
    Inst* values[2] = {first, next};
    for (Inst* v : values) {
      phi->operands.push_back(v);
      v->users.push_back(phi);
    }
  };
  close(i, zero, next_i);
  close(sum, vzero, next_sum);
  close(w, wide, next_w);
  b.set_block(end);
  b.op_typed(Op::set_vgpr, ir::kNone, {next_sum}, 0, 100);
  b.op_typed(Op::set_sgpr, ir::kNone, {next_i}, 0, 60);
  b.op_typed(Op::set_sgpr64, ir::kNone, {next_w}, 0, 62);
  b.exit(ExitReason::kBarrier, 0x4444);

  wave->sgpr[5] = 10;
  TestWave before(wave);
  ASSERT_EQ(run(f, GetParam(), wave), ExitReason::kBarrier);
  EXPECT_EQ(wave->exit_reason, ExitReason::kBarrier);
  EXPECT_EQ(wave->pc, 0x4444u);
  EXPECT_EQ(wave->sgpr[60], 10u);
  EXPECT_EQ(wave->sgpr64(62), 7u * 59049);
  for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(wave->vgpr[100][l], 45 * before->vgpr[1][l]);
  // The loop-carried values need no copies.
  const Liveness liveness(f);
  const PhiClasses classes(f, liveness);
  EXPECT_EQ(classes.representative(next_sum), sum);
  EXPECT_EQ(classes.representative(next_i), i);
  EXPECT_EQ(classes.representative(next_w), w);
}

// Two phis that exchange their values on the back edge.
TEST_P(Control, PhisThatSwap) {
  ir::Function f("swap");
  ir::Block *start = f.add_block(), *body = f.add_block(), *end = f.add_block();
  f.entries.push_back({0, start});
  ir::Builder b(f, start);
  Inst* x = b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1);
  Inst* y = b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 2);
  Inst *m = b.op_typed(Op::get_mask, ir::kMask, {}, 0, 20), *k = b.op_typed(Op::get_mask, ir::kMask, {}, 0, 22);
  Inst *s = b.i32(5), *t = b.i32(9), *zero = b.i32(0);
  b.br(body);
  b.set_block(body);
  Inst* count = b.op_typed(Op::phi, ir::kI32, {});
  Inst *pa = b.op_typed(Op::phi, ir::kV32, {}), *pb = b.op_typed(Op::phi, ir::kV32, {});
  Inst *ma = b.op_typed(Op::phi, ir::kMask, {}), *mb = b.op_typed(Op::phi, ir::kMask, {});
  Inst *sa = b.op_typed(Op::phi, ir::kI32, {}), *sb = b.op_typed(Op::phi, ir::kI32, {});
  Inst* next = b.op(Op::add, {count, b.i32(1)});
  b.cond_br(b.icmp(ir::ICmp::ult, next, b.i32(3)), body, end);
  const auto close = [&](Inst* phi, Inst* first, Inst* second) {
    for (Inst* v : {first, second}) {
      phi->operands.push_back(v);
      v->users.push_back(phi);
    }
  };
  close(count, zero, next);
  close(pa, x, pb);
  close(pb, y, pa);
  close(ma, m, mb);
  close(mb, k, ma);
  close(sa, s, sb);
  close(sb, t, sa);
  b.set_block(end);
  b.op_typed(Op::set_vgpr, ir::kNone, {pa}, 0, 100);
  b.op_typed(Op::set_vgpr, ir::kNone, {pb}, 0, 101);
  b.op_typed(Op::set_mask, ir::kNone, {ma}, 0, 40);
  b.op_typed(Op::set_mask, ir::kNone, {mb}, 0, 42);
  b.op_typed(Op::set_sgpr, ir::kNone, {sa}, 0, 50);
  b.exit(ExitReason::kEnd, 0);
  TestWave before(wave);
  ASSERT_EQ(run(f, GetParam(), wave), ExitReason::kEnd);
  EXPECT_EQ(wave->sgpr[50], 5u);  // two exchanges
  EXPECT_EQ(wave->sgpr64(40), before->sgpr64(20));
  EXPECT_EQ(wave->sgpr64(42), before->sgpr64(22));
  for (unsigned l = 0; l < 64; ++l) {
    EXPECT_EQ(wave->vgpr[100][l], before->vgpr[1][l]);
    EXPECT_EQ(wave->vgpr[101][l], before->vgpr[2][l]);
  }
}

// A divergent loop: each lane counts down its own number; the loop ends when no lane is left.
TEST_P(Control, DivergentLoop) {
  ir::Function f("divergent");
  ir::Block *start = f.add_block(), *body = f.add_block(), *end = f.add_block();
  f.entries.push_back({0, start});
  ir::Builder b(f, start);
  Inst* limit = b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1);
  Inst* all = b.op_typed(Op::get_mask, ir::kMask, {}, 0, 20);
  Inst* zero = b.v32(0);
  b.br(body);
  b.set_block(body);
  Inst *exec = b.op_typed(Op::phi, ir::kMask, {}), *count = b.op_typed(Op::phi, ir::kV32, {});
  Inst* next = b.select(exec, b.op(Op::add, {count, b.v32(1)}), count);
  Inst* left = b.op(Op::and_, {exec, b.icmp(ir::ICmp::ult, next, limit)});
  b.cond_br(b.op(Op::mask_any, {left}), body, end);
  const auto close = [&](Inst* phi, Inst* first, Inst* second) {
    for (Inst* v : {first, second}) {
      phi->operands.push_back(v);
      v->users.push_back(phi);
    }
  };
  close(exec, all, left);
  close(count, zero, next);
  b.set_block(end);
  b.op_typed(Op::set_vgpr, ir::kNone, {next}, 0, 100);
  b.exit(ExitReason::kEnd, 0);
  for (unsigned l = 0; l < 64; ++l) wave->vgpr[1][l] = (l * 37) % 50;
  wave->set_sgpr64(20, 0xfff0ffffff0fffffull);
  ASSERT_EQ(run(f, GetParam(), wave), ExitReason::kEnd);
  for (unsigned l = 0; l < 64; ++l) {
    const uint32_t expected = 0xfff0ffffff0fffffull >> l & 1 ? std::max(1u, (l * 37) % 50) : 0;
    EXPECT_EQ(wave->vgpr[100][l], expected) << l;
  }
}

TEST_P(Control, EntriesAndExits) {
  ir::Function f("entries");
  for (unsigned e = 0; e < 7; ++e) {
    ir::Block* block = f.add_block();
    f.entries.push_back({e, block});
    ir::Builder b(f, block);
    b.op_typed(Op::set_sgpr, ir::kNone, {b.i32(100 + e)}, 0, 60);
    if (e == 5) {
      b.exit_jump(b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10));
    } else if (e == 6) {
      b.exit(ExitReason::kTrap, 0x77, 2);
    } else {
      b.exit(ExitReason::kYield, 0x100 + e);
    }
  }
  for (unsigned e = 0; e < 7; ++e) {
    wave->set_sgpr64(10, 0x123456789abcull);
    const ExitReason reason = run(f, GetParam(), wave, e);
    EXPECT_EQ(wave->sgpr[60], 100 + e);
    EXPECT_EQ(reason, e == 5 ? ExitReason::kJump : e == 6 ? ExitReason::kTrap : ExitReason::kYield);
    EXPECT_EQ(wave->pc, e == 5 ? 0x123456789abcull : e == 6 ? 0x77 : 0x100 + e);
    if (e == 6) {
      EXPECT_EQ(wave->trap_id, 2u);
    }
  }
}

TEST_P(Control, WaveFields) {
  Straight f;
  const auto get = [&](Op op, ir::Type type, uint64_t imm) { return f.b.op_typed(op, type, {}, 0, imm); };
  f.b.op_typed(Op::set_field, ir::kNone, {get(Op::get_field, ir::kI64, offsetof(WaveState, lds_base))}, 0,
               offsetof(WaveState, fault_address));
  f.b.op_typed(Op::set_field, ir::kNone, {get(Op::get_field, ir::kI32, offsetof(WaveState, mode))}, 0,
               offsetof(WaveState, trapsts));
  f.b.op_typed(Op::set_scc, ir::kNone, {f.b.icmp(ir::ICmp::eq, get(Op::get_sgpr, ir::kI32, 5), f.b.i32(77))});
  f.b.op_typed(Op::set_vccz, ir::kNone, {get(Op::get_scc, ir::kI1, 0)});
  f.end();
  wave->sgpr[5] = 77;
  ASSERT_EQ(run(f.function, GetParam(), wave), ExitReason::kEnd);
  EXPECT_EQ(wave->fault_address, wave->lds_base);
  EXPECT_EQ(wave->trapsts, wave->mode);
  EXPECT_EQ(wave->scc, 1u);
  EXPECT_EQ(wave->vccz, 1u);
}

// Reads and writes of one register pair as mask and as halves keep their order, although masks are handled chunk by
// chunk.
TEST_P(Control, MaskAndScalarViewsOfARegister) {
  Straight f;
  f.b.op_typed(Op::set_mask, ir::kNone, {f.b.mask(0x1111222233334444ull)}, 0, 30);
  Inst* low = f.b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 30);
  f.b.op_typed(Op::set_sgpr, ir::kNone, {f.b.op(Op::add, {low, f.b.i32(1)})}, 0, 30);
  Inst* mask = f.b.op_typed(Op::get_mask, ir::kMask, {}, 0, 30);
  f.b.op_typed(Op::set_sgpr, ir::kNone, {f.b.i32(0)}, 0, 31);
  f.b.op_typed(Op::set_mask, ir::kNone, {mask}, 0, 32);
  f.end();
  ASSERT_EQ(run(f.function, GetParam(), wave), ExitReason::kEnd);
  EXPECT_EQ(wave->sgpr64(32), 0x1111222233334445ull);
  EXPECT_EQ(wave->sgpr64(30), 0x33334445ull);
}

TEST_P(Control, ClocksFencesAndTuples) {
  const ExitReason reason = run_text(R"(function "t"
entry 0x0 b0
block b0
  %0:i64 = clock
  %1:i64 = clock attr 0x1
  set_sgpr64 #10 %0
  set_sgpr64 #12 %1
  fence
  %2:v32 = get_vgpr #1
  %3:v32 = get_vgpr #2
  %4:v32x2 = tuple %2, %3
  %5:v32 = extract #1 %4
  set_vgpr #100 %5
  %6:i64 = clock
  set_sgpr64 #14 %6
  exit.end #0x2000
)");
  ASSERT_EQ(reason, ExitReason::kEnd);
  EXPECT_GT(wave->sgpr64(14), wave->sgpr64(10));
  EXPECT_GT(wave->sgpr64(12), 0u);
  for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(wave->vgpr[100][l], wave->vgpr[2][l]);
}

TEST_P(Control, TheCallersEnvironmentComesBack) {
  Straight f;
  Inst* x = f.b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1);
  f.b.op_typed(Op::set_vgpr, ir::kNone, {f.b.op(Op::fadd_f32, {x, x}, 3)}, 0, 100);
  f.end();
  constexpr uint32_t kControl = ~0x3fu;  // not the sticky exception flags
  const uint32_t before = __builtin_ia32_stmxcsr() & kControl;
  wave->mode = 0xf;  // round to zero, flush
  ASSERT_EQ(run(f.function, GetParam(), wave), ExitReason::kEnd);
  EXPECT_EQ(__builtin_ia32_stmxcsr() & kControl, before);
}

TEST_P(Control, ListingShowsIrAndCode) {
  Straight f;
  Inst* x = f.b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1);
  f.b.op_typed(Op::set_vgpr, ir::kNone, {f.b.op(Op::add, {x, x})}, 0, 100);
  f.end();
  const auto code = compile_or_fail(f.function, GetParam(), true);
  ASSERT_TRUE(code);
  EXPECT_NE(code->listing().find("vpaddd"), std::string::npos) << code->listing();
  EXPECT_NE(code->listing().find("get_vgpr"), std::string::npos) << code->listing();
  EXPECT_GT(code->host_instructions(), 8u);
  EXPECT_FALSE(code->code().empty());
}

}  // namespace
}  // namespace wavejit::backend
