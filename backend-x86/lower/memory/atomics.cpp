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

AtomicAccess::AtomicAccess(Lowering& ctx, const ir::Inst& inst)
    : ctx_(ctx),
      isa_(*ctx.isa),
      cc_(ctx.cc),
      inst_(inst),
      mem_(inst.mem),
      wide_(inst.mem.bytes == 8),
      two_(ir::has_two_operands(inst.mem.atomic_op)) {}

void AtomicAccess::emit() {
  if (mem_.bytes != 4 && !wide_) return ctx_.fail(inst_, "element size");
  if (mem_.space == Space::scratch) return ctx_.fail(inst_, "scratch");
  if (is_uniform()) {
    uniform();
  } else {
    each_lane();
  }
}

bool AtomicAccess::is_compare() const {
  switch (mem_.atomic_op) {
    case AtomicOp::smin:
    case AtomicOp::smax:
    case AtomicOp::umin:
    case AtomicOp::umax:
      return true;
    default:
      return false;
  }
}

std::vector<MaskReg> AtomicAccess::masks() {
  std::vector<MaskReg> all;
  all.reserve(ctx_.chunks);
  for (unsigned c = 0; c < ctx_.chunks; ++c) all.push_back(ctx_.mask(lanes(), c));
  return all;
}

Gp AtomicAccess::scalar(const ir::Inst* value) {
  if (value->is_const() || value->op == ir::Op::undef) {
    const Gp d = gp();
    const uint64_t bits = value->is_const() ? value->imm : 0;
    if (wide_) {
      cc_.mov(d, bits);
    } else {
      cc_.mov(d, static_cast<uint32_t>(bits));
    }
    return d;
  }
  const bool splat = value->op == ir::Op::splat || value->op == ir::Op::splat64;
  if (splat && !ctx_.classes.is_shared(value->operands[0])) return ctx_.gp(value->operands[0]);
  const Gp d = gp();
  if (wide_) {
    isa_.low64(d, ctx_.v64(value, 0).part[0]);
  } else {
    isa_.low32(d, ctx_.v32(value, 0));
  }
  return d;
}

void AtomicAccess::mark(bool misaligned) {
  ctx_.faults.mark({.guest_pc = inst_.guest_pc,
                    .first_lane = 0,
                    .lanes = kWaveSize,
                    .element_bytes = mem_.bytes,
                    .write = true,
                    .lane_in_state = !in_lds(),
                    .misaligned = misaligned});
}

// x86 would do what the hardware does not; an address with the wrong bit 63 makes it fault.
void AtomicAccess::check_alignment(const Gp& address, unsigned bytes) {
  const Label misaligned = cc_.new_label(), go_on = cc_.new_label();
  cc_.test(address.r8(), bytes - 1);
  cc_.jnz(misaligned);
  cc_.bind(go_on);
  ctx_.cold([this, address, misaligned, go_on] {
    cc_.bind(misaligned);
    const Gp wrong = cc_.new_gp64(), value = cc_.new_gp32();
    cc_.mov(wrong, address);
    cc_.btc(wrong, 63);
    mark(true);
    cc_.mov(value, x86::ptr(wrong, 0, 4));
    cc_.jmp(go_on);
  });
}

void AtomicAccess::check_alignment() {
  if (!mem_.aligned) return;
  const Gp address = cc_.new_gp64();
  Mem at = memory_;
  at.setSize(0);
  cc_.lea(address, at);
  check_alignment(address, mem_.bytes);
}

void AtomicAccess::set_fault_lane(const Gp& lane) {
  // LDS accesses beyond its size are not in the mask.
  if (!in_lds()) cc_.mov(ctx_.wave_field(offsetof(WaveState, fault_lane), 4), lane.r32());
}

// --- rows ---

AtomicAccess::Source AtomicAccess::stage(const ir::Inst* value, std::optional<Mem>& slot) {
  if (value->is_const() || value->op == ir::Op::undef || ctx_.is_uniform(value)) return {scalar(value), {}};
  const Mem row = ctx_.scratch_row(slot, ctx_.tile * 8);
  for (unsigned c = 0; c < ctx_.chunks; ++c) {
    const Mem at = row.cloneAdjusted(c * isa_.bytes() * (wide_ ? 2 : 1));
    if (wide_) {
      isa_.store_row64(at, ctx_.v64(value, c));
    } else {
      isa_.store_row32(at, ctx_.v32(value, c));
    }
  }
  return {std::nullopt, row};
}

