// f16 in the low words of 32-bit lanes, or in both words. Where the CPU has no f16 instructions, or they do not do what MODE asks
// for (computes_halves()), the operations are done in f32. The f32 result of one operation on f16 values rounds to the
// same f16 as the exact result (24 >= 2 * 11 + 2 bits), in every rounding mode as long as both roundings use it.
#include "backend-x86/lower/vector/vector_float16.h"

#include "backend-x86/lower/vector/building_blocks.h"
#include "backend-x86/lower/vector/masks.h"
#include "backend-x86/lower/vector/vector_float.h"
#include "internal/semantics/rounding.h"

namespace wavejit::backend {

using ir::ICmp;
namespace fpenv = ir::fpenv;

namespace {
constexpr uint32_t kSmallestNormalF16 = 0x38800000;  // as f32
}  // namespace

Vec to_f32(Lowering& ctx, const Vec& half, uint32_t env) {
  const Vec x = ctx.isa->f16_to_f32(half);
  return env & fpenv::kKeepInputDenorm ? x : ctx.isa->flush_f16(x, half);
}

Vec to_f16(Lowering& ctx, const Vec& single, uint32_t env) {
  Vec h = ctx.isa->f32_to_f16(single, rounding::on_host(env & fpenv::kRoundMask));
  if (!(env & fpenv::kKeepOutputDenorm)) {
    const MaskReg tiny = cmp(ctx, ICmp::ult, ctx.isa->and_(h, ctx.isa->c32(0x7fff)), ctx.isa->c32(0x0400));
    h = ctx.isa->sel(tiny, ctx.isa->and_(h, ctx.isa->c32(0x8000)), h);
  }
  if (env & fpenv::kFp16Ovfl) {
    const MaskReg inf = cmp(ctx, ICmp::eq, ctx.isa->and_(h, ctx.isa->c32(0x7fff)), ctx.isa->c32(0x7c00));
    MaskReg overflow = ctx.isa->mask();
    ctx.isa->cmp32(overflow, ICmp::ne, ctx.isa->and_(single, ctx.isa->c32(0x7fffffff)), ctx.isa->c32(0x7f800000), &inf);
    const Vec largest = ctx.isa->or_(ctx.isa->and_(h, ctx.isa->c32(0x8000)), ctx.isa->c32(0x7bff));
    h = ctx.isa->sel(overflow, largest, h);
  }
  return h;
}

namespace {

// The f32 product is exact. The sum is rounded to odd in f32, so that the second rounding sees on which side of a tie the exact
// sum lies.
Vec fma_f16_to_odd(Lowering& ctx, const Vec& a, const Vec& b, const Vec& c, uint32_t env) {
  const Vec rounded = ctx.isa->fma_to_odd(a, b, c);
  if ((env & fpenv::kRoundMask) != 2) return rounded;
  // An exact zero is negative when rounding down, unless both addends are +0.
  const Vec p = ctx.isa->make(I::kIdVmulps, a, b);
  const MaskReg zero = fcmp(ctx, 0, rounded, ctx.isa->const32(0));
  return ctx.isa->sel(zero, ctx.isa->and_(ctx.isa->or_(p, c), ctx.isa->c32(0x80000000)), rounded);
}

// Of f16 that keep their denormals: factors and sums of a segment are converted once.
std::array<Vec, 2> halves_in_f32(Lowering& ctx, const Inst* pairs, unsigned chunk) {
  if (!ctx.on(Optimisation::shared_halves) || pairs->is_const()) return ctx.isa->halves_to_f32(ctx.v32(pairs, chunk));
  const std::pair<const Inst*, unsigned> key{pairs, ctx.is_invariant(pairs) ? 0 : chunk};
  const auto [entry, is_new] = ctx.halves->singles.try_emplace(key);
  if (!is_new) return entry->second;
  const auto words = ctx.halves->words.find(key);
  if (words == ctx.halves->words.end()) return entry->second = ctx.isa->halves_to_f32(ctx.v32(pairs, chunk));
  return entry->second = {ctx.isa->words_to_f32(words->second[0]), ctx.isa->words_to_f32(words->second[1])};
}

// Whether the host's f16 instructions do what this environment says.
bool computes_halves(const Lowering& ctx, uint32_t env) {
  constexpr uint32_t kKeepDenorm = fpenv::kKeepInputDenorm | fpenv::kKeepOutputDenorm;
  return ctx.on(Optimisation::half_arithmetic) && ctx.isa->has_half_arithmetic() &&
         (env & kKeepDenorm) == kKeepDenorm && (env & fpenv::kFp16Ovfl) == 0 && (env & fpenv::kRoundMask) == 0;
}

}  // namespace

void begin_shared_halves(Lowering& ctx, std::span<const Inst* const> insts) {
  *ctx.halves = {};
  if (!ctx.on(Optimisation::shared_halves)) return;
  std::unordered_set<const Inst*> sums;
  for (const Inst* inst : insts)
    if (inst->op == Op::pk_fma_f16 && (inst->attr & fpenv::kKeepInputDenorm) != 0 && !computes_halves(ctx, inst->attr))
      sums.insert(inst);
  for (const Inst* inst : sums) {
    const Inst* sum = inst->operands[2];
    if (sums.contains(sum) && sum->users.size() == 1 && !ctx.classes.is_shared(sum) &&
        ctx.is_invariant(sum) == ctx.is_invariant(inst))
      ctx.halves->only_added_to.insert(sum);
  }
}

namespace {

void emit_pk_fma_f16(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const uint32_t env = inst.attr;
  const bool plain = (env & fpenv::kKeepOutputDenorm) != 0 && (env & fpenv::kFp16Ovfl) == 0;
  const bool keep = (env & fpenv::kKeepInputDenorm) != 0;
  if (computes_halves(ctx, env)) {
    ctx.take_over(inst, inst.operands[2], chunk);
    const Vec d = ctx.dst(inst, chunk), a = ctx.v32(inst.operands[0], chunk), b = ctx.v32(inst.operands[1], chunk),
              c = ctx.v32(inst.operands[2], chunk);
    const bool overwrites = d.id() == a.id() || d.id() == b.id();
    const Vec sum = overwrites ? ctx.isa->make(I::kIdVmovdqa32, c) : d;
    if (!overwrites && d.id() != c.id()) ctx.isa->mov(d, c);
    ctx.cc.emit(I::kIdVfmadd231ph, sum, a, b);
    if (overwrites) ctx.isa->mov(d, sum);
    return;
  }
  std::array<std::array<Vec, 2>, 3> x;
  for (unsigned i = 0; i < 3; ++i) {
    if (keep) {
      x[i] = halves_in_f32(ctx, inst.operands[i], chunk);
      continue;
    }
    x[i] = ctx.isa->halves_to_f32(ctx.v32(inst.operands[i], chunk));
    for (Vec& part : x[i]) {
      const MaskReg tiny =
          cmp(ctx, ICmp::ult, ctx.isa->and_(part, ctx.isa->c32(0x7fffffff)), ctx.isa->c32(kSmallestNormalF16));
      part = ctx.isa->sel(tiny, ctx.isa->and_(part, ctx.isa->c32(0x80000000)), part);
    }
  }
  std::array<Vec, 2> words;
  for (unsigned i = 0; i < 2; ++i) {
    Vec sum = fma_f16_to_odd(ctx, x[0][i], x[1][i], x[2][i], env);
    if (!plain) sum = ctx.isa->f16_to_f32(to_f16(ctx, sum, env));  // the second conversion is exact
    words[i] = ctx.isa->f32_to_words(sum, rounding::on_host(env & fpenv::kRoundMask));
  }
  if (ctx.halves->only_added_to.contains(&inst))
    ctx.halves->words[{&inst, ctx.is_invariant(&inst) ? 0 : chunk}] = words;
  else
    ctx.isa->mov(ctx.dst(inst, chunk), ctx.isa->join_words(words));
}

}  // namespace

bool emit_float16(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const uint32_t env = inst.attr;
  const auto raw = [&](unsigned i) { return ctx.v32(inst.operands[i], chunk); };
  const auto single = [&](unsigned i) { return to_f32(ctx, raw(i), env); };
  const auto done = [&](const Vec& r) {
    ctx.isa->mov(ctx.dst(inst, chunk), r);
    return true;
  };
  const bool native = computes_halves(ctx, env);
  // The upper words hold anything: what is computed of them is cut off.
  const auto low_word = [&](const Vec& x) { return done(ctx.isa->and_(x, ctx.isa->c32(0xffff))); };
  const auto binary = [&](InstId of_singles, InstId of_halves) {
    if (native) return low_word(ctx.isa->make(of_halves, raw(0), raw(1)));
    return done(to_f16(ctx, ctx.isa->make(of_singles, single(0), single(1)), env));
  };
  // Exact results: integers, comparisons' winners.
  const auto exact = [&](const Vec& x) { return done(ctx.isa->f32_to_f16(x, 0)); };
  const auto signalling = [&](const Vec& h) {
    const Vec magnitude = ctx.isa->and_(h, ctx.isa->c32(0x7fff));
    const MaskReg nan = cmp(ctx, ICmp::ugt, magnitude, ctx.isa->c32(0x7c00));
    MaskReg d = ctx.isa->mask();
    ctx.isa->cmp32(d, ICmp::ult, magnitude, ctx.isa->c32(0x7e00), &nan);
    return d;
  };

  switch (inst.op) {
    case Op::fadd_f16:
      return binary(I::kIdVaddps, I::kIdVaddph);
    case Op::fsub_f16:
      return binary(I::kIdVsubps, I::kIdVsubph);
    case Op::fmul_f16:
      return binary(I::kIdVmulps, I::kIdVmulph);
    case Op::fma_f16: {
      if (native) {
        const Vec sum = ctx.isa->make(I::kIdVmovdqa32, raw(2));
        ctx.cc.emit(I::kIdVfmadd231ph, sum, raw(0), raw(1));
        return low_word(sum);
      }
      const Vec a = single(0), b = single(1), c = single(2);
      return done(to_f16(ctx, fma_f16_to_odd(ctx, a, b, c, env), env));
    }
    case Op::pk_fma_f16:
      return emit_pk_fma_f16(ctx, inst, chunk), true;
    case Op::fmin_f16:
    case Op::fmax_f16: {
      const Vec a = raw(0), b = raw(1);
      Vec r = ctx.isa->vec();
      const uint32_t plain = (env & ~fpenv::kIeee) | fpenv::kKeepInputDenorm;  // flushed by the conversion, sNaN below
      fminmax(ctx, plain, r, to_f32(ctx, a, env), to_f32(ctx, b, env), 32, inst.op == Op::fmax_f16,
              false);  // converting makes NaNs quiet
      Vec h = ctx.isa->f32_to_f16(r, 0);
      if (env & fpenv::kIeee) {
        h = ctx.isa->sel(signalling(b), ctx.isa->or_(ctx.isa->and_(b, ctx.isa->c32(0xffff)), ctx.isa->c32(0x0200)), h);
        h = ctx.isa->sel(signalling(a), ctx.isa->or_(ctx.isa->and_(a, ctx.isa->c32(0xffff)), ctx.isa->c32(0x0200)), h);
      }
      return done(h);
    }
    case Op::fclamp_f16: {
      const Vec x = single(0);
      const Vec r = clamp32(ctx, x);
      if (env & fpenv::kDx10Clamp) return exact(r);
      return exact(ctx.isa->sel(fcmp(ctx, kUnordered, x, x), x, r));
    }
    case Op::fcanon_f16:
      return done(to_f16(ctx, single(0), env));
    case Op::fcmp_f16: {
      const Vec a = single(0), b = single(1);
      emit_fcmp32(ctx, inst.attr, ctx.dst_mask(inst, chunk), a, b);
      return true;
    }
    case Op::fclass_f16: {
      const Vec x = raw(0);
      if (inst.operands[1]->is_const()) {
        known_class_test(ctx, ctx.dst_mask(inst, chunk), ctx.isa->and_(x, ctx.isa->c32(0xffff)),
                         static_cast<uint32_t>(inst.operands[1]->imm), {0, 1, 0x0400, 0x7c00, 0x7c01, 0x7e00, 0x8000});
        return true;
      }
      const Vec magnitude = ctx.isa->and_(x, ctx.isa->c32(0x7fff));
      class_test(ctx, ctx.dst_mask(inst, chunk), raw(1),
                 {.negative = cmp(ctx, ICmp::ne, ctx.isa->and_(x, ctx.isa->c32(0x8000)), ctx.isa->const32(0)),
                  .nonzero = cmp(ctx, ICmp::ne, magnitude, ctx.isa->const32(0)),
                  .normal_up = cmp(ctx, ICmp::uge, magnitude, ctx.isa->c32(0x0400)),
                  .inf_up = cmp(ctx, ICmp::uge, magnitude, ctx.isa->c32(0x7c00)),
                  .nan = cmp(ctx, ICmp::ugt, magnitude, ctx.isa->c32(0x7c00)),
                  .quiet = cmp(ctx, ICmp::uge, magnitude, ctx.isa->c32(0x7e00))});
      return true;
    }
    case Op::ftrunc_f16:
      return exact(ctx.isa->round_ps(single(0), 11));
    case Op::fceil_f16:
      return exact(ctx.isa->round_ps(single(0), 10));
    case Op::ffloor_f16:
      return exact(ctx.isa->round_ps(single(0), 9));
    case Op::frndne_f16:
      return exact(ctx.isa->round_ps(single(0), 8));
    case Op::ffract_f16: {
      const Vec x = single(0);
      const Vec h = to_f16(ctx, ctx.isa->make(I::kIdVsubps, x, ctx.isa->round_ps(x, 9)), env);
      // Rounding may reach 1.0.
      return done(ctx.isa->sel(cmp(ctx, ICmp::eq, h, ctx.isa->c32(0x3c00)), ctx.isa->const32(0x3bff), h));
    }
    case Op::fldexp_f16: {
      // Exact in f32 for the exponents that matter; one rounding to f16.
      const Vec n = ctx.isa->sar32(ctx.isa->shl32(raw(1), 16), 16);
      const Vec limited =
          ctx.isa->make(I::kIdVpminsd, ctx.isa->make(I::kIdVpmaxsd, n, ctx.isa->const32(static_cast<uint32_t>(-60))),
                        ctx.isa->const32(60));
      const Vec power = ctx.isa->shl32(ctx.isa->make(I::kIdVpaddd, limited, ctx.isa->c32(127)), 23);
      return done(to_f16(ctx, ctx.isa->make(I::kIdVmulps, single(0), power), env));
    }
    case Op::ffrexp_mant_f16:
      return exact(frexp_mantissa32(ctx, to_f32(ctx, raw(0), fpenv::kKeepInputDenorm)));
    case Op::ffrexp_exp_f16:
      return done(
          ctx.isa->and_(frexp_exponent32(ctx, to_f32(ctx, raw(0), fpenv::kKeepInputDenorm)), ctx.isa->c32(0xffff)));
    case Op::cvt_f32_f16:
      return done(single(0));
    case Op::cvt_f16_f32:
      return done(to_f16(ctx, raw(0), env));
    case Op::cvt_pkrtz_f16_f32: {
      const Vec low = ctx.isa->f32_to_f16(raw(0), 3), high = ctx.isa->f32_to_f16(raw(1), 3);
      return done(ctx.isa->or_(low, ctx.isa->shl32(high, 16)));
    }
    case Op::cvt_f16_i16:
      return done(to_f16(ctx, ctx.isa->make(I::kIdVcvtdq2ps, ctx.isa->sar32(ctx.isa->shl32(raw(0), 16), 16)), env));
    case Op::cvt_f16_u16:
      return done(to_f16(ctx, ctx.isa->make(I::kIdVcvtdq2ps, ctx.isa->and_(raw(0), ctx.isa->c32(0xffff))), env));
    case Op::cvt_i16_f16:
    case Op::cvt_u16_f16: {
      const bool is_signed = inst.op == Op::cvt_i16_f16;
      const Vec x = single(0);
      const float low = is_signed ? -32768.0f : 0.0f, high = is_signed ? 32767.0f : 65535.0f;
      const Vec limited =
          ctx.isa->make(I::kIdVminps, ctx.isa->make(I::kIdVmaxps, x, ctx.isa->cf(low)), ctx.isa->cf(high));
      const Vec number = ctx.isa->and_(ctx.isa->make(I::kIdVcvttps2dq, limited), ctx.isa->c32(0xffff));
      return done(ctx.isa->sel(fcmp(ctx, kUnordered, x, x), ctx.isa->const32(0), number));
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
