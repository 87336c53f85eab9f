// Calls of out-of-line helpers.
#include "backend-x86/lower/helper_calls.h"

#include <bit>

#include "backend-x86/encode/parking.h"
#include "backend-x86/helpers/calls.h"
#include "backend-x86/helpers/helpers.h"
#include "backend-x86/helpers/helpers_float.h"
#include "backend-x86/lower/control.h"
#include "backend-x86/lower/environment.h"
#include "backend-x86/lower/stack_rows.h"
#include "backend-x86/lower/vector/building_blocks.h"
#include "backend-x86/lower/vector/masks.h"
#include "internal/interrupt.h"
#include "internal/semantics/clock.h"

namespace wavejit::backend {

using ir::ICmp;

void call_helper(Lowering& ctx, const Inst& inst, HelperFn function, std::span<Inst* const> operands,
                 unsigned first_chunk, unsigned chunks) {
  if (function == nullptr) return ctx.fail(inst);
  const unsigned row = ctx.tile * 8;
  const Mem args = ctx.scratch_row(ctx.rows->helper_args, sizeof(HelperArgs));
  const Mem rows = ctx.scratch_row(ctx.rows->helper_rows, 4 * row);
  const auto field = [&](size_t offset, uint32_t size) {
    Mem m = args.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(size);
    return m;
  };
  Gp t = ctx.cc.new_gp64();
  unsigned used = 0;
  for (const Inst* operand : operands) {
    if (operand->type == ir::kMask) {
      Gp bits = ctx.cc.new_gp64();
      if (chunks == ctx.chunks) {
        bits = mask_to_number(ctx, operand);
      } else {
        ctx.cc.mov(bits.r32(), ctx.isa->mask_bits(ctx.mask(operand, first_chunk)));
      }
      ctx.cc.mov(field(offsetof(HelperArgs, mask), 8), bits);
      continue;
    }
    const Mem slot = rows.cloneAdjusted(used * row);
    for (unsigned c = 0; c < chunks; ++c) {
      if (operand->type == ir::kV64) {
        ctx.isa->store_row64(slot.cloneAdjusted(c * ctx.isa->bytes() * 2), ctx.v64(operand, first_chunk + c));
      } else {
        ctx.isa->store(slot.cloneAdjusted(c * ctx.isa->bytes()), ctx.v32(operand, first_chunk + c), nullptr);
      }
    }
    ctx.cc.lea(t, slot);
    ctx.cc.mov(field(offsetof(HelperArgs, in) + used * sizeof(void*), 8), t);
    ++used;
  }
  const Mem out = rows.cloneAdjusted(3 * row);
  ctx.cc.lea(t, out);
  ctx.cc.mov(field(offsetof(HelperArgs, out), 8), t);
  ctx.cc.mov(field(offsetof(HelperArgs, attr), 4), inst.attr);
  ctx.cc.mov(field(offsetof(HelperArgs, lanes), 4), chunks * ctx.isa->lanes);
  const Gp pointer = ctx.address_of(args);
  const Gp returned = ctx.cc.new_gp64();
  ctx.cc.call(ctx.pool.function(reinterpret_cast<uintptr_t>(function)), {&pointer, 1}, &returned);
  for (unsigned c = 0; c < chunks; ++c) {
    if (inst.type == ir::kMask) {
      if (c > 0) ctx.cc.shr(returned, ctx.isa->lanes);
      ctx.isa->mask_from_bits(ctx.dst_mask(inst, first_chunk + c), returned);
    } else if (inst.type == ir::kV64) {
      ctx.isa->load_row64(ctx.dst64(inst, first_chunk + c), out.cloneAdjusted(c * ctx.isa->bytes() * 2));
    } else {
      ctx.isa->load(ctx.dst(inst, first_chunk + c), out.cloneAdjusted(c * ctx.isa->bytes()), nullptr);
    }
  }
}

void chunk_helper(Lowering& ctx, const Inst& inst, unsigned chunk, const Label& slow, const Label& join, bool own_env) {
  ctx.cold([&] {
    const uint32_t before = ctx.env;
    ctx.cc.bind(slow);
    if (own_env) set_env(ctx, {kHelperEnv, kEnvAll});
    call_helper(ctx, inst, find_helper(inst), inst.operands, chunk, 1);
    if (own_env) set_env(ctx, {before, kEnvAll});
    ctx.cc.jmp(join);
  });
}

namespace {

// Operands and results are rows of the stack; where the function says no, the wave leaves.
void emit_call(Lowering& ctx, const Inst& inst) {
  WAVEJIT_CHECK(ctx.chunks * ctx.isa->lanes == kWaveSize, "calls serve whole waves");
  constexpr unsigned kRow = sizeof(uint32_t[kWaveSize]);
  const Mem args = ctx.scratch_row(ctx.rows->call_args, sizeof(CallArgs));
  const Mem rows = ctx.scratch_row(ctx.rows->call_rows, (kMaxCallRows + kMaxCallResults) * kRow);
  const auto field = [&](size_t offset, uint32_t size) {
    Mem m = args.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(size);
    return m;
  };
  unsigned scalars = 0, used = 0;
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    const Inst* operand = inst.operands[i];
    if (operand->type == ir::kI32) {
      if (scalars == kMaxCallScalars) return ctx.fail(inst, "scalars");
      ctx.cc.mov(field(offsetof(CallArgs, scalars) + 4 * scalars++, 4), ctx.gp(operand));
      continue;
    }
    if (used == kMaxCallRows) return ctx.fail(inst, "rows");
    for (unsigned c = 0; c < ctx.chunks; ++c) {
      ctx.isa->store(rows.cloneAdjusted(used * kRow + c * ctx.isa->bytes()), ctx.v32(operand, c), nullptr);
    }
    ++used;
  }
  ctx.cc.mov(field(offsetof(CallArgs, mask), 8), mask_to_number(ctx, inst.operands[0]));
  const auto put = [&](size_t offset, uint64_t value) {
    const Gp t = ctx.cc.new_gp64();
    ctx.cc.mov(t, value);
    ctx.cc.mov(field(offset, 8), t);
  };
  put(offsetof(CallArgs, guest_pc), inst.guest_pc);
  put(offsetof(CallArgs, shape), inst.imm);
  ctx.cc.mov(field(offsetof(CallArgs, wave), 8), ctx.wave);
  const unsigned results = inst.type.kind == ir::TypeKind::none ? 0 : inst.type.count;
  if (results > kMaxCallResults) return ctx.fail(inst, "results");
  ctx.cc.mov(field(offsetof(CallArgs, results), 4), results);
  const Mem out = rows.cloneAdjusted(kMaxCallRows * kRow);
  ctx.cc.mov(field(offsetof(CallArgs, in), 8), ctx.address_of(rows));
  ctx.cc.mov(field(offsetof(CallArgs, out), 8), ctx.address_of(out));
  const Gp pointer = ctx.address_of(args);
  const Gp returned = ctx.cc.new_gp64();
  ctx.cc.call(ctx.pool.function(reinterpret_cast<uintptr_t>(find_call(static_cast<ir::Call>(inst.attr)))),
              {&pointer, 1}, &returned);
  const Label unsupported = ctx.cc.new_label();
  ctx.cc.test(returned, returned);
  ctx.cc.jz(unsupported);
  ctx.cold([&] {
    ctx.cc.bind(unsupported);
    const Gp pc = ctx.cc.new_gp64();
    ctx.cc.mov(pc, inst.guest_pc);
    ctx.cc.mov(ctx.wave_field(offsetof(WaveState, pc), 8), pc);
    leave(ctx, static_cast<ir::Call>(inst.attr) == ir::Call::record_exceptions ? ExitReason::kTrap
                                                                               : ExitReason::kUnsupported);
  });
  for (unsigned i = 0; i < results; ++i) {
    for (unsigned c = 0; c < ctx.chunks; ++c) {
      ctx.isa->load(ctx.dst(inst, c, i), out.cloneAdjusted(i * kRow + c * ctx.isa->bytes()), nullptr);
    }
  }
}

// Counts down; at zero the stub parks the wave, or goes on with it. It keeps all registers, so that nothing is known of it
// here.
void emit_poll(Lowering& ctx) {
  const Label reached = ctx.cc.new_label(), back = ctx.cc.new_label();
  ctx.cc.sub(ctx.wave_field(offsetof(WaveState, polls_left), 4), 1);
  ctx.cc.jz(reached);
  ctx.cc.bind(back);
  ctx.cold([&] {
    ctx.cc.bind(reached);
    ctx.cc.push(ctx.wave);
    ctx.cc.emit(I::kIdCall, ctx.pool.function(poll_stub()));
    ctx.cc.jnc(back);
    leave(ctx, ExitReason::kYield);
  });
}

}  // namespace

