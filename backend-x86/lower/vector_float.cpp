// f32 and f64 arithmetic. Semantics: docs/isa-decisions.md.
#include <algorithm>
#include <array>

#include "backend-x86/lower/emitter.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;
namespace fpenv = ir::fpenv;

namespace {
constexpr unsigned kEqual = 0;  // as a predicate of vcmpps
// Immediates of vroundps / vrndscaleps: fixed rounding, no inexact exception.
constexpr unsigned kToNearest = 8, kFloor = 9, kCeil = 10, kTrunc = 11;

struct FmaIds {
  InstId f132, f213, f231;
};
// By the sign of the product (2: negative) and of the addend (1).
constexpr FmaIds kFmaPs[4] = {{I::kIdVfmadd132ps, I::kIdVfmadd213ps, I::kIdVfmadd231ps},
                              {I::kIdVfmsub132ps, I::kIdVfmsub213ps, I::kIdVfmsub231ps},
                              {I::kIdVfnmadd132ps, I::kIdVfnmadd213ps, I::kIdVfnmadd231ps},
                              {I::kIdVfnmsub132ps, I::kIdVfnmsub213ps, I::kIdVfnmsub231ps}};
constexpr FmaIds kFmaPd[4] = {{I::kIdVfmadd132pd, I::kIdVfmadd213pd, I::kIdVfmadd231pd},
                              {I::kIdVfmsub132pd, I::kIdVfmsub213pd, I::kIdVfmsub231pd},
                              {I::kIdVfnmadd132pd, I::kIdVfnmadd213pd, I::kIdVfnmadd231pd},
                              {I::kIdVfnmsub132pd, I::kIdVfnmsub213pd, I::kIdVfnmsub231pd}};

// d = a * b + c in the form that needs no copy if there is one. At most one of b and c is in memory.
void emit_fma_form(lir::Builder& cc, VectorIsa& isa, const FmaIds& ids, const Vec& d, const Vec& a, const Operand& b,
                   const Operand& c) {
  const auto is_d = [&](const Operand& o) { return o.isReg() && o.id() == d.id(); };
  if (is_d(c)) {
    cc.emit(ids.f231, d, a, b);
  } else if (is_d(a)) {
    if (b.isMem()) {
      cc.emit(ids.f132, d, c, b);
    } else {
      cc.emit(ids.f213, d, b, c);
    }
  } else if (is_d(b)) {
    cc.emit(ids.f213, d, a, c);
  } else if (c.isMem()) {
    isa.mov(d, a);
    cc.emit(ids.f213, d, b, c);
  } else {
    isa.mov(d, c);
    cc.emit(ids.f231, d, a, b);
  }
}

}  // namespace

// Both the register operands; used with the constants of the transcendental sequences.
Vec Emitter::fma32(const Vec& a, const Vec& b, const Operand_& c) {
  Vec d = isa_->vec();
  if (c.isMem()) {
    isa_->mov(d, a);
    cc_.emit(I::kIdVfmadd213ps, d, b, c);
  } else {
    isa_->mov(d, c);
    cc_.emit(I::kIdVfmadd231ps, d, a, b);
  }
  return d;
}

// Whether the number cannot be a signalling NaN in any lane, active or not.
bool Emitter::never_signalling(const Inst* value) {
  switch (value->op) {
    case Op::fadd_f32:
    case Op::fsub_f32:
    case Op::fmul_f32:
    case Op::fma_f32:
    case Op::fadd_f64:
    case Op::fsub_f64:
    case Op::fmul_f64:
    case Op::fma_f64:
    case Op::fmin_f32:
    case Op::fmax_f32:
    case Op::fmin_f64:
    case Op::fmax_f64:
    case Op::cvt_f32_i32:
    case Op::cvt_f32_u32:
    case Op::cvt_f64_i32:
    case Op::cvt_f64_u32:
    case Op::cvt_f64_f32:
    case Op::cvt_f32_f64:
      return true;
    case Op::const_:
      // Of two dwords: where both are below the exponent of NaNs.
      return (value->imm & 0x7fffffff) <= 0x7f800000 && (value->imm >> 32 & 0x7fffffff) < 0x7ff00000;
    default:
      return false;
  }
}