Gp AtomicAccess::stage_addresses() {
  addresses_ = ctx_.scratch_row(ctx_.rows->atomic_addresses, ctx_.tile * 8);
  int64_t disp = mem_.imm;
  narrow_addresses_ = mem_.form != AddressForm::vector64;
  if (narrow_addresses_) {
    const bool lds = mem_.form == AddressForm::lds_offset;
    const ir::Inst* offset = mem_.form == AddressForm::base_only ? nullptr : inst_.operands[lds ? 1 : 2];
    if (lds) {
      base_ = cc_.new_gp64();
      cc_.mov(base_, ctx_.wave_field(offsetof(WaveState, lds_base), 8));
    } else {
      base_ = ctx_.gp(inst_.operands[1]);
    }
    if (disp != static_cast<int32_t>(disp)) {
      const Gp sum = cc_.new_gp64();
      cc_.mov(sum, disp);
      cc_.add(sum, base_);
      base_ = sum;
      disp = 0;
    }
    disp_ = static_cast<int32_t>(disp);
    for (unsigned c = 0; c < ctx_.chunks; ++c) {
      isa_.store_row32(addresses_.cloneAdjusted(c * isa_.bytes()), offset ? ctx_.v32(offset, c) : isa_.const32(0));
    }
    return {};
  }
  const bool flat = mem_.space == Space::flat;
  const bool add = flat || disp != static_cast<int32_t>(disp);
  Gp delta, number;
  if (add) {
    delta = cc_.new_gp64();
    cc_.mov(delta, disp);
    disp = 0;
  }
  disp_ = static_cast<int32_t>(disp);
  for (unsigned c = 0; c < ctx_.chunks; ++c) {
    Vec64 address = ctx_.v64(inst_.operands[1], c);
    if (add) {
      Vec splat = isa_.vec();
      isa_.splat64(splat, delta);
      // Not as one braced assignment: gcc 12 builds the new parts in place, on top of the operands.
      const Vec low = isa_.make(I::kIdVpaddq, address.part[0], splat),
                high = isa_.make(I::kIdVpaddq, address.part[1], splat);
      address = {{low, high}};
    }
    if (flat) {
      MaskReg active = isa_.mask();
      isa_.mov_mask(active, ctx_.mask(lanes(), c));
      if (wide_) {
        Vec high = isa_.vec();
        isa_.hi32(high, address);
        const Gp part = cc_.new_gp64();
        cc_.mov(part.r32(), isa_.mask_bits(cmp(ctx_, ir::ICmp::eq, high, isa_.c32(kPrivateApertureHi))));
        if (c == 0) {
          private_ = part;
        } else {
          cc_.shl(part, c * isa_.lanes);
          cc_.or_(private_, part);
        }
      }
      address = resolve_flat(ctx_, address, mem_.bytes, c * isa_.lanes, active);
      const Gp part = cc_.new_gp64();
      cc_.mov(part.r32(), isa_.mask_bits(active));
      if (c == 0) {
        number = part;
      } else {
        cc_.shl(part, c * isa_.lanes);
        cc_.or_(number, part);
      }
    }
    isa_.store_row64(addresses_.cloneAdjusted(c * isa_.bytes() * 2), address);
  }
  if (private_.isValid()) {
    cc_.and_(private_, number);
    cc_.xor_(number, private_);
  }
  return number;
}

// In scratch the halves of 64 bits are in rows of their own. Nobody else sees them.
void AtomicAccess::private_lanes() {
  if (!private_.isValid()) return;
  const Label some = cc_.new_label(), join = cc_.new_label();
  cc_.test(private_, private_);
  cc_.jnz(some);
  cc_.bind(join);
  ctx_.cold([&] {
    cc_.bind(some);
    loop_over(private_, [&](const Gp& index, unsigned more) {
      set_fault_lane(index);
      const Gp at = cc_.new_gp64(), old = gp(), high = gp();
      cc_.mov(at, cell(addresses_, index, more, 8));
      if (mem_.aligned) check_alignment(at, 4);
      const Mem low_half = x86::ptr(at, 0, 4), high_half = x86::ptr(at, sizeof(uint32_t[kWaveSize]), 4);
      mark();
      cc_.mov(old.r32(), low_half);
      mark();
      cc_.mov(high.r32(), high_half);
      cc_.shl(high, 32);
      cc_.or_(old, high);
      const Gp value = value_of(first_, index, more);
      const Gp updated = combine(old, value, two_ ? value_of(second_, index, more) : Gp());
      mark();
      cc_.mov(low_half, updated.r32());
      cc_.mov(high, updated);
      cc_.shr(high, 32);
      mark();
      cc_.mov(high_half, high.r32());
      if (wants_result()) cc_.mov(cell(results_, index, more, 8), old);
    });
    cc_.jmp(join);
  });
}