bool emit_out_of_line(Lowering& ctx, const Inst& inst) {
  if (inst.op == Op::call) return emit_call(ctx, inst), true;
  if (inst.op == Op::fence) return ctx.cc.mfence(), true;
  if (inst.op == Op::poll) return emit_poll(ctx), true;
  if (inst.op == Op::clock) {
    if (inst.attr == 0) {
      Gp low = ctx.cc.new_gp64(), high = ctx.cc.new_gp64();
      ctx.cc.rdtsc(high.r32(), low.r32());
      ctx.cc.shl(high, 32);
      ctx.cc.or_(low, high);
      ctx.cc.mov(ctx.dst_gp(inst), low);
      return true;
    }
    const Gp now = ctx.cc.new_gp64();
    ctx.cc.call(ctx.pool.function(reinterpret_cast<uintptr_t>(&realtime)), {}, &now);
    ctx.cc.mov(ctx.dst_gp(inst), now);
    return true;
  }
  if (inst.op == Op::interrupt) {
    const Gp m0 = ctx.gp(inst.operands[0]);
    ctx.cc.call(ctx.pool.function(reinterpret_cast<uintptr_t>(&raise_interrupt)), {&m0, 1}, nullptr);
    return true;
  }
  const HelperFn function = find_helper(inst);
  if (function == nullptr) return false;
  call_helper(ctx, inst, function, inst.operands, 0, ctx.chunks);
  return true;
}

