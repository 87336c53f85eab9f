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
using x86::CondCode;

bool AtomicAccess::is_uniform() const {
  if (!ctx_.on(Optimisation::uniform_atomics)) return false;
  switch (mem_.form) {
    case AddressForm::base_only:
      return true;
    case AddressForm::base_offset:
      return ctx_.is_uniform(inst_.operands[2]);
    case AddressForm::vector64:
    case AddressForm::lds_offset:
      return inst_.operands[1]->is_const() || ctx_.is_uniform(inst_.operands[1]);
    default:
      return false;
  }
}

// Sets memory_; goes elsewhere where a generic address is in an aperture.
void AtomicAccess::uniform_address(const Label& elsewhere) {
  const Gp pointer = cc_.new_gp64();
  const auto offset = [&](const ir::Inst* value) {
    if (value->is_const()) {
      cc_.mov(pointer.r32(), static_cast<uint32_t>(value->imm));
    } else {
      isa_.low32(pointer, ctx_.v32(value, 0));
    }
  };
  switch (mem_.form) {
    case AddressForm::base_only:
      cc_.mov(pointer, ctx_.gp(inst_.operands[1]));
      break;
    case AddressForm::base_offset:
      offset(inst_.operands[2]);
      cc_.add(pointer, ctx_.gp(inst_.operands[1]));
      break;
    case AddressForm::lds_offset:
      offset(inst_.operands[1]);
      cc_.add(pointer, ctx_.wave_field(offsetof(WaveState, lds_base), 8));
      break;
    default:
      isa_.low64(pointer, ctx_.v64(inst_.operands[1], 0).part[0]);
      break;
  }
  int64_t disp = mem_.imm;
  if (disp != static_cast<int32_t>(disp)) {
    const Gp t = cc_.new_gp64();
    cc_.mov(t, disp);
    cc_.add(pointer, t);
    disp = 0;
  }
  memory_ = x86::ptr(pointer, static_cast<int32_t>(disp), mem_.bytes);
  if (mem_.space != Space::flat) return;
  static_assert(kPrivateApertureHi == 2 * kSharedApertureHi);
  const Gp high = cc_.new_gp64();
  cc_.lea(high, x86::ptr(pointer, static_cast<int32_t>(disp)));
  cc_.shr(high, 32);
  cc_.sub(high.r32(), kSharedApertureHi);
  cc_.cmp(high.r32(), kPrivateApertureHi - kSharedApertureHi);
  cc_.jbe(elsewhere);
}

void AtomicAccess::uniform() {
  const Label none = cc_.new_label(), elsewhere = cc_.new_label(), join = cc_.new_label();
  const bool full = is_full(lanes());
  if (wants_result()) results_ = ctx_.scratch_row(ctx_.rows->atomic_results, ctx_.tile * 8);
  if (!full) cc_.j(x86::negateCond(isa_.test_any(masks())), wants_result() ? none : join);
  uniform_address(elsewhere);
  const Gp number = mask_to_number(ctx_, lanes());
  if (!in_lds()) {
    const Gp first = cc_.new_gp64();
    cc_.tzcnt(first, number);
    set_fault_lane(first);
    check_alignment();
  }
  const bool sums = mem_.atomic_op == AtomicOp::add || mem_.atomic_op == AtomicOp::sub;
  const bool same_data = data_operand(0)->is_const() || ctx_.is_uniform(data_operand(0));
  if (!wants_result() && can_reduce()) {
    reduce(number);
  } else if (sums && same_data) {
    count(number);
  } else {
    in_turn(number);
  }
  cc_.bind(join);
  ctx_.cold([&] {
    if (mem_.space == Space::flat) {
      cc_.bind(elsewhere);
      each_lane();
      cc_.jmp(join);
    }
    if (!full && wants_result()) {
      cc_.bind(none);
      for (unsigned c = 0; c < ctx_.chunks; ++c) {
        if (wide_) {
          for (const Vec& part : ctx_.dst64(inst_, c).part) isa_.set_const32(part, 0);
        } else {
          isa_.set_const32(ctx_.dst(inst_, c), 0);
        }
      }
      cc_.jmp(join);
    }
  });
}

