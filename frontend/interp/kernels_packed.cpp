// VOP3P: packed 16-bit and packed f32 arithmetic, mixed-precision multiply-add. Selects and negation are fetch stages.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/kernels_packed.cpp"
#include <cstring>

#include "hwy/foreach_target.h"
// After foreach_target.
#include "frontend/interp/half_math.h"
#include "frontend/interp/rows-inl.h"
#include "frontend/interp/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace {

uint32_t pack(uint32_t lo, uint32_t hi) {
  return lo16(lo) | hi << 16;
}

// Applies a 16-bit operation to both halves.
#define WAVEJIT_PACKED2(op, lo_expr)                                     \
  WAVEJIT_EACH2(op, 0,                                                   \
                pack(                                                    \
                    [](uint32_t a, uint32_t b, bool clamp) -> uint32_t { \
                      (void)clamp;                                       \
                      return lo_expr;                                    \
                    }(lo16(a), lo16(b), clamp),                          \
                    [](uint32_t a, uint32_t b, bool clamp) -> uint32_t { \
                      (void)clamp;                                       \
                      return lo_expr;                                    \
                    }(a >> 16, b >> 16, clamp)))
#define WAVEJIT_PACKED3(op, lo_expr)                                                                           \
  WAVEJIT_EACH3(op, 0,                                                                                         \
                pack([](uint32_t a, uint32_t b, uint32_t c, bool clamp) -> uint32_t { return lo_expr; }(       \
                                                                            lo16(a), lo16(b), lo16(c), clamp), \
                     [](uint32_t a, uint32_t b, uint32_t c, bool clamp) -> uint32_t { return lo_expr; }(       \
                                                                            a >> 16, b >> 16, c >> 16, clamp)))

template <class D, class V>
HWY_INLINE auto low_f16(D d, V v, uint32_t mode) {
  return f16_operand(d, hn::And(v, hn::Set(d, 0xffffu)), mode);
}
template <class D, class V>
HWY_INLINE auto high_f16(D d, V v, uint32_t mode) {
  return f16_operand(d, hn::ShiftRight<16>(v), mode);
}

enum class Op16 { add, mul, fma };
template <Op16 op>
void packed_f16(Lanes& k) {
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto a = load(d, k.src[0] + i);
    const auto b = load(d, k.src[1] + i);
    const auto al = low_f16(d, a, k.mode), ah = high_f16(d, a, k.mode);
    const auto bl = low_f16(d, b, k.mode), bh = high_f16(d, b, k.mode);
    if constexpr (op == Op16::fma) {
      const auto c = load(d, k.src[2] + i);
      const auto lo = f16_result(d, fma_f16_wide(d, al, bl, low_f16(d, c, k.mode)), k.mode);
      const auto hi = f16_result(d, fma_f16_wide(d, ah, bh, high_f16(d, c, k.mode)), k.mode);
      store(hn::Or(lo, hn::ShiftLeft<16>(hi)), d, k.dst + i);
    } else {
      const auto lo = f16_result(d, op == Op16::add ? hn::Add(al, bl) : hn::Mul(al, bl), k.mode);
      const auto hi = f16_result(d, op == Op16::add ? hn::Add(ah, bh) : hn::Mul(ah, bh), k.mode);
      store(hn::Or(lo, hn::ShiftLeft<16>(hi)), d, k.dst + i);
    }
  }
}
template <bool is_max>
void packed_extremum(Lanes& k) {
  const Extremum16 e(k.mode, k.before_gfx9);
  for (size_t l = 0; l < kWaveSize; ++l)
    k.dst[l] = pack(e.pick(is_max, k.src[0][l], k.src[1][l]), e.pick(is_max, k.src[0][l] >> 16, k.src[1][l] >> 16));
}

// GFX90A: two independent f32 operations on a register pair.
template <Op16 op>
void packed_f32(Lanes& k) {
  WAVEJIT_LANES_LOOP(float) {
    const auto a0 = load(d, k.src[0] + i), a1 = load(d, k.src[0] + kWaveSize + i);
    const auto b0 = load(d, k.src[1] + i), b1 = load(d, k.src[1] + kWaveSize + i);
    if constexpr (op == Op16::fma) {
      const auto c0 = load(d, k.src[2] + i), c1 = load(d, k.src[2] + kWaveSize + i);
      store(hn::MulAdd(a0, b0, c0), d, k.dst + i);
      store(hn::MulAdd(a1, b1, c1), d, k.dst + kWaveSize + i);
    } else {
      store(op == Op16::add ? hn::Add(a0, b0) : hn::Mul(a0, b0), d, k.dst + i);
      store(op == Op16::add ? hn::Add(a1, b1) : hn::Mul(a1, b1), d, k.dst + kWaveSize + i);
    }
  }
}