// v_min/v_max on one register of f32 or f64 lanes. signalling: operands may be signalling NaNs.
void Emitter::fminmax(uint32_t attr, const Vec& d, const Vec& a_in, const Vec& b_in, unsigned bits, bool want_max,
                      bool signalling) {
  const bool ieee = (attr & fpenv::kIeee) != 0;
  const bool flush = (attr & fpenv::kKeepInputDenorm) == 0;
  if (ieee && isa_->ieee_minmax(d, a_in, b_in, bits, want_max)) return;
  const bool wide = bits == 64;
  const auto constant = [&](uint64_t value) {
    return wide ? Operand(full64(value)) : Operand(isa_->c32(static_cast<uint32_t>(value)));
  };
  const uint64_t sign = wide ? uint64_t{1} << 63 : 0x80000000u, quiet = wide ? uint64_t{1} << 51 : 0x00400000u;
  const auto compare = [&](unsigned predicate, const Vec& x, const Operand_& y) {
    return wide ? isa_->fcmp64_half(predicate, x, y) : fcmp(predicate, x, y);
  };
  const auto select = [&](const MaskReg& m, const Vec& x, const Vec& y) {
    return wide ? isa_->sel64(m, x, y) : isa_->sel(m, x, y);
  };
  const auto and_not_quiet = [&](const Vec& x) {  // lanes of x that are signalling NaNs
    const Vec bit = isa_->and_(x, constant(quiet));
    const Vec zero = isa_->const32(0);
    const MaskReg signalling = wide ? isa_->cmp64_half(ICmp::eq, bit, zero) : cmp(ICmp::eq, bit, zero);
    return both(signalling, compare(kUnordered, x, x));
  };
  Vec a = a_in, b = b_in;
  if (flush) {
    // With DAZ a denormal compares equal to zero; keep its sign only.
    const Vec zero = isa_->const32(0);
    a = select(compare(kEqual, a, zero), isa_->and_(a, constant(sign)), a);
    b = select(compare(kEqual, b, zero), isa_->and_(b, constant(sign)), b);
  }
  const InstId id = wide ? (want_max ? I::kIdVmaxpd : I::kIdVminpd) : (want_max ? I::kIdVmaxps : I::kIdVminps);
  // Where the result has a register of its own, the code for odd numbers still finds the operands.
  const bool in_line = cc_.is_narrow() && !wide && !flush && on(Optimisation::ordinary_numbers);
  Vec r = in_line && d.id() != a.id() && d.id() != b.id() ? d : isa_->vec();
  cc_.emit(id, r, a, b);  // b when either is NaN or both are zero
  const auto equal = [&] {
    const Vec signs = want_max ? isa_->and_(a, b) : isa_->or_(a, b);
    return select(compare(kEqual, a, b), signs, r);
  };
  const auto with_nans = [&] {
    Vec result = select(compare(kUnordered, b, b), a, r);
    if (signalling) {
      result = select(compare(kUnordered, result, result), isa_->or_(result, constant(quiet)), result);
      if (ieee) {
        result = select(and_not_quiet(b), isa_->or_(b, constant(quiet)), result);
        result = select(and_not_quiet(a), isa_->or_(a, constant(quiet)), result);
      }
    }
    isa_->mov(r, result);
  };
  if (in_line) {
    const Label odd = cc_.new_label(), join = cc_.new_label();
    cc_.vucomiss(a.xmm(), b.xmm());
    cc_.je(odd);  // equal, or one is a NaN
    cc_.bind(join);
    cold([&] {
      cc_.bind(odd);
      isa_->mov(r, equal());
      with_nans();
      cc_.jmp(join);
    });
    if (r.id() != d.id()) isa_->mov(d, r);
    return;
  }
  r = equal();
  if (signalling && on(Optimisation::ordinary_numbers))
    unless_any(compare(kUnordered, a, b), [] {}, with_nans);
  else
    with_nans();
  isa_->mov(d, r);
}

