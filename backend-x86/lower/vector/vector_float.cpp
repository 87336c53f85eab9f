// f32 and f64 arithmetic. Semantics: docs/isa-decisions.md.
#include "backend-x86/lower/vector/vector_float.h"

#include <algorithm>
#include <array>

#include "backend-x86/lower/environment.h"
#include "backend-x86/lower/segment_values.h"
#include "backend-x86/lower/vector/building_blocks.h"

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

// Whether the number cannot be a signalling NaN in any lane, active or not.
bool never_signalling(const Inst* value) {
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

// `ordinary` in line; `rare` instead, out of line, when there are lanes in `odd`.
void unless_any(Lowering& ctx, const MaskReg& odd, const std::function<void()>& ordinary,
                const std::function<void()>& rare) {
  const Label slow = ctx.cc.new_label(), join = ctx.cc.new_label();
  ctx.cc.j(ctx.isa->test_any({&odd, 1}), slow);
  ordinary();
  ctx.cc.bind(join);
  ctx.cold([&] {
    ctx.cc.bind(slow);
    rare();
    ctx.cc.jmp(join);
  });
}

}  // namespace

void fminmax(Lowering& ctx, uint32_t attr, const Vec& d, const Vec& a_in, const Vec& b_in, unsigned bits, bool want_max,
             bool signalling) {
  const bool ieee = (attr & fpenv::kIeee) != 0;
  const bool flush = (attr & fpenv::kKeepInputDenorm) == 0;
  if (ieee && ctx.isa->ieee_minmax(d, a_in, b_in, bits, want_max)) return;
  const bool wide = bits == 64;
  const auto constant = [&](uint64_t value) {
    return wide ? Operand(full64(ctx, value)) : Operand(ctx.isa->c32(static_cast<uint32_t>(value)));
  };
  const uint64_t sign = wide ? uint64_t{1} << 63 : 0x80000000u, quiet = wide ? uint64_t{1} << 51 : 0x00400000u;
  const auto compare = [&](unsigned predicate, const Vec& x, const Operand_& y) {
    return wide ? ctx.isa->fcmp64_half(predicate, x, y) : fcmp(ctx, predicate, x, y);
  };
  const auto select = [&](const MaskReg& m, const Vec& x, const Vec& y) {
    return wide ? ctx.isa->sel64(m, x, y) : ctx.isa->sel(m, x, y);
  };
  const auto and_not_quiet = [&](const Vec& x) {  // lanes of x that are signalling NaNs
    const Vec bit = ctx.isa->and_(x, constant(quiet));
    const Vec zero = ctx.isa->const32(0);
    const MaskReg signalling = wide ? ctx.isa->cmp64_half(ICmp::eq, bit, zero) : cmp(ctx, ICmp::eq, bit, zero);
    return both(ctx, signalling, compare(kUnordered, x, x));
  };
  Vec a = a_in, b = b_in;
  if (flush) {
    // With DAZ a denormal compares equal to zero; keep its sign only.
    const Vec zero = ctx.isa->const32(0);
    a = select(compare(kEqual, a, zero), ctx.isa->and_(a, constant(sign)), a);
    b = select(compare(kEqual, b, zero), ctx.isa->and_(b, constant(sign)), b);
  }
  const InstId id = wide ? (want_max ? I::kIdVmaxpd : I::kIdVminpd) : (want_max ? I::kIdVmaxps : I::kIdVminps);
  // Where the result has a register of its own, the code for odd numbers still finds the operands.
  const bool in_line = ctx.cc.is_narrow() && !wide && !flush && ctx.on(Optimisation::ordinary_numbers);
  Vec r = in_line && d.id() != a.id() && d.id() != b.id() ? d : ctx.isa->vec();
  ctx.cc.emit(id, r, a, b);  // b when either is NaN or both are zero
  const auto equal = [&] {
    const Vec signs = want_max ? ctx.isa->and_(a, b) : ctx.isa->or_(a, b);
    return select(compare(kEqual, a, b), signs, r);
  };
  const auto with_nans = [&] {
    Vec result = select(compare(kUnordered, b, b), a, r);
    if (signalling) {
      result = select(compare(kUnordered, result, result), ctx.isa->or_(result, constant(quiet)), result);
      if (ieee) {
        result = select(and_not_quiet(b), ctx.isa->or_(b, constant(quiet)), result);
        result = select(and_not_quiet(a), ctx.isa->or_(a, constant(quiet)), result);
      }
    }
    ctx.isa->mov(r, result);
  };
  if (in_line) {
    const Label odd = ctx.cc.new_label(), join = ctx.cc.new_label();
    ctx.cc.vucomiss(a.xmm(), b.xmm());
    ctx.cc.je(odd);  // equal, or one is a NaN
    ctx.cc.bind(join);
    ctx.cold([&] {
      ctx.cc.bind(odd);
      ctx.isa->mov(r, equal());
      with_nans();
      ctx.cc.jmp(join);
    });
    if (r.id() != d.id()) ctx.isa->mov(d, r);
    return;
  }
  r = equal();
  if (signalling && ctx.on(Optimisation::ordinary_numbers))
    unless_any(ctx, compare(kUnordered, a, b), [] {}, with_nans);
  else
    with_nans();
  ctx.isa->mov(d, r);
}

