// Atomics whose lanes have addresses of their own, and what one of them does to memory.
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/atomic_access.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/stack_rows.h"
#include "backend-x86/lower/vector/building_blocks.h"
#include "backend-x86/lower/vector/masks.h"
#include "backend-x86/lower/vector/vector_float16.h"

namespace wavejit::backend {

using ir::AddressForm;
using ir::AtomicOp;
using ir::Space;
using x86::CondCode;

AtomicAccess::AtomicAccess(Lowering& lowering, const Inst& atomic)
    : ctx(lowering),
      isa(*ctx.isa),
      cc(ctx.cc),
      inst(atomic),
      mem(inst.mem),
      wide(mem.bytes == 8),
      two(ir::has_two_operands(mem.atomic_op)) {}

bool is_compare(const AtomicAccess& atomic) {
  switch (atomic.mem.atomic_op) {
    case AtomicOp::smin:
    case AtomicOp::smax:
    case AtomicOp::umin:
    case AtomicOp::umax:
      return true;
    default:
      return false;
  }
}

std::vector<MaskReg> lane_masks(AtomicAccess& atomic) {
  std::vector<MaskReg> all;
  all.reserve(atomic.ctx.chunks);
  for (unsigned c = 0; c < atomic.ctx.chunks; ++c) all.push_back(atomic.ctx.mask(atomic.lanes(), c));
  return all;
}

Gp scalar_operand(AtomicAccess& atomic, const Inst* value) {
  if (value->is_const() || value->op == Op::undef) {
    const Gp d = atomic.gp();
    const uint64_t bits = value->is_const() ? value->imm : 0;
    if (atomic.wide) {
      atomic.cc.mov(d, bits);
    } else {
      atomic.cc.mov(d, static_cast<uint32_t>(bits));
    }
    return d;
  }
  const bool splat = value->op == Op::splat || value->op == Op::splat64;
  if (splat && !atomic.ctx.classes.is_shared(value->operands[0])) return atomic.ctx.gp(value->operands[0]);
  const Gp d = atomic.gp();
  if (atomic.wide) {
    atomic.isa.low64(d, atomic.ctx.v64(value, 0).part[0]);
  } else {
    atomic.isa.low32(d, atomic.ctx.v32(value, 0));
  }
  return d;
}

void mark_fault(AtomicAccess& atomic, bool misaligned) {
  atomic.ctx.faults.mark({.guest_pc = atomic.inst.guest_pc,
                          .first_lane = 0,
                          .lanes = kWaveSize,
                          .element_bytes = atomic.mem.bytes,
                          .write = true,
                          .lane_in_state = !atomic.in_lds(),
                          .misaligned = misaligned});
}

// x86 would do what the hardware does not; an address with the wrong bit 63 makes it fault.
void check_alignment(AtomicAccess& atomic, const Gp& address, unsigned bytes) {
  const Label misaligned = atomic.cc.new_label(), go_on = atomic.cc.new_label();
  atomic.cc.test(address.r8(), bytes - 1);
  atomic.cc.jnz(misaligned);
  atomic.cc.bind(go_on);
  atomic.ctx.cold([&] {
    atomic.cc.bind(misaligned);
    const Gp wrong = atomic.cc.new_gp64(), value = atomic.cc.new_gp32();
    atomic.cc.mov(wrong, address);
    atomic.cc.btc(wrong, 63);
    mark_fault(atomic, true);
    atomic.cc.mov(value, x86::ptr(wrong, 0, 4));
    atomic.cc.jmp(go_on);
  });
}

void check_alignment(AtomicAccess& atomic) {
  if (!atomic.mem.aligned) return;
  const Gp address = atomic.cc.new_gp64();
  Mem at = atomic.memory;
  at.setSize(0);
  atomic.cc.lea(address, at);
  check_alignment(atomic, address, atomic.mem.bytes);
}

void set_fault_lane(AtomicAccess& atomic, const Gp& lane) {
  // LDS accesses beyond its size are not in the mask.
  if (!atomic.in_lds()) atomic.cc.mov(atomic.ctx.wave_field(offsetof(WaveState, fault_lane), 4), lane.r32());
}

// --- rows ---

AtomicSource stage_operand(AtomicAccess& atomic, const Inst* value, std::optional<Mem>& slot) {
  if (value->is_const() || value->op == Op::undef || atomic.ctx.is_uniform(value))
    return {scalar_operand(atomic, value), {}};
  const Mem row = atomic.ctx.scratch_row(slot, atomic.ctx.tile * 8);
  for (unsigned c = 0; c < atomic.ctx.chunks; ++c) {
    const Mem at = row.cloneAdjusted(c * atomic.isa.bytes() * (atomic.wide ? 2 : 1));
    if (atomic.wide) {
      atomic.isa.store_row64(at, atomic.ctx.v64(value, c));
    } else {
      atomic.isa.store_row32(at, atomic.ctx.v32(value, c));
    }
  }
  return {std::nullopt, row};
}

namespace {

// Returns the active lanes; sets `base` and `disp`.
Gp stage_atomic_addresses(AtomicAccess& atomic) {
  atomic.addresses = atomic.ctx.scratch_row(atomic.ctx.rows->atomic_addresses, atomic.ctx.tile * 8);
  int64_t disp = atomic.mem.imm;
  atomic.narrow_addresses = atomic.mem.form != AddressForm::vector64;
  if (atomic.narrow_addresses) {
    const bool lds = atomic.mem.form == AddressForm::lds_offset;
    const Inst* offset = atomic.mem.form == AddressForm::base_only ? nullptr : atomic.inst.operands[lds ? 1 : 2];
    if (lds) {
      atomic.base = atomic.cc.new_gp64();
      atomic.cc.mov(atomic.base, atomic.ctx.wave_field(offsetof(WaveState, lds_base), 8));
    } else {
      atomic.base = atomic.ctx.gp(atomic.inst.operands[1]);
    }
    if (disp != static_cast<int32_t>(disp)) {
      const Gp sum = atomic.cc.new_gp64();
      atomic.cc.mov(sum, disp);
      atomic.cc.add(sum, atomic.base);
      atomic.base = sum;
      disp = 0;
    }
    atomic.disp = static_cast<int32_t>(disp);
    for (unsigned c = 0; c < atomic.ctx.chunks; ++c) {
      atomic.isa.store_row32(atomic.addresses.cloneAdjusted(c * atomic.isa.bytes()),
                             offset ? atomic.ctx.v32(offset, c) : atomic.isa.const32(0));
    }
    return {};
  }
  const bool flat = atomic.mem.space == Space::flat;
  const bool add = flat || disp != static_cast<int32_t>(disp);
  Gp delta, number;
  if (add) {
    delta = atomic.cc.new_gp64();
    atomic.cc.mov(delta, disp);
    disp = 0;
  }
  atomic.disp = static_cast<int32_t>(disp);
  for (unsigned c = 0; c < atomic.ctx.chunks; ++c) {
    Vec64 address = atomic.ctx.v64(atomic.inst.operands[1], c);
    if (add) {
      Vec splat = atomic.isa.vec();
      atomic.isa.splat64(splat, delta);
      // Not as one braced assignment: gcc 12 builds the new parts in place, on top of the operands.
      const Vec low = atomic.isa.make(I::kIdVpaddq, address.part[0], splat),
                high = atomic.isa.make(I::kIdVpaddq, address.part[1], splat);
      address = {{low, high}};
    }
    if (flat) {
      MaskReg active = atomic.isa.mask();
      atomic.isa.mov_mask(active, atomic.ctx.mask(atomic.lanes(), c));
      if (atomic.wide) {
        Vec high = atomic.isa.vec();
        atomic.isa.hi32(high, address);
        const Gp part = atomic.cc.new_gp64();
        atomic.cc.mov(part.r32(),
                      atomic.isa.mask_bits(cmp(atomic.ctx, ir::ICmp::eq, high, atomic.isa.c32(kPrivateApertureHi))));
        if (c == 0) {
          atomic.scratch_lanes = part;
        } else {
          atomic.cc.shl(part, c * atomic.isa.lanes);
          atomic.cc.or_(atomic.scratch_lanes, part);
        }
      }
      address = resolve_flat(atomic.ctx, address, atomic.mem.bytes, c * atomic.isa.lanes, active);
      const Gp part = atomic.cc.new_gp64();
      atomic.cc.mov(part.r32(), atomic.isa.mask_bits(active));
      if (c == 0) {
        number = part;
      } else {
        atomic.cc.shl(part, c * atomic.isa.lanes);
        atomic.cc.or_(number, part);
      }
    }
    atomic.isa.store_row64(atomic.addresses.cloneAdjusted(c * atomic.isa.bytes() * 2), address);
  }
  if (atomic.scratch_lanes.isValid()) {
    atomic.cc.and_(atomic.scratch_lanes, number);
    atomic.cc.xor_(number, atomic.scratch_lanes);
  }
  return number;
}

// In scratch the halves of 64 bits are in rows of their own. Nobody else sees them.
void private_lanes(AtomicAccess& atomic) {
  if (!atomic.scratch_lanes.isValid()) return;
  const Label some = atomic.cc.new_label(), join = atomic.cc.new_label();
  atomic.cc.test(atomic.scratch_lanes, atomic.scratch_lanes);
  atomic.cc.jnz(some);
  atomic.cc.bind(join);
  atomic.ctx.cold([&] {
    atomic.cc.bind(some);
    loop_over(atomic, atomic.scratch_lanes, [&](const Gp& index, unsigned more) {
      set_fault_lane(atomic, index);
      const Gp at = atomic.cc.new_gp64(), old = atomic.gp(), high = atomic.gp();
      atomic.cc.mov(at, cell_of(atomic.addresses, index, more, 8));
      if (atomic.mem.aligned) check_alignment(atomic, at, 4);
      const Mem low_half = x86::ptr(at, 0, 4), high_half = x86::ptr(at, sizeof(uint32_t[kWaveSize]), 4);
      mark_fault(atomic);
      atomic.cc.mov(old.r32(), low_half);
      mark_fault(atomic);
      atomic.cc.mov(high.r32(), high_half);
      atomic.cc.shl(high, 32);
      atomic.cc.or_(old, high);
      const Gp value = value_of(atomic, atomic.first, index, more);
      const Gp updated =
          combine_values(atomic, old, value, atomic.two ? value_of(atomic, atomic.second, index, more) : Gp());
      mark_fault(atomic);
      atomic.cc.mov(low_half, updated.r32());
      atomic.cc.mov(high, updated);
      atomic.cc.shr(high, 32);
      mark_fault(atomic);
      atomic.cc.mov(high_half, high.r32());
      if (atomic.wants_result()) atomic.cc.mov(cell_of(atomic.results, index, more, 8), old);
    });
    atomic.cc.jmp(join);
  });
}

}  // namespace

void zero_atomic_results(AtomicAccess& atomic) {
  if (!atomic.wants_result()) return;
  const unsigned bytes = atomic.ctx.tile * atomic.mem.bytes;
  for (unsigned at = 0; at < bytes; at += atomic.isa.bytes())
    atomic.isa.store(atomic.results.cloneAdjusted(at), atomic.isa.const32(0), nullptr);
}

void load_results(AtomicAccess& atomic) {
  if (!atomic.wants_result()) return;
  for (unsigned c = 0; c < atomic.ctx.chunks; ++c) {
    if (atomic.wide) {
      atomic.isa.load_row64(atomic.ctx.dst64(atomic.inst, c), atomic.results.cloneAdjusted(c * atomic.isa.bytes() * 2));
    } else {
      atomic.isa.load(atomic.ctx.dst(atomic.inst, c), atomic.results.cloneAdjusted(c * atomic.isa.bytes()), nullptr);
    }
  }
}

Mem cell_of(const Mem& row, const Gp& index, unsigned more, unsigned bytes) {
  Mem m = row.cloneAdjusted(more * bytes);
  m.setIndex(index, bytes == 8 ? 3 : 2);
  m.setSize(bytes);
  return m;
}

Gp value_of(AtomicAccess& atomic, const AtomicSource& source, const Gp& index, unsigned more) {
  if (source.scalar) return *source.scalar;
  const Gp d = atomic.gp();
  atomic.cc.mov(d, cell_of(source.row, index, more, atomic.mem.bytes));
  return d;
}

// --- loops ---

namespace {

void one_lane(AtomicAccess& atomic, const Gp& index, unsigned more) {
  const Gp at = atomic.cc.new_gp64();
  if (atomic.narrow_addresses) {
    atomic.cc.mov(at.r32(), cell_of(atomic.addresses, index, more, 4));
    atomic.memory = x86::ptr(atomic.base, at, 0, atomic.disp, atomic.mem.bytes);
    check_alignment(atomic);
  } else {
    atomic.cc.mov(at, cell_of(atomic.addresses, index, more, 8));
    atomic.memory = x86::ptr(at, atomic.disp, atomic.mem.bytes);
    if (atomic.mem.aligned && atomic.disp % atomic.mem.bytes == 0) {
      check_alignment(atomic, at, atomic.mem.bytes);
    } else {
      check_alignment(atomic);
    }
  }
  const Gp value = value_of(atomic, atomic.first, index, more);
  if (!atomic.wants_result() && without_result(atomic, value)) return;
  Gp other;
  if (atomic.two) other = value_of(atomic, atomic.second, index, more);
  const Gp old = atomic.in_lds() ? plain_update(atomic, value, other) : locked_update(atomic, value, other);
  if (atomic.wants_result()) atomic.cc.mov(cell_of(atomic.results, index, more, atomic.mem.bytes), old);
}

void loop_over_all(AtomicAccess& atomic, const LaneBody& body) {
  constexpr unsigned kUnroll = 8;
  const Gp index = atomic.cc.new_gp64();
  const Label top = atomic.cc.new_label();
  atomic.cc.xor_(index.r32(), index.r32());
  atomic.cc.bind(top);
  for (unsigned i = 0; i < kUnroll; ++i) body(index, i);
  atomic.cc.add(index.r32(), kUnroll);
  atomic.cc.cmp(index.r32(), atomic.ctx.tile);
  atomic.cc.jb(top);
}

}  // namespace

void each_lane(AtomicAccess& atomic) {
  const Gp resolved = stage_atomic_addresses(atomic);
  atomic.first = stage_operand(atomic, atomic.data_operand(0), atomic.ctx.rows->atomic_data);
  if (atomic.two) atomic.second = stage_operand(atomic, atomic.data_operand(1), atomic.ctx.rows->atomic_second);
  if (atomic.wants_result())
    atomic.results = atomic.ctx.scratch_row(atomic.ctx.rows->atomic_results, atomic.ctx.tile * 8);
  const auto some = [&](const Gp& number) {
    zero_atomic_results(atomic);
    loop_over(atomic, number, [&](const Gp& index, unsigned more) {
      set_fault_lane(atomic, index);
      one_lane(atomic, index, more);
    });
  };
  if (!atomic.in_lds()) {
    some(resolved.isValid() ? resolved : mask_to_number(atomic.ctx, atomic.lanes()));
    private_lanes(atomic);
    return load_results(atomic);
  }
  const auto all = [&] {
    loop_over_all(atomic, [&](const Gp& index, unsigned more) { one_lane(atomic, index, more); });
  };
  if (is_full(atomic.lanes())) {
    all();
    return load_results(atomic);
  }
  const Label partial = atomic.cc.new_label(), join = atomic.cc.new_label();
  atomic.cc.j(x86::negateCond(atomic.isa.test_all(lane_masks(atomic))), partial);
  all();
  atomic.cc.bind(join);
  atomic.ctx.cold([&] {
    atomic.cc.bind(partial);
    some(mask_to_number(atomic.ctx, atomic.lanes()));
    atomic.cc.jmp(join);
  });
  load_results(atomic);
}

// The lanes in `number`, in ascending order.
void loop_over(AtomicAccess& atomic, const Gp& number, const LaneBody& body) {
  const Gp left = atomic.cc.new_gp64(), lane = atomic.cc.new_gp64();
  const Label top = atomic.cc.new_label(), done = atomic.cc.new_label();
  atomic.cc.mov(left, number);
  atomic.cc.test(left, left);
  atomic.cc.jz(done);
  atomic.cc.bind(top);
  atomic.cc.tzcnt(lane, left);
  body(lane, 0);
  atomic.cc.blsr(left, left);
  atomic.cc.jnz(top);
  atomic.cc.bind(done);
}

// --- one lane ---

bool without_result(AtomicAccess& atomic, const Gp& value) {
  InstId id;
  switch (atomic.mem.atomic_op) {
    case AtomicOp::add:
      id = I::kIdAdd;
      break;
    case AtomicOp::sub:
      id = I::kIdSub;
      break;
    case AtomicOp::and_:
      id = I::kIdAnd;
      break;
    case AtomicOp::or_:
      id = I::kIdOr;
      break;
    case AtomicOp::xor_:
      id = I::kIdXor;
      break;
    default:
      return false;
  }
  mark_fault(atomic);
  if (!atomic.in_lds()) atomic.cc.lock();
  atomic.cc.emit(id, atomic.memory, value);
  return true;
}

Gp plain_update(AtomicAccess& atomic, const Gp& value, const Gp& other) {
  const Gp old = atomic.gp();
  mark_fault(atomic);
  atomic.cc.mov(old, atomic.memory);
  const Gp updated = combine_values(atomic, old, value, other);
  mark_fault(atomic);
  atomic.cc.mov(atomic.memory, updated);
  return old;
}

Gp locked_update(AtomicAccess& atomic, const Gp& value, const Gp& other) {
  const Gp t = atomic.gp();
  switch (atomic.mem.atomic_op) {
    case AtomicOp::swap:
      atomic.cc.mov(t, value);
      mark_fault(atomic);
      atomic.cc.xchg(atomic.memory, t);
      return t;
    case AtomicOp::add:
    case AtomicOp::sub:
      atomic.cc.mov(t, value);
      if (atomic.mem.atomic_op == AtomicOp::sub) atomic.cc.neg(t);
      mark_fault(atomic);
      atomic.cc.lock().xadd(atomic.memory, t);
      return t;
    case AtomicOp::cmpswap: {
      // One that fails is a load.
      const Label fails = atomic.cc.new_label();
      mark_fault(atomic);
      atomic.cc.mov(t, atomic.memory);
      atomic.cc.cmp(t, other);
      atomic.cc.jne(fails);
      mark_fault(atomic);
      atomic.cc.lock().cmpxchg(atomic.memory, value, t);
      atomic.cc.bind(fails);
      return t;
    }
    default:
      break;
  }
  const Label retry = atomic.cc.new_label(), done = atomic.cc.new_label();
  mark_fault(atomic);
  atomic.cc.mov(t, atomic.memory);
  atomic.cc.bind(retry);
  const Gp updated = combine_values(atomic, t, value, other);
  if (is_compare(atomic)) {  // often nothing to do, as for a minimum that is known
    atomic.cc.cmp(updated, t);
    atomic.cc.je(done);
  }
  mark_fault(atomic);
  atomic.cc.lock().cmpxchg(atomic.memory, updated, t);
  atomic.cc.jnz(retry);
  atomic.cc.bind(done);
  return t;
}

// What memory becomes. (GCN3 and Vega ISA manuals, atomic instructions.)
Gp combine_values(AtomicAccess& atomic, const Gp& old, const Gp& value, const Gp& other) {
  Gp t = atomic.gp();
  const auto choose = [&](CondCode keep_value) {  // value if `value ? old`, else old
    atomic.cc.mov(t, old);
    atomic.cc.cmp(value, old);
    atomic.cc.emit(x86::Inst::cmovccFromCond(keep_value), t, value);
    return t;
  };
  const auto simple = [&](InstId id) {
    atomic.cc.mov(t, old);
    atomic.cc.emit(id, t, value);
    return t;
  };
  switch (atomic.mem.atomic_op) {
    case AtomicOp::swap:
      atomic.cc.mov(t, value);
      return t;
    case AtomicOp::cmpswap:
      atomic.cc.mov(t, old);
      atomic.cc.cmp(old, other);
      atomic.cc.emit(x86::Inst::cmovccFromCond(CondCode::kE), t, value);
      return t;
    case AtomicOp::add:
      return simple(I::kIdAdd);
    case AtomicOp::sub:
      return simple(I::kIdSub);
    case AtomicOp::rsub:
      atomic.cc.mov(t, value);
      atomic.cc.sub(t, old);
      return t;
    case AtomicOp::and_:
      return simple(I::kIdAnd);
    case AtomicOp::or_:
      return simple(I::kIdOr);
    case AtomicOp::xor_:
      return simple(I::kIdXor);
    case AtomicOp::smin:
      return choose(CondCode::kL);
    case AtomicOp::smax:
      return choose(CondCode::kG);
    case AtomicOp::umin:
      return choose(CondCode::kB);
    case AtomicOp::umax:
      return choose(CondCode::kA);
    case AtomicOp::inc: {  // old >= value ? 0 : old + 1
      const Gp zero = atomic.gp();
      atomic.cc.xor_(zero.r32(), zero.r32());
      atomic.cc.lea(t, atomic.wide ? x86::ptr(old, 1) : x86::ptr(old.r64(), 1));
      atomic.cc.cmp(old, value);
      atomic.cc.emit(x86::Inst::cmovccFromCond(CondCode::kAE), t, zero);
      return t;
    }
    case AtomicOp::dec: {  // old == 0 || old > value ? value : old - 1
      atomic.cc.mov(t, old);
      atomic.cc.sub(t, 1);  // borrows for 0
      atomic.cc.emit(x86::Inst::cmovccFromCond(CondCode::kC), t, value);
      atomic.cc.cmp(old, value);
      atomic.cc.emit(x86::Inst::cmovccFromCond(CondCode::kA), t, value);
      return t;
    }
    case AtomicOp::mskor:  // (old & ~value) | other
      atomic.cc.andn(t, value, old);
      atomic.cc.or_(t, other);
      return t;
    case AtomicOp::wrap: {  // old >= value ? old - value : old + other
      const Gp sum = atomic.gp();
      atomic.cc.mov(sum, old);
      atomic.cc.add(sum, other);
      atomic.cc.mov(t, old);
      atomic.cc.sub(t, value);
      atomic.cc.emit(x86::Inst::cmovccFromCond(CondCode::kC), t, sum);
      return t;
    }
    case AtomicOp::fcmpswap_f32:
    case AtomicOp::fcmpswap_f64: {  // a NaN equals nothing
      const Vec a = vector_of(atomic, old), b = vector_of(atomic, other);
      atomic.cc.mov(t, value);
      atomic.cc.emit(atomic.wide ? I::kIdVucomisd : I::kIdVucomiss, a.xmm(), b.xmm());
      atomic.cc.emit(x86::Inst::cmovccFromCond(CondCode::kNE), t, old);
      atomic.cc.emit(x86::Inst::cmovccFromCond(CondCode::kPE), t, old);
      return t;
    }
    case AtomicOp::fadd_f32:
    case AtomicOp::fadd_f64: {
      const Vec a = vector_of(atomic, old), b = vector_of(atomic, value);
      atomic.cc.emit(atomic.wide ? I::kIdVaddsd : I::kIdVaddss, a.xmm(), a.xmm(), b.xmm());
      return scalar_of(atomic, a);
    }
    case AtomicOp::fmin_f32:
    case AtomicOp::fmin_f64:
    case AtomicOp::fmax_f32:
    case AtomicOp::fmax_f64: {  // value < old ? value : old; a NaN leaves memory alone
      const bool less = atomic.mem.atomic_op == AtomicOp::fmin_f32 || atomic.mem.atomic_op == AtomicOp::fmin_f64;
      const Vec a = vector_of(atomic, old), b = vector_of(atomic, value);
      // vmin(x, y) is x < y ? x : y, and y when unordered.
      const InstId id =
          less ? (atomic.wide ? I::kIdVminsd : I::kIdVminss) : (atomic.wide ? I::kIdVmaxsd : I::kIdVmaxss);
      atomic.cc.emit(id, a.xmm(), b.xmm(), a.xmm());
      return scalar_of(atomic, a);
    }
    case AtomicOp::pk_fadd_f16: {
      constexpr uint32_t kKeep = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
      const Vec a = vector_of(atomic, old), b = vector_of(atomic, value);
      const Vec low = to_f16(
          atomic.ctx, atomic.isa.make(I::kIdVaddps, to_f32(atomic.ctx, a, kKeep), to_f32(atomic.ctx, b, kKeep)), kKeep);
      const Vec high = to_f16(atomic.ctx,
                              atomic.isa.make(I::kIdVaddps, to_f32(atomic.ctx, atomic.isa.shr32(a, 16), kKeep),
                                              to_f32(atomic.ctx, atomic.isa.shr32(b, 16), kKeep)),
                              kKeep);
      return scalar_of(atomic, atomic.isa.or_(low, atomic.isa.shl32(high, 16)));
    }
    case AtomicOp::pk_fadd_bf16: {
      // Sums of f32, rounded to their upper halves, ties to even. The lower half of a NaN is 0, so that it stays one.
      const Vec a = vector_of(atomic, old), b = vector_of(atomic, value);
      const Gp low = scalar_of(atomic, atomic.isa.make(I::kIdVaddps, atomic.isa.shl32(a, 16), atomic.isa.shl32(b, 16)));
      const Vec high_a = atomic.isa.shl32(atomic.isa.shr32(a, 16), 16),
                high_b = atomic.isa.shl32(atomic.isa.shr32(b, 16), 16);
      const Gp high = scalar_of(atomic, atomic.isa.make(I::kIdVaddps, high_a, high_b));
      const auto round = [&](const Gp& sum) {
        atomic.cc.mov(t.r32(), sum.r32());
        atomic.cc.shr(t.r32(), 16);
        atomic.cc.and_(t.r32(), 1);
        atomic.cc.lea(sum.r32(), x86::ptr(sum.r64(), t.r64(), 0, 0x7fff));
      };
      round(low);
      round(high);
      atomic.cc.shr(low.r32(), 16);
      atomic.cc.and_(high.r32(), 0xffff0000u);
      atomic.cc.or_(low.r32(), high.r32());
      return low;
    }
  }
  return t;
}

Vec vector_of(AtomicAccess& atomic, const Gp& g) {
  Vec v = atomic.isa.vec();
  if (atomic.wide) {
    atomic.cc.vmovq(v.xmm(), g);
  } else {
    atomic.cc.vmovd(v.xmm(), g);
  }
  return v;
}

Gp scalar_of(AtomicAccess& atomic, const Vec& v) {
  Gp g = atomic.gp();
  if (atomic.wide) {
    atomic.isa.low64(g, v);
  } else {
    atomic.isa.low32(g, v);
  }
  return g;
}

namespace {

void emit_atomic_access(AtomicAccess& atomic) {
  if (atomic.mem.bytes != 4 && !atomic.wide) return atomic.ctx.fail(atomic.inst, "element size");
  if (atomic.mem.space == Space::scratch) return atomic.ctx.fail(atomic.inst, "scratch");
  if (is_uniform(atomic)) {
    at_one_address(atomic);
  } else {
    each_lane(atomic);
  }
}

}  // namespace

bool emit_atomic(Lowering& ctx, const Inst& inst) {
  if (inst.op != Op::atomic) return false;
  AtomicAccess atomic(ctx, inst);
  emit_atomic_access(atomic);
  return true;
}

}  // namespace wavejit::backend
