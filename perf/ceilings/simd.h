// The vector types and operations of a tier. Arithmetic on F uses the operators of the compilers' vector types.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#ifdef WAVEJIT_CEILING_AVX512
#define WAVEJIT_CEILING ceilings_avx512
#else
#define WAVEJIT_CEILING ceilings_avx2
#endif

namespace wavejit::perf::WAVEJIT_CEILING {

#ifdef WAVEJIT_CEILING_AVX512

using F = __m512;     // f32 lanes
using I = __m512i;    // 32-bit integer lanes
using M = __mmask16;  // one bit per lane
inline constexpr int kLanes = 16;
inline constexpr bool kWide = true;

inline F load(const float* p) {
  return _mm512_loadu_ps(p);
}
inline void store(float* p, F v) {
  _mm512_storeu_ps(p, v);
}
inline void stream(float* p, F v) {
  _mm512_stream_ps(p, v);
}
inline I load(const uint32_t* p) {
  return _mm512_loadu_si512(p);
}
inline void store(uint32_t* p, I v) {
  _mm512_storeu_si512(p, v);
}
// The first n lanes, or none below 1; the others are 0.
inline M first_lanes(ptrdiff_t n) {
  return static_cast<M>(n <= 0 ? 0u : n >= 16 ? 0xffffu : (1u << n) - 1);
}
inline F load_first(const float* p, ptrdiff_t n) {
  return _mm512_maskz_loadu_ps(first_lanes(n), p);
}
inline I load_first(const uint32_t* p, ptrdiff_t n) {
  return _mm512_maskz_loadu_epi32(first_lanes(n), p);
}
inline void store_first(float* p, F v, ptrdiff_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), v);
}
inline F splat(float v) {
  return _mm512_set1_ps(v);
}
inline I splat(uint32_t v) {
  return _mm512_set1_epi32(static_cast<int>(v));
}
// a * b + c, c - a * b
inline F fma(F a, F b, F c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline F fnma(F a, F b, F c) {
  return _mm512_fnmadd_ps(a, b, c);
}
inline F max(F a, F b) {
  return _mm512_max_ps(a, b);
}
inline F abs(F a) {
  return _mm512_abs_ps(a);
}
inline F rsqrt_estimate(F a) {  // to 2^-14
  return _mm512_rsqrt14_ps(a);
}
inline F reciprocal_estimate(F a) {
  return _mm512_rcp14_ps(a);
}
inline F round(F a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// a * 2^n for whole n
inline F scale(F a, F n) {
  return _mm512_scalef_ps(a, n);
}
inline F to_float(I a) {
  return _mm512_cvtepi32_ps(a);
}
inline I bits(F a) {
  return _mm512_castps_si512(a);
}
inline F from_bits(I a) {
  return _mm512_castsi512_ps(a);
}
inline float sum(F a) {
  return _mm512_reduce_add_ps(a);
}
inline float largest(F a) {
  return _mm512_reduce_max_ps(a);
}
inline I add(I a, I b) {
  return _mm512_add_epi32(a, b);
}
inline I sub(I a, I b) {
  return _mm512_sub_epi32(a, b);
}
inline I mul(I a, I b) {
  return _mm512_mullo_epi32(a, b);
}
inline I min_unsigned(I a, I b) {
  return _mm512_min_epu32(a, b);
}
inline I both(I a, I b) {
  return _mm512_and_si512(a, b);
}
inline I either(I a, I b) {
  return _mm512_or_si512(a, b);
}
template <int kBits>
I shl(I a) {
  return _mm512_slli_epi32(a, kBits);
}
template <int kBits>
I shr(I a) {
  return _mm512_srli_epi32(a, kBits);
}
template <int kBits>
I sar(I a) {
  return _mm512_srai_epi32(a, kBits);
}
template <int kBits>
I rotr(I a) {
  return _mm512_ror_epi32(a, kBits);
}
inline I xor3(I a, I b, I c) {
  return _mm512_ternarylogic_epi32(a, b, c, 0x96);
}
inline I choose(I a, I b, I c) {  // a ? b : c, bit by bit
  return _mm512_ternarylogic_epi32(a, b, c, 0xca);
}
inline I majority(I a, I b, I c) {
  return _mm512_ternarylogic_epi32(a, b, c, 0xe8);
}
inline M all_lanes() {
  return 0xffff;
}
inline bool any(M m) {
  return m != 0;
}
inline M less(F a, F b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
// m, where a <= b
inline M and_not_above(M m, F a, F b) {
  return _mm512_mask_cmp_ps_mask(m, a, b, _CMP_LE_OQ);
}
inline F select(M m, F a, F b) {
  return _mm512_mask_blend_ps(m, b, a);
}
inline I count(I n, M m) {  // n + 1 where m
  return _mm512_mask_add_epi32(n, m, n, _mm512_set1_epi32(1));
}
// a where the numbers n are below `limit` (both below 2^31), else b
inline I select_below(I n, I limit, I a, I b) {
  return _mm512_mask_blend_epi32(_mm512_cmplt_epi32_mask(n, limit), b, a);
}
// The lanes' left and right neighbours, those of the first and last lane from the vector next to it.
inline F with_left(F previous, F v) {
  return from_bits(_mm512_alignr_epi32(bits(v), bits(previous), 15));
}
inline F with_right(F v, F next) {
  return from_bits(_mm512_alignr_epi32(bits(next), bits(v), 1));
}
// Rows become columns.
inline void transpose(I (&r)[16]) {
  I t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 8; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
  }
}

#else

using F = __m256;
using I = __m256i;
using M = __m256;  // all bits of a lane
inline constexpr int kLanes = 8;
inline constexpr bool kWide = false;

inline F load(const float* p) {
  return _mm256_loadu_ps(p);
}
inline void store(float* p, F v) {
  _mm256_storeu_ps(p, v);
}
inline void stream(float* p, F v) {
  _mm256_stream_ps(p, v);
}
inline I load(const uint32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline void store(uint32_t* p, I v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}
inline I first_lanes(ptrdiff_t n) {
  const int limit = static_cast<int>(n < 0 ? 0 : n > 8 ? 8 : n);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(limit), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline F load_first(const float* p, ptrdiff_t n) {
  return _mm256_maskload_ps(p, first_lanes(n));
}
inline I load_first(const uint32_t* p, ptrdiff_t n) {
  return _mm256_maskload_epi32(reinterpret_cast<const int*>(p), first_lanes(n));
}
inline void store_first(float* p, F v, ptrdiff_t n) {
  _mm256_maskstore_ps(p, first_lanes(n), v);
}
inline F splat(float v) {
  return _mm256_set1_ps(v);
}
inline I splat(uint32_t v) {
  return _mm256_set1_epi32(static_cast<int>(v));
}
inline F fma(F a, F b, F c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline F fnma(F a, F b, F c) {
  return _mm256_fnmadd_ps(a, b, c);
}
inline F max(F a, F b) {
  return _mm256_max_ps(a, b);
}
inline F abs(F a) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
inline F rsqrt_estimate(F a) {  // to 1.5 * 2^-12
  return _mm256_rsqrt_ps(a);
}
inline F reciprocal_estimate(F a) {
  return _mm256_rcp_ps(a);
}
inline F round(F a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// Only for results that are normal numbers.
inline F scale(F a, F n) {
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
}
inline F to_float(I a) {
  return _mm256_cvtepi32_ps(a);
}
inline I bits(F a) {
  return _mm256_castps_si256(a);
}
inline F from_bits(I a) {
  return _mm256_castsi256_ps(a);
}
inline float sum(F a) {
  const __m128 t = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 u = _mm_add_ps(t, _mm_movehl_ps(t, t));
  return _mm_cvtss_f32(_mm_add_ss(u, _mm_movehdup_ps(u)));
}
inline float largest(F a) {
  const __m128 t = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 u = _mm_max_ps(t, _mm_movehl_ps(t, t));
  return _mm_cvtss_f32(_mm_max_ss(u, _mm_movehdup_ps(u)));
}
inline I add(I a, I b) {
  return _mm256_add_epi32(a, b);
}
inline I sub(I a, I b) {
  return _mm256_sub_epi32(a, b);
}
inline I mul(I a, I b) {
  return _mm256_mullo_epi32(a, b);
}
inline I min_unsigned(I a, I b) {
  return _mm256_min_epu32(a, b);
}
inline I both(I a, I b) {
  return _mm256_and_si256(a, b);
}
inline I either(I a, I b) {
  return _mm256_or_si256(a, b);
}
template <int kBits>
I shl(I a) {
  return _mm256_slli_epi32(a, kBits);
}
template <int kBits>
I shr(I a) {
  return _mm256_srli_epi32(a, kBits);
}
template <int kBits>
I sar(I a) {
  return _mm256_srai_epi32(a, kBits);
}
template <int kBits>
I rotr(I a) {
  return either(shr<kBits>(a), shl<32 - kBits>(a));
}
inline I xor3(I a, I b, I c) {
  return _mm256_xor_si256(a, _mm256_xor_si256(b, c));
}
inline I choose(I a, I b, I c) {
  return _mm256_xor_si256(c, both(a, _mm256_xor_si256(b, c)));
}
inline I majority(I a, I b, I c) {
  return either(both(a, b), both(c, either(a, b)));
}
inline M all_lanes() {
  return from_bits(_mm256_set1_epi32(-1));
}
inline bool any(M m) {
  return _mm256_movemask_ps(m) != 0;
}
inline M less(F a, F b) {
  return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
inline M and_not_above(M m, F a, F b) {
  return _mm256_and_ps(m, _mm256_cmp_ps(a, b, _CMP_LE_OQ));
}
inline F select(M m, F a, F b) {
  return _mm256_blendv_ps(b, a, m);
}
inline I count(I n, M m) {
  return _mm256_sub_epi32(n, bits(m));
}
inline I select_below(I n, I limit, I a, I b) {
  return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi32(limit, n));
}
inline F with_left(F previous, F v) {
  const I across = bits(_mm256_permute2f128_ps(previous, v, 0x21));
  return from_bits(_mm256_alignr_epi8(bits(v), across, 12));
}
inline F with_right(F v, F next) {
  const I across = bits(_mm256_permute2f128_ps(v, next, 0x21));
  return from_bits(_mm256_alignr_epi8(across, bits(v), 4));
}
inline void transpose(I (&r)[8]) {
  I t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2x128_si256(r[i], r[i + 4], 0x20);
    t[i + 4] = _mm256_permute2x128_si256(r[i], r[i + 4], 0x31);
  }
  for (int i = 0; i < 8; ++i) r[i] = t[i];
}

#endif

// One Newton step behind the estimates: to about 2^-23.
inline F reciprocal(F a) {
  const F r = reciprocal_estimate(a);
  return fma(r, fnma(a, r, splat(1.0f)), r);
}
inline F rsqrt(F a) {
  const F r = rsqrt_estimate(a);
  return fma(splat(0.5f) * r, fnma(a * r, r, splat(1.0f)), r);
}

}  // namespace wavejit::perf::WAVEJIT_CEILING