bool AtomicAccess::can_reduce() const {
  switch (mem_.atomic_op) {
    case AtomicOp::add:
    case AtomicOp::sub:
    case AtomicOp::and_:
    case AtomicOp::or_:
    case AtomicOp::xor_:
      return true;
    default:
      return is_compare();
  }
}

// The operation between the data of two lanes; a sum for add and sub.
Vec AtomicAccess::fold(const Vec& a, const Vec& b) {
  const auto minmax = [&](InstId narrow, ir::Op op) {
    if (!wide_) return isa_.make(narrow, a, b);
    Vec d = isa_.vec();
    isa_.minmax64(d, op, a, b);
    return d;
  };
  switch (mem_.atomic_op) {
    case AtomicOp::and_:
      return isa_.and_(a, b);
    case AtomicOp::or_:
      return isa_.or_(a, b);
    case AtomicOp::xor_:
      return isa_.xor_(a, b);
    case AtomicOp::smin:
      return minmax(I::kIdVpminsd, ir::Op::smin);
    case AtomicOp::smax:
      return minmax(I::kIdVpmaxsd, ir::Op::smax);
    case AtomicOp::umin:
      return minmax(I::kIdVpminud, ir::Op::umin);
    case AtomicOp::umax:
      return minmax(I::kIdVpmaxud, ir::Op::umax);
    default:
      return isa_.make(wide_ ? I::kIdVpaddq : I::kIdVpaddd, a, b);
  }
}

