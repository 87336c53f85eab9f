// Atomics whose active lanes all act on one address: as if they went one after the other in ascending order with no
// other thread in between.
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/atomic_access.h"
#include "backend-x86/lower/stack_rows.h"
#include "backend-x86/lower/vector/masks.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::AddressForm;
using ir::AtomicOp;
using ir::Space;

bool is_uniform(const AtomicAccess& atomic) {
  if (!atomic.ctx.on(Optimisation::uniform_atomics)) return false;
  switch (atomic.mem.form) {
    case AddressForm::base_only:
      return true;
    case AddressForm::base_offset:
      return atomic.ctx.is_uniform(atomic.inst.operands[2]);
    case AddressForm::vector64:
    case AddressForm::lds_offset:
      return atomic.inst.operands[1]->is_const() || atomic.ctx.is_uniform(atomic.inst.operands[1]);
    default:
      return false;
  }
}

namespace {

// Sets memory_; goes elsewhere where a generic address is in an aperture.
void uniform_address(AtomicAccess& atomic, const Label& elsewhere) {
  const Gp pointer = atomic.cc.new_gp64();
  const auto offset = [&](const Inst* value) {
    if (value->is_const()) {
      atomic.cc.mov(pointer.r32(), static_cast<uint32_t>(value->imm));
    } else {
      atomic.isa.low32(pointer, atomic.ctx.v32(value, 0));
    }
  };
  switch (atomic.mem.form) {
    case AddressForm::base_only:
      atomic.cc.mov(pointer, atomic.ctx.gp(atomic.inst.operands[1]));
      break;
    case AddressForm::base_offset:
      offset(atomic.inst.operands[2]);
      atomic.cc.add(pointer, atomic.ctx.gp(atomic.inst.operands[1]));
      break;
    case AddressForm::lds_offset:
      offset(atomic.inst.operands[1]);
      atomic.cc.add(pointer, atomic.ctx.wave_field(offsetof(WaveState, lds_base), 8));
      break;
    default:
      atomic.isa.low64(pointer, atomic.ctx.v64(atomic.inst.operands[1], 0).part[0]);
      break;
  }
  int64_t disp = atomic.mem.imm;
  if (disp != static_cast<int32_t>(disp)) {
    const Gp t = atomic.cc.new_gp64();
    atomic.cc.mov(t, disp);
    atomic.cc.add(pointer, t);
    disp = 0;
  }
  atomic.memory = x86::ptr(pointer, static_cast<int32_t>(disp), atomic.mem.bytes);
  if (atomic.mem.space != Space::flat) return;
  static_assert(kPrivateApertureHi == 2 * kSharedApertureHi);
  const Gp high = atomic.cc.new_gp64();
  atomic.cc.lea(high, x86::ptr(pointer, static_cast<int32_t>(disp)));
  atomic.cc.shr(high, 32);
  atomic.cc.sub(high.r32(), kSharedApertureHi);
  atomic.cc.cmp(high.r32(), kPrivateApertureHi - kSharedApertureHi);
  atomic.cc.jbe(elsewhere);
}

bool can_reduce(const AtomicAccess& atomic) {
  switch (atomic.mem.atomic_op) {
    case AtomicOp::add:
    case AtomicOp::sub:
    case AtomicOp::and_:
    case AtomicOp::or_:
    case AtomicOp::xor_:
      return true;
    default:
      return is_compare(atomic);
  }
}

// The operation between the data of two lanes; a sum for add and sub.
Vec fold_data(AtomicAccess& atomic, const Vec& a, const Vec& b) {
  const auto minmax = [&](InstId narrow, Op op) {
    if (!atomic.wide) return atomic.isa.make(narrow, a, b);
    Vec d = atomic.isa.vec();
    atomic.isa.minmax64(d, op, a, b);
    return d;
  };
  switch (atomic.mem.atomic_op) {
    case AtomicOp::and_:
      return atomic.isa.and_(a, b);
    case AtomicOp::or_:
      return atomic.isa.or_(a, b);
    case AtomicOp::xor_:
      return atomic.isa.xor_(a, b);
    case AtomicOp::smin:
      return minmax(I::kIdVpminsd, Op::smin);
    case AtomicOp::smax:
      return minmax(I::kIdVpmaxsd, Op::smax);
    case AtomicOp::umin:
      return minmax(I::kIdVpminud, Op::umin);
    case AtomicOp::umax:
      return minmax(I::kIdVpmaxud, Op::umax);
    default:
      return atomic.isa.make(atomic.wide ? I::kIdVpaddq : I::kIdVpaddd, a, b);
  }
}

// The data of all active lanes combined.
Gp reduced_data(AtomicAccess& atomic, const Gp& number) {
  const Inst* data = atomic.data_operand(0);
  if (data->is_const() || atomic.ctx.is_uniform(data)) {
    const Gp value = scalar_operand(atomic, data);
    const bool parity = atomic.mem.atomic_op == AtomicOp::xor_;
    const bool sums = atomic.mem.atomic_op == AtomicOp::add || atomic.mem.atomic_op == AtomicOp::sub;
    if (!parity && !sums) return value;
    const Gp times = atomic.cc.new_gp64();
    atomic.cc.popcnt(times, number);
    if (parity) atomic.cc.and_(times.r32(), 1);
    if (atomic.wide) {
      atomic.cc.imul(times, value);
      return times;
    }
    atomic.cc.imul(times.r32(), value);
    return times.r32();
  }
  uint64_t identity = 0;
  const uint64_t top = atomic.wide ? uint64_t{1} << 63 : uint64_t{1} << 31;
  switch (atomic.mem.atomic_op) {
    case AtomicOp::and_:
    case AtomicOp::umin:
      identity = ~uint64_t{0};
      break;
    case AtomicOp::smin:
      identity = top - 1;
      break;
    case AtomicOp::smax:
      identity = top;
      break;
    default:
      break;
  }
  const bool full = is_full(atomic.lanes());
  const Vec neutral = atomic.wide ? atomic.isa.const64(identity) : atomic.isa.const32(static_cast<uint32_t>(identity));
  std::optional<Vec> all;
  const auto take = [&](const Vec& v) { all = all ? fold_data(atomic, *all, v) : v; };
  for (unsigned c = 0; c < atomic.ctx.chunks; ++c) {
    if (atomic.wide) {
      const Vec64 v = atomic.ctx.v64(data, c);
      Mask64 active;
      if (!full) active = atomic.isa.split(atomic.ctx.mask(atomic.lanes(), c));
      for (unsigned i = 0; i < 2; ++i) take(full ? v.part[i] : atomic.isa.sel64(active.part[i], v.part[i], neutral));
    } else {
      const Vec v = atomic.ctx.v32(data, c);
      take(full ? v : atomic.isa.sel(atomic.ctx.mask(atomic.lanes(), c), v, neutral));
    }
  }
  if (atomic.isa.bytes() == 64) {
    Vec upper = atomic.isa.vec();
    atomic.cc.emit(I::kIdVextracti64x4, upper.ymm(), *all, imm(1));
    take(upper);
  }
  Vec upper = atomic.isa.vec();
  atomic.cc.emit(I::kIdVextracti128, upper.xmm(), all->ymm(), imm(1));
  take(upper);
  take(atomic.isa.make(I::kIdVpshufd, *all, imm(0x4e)));
  if (!atomic.wide) take(atomic.isa.make(I::kIdVpshufd, *all, imm(0xb1)));
  return scalar_of(atomic, *all);
}

void reduce_lanes(AtomicAccess& atomic, const Gp& number) {
  const Gp value = reduced_data(atomic, number);
  if (without_result(atomic, value)) return;
  (void)(atomic.in_lds() ? plain_update(atomic, value, {}) : locked_update(atomic, value, {}));
}

// Sums of the same number: what a lane finds depends on how many lanes are active below it.
void count_lanes(AtomicAccess& atomic, const Gp& number) {
  const Inst* data = atomic.data_operand(0);
  const Gp old = atomic.gp(), total = reduced_data(atomic, number);
  if (atomic.in_lds()) {
    mark_fault(atomic);
    atomic.cc.mov(old, atomic.memory);
    (void)without_result(atomic, total);
  } else {
    atomic.cc.mov(old, total);
    if (atomic.mem.atomic_op == AtomicOp::sub) atomic.cc.neg(old);
    mark_fault(atomic);
    atomic.cc.lock().xadd(atomic.memory, old);
  }
  const bool one = data->is_const(1), subtract = atomic.mem.atomic_op == AtomicOp::sub;
  const Gp step = scalar_operand(atomic, data);
  for (unsigned c = 0; c < atomic.ctx.chunks; ++c) {
    Vec below = count_below(atomic.ctx, number, c), start = atomic.isa.vec(), times = atomic.isa.vec();
    const bool full = is_full(atomic.lanes());
    if (!atomic.wide) {
      atomic.isa.splat32(start, old);
      if (!one) {
        atomic.isa.splat32(times, step);
        below = atomic.isa.make(I::kIdVpmulld, below, times);
      }
      const Vec found = atomic.isa.make(subtract ? I::kIdVpsubd : I::kIdVpaddd, start, below);
      if (full) {
        atomic.isa.mov(atomic.ctx.dst(atomic.inst, c), found);
      } else {
        atomic.isa.zero_unless(atomic.ctx.dst(atomic.inst, c), atomic.ctx.mask(atomic.lanes(), c), found);
      }
      continue;
    }
    atomic.isa.splat64(start, old);
    if (!one) atomic.isa.splat64(times, step);
    Vec64 own = atomic.isa.vec64();
    atomic.isa.zext64(own, below);
    Mask64 active;
    if (!full) active = atomic.isa.split(atomic.ctx.mask(atomic.lanes(), c));
    const Vec zero = atomic.isa.const32(0);
    for (unsigned i = 0; i < 2; ++i) {
      Vec offset = own.part[i];
      if (!one) {
        offset = atomic.isa.vec();
        atomic.isa.mul64(offset, own.part[i], times);
      }
      const Vec found = atomic.isa.make(subtract ? I::kIdVpsubq : I::kIdVpaddq, start, offset);
      const Vec d = atomic.ctx.dst64(atomic.inst, c).part[i];
      if (full) {
        atomic.isa.mov(d, found);
      } else {
        atomic.isa.select64_half(d, active.part[i], found, zero);
      }
    }
  }
}

// All lanes on a copy in a register, which then goes to memory; again if another thread was faster.
void in_turn(AtomicAccess& atomic, const Gp& number) {
  const AtomicOp op = atomic.mem.atomic_op;
  atomic.first = stage_operand(atomic, atomic.data_operand(0), atomic.ctx.rows->atomic_data);
  if (atomic.two) atomic.second = stage_operand(atomic, atomic.data_operand(1), atomic.ctx.rows->atomic_second);
  zero_atomic_results(atomic);
  const bool sum = op == AtomicOp::fadd_f32 || op == AtomicOp::fadd_f64;
  Vec running, step;
  if (sum) {
    running = atomic.isa.vec();
    if (atomic.first.scalar) step = vector_of(atomic, *atomic.first.scalar);
  }
  const Gp found = atomic.gp(), t = atomic.gp();
  const Label retry = atomic.cc.new_label();
  mark_fault(atomic);
  atomic.cc.mov(found, atomic.memory);
  atomic.cc.bind(retry);
  if (sum) {
    atomic.cc.emit(atomic.wide ? I::kIdVmovq : I::kIdVmovd, running.xmm(), found);
  } else {
    atomic.cc.mov(t, found);
  }
  loop_over(atomic, number, [&](const Gp& lane, unsigned more) {
    if (sum) {
      if (atomic.wants_result())
        atomic.cc.emit(atomic.wide ? I::kIdVmovsd : I::kIdVmovss, cell_of(atomic.results, lane, more, atomic.mem.bytes),
                       running.xmm());
      const Operand other =
          atomic.first.scalar ? Operand(step.xmm()) : Operand(cell_of(atomic.first.row, lane, more, atomic.mem.bytes));
      atomic.cc.emit(atomic.wide ? I::kIdVaddsd : I::kIdVaddss, running.xmm(), running.xmm(), other);
      return;
    }
    if (atomic.wants_result()) atomic.cc.mov(cell_of(atomic.results, lane, more, atomic.mem.bytes), t);
    const Gp value = value_of(atomic, atomic.first, lane, more);
    Gp other;
    if (atomic.two) other = value_of(atomic, atomic.second, lane, more);
    atomic.cc.mov(t, combine_values(atomic, t, value, other));
  });
  const Gp updated = sum ? scalar_of(atomic, running) : t;
  mark_fault(atomic);
  if (atomic.in_lds()) {
    atomic.cc.mov(atomic.memory, updated);
  } else {
    atomic.cc.lock().cmpxchg(atomic.memory, updated, found);
    atomic.cc.jnz(retry);
  }
  load_results(atomic);
}

}  // namespace

