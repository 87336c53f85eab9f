// f16 in the low words of 32-bit lanes, or in both words. Where the CPU has no f16 instructions, or they do not do what MODE asks
// for (computes_halves()), the operations are done in f32. The f32 result of one operation on f16 values rounds to the
// same f16 as the exact result (24 >= 2 * 11 + 2 bits), in every rounding mode as long as both roundings use it.
#include "backend-x86/lower/emitter.h"
#include "internal/semantics/rounding.h"

namespace wavejit::backend {

using ir::ICmp;
namespace fpenv = ir::fpenv;

namespace {
constexpr uint32_t kSmallestNormalF16 = 0x38800000;  // as f32
}  // namespace

Vec Emitter::to_f32(const Vec& half, uint32_t env) {
  const Vec x = isa_->f16_to_f32(half);
  return env & fpenv::kKeepInputDenorm ? x : isa_->flush_f16(x, half);
}

Vec Emitter::to_f16(const Vec& single, uint32_t env) {
  Vec h = isa_->f32_to_f16(single, rounding::on_host(env & fpenv::kRoundMask));
  if (!(env & fpenv::kKeepOutputDenorm)) {
    const MaskReg tiny = cmp(ICmp::ult, isa_->and_(h, isa_->c32(0x7fff)), isa_->c32(0x0400));
    h = isa_->sel(tiny, isa_->and_(h, isa_->c32(0x8000)), h);
  }
  if (env & fpenv::kFp16Ovfl) {
    const MaskReg inf = cmp(ICmp::eq, isa_->and_(h, isa_->c32(0x7fff)), isa_->c32(0x7c00));
    MaskReg overflow = isa_->mask();
    isa_->cmp32(overflow, ICmp::ne, isa_->and_(single, isa_->c32(0x7fffffff)), isa_->c32(0x7f800000), &inf);
    const Vec largest = isa_->or_(isa_->and_(h, isa_->c32(0x8000)), isa_->c32(0x7bff));
    h = isa_->sel(overflow, largest, h);
  }
  return h;
}

// The f32 product is exact. The sum is rounded to odd in f32, so that the second rounding sees on which side of a tie the exact
// sum lies.
Vec Emitter::fma_f16_to_odd(const Vec& a, const Vec& b, const Vec& c, uint32_t env) {
  const Vec rounded = isa_->fma_to_odd(a, b, c);
  if ((env & fpenv::kRoundMask) != 2) return rounded;
  // An exact zero is negative when rounding down, unless both addends are +0.
  const Vec p = isa_->make(I::kIdVmulps, a, b);
  const MaskReg zero = fcmp(0, rounded, isa_->const32(0));
  return isa_->sel(zero, isa_->and_(isa_->or_(p, c), isa_->c32(0x80000000)), rounded);
}

// Of f16 that keep their denormals: factors and sums of a segment are converted once.
std::array<Vec, 2> Emitter::halves_in_f32(const Inst* pairs, unsigned chunk) {
  if (!on(Optimisation::shared_halves) || pairs->is_const()) return isa_->halves_to_f32(v32(pairs, chunk));
  const std::pair<const Inst*, unsigned> key{pairs, is_invariant(pairs) ? 0 : chunk};
  const auto [entry, is_new] = shared_halves_.singles.try_emplace(key);
  if (!is_new) return entry->second;
  const auto words = shared_halves_.words.find(key);
  if (words == shared_halves_.words.end()) return entry->second = isa_->halves_to_f32(v32(pairs, chunk));
  return entry->second = {isa_->words_to_f32(words->second[0]), isa_->words_to_f32(words->second[1])};
}

// In front of instructions that are emitted in a row, for each chunk. A sum that only another one of them adds to is kept as its
// words.
void Emitter::begin_shared_halves(std::span<const Inst* const> insts) {
  shared_halves_ = {};
  if (!on(Optimisation::shared_halves)) return;
  std::unordered_set<const Inst*> sums;
  for (const Inst* inst : insts)
    if (inst->op == Op::pk_fma_f16 && (inst->attr & fpenv::kKeepInputDenorm) != 0 && !computes_halves(inst->attr))
      sums.insert(inst);
  for (const Inst* inst : sums) {
    const Inst* sum = inst->operands[2];
    if (sums.contains(sum) && sum->users.size() == 1 && !classes_.is_shared(sum) &&
        is_invariant(sum) == is_invariant(inst))
      shared_halves_.only_added_to.insert(sum);
  }
}

// Whether the host's f16 instructions do what this environment says.
bool Emitter::computes_halves(uint32_t env) const {
  constexpr uint32_t kKeepDenorm = fpenv::kKeepInputDenorm | fpenv::kKeepOutputDenorm;
  return on(Optimisation::half_arithmetic) && isa_->has_half_arithmetic() && (env & kKeepDenorm) == kKeepDenorm &&
         (env & fpenv::kFp16Ovfl) == 0 && (env & fpenv::kRoundMask) == 0;
}

void Emitter::emit_pk_fma_f16(const Inst& inst, unsigned chunk) {
  const uint32_t env = inst.attr;
  const bool plain = (env & fpenv::kKeepOutputDenorm) != 0 && (env & fpenv::kFp16Ovfl) == 0;
  const bool keep = (env & fpenv::kKeepInputDenorm) != 0;
  if (computes_halves(env)) {
    take_over(inst, inst.operands[2], chunk);
    const Vec d = dst(inst, chunk), a = v32(inst.operands[0], chunk), b = v32(inst.operands[1], chunk),
              c = v32(inst.operands[2], chunk);
    const bool overwrites = d.id() == a.id() || d.id() == b.id();
    const Vec sum = overwrites ? isa_->make(I::kIdVmovdqa32, c) : d;
    if (!overwrites && d.id() != c.id()) isa_->mov(d, c);
    cc_.emit(I::kIdVfmadd231ph, sum, a, b);
    if (overwrites) isa_->mov(d, sum);
    return;
  }
  std::array<std::array<Vec, 2>, 3> x;
  for (unsigned i = 0; i < 3; ++i) {
    if (keep) {
      x[i] = halves_in_f32(inst.operands[i], chunk);
      continue;
    }
    x[i] = isa_->halves_to_f32(v32(inst.operands[i], chunk));
    for (Vec& part : x[i]) {
      const MaskReg tiny = cmp(ICmp::ult, isa_->and_(part, isa_->c32(0x7fffffff)), isa_->c32(kSmallestNormalF16));
      part = isa_->sel(tiny, isa_->and_(part, isa_->c32(0x80000000)), part);
    }
  }
  std::array<Vec, 2> words;
  for (unsigned i = 0; i < 2; ++i) {
    Vec sum = fma_f16_to_odd(x[0][i], x[1][i], x[2][i], env);
    if (!plain) sum = isa_->f16_to_f32(to_f16(sum, env));  // the second conversion is exact
    words[i] = isa_->f32_to_words(sum, rounding::on_host(env & fpenv::kRoundMask));
  }
  if (shared_halves_.only_added_to.contains(&inst))
    shared_halves_.words[{&inst, is_invariant(&inst) ? 0 : chunk}] = words;
  else
    isa_->mov(dst(inst, chunk), isa_->join_words(words));
}

bool Emitter::emit_float16(const Inst& inst, unsigned chunk) {
  const uint32_t env = inst.attr;
  const auto raw = [&](unsigned i) { return v32(inst.operands[i], chunk); };
  const auto single = [&](unsigned i) { return to_f32(raw(i), env); };
  const auto done = [&](const Vec& r) {
    isa_->mov(dst(inst, chunk), r);
    return true;
  };
  const bool native = computes_halves(env);
  // The upper words hold anything: what is computed of them is cut off.
  const auto low_word = [&](const Vec& x) { return done(isa_->and_(x, isa_->c32(0xffff))); };
  const auto binary = [&](InstId of_singles, InstId of_halves) {
    if (native) return low_word(isa_->make(of_halves, raw(0), raw(1)));
    return done(to_f16(isa_->make(of_singles, single(0), single(1)), env));
  };
  // Exact results: integers, comparisons' winners.
  const auto exact = [&](const Vec& x) { return done(isa_->f32_to_f16(x, 0)); };
  const auto signalling = [&](const Vec& h) {
    const Vec magnitude = isa_->and_(h, isa_->c32(0x7fff));
    const MaskReg nan = cmp(ICmp::ugt, magnitude, isa_->c32(0x7c00));
    MaskReg d = isa_->mask();
    isa_->cmp32(d, ICmp::ult, magnitude, isa_->c32(0x7e00), &nan);
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
        const Vec sum = isa_->make(I::kIdVmovdqa32, raw(2));
        cc_.emit(I::kIdVfmadd231ph, sum, raw(0), raw(1));
        return low_word(sum);
      }
      const Vec a = single(0), b = single(1), c = single(2);
      return done(to_f16(fma_f16_to_odd(a, b, c, env), env));
    }
    case Op::pk_fma_f16:
      return emit_pk_fma_f16(inst, chunk), true;
    case Op::fmin_f16:
    case Op::fmax_f16: {
      const Vec a = raw(0), b = raw(1);
      Vec r = isa_->vec();
      const uint32_t plain = (env & ~fpenv::kIeee) | fpenv::kKeepInputDenorm;  // flushed by the conversion, sNaN below
      fminmax(plain, r, to_f32(a, env), to_f32(b, env), 32, inst.op == Op::fmax_f16,
              false);  // converting makes NaNs quiet
      Vec h = isa_->f32_to_f16(r, 0);
      if (env & fpenv::kIeee) {
        h = isa_->sel(signalling(b), isa_->or_(isa_->and_(b, isa_->c32(0xffff)), isa_->c32(0x0200)), h);
        h = isa_->sel(signalling(a), isa_->or_(isa_->and_(a, isa_->c32(0xffff)), isa_->c32(0x0200)), h);
      }
      return done(h);
    }
    case Op::fclamp_f16: {
      const Vec x = single(0);
      const Vec r = clamp32(x);
      if (env & fpenv::kDx10Clamp) return exact(r);
      return exact(isa_->sel(fcmp(kUnordered, x, x), x, r));
    }
    case Op::fcanon_f16:
      return done(to_f16(single(0), env));
    case Op::fcmp_f16: {
      const Vec a = single(0), b = single(1);
      emit_fcmp32(inst.attr, dst_mask(inst, chunk), a, b);
      return true;
    }
    case Op::fclass_f16: {
      const Vec x = raw(0);
      if (inst.operands[1]->is_const()) {
        known_class_test(dst_mask(inst, chunk), isa_->and_(x, isa_->c32(0xffff)),
                         static_cast<uint32_t>(inst.operands[1]->imm), {0, 1, 0x0400, 0x7c00, 0x7c01, 0x7e00, 0x8000});
        return true;
      }
      const Vec magnitude = isa_->and_(x, isa_->c32(0x7fff));
      class_test(dst_mask(inst, chunk), raw(1),
                 {.negative = cmp(ICmp::ne, isa_->and_(x, isa_->c32(0x8000)), isa_->const32(0)),
                  .nonzero = cmp(ICmp::ne, magnitude, isa_->const32(0)),
                  .normal_up = cmp(ICmp::uge, magnitude, isa_->c32(0x0400)),
                  .inf_up = cmp(ICmp::uge, magnitude, isa_->c32(0x7c00)),
                  .nan = cmp(ICmp::ugt, magnitude, isa_->c32(0x7c00)),
                  .quiet = cmp(ICmp::uge, magnitude, isa_->c32(0x7e00))});
      return true;
    }
    case Op::ftrunc_f16:
      return exact(isa_->round_ps(single(0), 11));
    case Op::fceil_f16:
      return exact(isa_->round_ps(single(0), 10));
    case Op::ffloor_f16:
      return exact(isa_->round_ps(single(0), 9));
    case Op::frndne_f16:
      return exact(isa_->round_ps(single(0), 8));
    case Op::ffract_f16: {
      const Vec x = single(0);
      const Vec h = to_f16(isa_->make(I::kIdVsubps, x, isa_->round_ps(x, 9)), env);
      // Rounding may reach 1.0.
      return done(isa_->sel(cmp(ICmp::eq, h, isa_->c32(0x3c00)), isa_->const32(0x3bff), h));
    }
    case Op::fldexp_f16: {
      // Exact in f32 for the exponents that matter; one rounding to f16.
      const Vec n = isa_->sar32(isa_->shl32(raw(1), 16), 16);
      const Vec limited = isa_->make(
          I::kIdVpminsd, isa_->make(I::kIdVpmaxsd, n, isa_->const32(static_cast<uint32_t>(-60))), isa_->const32(60));
      const Vec power = isa_->shl32(isa_->make(I::kIdVpaddd, limited, isa_->c32(127)), 23);
      return done(to_f16(isa_->make(I::kIdVmulps, single(0), power), env));
    }
    case Op::ffrexp_mant_f16:
      return exact(frexp_mantissa32(to_f32(raw(0), fpenv::kKeepInputDenorm)));
    case Op::ffrexp_exp_f16:
      return done(isa_->and_(frexp_exponent32(to_f32(raw(0), fpenv::kKeepInputDenorm)), isa_->c32(0xffff)));
    case Op::cvt_f32_f16:
      return done(single(0));
    case Op::cvt_f16_f32:
      return done(to_f16(raw(0), env));
    case Op::cvt_pkrtz_f16_f32: {
      const Vec low = isa_->f32_to_f16(raw(0), 3), high = isa_->f32_to_f16(raw(1), 3);
      return done(isa_->or_(low, isa_->shl32(high, 16)));
    }
    case Op::cvt_f16_i16:
      return done(to_f16(isa_->make(I::kIdVcvtdq2ps, isa_->sar32(isa_->shl32(raw(0), 16), 16)), env));
    case Op::cvt_f16_u16:
      return done(to_f16(isa_->make(I::kIdVcvtdq2ps, isa_->and_(raw(0), isa_->c32(0xffff))), env));
    case Op::cvt_i16_f16:
    case Op::cvt_u16_f16: {
      const bool is_signed = inst.op == Op::cvt_i16_f16;
      const Vec x = single(0);
      const float low = is_signed ? -32768.0f : 0.0f, high = is_signed ? 32767.0f : 65535.0f;
      const Vec limited = isa_->make(I::kIdVminps, isa_->make(I::kIdVmaxps, x, isa_->cf(low)), isa_->cf(high));
      const Vec number = isa_->and_(isa_->make(I::kIdVcvttps2dq, limited), isa_->c32(0xffff));
      return done(isa_->sel(fcmp(kUnordered, x, x), isa_->const32(0), number));
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