namespace {

// x * 2^n where that is one multiplication: by a number with an exponent of its own.
// Lanes in which the value is zero, denormal, infinite or NaN.
const MaskReg& odd_float32(Lowering& ctx, const Inst* value, unsigned chunk) {
  const auto [entry, inserted] = ctx.reused->odd_floats.try_emplace({value, chunk});
  if (inserted || !ctx.on(Optimisation::segment_reuse)) {
    const Vec magnitude = ctx.isa->and_(ctx.v32(value, chunk), ctx.isa->c32(0x7fffffff));
    const Vec distance = ctx.isa->make(I::kIdVpsubd, magnitude, ctx.isa->c32(0x00800000));
    entry->second = cmp(ctx, ICmp::uge, distance, ctx.isa->c32(0x7f000000));
  }
  return entry->second;
}

// v_frexp_mant_f32, v_frexp_exp_i32_f32. clang 19's divisions have both of each operand.
void emit_frexp32(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const Vec x = ctx.v32(inst.operands[0], chunk);
  const bool wants_exponent = inst.op == Op::ffrexp_exp_f32;
  const auto in_general = [&] {
    ctx.isa->mov(ctx.dst(inst, chunk), wants_exponent ? frexp_exponent32(ctx, x) : frexp_mantissa32(ctx, x));
  };
  if (!ctx.on(Optimisation::ordinary_numbers)) return in_general();
  const auto of_ordinary = [&] {
    if (wants_exponent) {
      const Vec biased = ctx.isa->shr32(ctx.isa->and_(x, ctx.isa->c32(0x7fffffff)), 23);
      ctx.cc.emit(I::kIdVpsubd, ctx.dst(inst, chunk), biased, ctx.isa->c32(126));
    } else {
      ctx.isa->mov(ctx.dst(inst, chunk),
                   ctx.isa->or_(ctx.isa->and_(x, ctx.isa->c32(0x807fffff)), ctx.isa->c32(0x3f000000)));
    }
  };
  unless_any(ctx, odd_float32(ctx, inst.operands[0], chunk), of_ordinary, in_general);
}

void emit_ldexp(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const bool wide = inst.op == Op::fldexp_f64;
  const uint32_t smallest = wide ? 1022 : 126, fraction_bits = wide ? 52 : 23;
  const Vec n = ctx.v32(inst.operands[1], chunk);
  const auto in_general = [&] {
    if (!wide) return ctx.isa->ldexp32(ctx.dst(inst, chunk), ctx.v32(inst.operands[0], chunk), n);
    Vec64 power = ctx.isa->vec64();
    ctx.isa->sext64(power, n);
    const Vec64 x = ctx.v64(inst.operands[0], chunk), d = ctx.dst64(inst, chunk);
    for (unsigned i = 0; i < 2; ++i) ctx.isa->ldexp64(d.part[i], x.part[i], power.part[i]);
  };
  if (ctx.isa->has_scale() || !ctx.on(Optimisation::ordinary_numbers)) return in_general();
  const Vec exponent = ctx.isa->make(I::kIdVpaddd, n, ctx.isa->c32(smallest));
  const auto multiply = [&] {
    const Vec biased = ctx.isa->make(I::kIdVpaddd, n, ctx.isa->c32(smallest + 1));
    if (!wide) {
      ctx.cc.emit(I::kIdVmulps, ctx.dst(inst, chunk), ctx.v32(inst.operands[0], chunk),
                  ctx.isa->shl32(biased, fraction_bits));
      return;
    }
    Vec64 power = ctx.isa->vec64();
    ctx.isa->zext64(power, biased);
    const Vec64 x = ctx.v64(inst.operands[0], chunk), d = ctx.dst64(inst, chunk);
    for (unsigned i = 0; i < 2; ++i)
      ctx.cc.emit(I::kIdVmulpd, d.part[i], x.part[i], ctx.isa->shl64(power.part[i], fraction_bits));
  };
  unless_any(ctx, cmp(ctx, ICmp::uge, exponent, ctx.isa->c32(2 * smallest + 2)), multiply, in_general);
}

}  // namespace