// `ordinary` in line; `rare` instead, out of line, when there are lanes in `odd`.
void Emitter::unless_any(const MaskReg& odd, const std::function<void()>& ordinary, const std::function<void()>& rare) {
  const Label slow = cc_.new_label(), join = cc_.new_label();
  cc_.j(isa_->test_any({&odd, 1}), slow);
  ordinary();
  cc_.bind(join);
  cold([&] {
    cc_.bind(slow);
    rare();
    cc_.jmp(join);
  });
}

// x * 2^n where that is one multiplication: by a number with an exponent of its own.
void Emitter::emit_ldexp(const Inst& inst, unsigned chunk) {
  const bool wide = inst.op == Op::fldexp_f64;
  const uint32_t smallest = wide ? 1022 : 126, fraction_bits = wide ? 52 : 23;
  const Vec n = v32(inst.operands[1], chunk);
  const auto in_general = [&] {
    if (!wide) return isa_->ldexp32(dst(inst, chunk), v32(inst.operands[0], chunk), n);
    Vec64 power = isa_->vec64();
    isa_->sext64(power, n);
    const Vec64 x = v64(inst.operands[0], chunk), d = dst64(inst, chunk);
    for (unsigned i = 0; i < 2; ++i) isa_->ldexp64(d.part[i], x.part[i], power.part[i]);
  };
  if (isa_->has_scale() || !on(Optimisation::ordinary_numbers)) return in_general();
  const Vec exponent = isa_->make(I::kIdVpaddd, n, isa_->c32(smallest));
  const auto multiply = [&] {
    const Vec biased = isa_->make(I::kIdVpaddd, n, isa_->c32(smallest + 1));
    if (!wide) {
      cc_.emit(I::kIdVmulps, dst(inst, chunk), v32(inst.operands[0], chunk), isa_->shl32(biased, fraction_bits));
      return;
    }
    Vec64 power = isa_->vec64();
    isa_->zext64(power, biased);
    const Vec64 x = v64(inst.operands[0], chunk), d = dst64(inst, chunk);
    for (unsigned i = 0; i < 2; ++i)
      cc_.emit(I::kIdVmulpd, d.part[i], x.part[i], isa_->shl64(power.part[i], fraction_bits));
  };
  unless_any(cmp(ICmp::uge, exponent, isa_->c32(2 * smallest + 2)), multiply, in_general);
}

// v_cmp_class from the facts about a magnitude: bit numbers as in the ISA manual (0 signalling NaN .. 9 +inf).
void Emitter::class_test(const MaskReg& d, const Vec& wanted, const ClassFacts& f) {
  // 0 zero, 1 denormal, 2 normal, 3 infinity.
  const auto minus = [&](const Vec& x, const MaskReg& m) { return isa_->make(I::kIdVpsubd, x, isa_->mask_vec(m)); };
  const Vec kind = minus(minus(minus(isa_->const32(0), f.nonzero), f.normal_up), f.inf_up);
  const Vec positive = isa_->make(I::kIdVpaddd, kind, isa_->c32(6));
  const Vec negative = isa_->make(I::kIdVpsubd, isa_->const32(5), kind);
  Vec bit = isa_->sel(f.negative, negative, positive);
  const Vec nan_bit = isa_->sel(f.quiet, isa_->const32(1), isa_->const32(0));
  bit = isa_->sel(f.nan, nan_bit, bit);
  const Vec hit = isa_->and_(isa_->make(I::kIdVpsllvd, isa_->const32(1), bit), wanted);
  isa_->cmp32(d, ICmp::ne, hit, isa_->const32(0), nullptr);
}