void at_one_address(AtomicAccess& atomic) {
  const Label none = atomic.cc.new_label(), elsewhere = atomic.cc.new_label(), join = atomic.cc.new_label();
  const bool full = is_full(atomic.lanes());
  if (atomic.wants_result())
    atomic.results = atomic.ctx.scratch_row(atomic.ctx.rows->atomic_results, atomic.ctx.tile * 8);
  if (!full) atomic.cc.j(x86::negateCond(atomic.isa.test_any(lane_masks(atomic))), atomic.wants_result() ? none : join);
  uniform_address(atomic, elsewhere);
  const Gp number = mask_to_number(atomic.ctx, atomic.lanes());
  if (!atomic.in_lds()) {
    const Gp first = atomic.cc.new_gp64();
    atomic.cc.tzcnt(first, number);
    set_fault_lane(atomic, first);
    check_alignment(atomic);
  }
  const bool sums = atomic.mem.atomic_op == AtomicOp::add || atomic.mem.atomic_op == AtomicOp::sub;
  const bool same_data = atomic.data_operand(0)->is_const() || atomic.ctx.is_uniform(atomic.data_operand(0));
  if (!atomic.wants_result() && can_reduce(atomic)) {
    reduce_lanes(atomic, number);
  } else if (sums && same_data) {
    count_lanes(atomic, number);
  } else {
    in_turn(atomic, number);
  }
  atomic.cc.bind(join);
  atomic.ctx.cold([&] {
    if (atomic.mem.space == Space::flat) {
      atomic.cc.bind(elsewhere);
      each_lane(atomic);
      atomic.cc.jmp(join);
    }
    if (!full && atomic.wants_result()) {
      atomic.cc.bind(none);
      for (unsigned c = 0; c < atomic.ctx.chunks; ++c) {
        if (atomic.wide) {
          for (const Vec& part : atomic.ctx.dst64(atomic.inst, c).part) atomic.isa.set_const32(part, 0);
        } else {
          atomic.isa.set_const32(atomic.ctx.dst(atomic.inst, c), 0);
        }
      }
      atomic.cc.jmp(join);
    }
  });
}

}  // namespace wavejit::backend