// Sources arrive as f32 (the fetch stage converts f16 halves).
template <bool fused, bool to_f16>
void mix(Lanes& k) {
  const hn::ScalableTag<float> df;
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto a = load(df, k.src[0] + i), b = load(df, k.src[1] + i), c = load(df, k.src[2] + i);
    const auto y = fused ? hn::MulAdd(a, b, c) : hn::Add(hn::Mul(a, b), c);
    if constexpr (to_f16) {
      // The f32 result is no operand, which MODE might flush: the least normal number rounds like any denormal.
      const auto bits = hn::BitCast(d, y), magnitude = hn::And(bits, hn::Set(d, 0x7fffffffu));
      const auto denormal = hn::And(hn::Ne(magnitude, hn::Zero(d)), hn::Lt(magnitude, hn::Set(d, 0x00800000u)));
      const auto normal = hn::Or(hn::And(bits, hn::Set(d, 0x80000000u)), hn::Set(d, 0x00800000u));
      store(f16_result(d, hn::BitCast(df, hn::IfThenElse(denormal, normal, bits)),
                       fused ? k.mode : flushing_halves(k.mode)),
            d, k.dst + i);
    } else {
      store(y, df, k.dst + i);
    }
  }
}

void do_register(Registry& r) {
  WAVEJIT_PACKED2(v_pk_add_i16, clamp ? saturate_s16(int64_t{s16(a)} + s16(b)) : a + b);
  WAVEJIT_PACKED2(v_pk_sub_i16, clamp ? saturate_s16(int64_t{s16(a)} - s16(b)) : a - b);
  WAVEJIT_PACKED2(v_pk_add_u16, clamp ? saturate_u16(int64_t{a} + b) : a + b);
  WAVEJIT_PACKED2(v_pk_sub_u16, clamp ? saturate_u16(int64_t{a} - b) : a - b);
  WAVEJIT_PACKED2(v_pk_mul_lo_u16, clamp ? saturate_u16(int64_t{a} * b) : a * b);
  WAVEJIT_PACKED2(v_pk_lshlrev_b16, b << (a & 15));
  WAVEJIT_PACKED2(v_pk_lshrrev_b16, b >> (a & 15));
  WAVEJIT_PACKED2(v_pk_ashrrev_i16, static_cast<uint32_t>(s16(b) >> (a & 15)));
  WAVEJIT_PACKED2(v_pk_max_i16, static_cast<uint32_t>(std::max(s16(a), s16(b))));
  WAVEJIT_PACKED2(v_pk_min_i16, static_cast<uint32_t>(std::min(s16(a), s16(b))));
  WAVEJIT_PACKED2(v_pk_max_u16, std::max(a, b));
  WAVEJIT_PACKED2(v_pk_min_u16, std::min(a, b));
  WAVEJIT_PACKED3(v_pk_mad_i16, clamp ? saturate_s16(int64_t{s16(a)} * s16(b) + s16(c)) : a * b + c);
  WAVEJIT_PACKED3(v_pk_mad_u16, clamp ? saturate_u16(int64_t{a} * b + c) : a * b + c);
  r.kernel(Opcode::v_pk_add_f16, packed_f16<Op16::add>, Env::f16);
  r.kernel(Opcode::v_pk_mul_f16, packed_f16<Op16::mul>, Env::f16);
  r.kernel(Opcode::v_pk_fma_f16, packed_f16<Op16::fma>, Env::f16);
  r.kernel(Opcode::v_pk_fmac_f16, packed_f16<Op16::fma>, Env::f16);
  r.kernel(Opcode::v_pk_min_f16, packed_extremum<false>);
  r.kernel(Opcode::v_pk_max_f16, packed_extremum<true>);
  r.kernel(Opcode::v_pk_add_f32, packed_f32<Op16::add>, Env::f32);
  r.kernel(Opcode::v_pk_mul_f32, packed_f32<Op16::mul>, Env::f32);
  r.kernel(Opcode::v_pk_fma_f32, packed_f32<Op16::fma>, Env::f32);
  r.kernel(Opcode::v_mad_mix_f32, mix<false, false>, Env::flush, kMix);
  r.kernel(Opcode::v_fma_mix_f32, mix<true, false>, Env::f32, kMix);
  r.kernel(Opcode::v_mad_mixlo_f16, mix<false, true>, Env::flush, kMix | kResult16 | kPreservesHi);
  r.kernel(Opcode::v_fma_mixlo_f16, mix<true, true>, Env::f32, kMix | kResult16 | kPreservesHi);
  r.kernel(Opcode::v_mad_mixhi_f16, mix<false, true>, Env::flush, kMix | kResult16 | kToHi);
  r.kernel(Opcode::v_fma_mixhi_f16, mix<true, true>, Env::f32, kMix | kResult16 | kToHi);
  // op_sel[0] picks the dword of src0 for the low result, op_sel[1] that of src1 for the high result.
  r.kernel(
      Opcode::v_pk_mov_b32,
      [](Lanes& k) HWY_ATTR {
        alignas(64) uint32_t lo[kWaveSize];
        std::memcpy(lo, k.src[0] + ((k.op_sel & 1) != 0 ? kWaveSize : 0), sizeof lo);
        std::memmove(k.dst + kWaveSize, k.src[1] + ((k.op_sel & 2) != 0 ? kWaveSize : 0), sizeof lo);
        std::memcpy(k.dst, lo, sizeof lo);
      },
      Env::none, kRawSources);
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
void register_packed(Registry& r) {
  WAVEJIT_INTERP_DISPATCH(do_register)(r);
}
}  // namespace wavejit::interp
#endif