void AtomicAccess::zero_results() {
  if (!wants_result()) return;
  const unsigned bytes = ctx_.tile * mem_.bytes;
  for (unsigned at = 0; at < bytes; at += isa_.bytes())
    isa_.store(results_.cloneAdjusted(at), isa_.const32(0), nullptr);
}

void AtomicAccess::load_results() {
  if (!wants_result()) return;
  for (unsigned c = 0; c < ctx_.chunks; ++c) {
    if (wide_) {
      isa_.load_row64(ctx_.dst64(inst_, c), results_.cloneAdjusted(c * isa_.bytes() * 2));
    } else {
      isa_.load(ctx_.dst(inst_, c), results_.cloneAdjusted(c * isa_.bytes()), nullptr);
    }
  }
}

Mem AtomicAccess::cell(const Mem& row, const Gp& index, unsigned more, unsigned bytes) const {
  Mem m = row.cloneAdjusted(more * bytes);
  m.setIndex(index, bytes == 8 ? 3 : 2);
  m.setSize(bytes);
  return m;
}

Gp AtomicAccess::value_of(const Source& source, const Gp& index, unsigned more) {
  if (source.scalar) return *source.scalar;
  const Gp d = gp();
  cc_.mov(d, cell(source.row, index, more, mem_.bytes));
  return d;
}

// --- loops ---

void AtomicAccess::each_lane() {
  const Gp resolved = stage_addresses();
  first_ = stage(data_operand(0), ctx_.rows->atomic_data);
  if (two_) second_ = stage(data_operand(1), ctx_.rows->atomic_second);
  if (wants_result()) results_ = ctx_.scratch_row(ctx_.rows->atomic_results, ctx_.tile * 8);
  const auto some = [&](const Gp& number) {
    zero_results();
    loop_over(number, [&](const Gp& index, unsigned more) {
      set_fault_lane(index);
      one_lane(index, more);
    });
  };
  if (!in_lds()) {
    some(resolved.isValid() ? resolved : mask_to_number(ctx_, lanes()));
    private_lanes();
    return load_results();
  }
  const auto all = [&] { loop_over_all([&](const Gp& index, unsigned more) { one_lane(index, more); }); };
  if (is_full(lanes())) {
    all();
    return load_results();
  }
  const Label partial = cc_.new_label(), join = cc_.new_label();
  cc_.j(x86::negateCond(isa_.test_all(masks())), partial);
  all();
  cc_.bind(join);
  ctx_.cold([&] {
    cc_.bind(partial);
    some(mask_to_number(ctx_, lanes()));
    cc_.jmp(join);
  });
  load_results();
}

void AtomicAccess::one_lane(const Gp& index, unsigned more) {
  const Gp at = cc_.new_gp64();
  if (narrow_addresses_) {
    cc_.mov(at.r32(), cell(addresses_, index, more, 4));
    memory_ = x86::ptr(base_, at, 0, disp_, mem_.bytes);
    check_alignment();
  } else {
    cc_.mov(at, cell(addresses_, index, more, 8));
    memory_ = x86::ptr(at, disp_, mem_.bytes);
    if (mem_.aligned && disp_ % mem_.bytes == 0) {
      check_alignment(at, mem_.bytes);
    } else {
      check_alignment();
    }
  }
  const Gp value = value_of(first_, index, more);
  if (!wants_result() && without_result(value)) return;
  Gp other;
  if (two_) other = value_of(second_, index, more);
  const Gp old = in_lds() ? plain(value, other) : locked(value, other);
  if (wants_result()) cc_.mov(cell(results_, index, more, mem_.bytes), old);
}

// The lanes in `number`, in ascending order.
void AtomicAccess::loop_over(const Gp& number, const LaneBody& body) {
  const Gp left = cc_.new_gp64(), lane = cc_.new_gp64();
  const Label top = cc_.new_label(), done = cc_.new_label();
  cc_.mov(left, number);
  cc_.test(left, left);
  cc_.jz(done);
  cc_.bind(top);
  cc_.tzcnt(lane, left);
  body(lane, 0);
  cc_.blsr(left, left);
  cc_.jnz(top);
  cc_.bind(done);
}

