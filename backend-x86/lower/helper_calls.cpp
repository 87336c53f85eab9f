// Calls of out-of-line helpers.
#include <bit>

#include "backend-x86/encode/parking.h"
#include "backend-x86/helpers/calls.h"
#include "backend-x86/helpers/helpers.h"
#include "backend-x86/helpers/helpers_float.h"
#include "backend-x86/lower/emitter.h"
#include "internal/interrupt.h"
#include "internal/semantics/clock.h"

namespace wavejit::backend {

using ir::ICmp;
using x86::CondCode;

// Spills the operands to rows, calls, and loads the result.
void Emitter::call_helper(const Inst& inst, HelperFn function, std::span<Inst* const> operands, unsigned first_chunk,
                          unsigned chunks) {
  if (function == nullptr) return fail(inst);
  const unsigned row = tile_ * 8;
  const Mem args = scratch_row(helper_args_, sizeof(HelperArgs));
  const Mem rows = scratch_row(helper_rows_, 4 * row);
  const auto field = [&](size_t offset, uint32_t size) {
    Mem m = args.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(size);
    return m;
  };
  Gp t = cc_.new_gp64();
  unsigned used = 0;
  for (const Inst* operand : operands) {
    if (operand->type == ir::kMask) {
      Gp bits = cc_.new_gp64();
      if (chunks == chunks_) {
        bits = mask_to_number(operand);
      } else {
        cc_.mov(bits.r32(), isa_->mask_bits(mask(operand, first_chunk)));
      }
      cc_.mov(field(offsetof(HelperArgs, mask), 8), bits);
      continue;
    }
    const Mem slot = rows.cloneAdjusted(used * row);
    for (unsigned c = 0; c < chunks; ++c) {
      if (operand->type == ir::kV64) {
        isa_->store_row64(slot.cloneAdjusted(c * isa_->bytes() * 2), v64(operand, first_chunk + c));
      } else {
        isa_->store(slot.cloneAdjusted(c * isa_->bytes()), v32(operand, first_chunk + c), nullptr);
      }
    }
    cc_.lea(t, slot);
    cc_.mov(field(offsetof(HelperArgs, in) + used * sizeof(void*), 8), t);
    ++used;
  }
  const Mem out = rows.cloneAdjusted(3 * row);
  cc_.lea(t, out);
  cc_.mov(field(offsetof(HelperArgs, out), 8), t);
  cc_.mov(field(offsetof(HelperArgs, attr), 4), inst.attr);
  cc_.mov(field(offsetof(HelperArgs, lanes), 4), chunks * isa_->lanes);
  const Gp pointer = address_of(args);
  const Gp returned = cc_.new_gp64();
  cc_.call(pool_.function(reinterpret_cast<uintptr_t>(function)), {&pointer, 1}, &returned);
  for (unsigned c = 0; c < chunks; ++c) {
    if (inst.type == ir::kMask) {
      if (c > 0) cc_.shr(returned, isa_->lanes);
      isa_->mask_from_bits(dst_mask(inst, first_chunk + c), returned);
    } else if (inst.type == ir::kV64) {
      isa_->load_row64(dst64(inst, first_chunk + c), out.cloneAdjusted(c * isa_->bytes() * 2));
    } else {
      isa_->load(dst(inst, first_chunk + c), out.cloneAdjusted(c * isa_->bytes()), nullptr);
    }
  }
}

void Emitter::chunk_helper(const Inst& inst, unsigned chunk, const Label& slow, const Label& join, bool own_env) {
  cold([&] {
    const uint32_t before = env_;
    cc_.bind(slow);
    if (own_env) set_env({kHelperEnv, kEnvAll});
    call_helper(inst, find_helper(inst), inst.operands, chunk, 1);
    if (own_env) set_env({before, kEnvAll});
    cc_.jmp(join);
  });
}

// Operands and results are rows of the stack; where the function says no, the wave leaves.
void Emitter::emit_call(const Inst& inst) {
  WAVEJIT_CHECK(chunks_ * isa_->lanes == kWaveSize, "calls serve whole waves");
  constexpr unsigned kRow = sizeof(uint32_t[kWaveSize]);
  const Mem args = scratch_row(call_args_, sizeof(CallArgs));
  const Mem rows = scratch_row(call_rows_, (kMaxCallRows + kMaxCallResults) * kRow);
  const auto field = [&](size_t offset, uint32_t size) {
    Mem m = args.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(size);
    return m;
  };
  unsigned scalars = 0, used = 0;
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    const Inst* operand = inst.operands[i];
    if (operand->type == ir::kI32) {
      if (scalars == kMaxCallScalars) return fail(inst, "scalars");
      cc_.mov(field(offsetof(CallArgs, scalars) + 4 * scalars++, 4), gp(operand));
      continue;
    }
    if (used == kMaxCallRows) return fail(inst, "rows");
    for (unsigned c = 0; c < chunks_; ++c) {
      isa_->store(rows.cloneAdjusted(used * kRow + c * isa_->bytes()), v32(operand, c), nullptr);
    }
    ++used;
  }
  cc_.mov(field(offsetof(CallArgs, mask), 8), mask_to_number(inst.operands[0]));
  const auto put = [&](size_t offset, uint64_t value) {
    const Gp t = cc_.new_gp64();
    cc_.mov(t, value);
    cc_.mov(field(offset, 8), t);
  };
  put(offsetof(CallArgs, guest_pc), inst.guest_pc);
  put(offsetof(CallArgs, shape), inst.imm);
  cc_.mov(field(offsetof(CallArgs, wave), 8), wave_);
  const unsigned results = inst.type.kind == ir::TypeKind::none ? 0 : inst.type.count;
  if (results > kMaxCallResults) return fail(inst, "results");
  cc_.mov(field(offsetof(CallArgs, results), 4), results);
  const Mem out = rows.cloneAdjusted(kMaxCallRows * kRow);
  cc_.mov(field(offsetof(CallArgs, in), 8), address_of(rows));
  cc_.mov(field(offsetof(CallArgs, out), 8), address_of(out));
  const Gp pointer = address_of(args);
  const Gp returned = cc_.new_gp64();
  cc_.call(pool_.function(reinterpret_cast<uintptr_t>(find_call(static_cast<ir::Call>(inst.attr)))), {&pointer, 1},
           &returned);
  const Label unsupported = cc_.new_label();
  cc_.test(returned, returned);
  cc_.jz(unsupported);
  cold([&] {
    cc_.bind(unsupported);
    const Gp pc = cc_.new_gp64();
    cc_.mov(pc, inst.guest_pc);
    cc_.mov(wave_field(offsetof(WaveState, pc), 8), pc);
    leave(static_cast<ir::Call>(inst.attr) == ir::Call::record_exceptions ? ExitReason::kTrap
                                                                          : ExitReason::kUnsupported);
  });
  for (unsigned i = 0; i < results; ++i) {
    for (unsigned c = 0; c < chunks_; ++c) {
      isa_->load(dst(inst, c, i), out.cloneAdjusted(i * kRow + c * isa_->bytes()), nullptr);
    }
  }
}