void class_test(Lowering& ctx, const MaskReg& d, const Vec& wanted, const ClassFacts& f) {
  // 0 zero, 1 denormal, 2 normal, 3 infinity.
  const auto minus = [&](const Vec& x, const MaskReg& m) {
    return ctx.isa->make(I::kIdVpsubd, x, ctx.isa->mask_vec(m));
  };
  const Vec kind = minus(minus(minus(ctx.isa->const32(0), f.nonzero), f.normal_up), f.inf_up);
  const Vec positive = ctx.isa->make(I::kIdVpaddd, kind, ctx.isa->c32(6));
  const Vec negative = ctx.isa->make(I::kIdVpsubd, ctx.isa->const32(5), kind);
  Vec bit = ctx.isa->sel(f.negative, negative, positive);
  const Vec nan_bit = ctx.isa->sel(f.quiet, ctx.isa->const32(1), ctx.isa->const32(0));
  bit = ctx.isa->sel(f.nan, nan_bit, bit);
  const Vec hit = ctx.isa->and_(ctx.isa->make(I::kIdVpsllvd, ctx.isa->const32(1), bit), wanted);
  ctx.isa->cmp32(d, ICmp::ne, hit, ctx.isa->const32(0), nullptr);
}

void known_class_test(Lowering& ctx, const MaskReg& d, const Vec& bits, uint32_t wanted, const ClassLimits& limits) {
  // In ascending order of the bits: the kinds of positive numbers, then those of negative ones.
  static constexpr unsigned kClass[12] = {6, 7, 8, 9, 0, 1, 5, 4, 3, 2, 0, 1};
  std::array<bool, 12> in;
  for (unsigned i = 0; i < 12; ++i) in[i] = (wanted >> kClass[i] & 1) != 0;
  const bool same = std::equal(in.begin(), in.begin() + 6, in.begin() + 6);
  const unsigned count = same ? 6 : 12;
  const uint32_t sign = limits[6];
  const Vec number = same ? ctx.isa->and_(bits, ctx.isa->c32(sign - 1)) : bits;
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
      own = ctx.isa->mask();
      ctx.isa->set_mask_const(own, ~0u);
    } else if (end == count) {
      own = cmp(ctx, ICmp::uge, number, ctx.isa->c32(first(i)));
    } else if (first(end) - first(i) == 1) {
      own = cmp(ctx, ICmp::eq, number, ctx.isa->c32(first(i)));
    } else {
      const Vec above = i == 0 ? number : ctx.isa->make(I::kIdVpsubd, number, ctx.isa->c32(first(i)));
      own = cmp(ctx, ICmp::ult, above, ctx.isa->c32(first(end) - first(i)));
    }
    all = all ? either(ctx, *all, own) : own;
    i = end;
  }
  if (all) {
    ctx.isa->mov_mask(d, *all);
  } else {
    ctx.isa->set_mask_const(d, 0);
  }
}