void AtomicAccess::loop_over_all(const LaneBody& body) {
  constexpr unsigned kUnroll = 8;
  const Gp index = cc_.new_gp64();
  const Label top = cc_.new_label();
  cc_.xor_(index.r32(), index.r32());
  cc_.bind(top);
  for (unsigned i = 0; i < kUnroll; ++i) body(index, i);
  cc_.add(index.r32(), kUnroll);
  cc_.cmp(index.r32(), ctx_.tile);
  cc_.jb(top);
}

// --- one lane ---

bool AtomicAccess::without_result(const Gp& value) {
  InstId id;
  switch (mem_.atomic_op) {
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
  mark();
  if (!in_lds()) cc_.lock();
  cc_.emit(id, memory_, value);
  return true;
}

Gp AtomicAccess::plain(const Gp& value, const Gp& other) {
  const Gp old = gp();
  mark();
  cc_.mov(old, memory_);
  const Gp updated = combine(old, value, other);
  mark();
  cc_.mov(memory_, updated);
  return old;
}

Gp AtomicAccess::locked(const Gp& value, const Gp& other) {
  const Gp t = gp();
  switch (mem_.atomic_op) {
    case AtomicOp::swap:
      cc_.mov(t, value);
      mark();
      cc_.xchg(memory_, t);
      return t;
    case AtomicOp::add:
    case AtomicOp::sub:
      cc_.mov(t, value);
      if (mem_.atomic_op == AtomicOp::sub) cc_.neg(t);
      mark();
      cc_.lock().xadd(memory_, t);
      return t;
    case AtomicOp::cmpswap: {
      // One that fails is a load.
      const Label fails = cc_.new_label();
      mark();
      cc_.mov(t, memory_);
      cc_.cmp(t, other);
      cc_.jne(fails);
      mark();
      cc_.lock().cmpxchg(memory_, value, t);
      cc_.bind(fails);
      return t;
    }
    default:
      break;
  }
  const Label retry = cc_.new_label(), done = cc_.new_label();
  mark();
  cc_.mov(t, memory_);
  cc_.bind(retry);
  const Gp updated = combine(t, value, other);
  if (is_compare()) {  // often nothing to do, as for a minimum that is known
    cc_.cmp(updated, t);
    cc_.je(done);
  }
  mark();
  cc_.lock().cmpxchg(memory_, updated, t);
  cc_.jnz(retry);
  cc_.bind(done);
  return t;
}

// What memory becomes. (GCN3 and Vega ISA manuals, atomic instructions.)
Gp AtomicAccess::combine(const Gp& old, const Gp& value, const Gp& other) {
  Gp t = gp();
  const auto choose = [&](CondCode keep_value) {  // value if `value ? old`, else old
    cc_.mov(t, old);
    cc_.cmp(value, old);
    cc_.emit(x86::Inst::cmovccFromCond(keep_value), t, value);
    return t;
  };
  const auto simple = [&](InstId id) {
    cc_.mov(t, old);
    cc_.emit(id, t, value);
    return t;
  };
  switch (mem_.atomic_op) {
    case AtomicOp::swap:
      cc_.mov(t, value);
      return t;
    case AtomicOp::cmpswap:
      cc_.mov(t, old);
      cc_.cmp(old, other);
      cc_.emit(x86::Inst::cmovccFromCond(CondCode::kE), t, value);
      return t;
    case AtomicOp::add:
      return simple(I::kIdAdd);
    case AtomicOp::sub:
      return simple(I::kIdSub);
    case AtomicOp::rsub:
      cc_.mov(t, value);
      cc_.sub(t, old);
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
      const Gp zero = gp();
      cc_.xor_(zero.r32(), zero.r32());
      cc_.lea(t, wide_ ? x86::ptr(old, 1) : x86::ptr(old.r64(), 1));
      cc_.cmp(old, value);
      cc_.emit(x86::Inst::cmovccFromCond(CondCode::kAE), t, zero);
      return t;
    }
    case AtomicOp::dec: {  // old == 0 || old > value ? value : old - 1
      cc_.mov(t, old);
      cc_.sub(t, 1);  // borrows for 0
      cc_.emit(x86::Inst::cmovccFromCond(CondCode::kC), t, value);
      cc_.cmp(old, value);
      cc_.emit(x86::Inst::cmovccFromCond(CondCode::kA), t, value);
      return t;
    }
    case AtomicOp::mskor:  // (old & ~value) | other
      cc_.andn(t, value, old);
      cc_.or_(t, other);
      return t;
    case AtomicOp::wrap: {  // old >= value ? old - value : old + other
      const Gp sum = gp();
      cc_.mov(sum, old);
      cc_.add(sum, other);
      cc_.mov(t, old);
      cc_.sub(t, value);
      cc_.emit(x86::Inst::cmovccFromCond(CondCode::kC), t, sum);
      return t;
    }
    case AtomicOp::fcmpswap_f32:
    case AtomicOp::fcmpswap_f64: {  // a NaN equals nothing
      const Vec a = vector_of(old), b = vector_of(other);
      cc_.mov(t, value);
      cc_.emit(wide_ ? I::kIdVucomisd : I::kIdVucomiss, a.xmm(), b.xmm());
      cc_.emit(x86::Inst::cmovccFromCond(CondCode::kNE), t, old);
      cc_.emit(x86::Inst::cmovccFromCond(CondCode::kPE), t, old);
      return t;
    }
    case AtomicOp::fadd_f32:
    case AtomicOp::fadd_f64: {
      const Vec a = vector_of(old), b = vector_of(value);
      cc_.emit(wide_ ? I::kIdVaddsd : I::kIdVaddss, a.xmm(), a.xmm(), b.xmm());
      return scalar_of(a);
    }
    case AtomicOp::fmin_f32:
    case AtomicOp::fmin_f64:
    case AtomicOp::fmax_f32:
    case AtomicOp::fmax_f64: {  // value < old ? value : old; a NaN leaves memory alone
      const bool less = mem_.atomic_op == AtomicOp::fmin_f32 || mem_.atomic_op == AtomicOp::fmin_f64;
      const Vec a = vector_of(old), b = vector_of(value);
      // vmin(x, y) is x < y ? x : y, and y when unordered.
      const InstId id = less ? (wide_ ? I::kIdVminsd : I::kIdVminss) : (wide_ ? I::kIdVmaxsd : I::kIdVmaxss);
      cc_.emit(id, a.xmm(), b.xmm(), a.xmm());
      return scalar_of(a);
    }
    case AtomicOp::pk_fadd_f16: {
      constexpr uint32_t kKeep = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
      const Vec a = vector_of(old), b = vector_of(value);
      const Vec low = to_f16(ctx_, isa_.make(I::kIdVaddps, to_f32(ctx_, a, kKeep), to_f32(ctx_, b, kKeep)), kKeep);
      const Vec high = to_f16(
          ctx_, isa_.make(I::kIdVaddps, to_f32(ctx_, isa_.shr32(a, 16), kKeep), to_f32(ctx_, isa_.shr32(b, 16), kKeep)),
          kKeep);
      return scalar_of(isa_.or_(low, isa_.shl32(high, 16)));
    }
    case AtomicOp::pk_fadd_bf16: {
      // Sums of f32, rounded to their upper halves, ties to even. The lower half of a NaN is 0, so that it stays one.
      const Vec a = vector_of(old), b = vector_of(value);
      const Gp low = scalar_of(isa_.make(I::kIdVaddps, isa_.shl32(a, 16), isa_.shl32(b, 16)));
      const Vec high_a = isa_.shl32(isa_.shr32(a, 16), 16), high_b = isa_.shl32(isa_.shr32(b, 16), 16);
      const Gp high = scalar_of(isa_.make(I::kIdVaddps, high_a, high_b));
      const auto round = [&](const Gp& sum) {
        cc_.mov(t.r32(), sum.r32());
        cc_.shr(t.r32(), 16);
        cc_.and_(t.r32(), 1);
        cc_.lea(sum.r32(), x86::ptr(sum.r64(), t.r64(), 0, 0x7fff));
      };
      round(low);
      round(high);
      cc_.shr(low.r32(), 16);
      cc_.and_(high.r32(), 0xffff0000u);
      cc_.or_(low.r32(), high.r32());
      return low;
    }
  }
  return t;
}

Vec AtomicAccess::vector_of(const Gp& g) {
  Vec v = isa_.vec();
  if (wide_) {
    cc_.vmovq(v.xmm(), g);
  } else {
    cc_.vmovd(v.xmm(), g);
  }
  return v;
}

Gp AtomicAccess::scalar_of(const Vec& v) {
  Gp g = gp();
  if (wide_) {
    isa_.low64(g, v);
  } else {
    isa_.low32(g, v);
  }
  return g;
}

bool emit_atomic(Lowering& ctx, const Inst& inst) {
  if (inst.op != Op::atomic) return false;
  AtomicAccess(ctx, inst).emit();
  return true;
}

}  // namespace wavejit::backend