bool emit_out_of_line_chunk(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const Label slow = ctx.cc.new_label(), join = ctx.cc.new_label();
  switch (inst.op) {
    case Op::div_fixup_f16:
      ctx.cc.jmp(slow);
      break;
    case Op::trig_preop_f64: {
      // The same for all numbers below 2^55, which are the usual ones. Later segments are denormal for some.
      constexpr int kFirstExponent = 1077;
      if (!inst.operands[1]->is_const() || (inst.operands[1]->imm & 31) > 15) {
        ctx.cc.jmp(slow);
        break;
      }
      Vec high = ctx.isa->vec();
      ctx.isa->hi32(high, ctx.v64(inst.operands[0], chunk));
      const Vec magnitude = ctx.isa->and_(high, ctx.isa->c32(0x7fffffff));
      const MaskReg large = cmp(ctx, ICmp::ugt, magnitude, ctx.isa->c32((kFirstExponent << 20) | 0xfffff));
      ctx.cc.j(ctx.isa->test_any({&large, 1}), slow);
      const double bits = trig_preop(kFirstExponent, static_cast<uint32_t>(inst.operands[1]->imm));
      for (const Vec& part : ctx.dst64(inst, chunk).part) ctx.isa->set_const64(part, std::bit_cast<uint64_t>(bits));
      break;
    }
    default:
      return false;
  }
  ctx.cc.bind(join);
  chunk_helper(ctx, inst, chunk, slow, join, true);
  return true;
}

}  // namespace wavejit::backend