namespace {

struct Signed {
  const Inst* value;
  bool negative;
};

Signed without_sign(const Lowering& ctx, const Inst* operand) {
  const bool changed = operand->op == Op::xor_ && ctx.is_fused(operand);
  return {changed ? operand->operands[0] : operand, changed};
}

void emit_fma(Lowering& ctx, const Inst& inst, unsigned chunk) {
  Signed a = without_sign(ctx, inst.operands[0]), b = without_sign(ctx, inst.operands[1]);
  const Signed c = without_sign(ctx, inst.operands[2]);
  if (a.value->is_const()) std::swap(a, b);
  if (!c.negative) ctx.take_over(inst, c.value, chunk);
  const unsigned signs = (a.negative != b.negative ? 2 : 0) + (c.negative ? 1 : 0);
  if (inst.op == Op::fma_f32) {
    const Operand z = ctx.v32_operand(c.value, chunk);
    const Operand y = z.isMem() ? Operand(ctx.v32(b.value, chunk)) : ctx.v32_operand(b.value, chunk);
    emit_fma_form(ctx.cc, *ctx.isa, kFmaPs[signs], ctx.dst(inst, chunk), ctx.v32(a.value, chunk), y, z);
    return;
  }
  const Vec64 d = ctx.dst64(inst, chunk), x = ctx.v64(a.value, chunk);
  for (unsigned i = 0; i < 2; ++i) {
    const Operand z = ctx.v64_operand(c.value, chunk, i);
    const Operand y = z.isMem() ? Operand(ctx.v64(b.value, chunk).part[i]) : ctx.v64_operand(b.value, chunk, i);
    emit_fma_form(ctx.cc, *ctx.isa, kFmaPd[signs], d.part[i], x.part[i], y, z);
  }
}

// The magnitude, with denormals as the integer that they are times 2^-1074.
Vec frexp_normal64(Lowering& ctx, const Vec& magnitude, const MaskReg& denormal) {
  // 2^52 + a has a as its fraction.
  const Vec one = ctx.isa->const64(uint64_t{1075} << 52);
  const Vec number = ctx.isa->make(I::kIdVsubpd, ctx.isa->or_(magnitude, one), one);
  return ctx.isa->sel64(denormal, number, magnitude);
}

}  // namespace