void Emitter::known_class_test(const MaskReg& d, const Vec& bits, uint32_t wanted, const ClassLimits& limits) {
  // In ascending order of the bits: the kinds of positive numbers, then those of negative ones.
  static constexpr unsigned kClass[12] = {6, 7, 8, 9, 0, 1, 5, 4, 3, 2, 0, 1};
  std::array<bool, 12> in;
  for (unsigned i = 0; i < 12; ++i) in[i] = (wanted >> kClass[i] & 1) != 0;
  const bool same = std::equal(in.begin(), in.begin() + 6, in.begin() + 6);
  const unsigned count = same ? 6 : 12;
  const uint32_t sign = limits[6];
  const Vec number = same ? isa_->and_(bits, isa_->c32(sign - 1)) : bits;
  const auto first = [&](unsigned i) { return limits[i % 6] + (i >= 6 ? sign : 0); };
  std::optional<MaskReg> all;
  for (unsigned i = 0; i < count;) {
    if (!in[i]) {
      ++i;
      continue;
    }
    unsigned end = i;
    while (end < count && in[end]) ++end;
    MaskReg own;
    if (i == 0 && end == count) {
      own = isa_->mask();
      isa_->set_mask_const(own, ~0u);
    } else if (end == count) {
      own = cmp(ICmp::uge, number, isa_->c32(first(i)));
    } else if (first(end) - first(i) == 1) {
      own = cmp(ICmp::eq, number, isa_->c32(first(i)));
    } else {
      const Vec above = i == 0 ? number : isa_->make(I::kIdVpsubd, number, isa_->c32(first(i)));
      own = cmp(ICmp::ult, above, isa_->c32(first(end) - first(i)));
    }
    all = all ? either(*all, own) : own;
    i = end;
  }
  if (all) {
    isa_->mov_mask(d, *all);
  } else {
    isa_->set_mask_const(d, 0);
  }
}

void Emitter::plan_negations() {
  for (const auto& block : function_.blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::xor_ || is_fused(inst) || !inst->operands[1]->is_const()) continue;
      const bool single = inst->type == ir::kV32 && inst->operands[1]->imm == uint64_t{1} << 31;
      const bool twice = inst->type == ir::kV64 && inst->operands[1]->imm == uint64_t{1} << 63;
      if ((!single && !twice) || inst->users.empty() || inst->operands[0]->is_const()) continue;
      if (lane_addresses_.is_scalar(inst) || indexed_addresses_.is_absorbed(inst)) continue;
      const bool all = std::all_of(inst->users.begin(), inst->users.end(), [&](const Inst* user) {
        return user->op == (single ? Op::fma_f32 : Op::fma_f64) && !is_fused(user) && can_sink(*inst, *user);
      });
      if (all) fused_[inst->id] = true;
    }
  }
}

Emitter::Signed Emitter::without_sign(const Inst* operand) const {
  const bool changed = operand->op == Op::xor_ && is_fused(operand);
  return {changed ? operand->operands[0] : operand, changed};
}

void Emitter::emit_fma(const Inst& inst, unsigned chunk) {
  Signed a = without_sign(inst.operands[0]), b = without_sign(inst.operands[1]);
  const Signed c = without_sign(inst.operands[2]);
  if (a.value->is_const()) std::swap(a, b);
  if (!c.negative) take_over(inst, c.value, chunk);
  const unsigned signs = (a.negative != b.negative ? 2 : 0) + (c.negative ? 1 : 0);
  if (inst.op == Op::fma_f32) {
    const Operand z = v32_operand(c.value, chunk);
    const Operand y = z.isMem() ? Operand(v32(b.value, chunk)) : v32_operand(b.value, chunk);
    emit_fma_form(cc_, *isa_, kFmaPs[signs], dst(inst, chunk), v32(a.value, chunk), y, z);
    return;
  }
  const Vec64 d = dst64(inst, chunk), x = v64(a.value, chunk);
  for (unsigned i = 0; i < 2; ++i) {
    const Operand z = v64_operand(c.value, chunk, i);
    const Operand y = z.isMem() ? Operand(v64(b.value, chunk).part[i]) : v64_operand(b.value, chunk, i);
    emit_fma_form(cc_, *isa_, kFmaPd[signs], d.part[i], x.part[i], y, z);
  }
}