// Counts down; at zero the stub parks the wave, or goes on with it. It keeps all registers, so that nothing is known of it
// here.
void Emitter::emit_poll() {
  const Label reached = cc_.new_label(), back = cc_.new_label();
  cc_.sub(wave_field(offsetof(WaveState, polls_left), 4), 1);
  cc_.jz(reached);
  cc_.bind(back);
  cold([&] {
    cc_.bind(reached);
    cc_.push(wave_);
    cc_.emit(I::kIdCall, pool_.function(poll_stub()));
    cc_.jnc(back);
    leave(ExitReason::kYield);
  });
}

bool Emitter::emit_out_of_line(const Inst& inst) {
  if (inst.op == Op::call) return emit_call(inst), true;
  if (inst.op == Op::fence) return cc_.mfence(), true;
  if (inst.op == Op::poll) return emit_poll(), true;
  if (inst.op == Op::clock) {
    if (inst.attr == 0) {
      Gp low = cc_.new_gp64(), high = cc_.new_gp64();
      cc_.rdtsc(high.r32(), low.r32());
      cc_.shl(high, 32);
      cc_.or_(low, high);
      cc_.mov(dst_gp(inst), low);
      return true;
    }
    const Gp now = cc_.new_gp64();
    cc_.call(pool_.function(reinterpret_cast<uintptr_t>(&realtime)), {}, &now);
    cc_.mov(dst_gp(inst), now);
    return true;
  }
  if (inst.op == Op::interrupt) {
    const Gp m0 = gp(inst.operands[0]);
    cc_.call(pool_.function(reinterpret_cast<uintptr_t>(&raise_interrupt)), {&m0, 1}, nullptr);
    return true;
  }
  const HelperFn function = find_helper(inst);
  if (function == nullptr) return false;
  call_helper(inst, function, inst.operands, 0, chunks_);
  return true;
}

bool Emitter::emit_out_of_line_chunk(const Inst& inst, unsigned chunk) {
  const Label slow = cc_.new_label(), join = cc_.new_label();
  switch (inst.op) {
    case Op::div_fixup_f16:
      cc_.jmp(slow);
      break;
    case Op::trig_preop_f64: {
      // The same for all numbers below 2^55, which are the usual ones. Later segments are denormal for some.
      constexpr int kFirstExponent = 1077;
      if (!inst.operands[1]->is_const() || (inst.operands[1]->imm & 31) > 15) {
        cc_.jmp(slow);
        break;
      }
      Vec high = isa_->vec();
      isa_->hi32(high, v64(inst.operands[0], chunk));
      const Vec magnitude = isa_->and_(high, isa_->c32(0x7fffffff));
      const MaskReg large = cmp(ICmp::ugt, magnitude, isa_->c32((kFirstExponent << 20) | 0xfffff));
      cc_.j(isa_->test_any({&large, 1}), slow);
      const double bits = trig_preop(kFirstExponent, static_cast<uint32_t>(inst.operands[1]->imm));
      for (const Vec& part : dst64(inst, chunk).part) isa_->set_const64(part, std::bit_cast<uint64_t>(bits));
      break;
    }
    default:
      return false;
  }
  cc_.bind(join);
  chunk_helper(inst, chunk, slow, join, true);
  return true;
}

}  // namespace wavejit::backend