bool emit_float(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const auto value = [&](unsigned i) { return ctx.v32(inst.operands[i], chunk); };
  const auto each = [&](auto&& emit) {
    const Vec64 d = ctx.dst64(inst, chunk);
    for (unsigned i = 0; i < 2; ++i) emit(d.part[i], ctx.v64(operand(0), chunk).part[i], i);
    return true;
  };
  const auto may_signal = [&] { return !never_signalling(operand(0)) || !never_signalling(operand(1)); };
  const auto round32 = [&](unsigned mode) {
    return ctx.cc.emit(ctx.isa->f.round_ps, ctx.dst(inst, chunk), value(0), imm(mode)), true;
  };
  const auto round64 = [&](unsigned mode) {
    return each([&](const Vec& d, const Vec& x, unsigned) { ctx.cc.emit(ctx.isa->f.round_pd, d, x, imm(mode)); });
  };

  switch (inst.op) {
    case Op::fma_f32:
    case Op::fma_f64:
      emit_fma(ctx, inst, chunk);
      return true;
    case Op::fmin_f32:
      fminmax(ctx, inst.attr, ctx.dst(inst, chunk), value(0), value(1), 32, false, may_signal());
      return true;
    case Op::fmax_f32:
      fminmax(ctx, inst.attr, ctx.dst(inst, chunk), value(0), value(1), 32, true, may_signal());
      return true;
    case Op::fmin_f64:
    case Op::fmax_f64:
      return each([&](const Vec& d, const Vec& x, unsigned i) {
        fminmax(ctx, inst.attr, d, x, ctx.v64(operand(1), chunk).part[i], 64, inst.op == Op::fmax_f64, may_signal());
      });
    case Op::fclamp_f32: {
      const Vec x = value(0);
      const Vec r = clamp32(ctx, x);
      if (inst.attr & fpenv::kDx10Clamp) return ctx.isa->mov(ctx.dst(inst, chunk), r), true;
      ctx.isa->select32(ctx.dst(inst, chunk), fcmp(ctx, kUnordered, x, x), ctx.isa->or_(x, ctx.isa->c32(0x00400000)),
                        r);
      return true;
    }
    case Op::fclamp_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) {
        // The second operand wins when the first is NaN or both are zeros: NaN and -0 become +0.
        const Vec r =
            ctx.isa->make(I::kIdVminpd, ctx.isa->make(I::kIdVmaxpd, x, ctx.isa->const32(0)), ctx.isa->cd(1.0));
        if (inst.attr & fpenv::kDx10Clamp) return ctx.isa->mov(d, r);
        ctx.isa->select64_half(d, ctx.isa->fcmp64_half(kUnordered, x, x),
                               ctx.isa->or_(x, full64(ctx, uint64_t{1} << 51)), r);
      });
    case Op::fcanon_f32:
      ctx.cc.emit(I::kIdVmulps, ctx.dst(inst, chunk), value(0), ctx.isa->cf(1.0f));
      return true;
    case Op::fcanon_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) { ctx.cc.emit(I::kIdVmulpd, d, x, ctx.isa->cd(1.0)); });
    case Op::fclass_f32: {
      const Vec x = value(0);
      if (operand(1)->is_const()) {
        const auto classes = static_cast<uint32_t>(operand(1)->imm) & 0x3ff;
        if (ctx.isa->class32(ctx.dst_mask(inst, chunk), x, classes, (ctx.env & kEnvInputDenorm) == 0)) return true;
        known_class_test(ctx, ctx.dst_mask(inst, chunk), x, static_cast<uint32_t>(operand(1)->imm),
                         {0, 1, 0x00800000, 0x7f800000, 0x7f800001, 0x7fc00000, 0x80000000});
        return true;
      }
      const Vec magnitude = ctx.isa->and_(x, ctx.isa->c32(0x7fffffff));
      class_test(ctx, ctx.dst_mask(inst, chunk), value(1),
                 {.negative = cmp(ctx, ICmp::slt, x, ctx.isa->const32(0)),
                  .nonzero = cmp(ctx, ICmp::ne, magnitude, ctx.isa->const32(0)),
                  .normal_up = cmp(ctx, ICmp::uge, magnitude, ctx.isa->c32(0x00800000)),
                  .inf_up = cmp(ctx, ICmp::uge, magnitude, ctx.isa->c32(0x7f800000)),
                  .nan = cmp(ctx, ICmp::ugt, magnitude, ctx.isa->c32(0x7f800000)),
                  .quiet = cmp(ctx, ICmp::uge, magnitude, ctx.isa->c32(0x7fc00000))});
      return true;
    }
    case Op::fclass_f64: {
      Vec lo = ctx.isa->vec(), hi = ctx.isa->vec();
      ctx.isa->lo32(lo, ctx.v64(operand(0), chunk));
      ctx.isa->hi32(hi, ctx.v64(operand(0), chunk));
      // A nonzero low half only matters for telling zero from denormal and infinity from NaN: fold it into bit 0.
      if (operand(1)->is_const()) {
        const Vec bits = ctx.isa->or_(hi, ctx.isa->make(I::kIdVpminud, lo, ctx.isa->c32(1)));
        known_class_test(ctx, ctx.dst_mask(inst, chunk), bits, static_cast<uint32_t>(operand(1)->imm),
                         {0, 1, 0x00100000, 0x7ff00000, 0x7ff00001, 0x7ff80000, 0x80000000});
        return true;
      }
      const Vec magnitude = ctx.isa->and_(hi, ctx.isa->c32(0x7fffffff));
      const MaskReg low_bits = cmp(ctx, ICmp::ne, lo, ctx.isa->const32(0));
      const MaskReg inf_bits = cmp(ctx, ICmp::eq, magnitude, ctx.isa->c32(0x7ff00000));
      class_test(
          ctx, ctx.dst_mask(inst, chunk), value(1),
          {.negative = cmp(ctx, ICmp::slt, hi, ctx.isa->const32(0)),
           .nonzero = either(ctx, cmp(ctx, ICmp::ne, magnitude, ctx.isa->const32(0)), low_bits),
           .normal_up = cmp(ctx, ICmp::uge, magnitude, ctx.isa->c32(0x00100000)),
           .inf_up = cmp(ctx, ICmp::uge, magnitude, ctx.isa->c32(0x7ff00000)),
           .nan = either(ctx, cmp(ctx, ICmp::ugt, magnitude, ctx.isa->c32(0x7ff00000)), both(ctx, inf_bits, low_bits)),
           .quiet = cmp(ctx, ICmp::uge, magnitude, ctx.isa->c32(0x7ff80000))});
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
      const Vec part = ctx.isa->make(I::kIdVsubps, x, ctx.isa->round_ps(x, kFloor));
      ctx.cc.emit(I::kIdVminps, ctx.dst(inst, chunk), ctx.isa->const32(0x3f7fffff), part);  // NaN: the second operand
      return true;
    }
    case Op::ffract_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) {
        const Vec part = ctx.isa->make(I::kIdVsubpd, x, ctx.isa->round_pd(x, kFloor));
        ctx.cc.emit(I::kIdVminpd, d, ctx.isa->const64(0x3fefffffffffffff), part);
      });
    case Op::fldexp_f32:
    case Op::fldexp_f64:
      emit_ldexp(ctx, inst, chunk);
      return true;
    case Op::ffrexp_mant_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) {
        const Vec magnitude = ctx.isa->and_(x, full64(ctx, ~(uint64_t{1} << 63)));
        const MaskReg denormal = ctx.isa->cmp64_half(ICmp::slt, magnitude, full64(ctx, uint64_t{1} << 52));
        const Vec normal = frexp_normal64(ctx, magnitude, denormal);
        const Vec fraction = ctx.isa->or_(ctx.isa->and_(normal, full64(ctx, (uint64_t{1} << 52) - 1)),
                                          full64(ctx, uint64_t{1022} << 52));
        const Vec mantissa = ctx.isa->or_(fraction, ctx.isa->and_(x, full64(ctx, uint64_t{1} << 63)));
        // Zero, infinity and NaN are themselves, NaN quiet.
        const Vec finite = ctx.isa->sel64(ctx.isa->cmp64_half(ICmp::eq, magnitude, ctx.isa->const32(0)), x, mantissa);
        const Vec inf = ctx.isa->const64(uint64_t{2047} << 52);
        const Vec quiet = ctx.isa->or_(x, full64(ctx, uint64_t{1} << 51));
        const Vec itself = ctx.isa->sel64(ctx.isa->cmp64_half(ICmp::sgt, magnitude, inf), quiet, x);
        ctx.isa->select64_half(d, ctx.isa->cmp64_half(ICmp::sge, magnitude, inf), itself, finite);
      });
    case Op::ffrexp_exp_f64: {
      Vec64 exponent = ctx.isa->vec64();
      for (unsigned i = 0; i < 2; ++i) {
        const Vec magnitude = ctx.isa->and_(ctx.v64(operand(0), chunk).part[i], full64(ctx, ~(uint64_t{1} << 63)));
        const MaskReg denormal = ctx.isa->cmp64_half(ICmp::slt, magnitude, full64(ctx, uint64_t{1} << 52));
        const Vec normal = frexp_normal64(ctx, magnitude, denormal);
        const Vec bias = ctx.isa->sel64(denormal, ctx.isa->const64(1022 + 1074), ctx.isa->const64(1022));
        const Vec own = ctx.isa->make(I::kIdVpsubq, ctx.isa->shr64(normal, 52), bias);
        const Vec zero = ctx.isa->const32(0);
        const Vec some = ctx.isa->sel64(ctx.isa->cmp64_half(ICmp::eq, magnitude, zero), zero, own);
        const MaskReg special = ctx.isa->cmp64_half(ICmp::sge, magnitude, ctx.isa->const64(uint64_t{2047} << 52));
        exponent.part[i] = ctx.isa->sel64(special, zero, some);
      }
      ctx.isa->lo32(ctx.dst(inst, chunk), exponent);
      return true;
    }
    case Op::ffrexp_mant_f32:
    case Op::ffrexp_exp_f32:
      emit_frexp32(ctx, inst, chunk);
      return true;
    case Op::frcp_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) {
        ctx.cc.emit(I::kIdVdivpd, d, ctx.isa->const64(0x3ff0000000000000), x);
      });
    case Op::frsq_f64:
      return each([&](const Vec& d, const Vec& x, unsigned) {
        const Vec root = ctx.isa->make(I::kIdVsqrtpd, x);
        ctx.cc.emit(I::kIdVdivpd, d, ctx.isa->const64(0x3ff0000000000000), root);
      });
    default:
      return false;
  }
}