bool Emitter::emit_float(const Inst& inst, unsigned chunk) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const auto value = [&](unsigned i) { return v32(inst.operands[i], chunk); };
  const auto each = [&](auto&& emit) {
    const Vec64 d = dst64(inst, chunk);
    for (unsigned i = 0; i < 2; ++i) emit(d.part[i], v64(operand(0), chunk).part[i], i);
    return true;
  };
  const auto may_signal = [&] { return !never_signalling(operand(0)) || !never_signalling(operand(1)); };
  const auto round32 = [&](unsigned mode) {
    return cc_.emit(isa_->f.round_ps, dst(inst, chunk), value(0), imm(mode)), true;
  };
  const auto round64 = [&](unsigned mode) {
    return each([&](const Vec& d, const Vec& x, unsigned) { cc_.emit(isa_->f.round_pd, d, x, imm(mode)); });
  };

  switch (inst.op) {
    case Op::fma_f32:
    case Op::fma_f64:
      emit_fma(inst, chunk);
      return true;
    case Op::fmin_f32:
      fminmax(inst.attr, dst(inst, chunk), value(0), value(1), 32, false, may_signal());
      return true;
    case Op::fmax_f32:
      fminmax(inst.attr, dst(inst, chunk), value(0), value(1), 32, true, may_signal());
      return true;
    case Op::fmin_f64:
    case Op::fmax_f64:
      return each([&](const Vec& d, const Vec& x, unsigned i) {
        fminmax(inst.attr, d, x, v64(operand(1), chunk).part[i], 64, inst.op == Op::fmax_f64, may_signal());
      });
    case Op::fclamp_f32: {
      const Vec x = value(0);
      const Vec r = clamp32(x);
      if (inst.attr & fpenv::kDx10Clamp) return isa_->mov(dst(inst, chunk), r), true;
      isa_->select32(dst(inst, chunk), fcmp(kUnordered, x, x), isa_->or_(x, isa_->c32(0x00400000)), r);
      return true;
    }
    case Op::fclamp_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) {
        // The second operand wins when the first is NaN or both are zeros: NaN and -0 become +0.
        const Vec r = isa_->make(I::kIdVminpd, isa_->make(I::kIdVmaxpd, x, isa_->const32(0)), isa_->cd(1.0));
        if (inst.attr & fpenv::kDx10Clamp) return isa_->mov(d, r);
        isa_->select64_half(d, fcmp64h(kUnordered, x, x), isa_->or_(x, full64(uint64_t{1} << 51)), r);
      });
    case Op::fcanon_f32:
      cc_.emit(I::kIdVmulps, dst(inst, chunk), value(0), isa_->cf(1.0f));
      return true;
    case Op::fcanon_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) { cc_.emit(I::kIdVmulpd, d, x, isa_->cd(1.0)); });
    case Op::fclass_f32: {
      const Vec x = value(0);
      if (operand(1)->is_const()) {
        const auto classes = static_cast<uint32_t>(operand(1)->imm) & 0x3ff;
        if (isa_->class32(dst_mask(inst, chunk), x, classes, (env_ & kEnvInputDenorm) == 0)) return true;
        known_class_test(dst_mask(inst, chunk), x, static_cast<uint32_t>(operand(1)->imm),
                         {0, 1, 0x00800000, 0x7f800000, 0x7f800001, 0x7fc00000, 0x80000000});
        return true;
      }
      const Vec magnitude = isa_->and_(x, isa_->c32(0x7fffffff));
      class_test(dst_mask(inst, chunk), value(1),
                 {.negative = cmp(ICmp::slt, x, isa_->const32(0)),
                  .nonzero = cmp(ICmp::ne, magnitude, isa_->const32(0)),
                  .normal_up = cmp(ICmp::uge, magnitude, isa_->c32(0x00800000)),
                  .inf_up = cmp(ICmp::uge, magnitude, isa_->c32(0x7f800000)),
                  .nan = cmp(ICmp::ugt, magnitude, isa_->c32(0x7f800000)),
                  .quiet = cmp(ICmp::uge, magnitude, isa_->c32(0x7fc00000))});
      return true;
    }
    case Op::fclass_f64: {
      Vec lo = isa_->vec(), hi = isa_->vec();
      isa_->lo32(lo, v64(operand(0), chunk));
      isa_->hi32(hi, v64(operand(0), chunk));
      // A nonzero low half only matters for telling zero from denormal and infinity from NaN: fold it into bit 0.
      if (operand(1)->is_const()) {
        const Vec bits = isa_->or_(hi, isa_->make(I::kIdVpminud, lo, isa_->c32(1)));
        known_class_test(dst_mask(inst, chunk), bits, static_cast<uint32_t>(operand(1)->imm),
                         {0, 1, 0x00100000, 0x7ff00000, 0x7ff00001, 0x7ff80000, 0x80000000});
        return true;
      }
      const Vec magnitude = isa_->and_(hi, isa_->c32(0x7fffffff));
      const MaskReg low_bits = cmp(ICmp::ne, lo, isa_->const32(0));
      const MaskReg inf_bits = cmp(ICmp::eq, magnitude, isa_->c32(0x7ff00000));
      class_test(dst_mask(inst, chunk), value(1),
                 {.negative = cmp(ICmp::slt, hi, isa_->const32(0)),
                  .nonzero = either(cmp(ICmp::ne, magnitude, isa_->const32(0)), low_bits),
                  .normal_up = cmp(ICmp::uge, magnitude, isa_->c32(0x00100000)),
                  .inf_up = cmp(ICmp::uge, magnitude, isa_->c32(0x7ff00000)),
                  .nan = either(cmp(ICmp::ugt, magnitude, isa_->c32(0x7ff00000)), both(inf_bits, low_bits)),
                  .quiet = cmp(ICmp::uge, magnitude, isa_->c32(0x7ff80000))});
      return true;
    }
    case Op::ftrunc_f32:
      return round32(kTrunc);
    case Op::fceil_f32:
      return round32(kCeil);
    case Op::ffloor_f32:
      return round32(kFloor);
    case Op::frndne_f32:
      return round32(kToNearest);
    case Op::ftrunc_f64:
      return round64(kTrunc);
    case Op::fceil_f64:
      return round64(kCeil);
    case Op::ffloor_f64:
      return round64(kFloor);
    case Op::frndne_f64:
      return round64(kToNearest);
    case Op::ffract_f32: {
      const Vec x = value(0);
      const Vec part = isa_->make(I::kIdVsubps, x, isa_->round_ps(x, kFloor));
      cc_.emit(I::kIdVminps, dst(inst, chunk), isa_->const32(0x3f7fffff), part);  // NaN: the second operand
      return true;
    }
    case Op::ffract_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) {
        const Vec part = isa_->make(I::kIdVsubpd, x, isa_->round_pd(x, kFloor));
        cc_.emit(I::kIdVminpd, d, isa_->const64(0x3fefffffffffffff), part);
      });
    case Op::fldexp_f32:
    case Op::fldexp_f64:
      emit_ldexp(inst, chunk);
      return true;
    case Op::ffrexp_mant_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) {
        const Vec magnitude = isa_->and_(x, full64(~(uint64_t{1} << 63)));
        const MaskReg denormal = isa_->cmp64_half(ICmp::slt, magnitude, full64(uint64_t{1} << 52));
        const Vec normal = frexp_normal64(magnitude, denormal);
        const Vec fraction =
            isa_->or_(isa_->and_(normal, full64((uint64_t{1} << 52) - 1)), full64(uint64_t{1022} << 52));
        const Vec mantissa = isa_->or_(fraction, isa_->and_(x, full64(uint64_t{1} << 63)));
        // Zero, infinity and NaN are themselves, NaN quiet.
        const Vec finite = isa_->sel64(isa_->cmp64_half(ICmp::eq, magnitude, isa_->const32(0)), x, mantissa);
        const Vec inf = isa_->const64(uint64_t{2047} << 52);
        const Vec quiet = isa_->or_(x, full64(uint64_t{1} << 51));
        const Vec itself = isa_->sel64(isa_->cmp64_half(ICmp::sgt, magnitude, inf), quiet, x);
        isa_->select64_half(d, isa_->cmp64_half(ICmp::sge, magnitude, inf), itself, finite);
      });
    case Op::ffrexp_exp_f64: {
      Vec64 exponent = isa_->vec64();
      for (unsigned i = 0; i < 2; ++i) {
        const Vec magnitude = isa_->and_(v64(operand(0), chunk).part[i], full64(~(uint64_t{1} << 63)));
        const MaskReg denormal = isa_->cmp64_half(ICmp::slt, magnitude, full64(uint64_t{1} << 52));
        const Vec normal = frexp_normal64(magnitude, denormal);
        const Vec bias = isa_->sel64(denormal, isa_->const64(1022 + 1074), isa_->const64(1022));
        const Vec own = isa_->make(I::kIdVpsubq, isa_->shr64(normal, 52), bias);
        const Vec zero = isa_->const32(0);
        const Vec some = isa_->sel64(isa_->cmp64_half(ICmp::eq, magnitude, zero), zero, own);
        const MaskReg special = isa_->cmp64_half(ICmp::sge, magnitude, isa_->const64(uint64_t{2047} << 52));
        exponent.part[i] = isa_->sel64(special, zero, some);
      }
      isa_->lo32(dst(inst, chunk), exponent);
      return true;
    }
    case Op::ffrexp_mant_f32:
      isa_->mov(dst(inst, chunk), frexp_mantissa32(value(0)));
      return true;
    case Op::ffrexp_exp_f32:
      isa_->mov(dst(inst, chunk), frexp_exponent32(value(0)));
      return true;
    case Op::frcp_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) {
        cc_.emit(I::kIdVdivpd, d, isa_->const64(0x3ff0000000000000), x);
      });
    case Op::frsq_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) {
        const Vec root = isa_->make(I::kIdVsqrtpd, x);
        cc_.emit(I::kIdVdivpd, d, isa_->const64(0x3ff0000000000000), root);
      });
    default:
      return false;
  }
}