// The data of all active lanes combined.
Gp AtomicAccess::reduced_data(const Gp& number) {
  const ir::Inst* data = data_operand(0);
  if (data->is_const() || ctx_.is_uniform(data)) {
    const Gp value = scalar(data);
    const bool parity = mem_.atomic_op == AtomicOp::xor_;
    const bool sums = mem_.atomic_op == AtomicOp::add || mem_.atomic_op == AtomicOp::sub;
    if (!parity && !sums) return value;
    const Gp times = cc_.new_gp64();
    cc_.popcnt(times, number);
    if (parity) cc_.and_(times.r32(), 1);
    if (wide_) {
      cc_.imul(times, value);
      return times;
    }
    cc_.imul(times.r32(), value);
    return times.r32();
  }
  uint64_t identity = 0;
  const uint64_t top = wide_ ? uint64_t{1} << 63 : uint64_t{1} << 31;
  switch (mem_.atomic_op) {
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
  const bool full = is_full(lanes());
  const Vec neutral = wide_ ? isa_.const64(identity) : isa_.const32(static_cast<uint32_t>(identity));
  std::optional<Vec> all;
  const auto take = [&](const Vec& v) { all = all ? fold(*all, v) : v; };
  for (unsigned c = 0; c < ctx_.chunks; ++c) {
    if (wide_) {
      const Vec64 v = ctx_.v64(data, c);
      Mask64 active;
      if (!full) active = isa_.split(ctx_.mask(lanes(), c));
      for (unsigned i = 0; i < 2; ++i) take(full ? v.part[i] : isa_.sel64(active.part[i], v.part[i], neutral));
    } else {
      const Vec v = ctx_.v32(data, c);
      take(full ? v : isa_.sel(ctx_.mask(lanes(), c), v, neutral));
    }
  }
  if (isa_.bytes() == 64) {
    Vec upper = isa_.vec();
    cc_.emit(I::kIdVextracti64x4, upper.ymm(), *all, imm(1));
    take(upper);
  }
  Vec upper = isa_.vec();
  cc_.emit(I::kIdVextracti128, upper.xmm(), all->ymm(), imm(1));
  take(upper);
  take(isa_.make(I::kIdVpshufd, *all, imm(0x4e)));
  if (!wide_) take(isa_.make(I::kIdVpshufd, *all, imm(0xb1)));
  return scalar_of(*all);
}

void AtomicAccess::reduce(const Gp& number) {
  const Gp value = reduced_data(number);
  if (without_result(value)) return;
  (void)(in_lds() ? plain(value, {}) : locked(value, {}));
}

// Sums of the same number: what a lane finds depends on how many lanes are active below it.
void AtomicAccess::count(const Gp& number) {
  const ir::Inst* data = data_operand(0);
  const Gp old = gp(), total = reduced_data(number);
  if (in_lds()) {
    mark();
    cc_.mov(old, memory_);
    (void)without_result(total);
  } else {
    cc_.mov(old, total);
    if (mem_.atomic_op == AtomicOp::sub) cc_.neg(old);
    mark();
    cc_.lock().xadd(memory_, old);
  }
  const bool one = data->is_const(1), subtract = mem_.atomic_op == AtomicOp::sub;
  const Gp step = scalar(data);
  for (unsigned c = 0; c < ctx_.chunks; ++c) {
    Vec below = count_below(ctx_, number, c), start = isa_.vec(), times = isa_.vec();
    const bool full = is_full(lanes());
    if (!wide_) {
      isa_.splat32(start, old);
      if (!one) {
        isa_.splat32(times, step);
        below = isa_.make(I::kIdVpmulld, below, times);
      }
      const Vec found = isa_.make(subtract ? I::kIdVpsubd : I::kIdVpaddd, start, below);
      if (full) {
        isa_.mov(ctx_.dst(inst_, c), found);
      } else {
        isa_.zero_unless(ctx_.dst(inst_, c), ctx_.mask(lanes(), c), found);
      }
      continue;
    }
    isa_.splat64(start, old);
    if (!one) isa_.splat64(times, step);
    Vec64 own = isa_.vec64();
    isa_.zext64(own, below);
    Mask64 active;
    if (!full) active = isa_.split(ctx_.mask(lanes(), c));
    const Vec zero = isa_.const32(0);
    for (unsigned i = 0; i < 2; ++i) {
      Vec offset = own.part[i];
      if (!one) {
        offset = isa_.vec();
        isa_.mul64(offset, own.part[i], times);
      }
      const Vec found = isa_.make(subtract ? I::kIdVpsubq : I::kIdVpaddq, start, offset);
      const Vec d = ctx_.dst64(inst_, c).part[i];
      if (full) {
        isa_.mov(d, found);
      } else {
        isa_.select64_half(d, active.part[i], found, zero);
      }
    }
  }
}

// All lanes on a copy in a register, which then goes to memory; again if another thread was faster.
void AtomicAccess::in_turn(const Gp& number) {
  const AtomicOp op = mem_.atomic_op;
  first_ = stage(data_operand(0), ctx_.rows->atomic_data);
  if (two_) second_ = stage(data_operand(1), ctx_.rows->atomic_second);
  zero_results();
  const bool sum = op == AtomicOp::fadd_f32 || op == AtomicOp::fadd_f64;
  Vec running, step;
  if (sum) {
    running = isa_.vec();
    if (first_.scalar) step = vector_of(*first_.scalar);
  }
  const Gp found = gp(), t = gp();
  const Label retry = cc_.new_label();
  mark();
  cc_.mov(found, memory_);
  cc_.bind(retry);
  if (sum) {
    cc_.emit(wide_ ? I::kIdVmovq : I::kIdVmovd, running.xmm(), found);
  } else {
    cc_.mov(t, found);
  }
  loop_over(number, [&](const Gp& lane, unsigned more) {
    if (sum) {
      if (wants_result())
        cc_.emit(wide_ ? I::kIdVmovsd : I::kIdVmovss, cell(results_, lane, more, mem_.bytes), running.xmm());
      const Operand other = first_.scalar ? Operand(step.xmm()) : Operand(cell(first_.row, lane, more, mem_.bytes));
      cc_.emit(wide_ ? I::kIdVaddsd : I::kIdVaddss, running.xmm(), running.xmm(), other);
      return;
    }
    if (wants_result()) cc_.mov(cell(results_, lane, more, mem_.bytes), t);
    const Gp value = value_of(first_, lane, more);
    Gp other;
    if (two_) other = value_of(second_, lane, more);
    cc_.mov(t, combine(t, value, other));
  });
  const Gp updated = sum ? scalar_of(running) : t;
  mark();
  if (in_lds()) {
    cc_.mov(memory_, updated);
  } else {
    cc_.lock().cmpxchg(memory_, updated, found);
    cc_.jnz(retry);
  }
  load_results();
}

}  // namespace wavejit::backend