// v_frexp_mant, v_frexp_exp: by integer operations, so that MXCSR does not matter. Denormals are their fraction, an
// integer below 2^23, times 2^-149.
Vec frexp_mantissa32(Lowering& ctx, const Vec& x) {
  const Vec magnitude = ctx.isa->and_(x, ctx.isa->c32(0x7fffffff));
  const MaskReg denormal = cmp(ctx, ICmp::ult, magnitude, ctx.isa->c32(0x00800000));
  const Vec normal = ctx.isa->sel(denormal, ctx.isa->make(I::kIdVcvtdq2ps, magnitude), magnitude);
  const Vec fraction = ctx.isa->or_(ctx.isa->and_(normal, ctx.isa->c32(0x007fffff)), ctx.isa->c32(0x3f000000));
  const Vec mantissa = ctx.isa->or_(fraction, ctx.isa->and_(x, ctx.isa->c32(0x80000000)));
  // Zero, infinity and NaN are themselves, NaN quiet.
  const MaskReg special = either(ctx, cmp(ctx, ICmp::eq, magnitude, ctx.isa->const32(0)),
                                 cmp(ctx, ICmp::uge, magnitude, ctx.isa->c32(0x7f800000)));
  const MaskReg nan = cmp(ctx, ICmp::ugt, magnitude, ctx.isa->c32(0x7f800000));
  const Vec itself = ctx.isa->sel(nan, ctx.isa->or_(x, ctx.isa->c32(0x00400000)), x);
  return ctx.isa->sel(special, itself, mantissa);
}