// v_frexp_mant, v_frexp_exp: by integer operations, so that MXCSR does not matter. Denormals are their fraction, an
// integer below 2^23, times 2^-149.
Vec Emitter::frexp_mantissa32(const Vec& x) {
  const Vec magnitude = isa_->and_(x, isa_->c32(0x7fffffff));
  const MaskReg denormal = cmp(ICmp::ult, magnitude, isa_->c32(0x00800000));
  const Vec normal = isa_->sel(denormal, isa_->make(I::kIdVcvtdq2ps, magnitude), magnitude);
  const Vec fraction = isa_->or_(isa_->and_(normal, isa_->c32(0x007fffff)), isa_->c32(0x3f000000));
  const Vec mantissa = isa_->or_(fraction, isa_->and_(x, isa_->c32(0x80000000)));
  // Zero, infinity and NaN are themselves, NaN quiet.
  const MaskReg special =
      either(cmp(ICmp::eq, magnitude, isa_->const32(0)), cmp(ICmp::uge, magnitude, isa_->c32(0x7f800000)));
  const MaskReg nan = cmp(ICmp::ugt, magnitude, isa_->c32(0x7f800000));
  const Vec itself = isa_->sel(nan, isa_->or_(x, isa_->c32(0x00400000)), x);
  return isa_->sel(special, itself, mantissa);
}

