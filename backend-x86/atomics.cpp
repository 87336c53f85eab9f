// Atomics: one lane after the other in ascending order, host atomics on memory that other threads may see, plain
// read-modify-writes on LDS and scratch.
#include "backend-x86/emitter.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::AddressForm;
using ir::AtomicOp;
using ir::ICmp;
using ir::Space;
using x86::CondCode;

class AtomicAccess {
 public:
  AtomicAccess(Emitter& emitter, const ir::Inst& inst)
      : e_(emitter), isa_(*emitter.isa_), cc_(emitter.cc_), inst_(inst), mem_(inst.mem) {}

  bool emit() {
    wide_ = mem_.bytes == 8;
    if (mem_.bytes != 4 && !wide_) return e_.fail(inst_, "element size"), true;
    if (mem_.space == Space::scratch) return e_.fail(inst_, "scratch"), true;
    for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk) emit_chunk(chunk);
    return true;
  }

 private:
  [[nodiscard]] unsigned address_operands() const { return mem_.form == AddressForm::base_offset ? 2 : 1; }
  [[nodiscard]] const ir::Inst* data_operand(unsigned i) const { return inst_.operands[1 + address_operands() + i]; }
  [[nodiscard]] bool wants_result() const { return inst_.type.kind != ir::TypeKind::none; }
  [[nodiscard]] Gp gp() { return e_.new_gp(wide_ ? 64 : 32); }

  void emit_chunk(unsigned chunk) {
    const unsigned first_lane = chunk * isa_.lanes;
    MaskReg lanes = isa_.mask();
    isa_.mov_mask(lanes, e_.mask(inst_.operands[0], chunk));
    Vec64 address;
    int64_t disp = mem_.imm;
    switch (mem_.form) {
      case AddressForm::base_offset:
        address = e_.host_addresses(e_.gp(inst_.operands[1]), e_.v32(inst_.operands[2], chunk));
        break;
      case AddressForm::base_only:
        address = e_.host_addresses(e_.gp(inst_.operands[1]), isa_.const32(0));
        break;
      case AddressForm::vector64:
        address = e_.v64(inst_.operands[1], chunk);
        break;
      case AddressForm::lds_offset: {
        const Vec offset = e_.v32(inst_.operands[1], chunk);
        Gp limit = cc_.newUInt32(), zero = cc_.newUInt32(), base = cc_.newUInt64();
        cc_.xor_(zero, zero);
        cc_.mov(limit, e_.wave_field(offsetof(WaveState, lds_size), 4));
        cc_.sub(limit, static_cast<uint32_t>(mem_.imm + mem_.bytes - 1));
        cc_.emit(x86::Inst::cmovccFromCond(CondCode::kC), limit, zero);
        Vec bound = isa_.vec();
        isa_.splat32(bound, limit);
        MaskReg in = isa_.mask();
        isa_.cmp32(in, ICmp::ult, offset, bound, &lanes);
        lanes = in;
        cc_.mov(base, e_.wave_field(offsetof(WaveState, lds_base), 8));
        address = e_.host_addresses(base, offset);
        break;
      }
      default:
        return e_.fail(inst_, "address form");
    }
    if (mem_.space == Space::flat || disp != static_cast<int32_t>(disp)) {
      Gp delta = cc_.newUInt64();
      cc_.mov(delta, disp);
      Vec splat = isa_.vec();
      isa_.splat64(splat, delta);
      // Not as one braced assignment: gcc 12 builds the new parts in place, on top of the operands.
      const Vec low = isa_.make(I::kIdVpaddq, address.part[0], splat),
                high = isa_.make(I::kIdVpaddq, address.part[1], splat);
      address = {{low, high}};
      disp = 0;
    }
    if (mem_.space == Space::flat) address = e_.resolve_flat(address, mem_.bytes, first_lane, lanes);

    const unsigned row_bytes = isa_.bytes() * (wide_ ? 2 : 1);
    const Mem addresses = e_.scratch_row(e_.address_row_, 2 * isa_.bytes()),
              data = e_.scratch_row(e_.data_row_, 2 * isa_.bytes());
    const Mem second = e_.scratch_row(e_.compare_row_, 2 * isa_.bytes()),
              result = e_.scratch_row(e_.result_row_, 2 * isa_.bytes());
    isa_.store_row64(addresses, address);
    store_row(data, data_operand(0), chunk);
    const bool two = mem_.atomic_op == AtomicOp::cmpswap || mem_.atomic_op == AtomicOp::mskor;
    if (two) store_row(second, data_operand(1), chunk);
    if (wants_result()) {
      for (unsigned at = 0; at < row_bytes; at += isa_.bytes())
        isa_.store(result.cloneAdjusted(at), isa_.const32(0), nullptr);
    }
    e_.for_each_lane(&lanes, first_lane, [&](const Gp& lane) {
      Gp at = cc_.newUInt64();
      cc_.mov(at, cell(addresses, lane, 8));
      memory_ = x86::ptr(at, static_cast<int32_t>(disp), mem_.bytes);
      const Gp value = gp();
      cc_.mov(value, cell(data, lane, mem_.bytes));
      Gp other;
      if (two) {
        other = gp();
        cc_.mov(other, cell(second, lane, mem_.bytes));
      }
      const Gp old = mem_.space == Space::lds ? plain(value, other) : locked(value, other);
      if (wants_result()) cc_.mov(cell(result, lane, mem_.bytes), old);
    });
    if (!wants_result()) return;
    if (wide_) {
      isa_.load_row64(e_.dst64(inst_, chunk), result);
    } else {
      isa_.load(e_.dst(inst_, chunk), result, nullptr);
    }
  }

  void store_row(const Mem& row, const ir::Inst* value, unsigned chunk) {
    if (wide_) {
      isa_.store_row64(row, e_.v64(value, chunk));
    } else {
      isa_.store(row, e_.v32(value, chunk), nullptr);
    }
  }
  static Mem cell(const Mem& row, const Gp& lane, unsigned bytes) {
    Mem m = row;
    m.setIndex(lane, bytes == 8 ? 3 : 2);
    m.setSize(bytes);
    return m;
  }
  void mark() {
    e_.faults_.mark({.guest_pc = inst_.guest_pc,
                     .first_lane = 0,
                     .lanes = kWaveSize,
                     .element_bytes = mem_.bytes,
                     .write = true,
                     .lane_in_state = true});
  }

  Gp plain(const Gp& value, const Gp& other) {
    const Gp old = gp();
    mark();
    cc_.mov(old, memory_);
    const Gp updated = combine(old, value, other);
    mark();
    cc_.mov(memory_, updated);
    return old;
  }

  Gp locked(const Gp& value, const Gp& other) {
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
      case AtomicOp::cmpswap:
        cc_.mov(t, other);
        mark();
        cc_.lock().cmpxchg(memory_, value, t);
        return t;
      default:
        break;
    }
    const Label retry = cc_.newLabel();
    mark();
    cc_.mov(t, memory_);
    cc_.bind(retry);
    const Gp updated = combine(t, value, other);
    mark();
    cc_.lock().cmpxchg(memory_, updated, t);
    cc_.jnz(retry);
    return t;
  }

  // What memory becomes. (GCN3 and Vega ISA manuals, atomic instructions.)
  Gp combine(const Gp& old, const Gp& value, const Gp& other) {
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
        const Vec low = e_.to_f16(isa_.make(I::kIdVaddps, e_.to_f32(a, kKeep), e_.to_f32(b, kKeep)), kKeep);
        const Vec high = e_.to_f16(
            isa_.make(I::kIdVaddps, e_.to_f32(isa_.shr32(a, 16), kKeep), e_.to_f32(isa_.shr32(b, 16), kKeep)), kKeep);
        return scalar_of(isa_.or_(low, isa_.shl32(high, 16)));
      }
    }
    return t;
  }

  Vec vector_of(const Gp& g) {
    Vec v = isa_.vec();
    if (wide_) {
      cc_.vmovq(v.xmm(), g);
    } else {
      cc_.vmovd(v.xmm(), g);
    }
    return v;
  }
  Gp scalar_of(const Vec& v) {
    Gp g = gp();
    if (wide_) {
      isa_.low64(g, v);
    } else {
      isa_.low32(g, v);
    }
    return g;
  }

  Emitter& e_;
  VectorIsa& isa_;
  x86::Compiler& cc_;
  const ir::Inst& inst_;
  const ir::MemAttr& mem_;
  bool wide_ = false;
  Mem memory_;
};

bool Emitter::emit_atomic(const Inst& inst) {
  if (inst.op != Op::atomic) return false;
  return AtomicAccess(*this, inst).emit();
}

}  // namespace wavejit::backend