Vec frexp_exponent32(Lowering& ctx, const Vec& x) {
  const Vec magnitude = ctx.isa->and_(x, ctx.isa->c32(0x7fffffff));
  const MaskReg denormal = cmp(ctx, ICmp::ult, magnitude, ctx.isa->c32(0x00800000));
  const Vec normal = ctx.isa->sel(denormal, ctx.isa->make(I::kIdVcvtdq2ps, magnitude), magnitude);
  const Vec bias = ctx.isa->sel(denormal, ctx.isa->const32(126 + 149), ctx.isa->const32(126));
  const Vec exponent = ctx.isa->make(I::kIdVpsubd, ctx.isa->shr32(normal, 23), bias);
  const MaskReg special = either(ctx, cmp(ctx, ICmp::eq, magnitude, ctx.isa->const32(0)),
                                 cmp(ctx, ICmp::uge, magnitude, ctx.isa->c32(0x7f800000)));
  return ctx.isa->sel(special, ctx.isa->const32(0), exponent);
}

// max(x, +0), then min(x, 1). The second operand wins when the first is NaN or both are zeros: NaN and -0 become +0.
Vec clamp32(Lowering& ctx, const Vec& x) {
  return ctx.isa->make(I::kIdVminps, ctx.isa->make(I::kIdVmaxps, x, ctx.isa->const32(0)), ctx.isa->cf(1.0f));
}

}  // namespace wavejit::backend