Vec Emitter::frexp_exponent32(const Vec& x) {
  const Vec magnitude = isa_->and_(x, isa_->c32(0x7fffffff));
  const MaskReg denormal = cmp(ICmp::ult, magnitude, isa_->c32(0x00800000));
  const Vec normal = isa_->sel(denormal, isa_->make(I::kIdVcvtdq2ps, magnitude), magnitude);
  const Vec bias = isa_->sel(denormal, isa_->const32(126 + 149), isa_->const32(126));
  const Vec exponent = isa_->make(I::kIdVpsubd, isa_->shr32(normal, 23), bias);
  const MaskReg special =
      either(cmp(ICmp::eq, magnitude, isa_->const32(0)), cmp(ICmp::uge, magnitude, isa_->c32(0x7f800000)));
  return isa_->sel(special, isa_->const32(0), exponent);
}

// The magnitude, with denormals as the integer that they are times 2^-1074.
Vec Emitter::frexp_normal64(const Vec& magnitude, const MaskReg& denormal) {
  // 2^52 + a has a as its fraction.
  const Vec one = isa_->const64(uint64_t{1075} << 52);
  const Vec number = isa_->make(I::kIdVsubpd, isa_->or_(magnitude, one), one);
  return isa_->sel64(denormal, number, magnitude);
}

// max(x, +0), then min(x, 1). The second operand wins when the first is NaN or both are zeros: NaN and -0 become +0.
Vec Emitter::clamp32(const Vec& x) {
  return isa_->make(I::kIdVminps, isa_->make(I::kIdVmaxps, x, isa_->const32(0)), isa_->cf(1.0f));
}

}  // namespace wavejit::backend
