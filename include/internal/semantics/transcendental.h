// The exact operation sequences behind v_rcp/rsq/sqrt/exp/log/sin/cos_f32, shared by the reference interpreter and the
// backend so that every engine returns the same bits.
//
// The hardware's transcendental unit is specified by error bounds only (1 ulp; GCN3 and Vega ISA manuals, "VOP1"), so
// wavejit is free to choose the last bit. It chooses sequences of IEEE-754 binary32 operations. Every step below is one
// operation rounded to nearest-even, whatever MODE.round says; fma is fused. No step produces or consumes a denormal
// after the input flush, so the steps give the same bits whether or not the host flushes denormals. Steps are written
// in C-like notation; `bits(x)` reinterprets; integer steps wrap.
//
// Common to all of them (f32 forms), independent of MODE: a denormal input is replaced by a zero of the same sign, a
// denormal result by a zero of the same sign ("v_rcp_f32 and v_rsq_f32 do not support denormals", LLVM
// SIISelLowering.cpp; "instruction is 1ulp but ignores denormals" for sqrt). A NaN input gives that NaN, quieted. Where
// a result is NaN without a NaN input it is the x86 default NaN 0xffc00000 (the ISA documents say "-NaN").
//
//   rcp(x):   y = 1.0f / x. (+-0 -> +-inf, +-inf -> +-0, |x| > 2^126 gives a denormal: flushed.)
//             v_rcp_iflag_f32 has the same value.
//   sqrt(x):  y = sqrt(x). (-0 -> -0, x < 0 -> NaN.) Never denormal.
//   rsq(x):   s = sqrt(x); y = 1.0f / s. (+-0 -> +-inf, x < 0 -> NaN, +inf -> +0.) Never denormal.
//
//   exp(x) = 2^x:
//             x >= 128          -> +inf
//             x < -126          -> +0 (CLRX: "for values smaller than -126.0 always returns 0 regardless of MODE")
//             n = rint(x)       (integer-valued float, ties to even)
//             f = x - n         (exact, |f| <= 1/2)
//             p = kExp2[5]; for i = 4..0: p = fma(p, f, kExp2[i])
//             p = fma(p, f, 1.0f)
//             y = bits(bits(p) + (int(n) << 23))          (integer addition to the exponent)
//   log(x) = log2(x):
//             x == +-0          -> -inf
//             x < 0             -> NaN
//             x == +inf         -> +inf
//             e = int(bits(x) - kLogSqrtHalfBits) >> 23    (arithmetic shift)
//             m = bits(bits(x) - (e << 23))                (sqrt(1/2) <= m < sqrt(2))
//             t = m - 1.0f      (exact)
//             q = kLog2[9]; for i = 8..0: q = fma(q, t, kLog2[i])
//             q = fma(q, t, kLog2E_lo)
//             r = t * q
//             l = fma(t, kLog2E_hi, r)
//             y = float(e) + l
//   sin(x), cos(x), x in revolutions (sin(2*pi*x)):
//             |x| > 256         -> sin: +0, cos: 1.0f      (Vega ISA: valid input domain [-256, +256])
//             x is +-inf        -> NaN
//             k = rint(x + x)   (x + x is exact)
//             y = fma(k, -0.5f, x)                         (exact, |y| <= 1/4)
//             sin: z = y
//             cos: z = 0.25f - |y|
//             u = z * z
//             s = kSin[4]; for i = 3..0: s = fma(s, u, kSin[i])
//             r = z * s                                    (|r| <= 1)
//             if int(k) is odd: r = -r                     (flip the sign bit)
//             A denormal r is flushed. Signs of zero results are those the steps give (sin(-0) = +0, sin(0.5) = -0).
//
// Error against the true value, measured exhaustively over the relevant ranges (tests/interp/transcendental_test.cpp
// has the sampled check): exp and log below 1 ulp, rsq below 1.5 (its two roundings); sin and cos at most 1.5e-7
// absolute on [-256, 256].
//
// f16 forms (v_exp_f16 ...): convert the input to f32 (exact), apply the f32 sequence, round the result to f16 to
// nearest-even; the f16 denormal mode applies to input and result. f64 forms (v_rcp_f64, v_rsq_f64, v_sqrt_f64): the
// same IEEE operations in binary64, with the f64 denormal mode and round-to-nearest.
#pragma once

#include <cstdint>

namespace wavejit::transcendental {

// 2^f = 1 + f * (kExp2[0] + f * (kExp2[1] + ...)) on [-1/2, 1/2]; relative error 9.1e-9 / 2.
inline constexpr float kExp2[6] = {0x1.62e430p-1f, 0x1.ebfbe0p-3f,  0x1.c6af9cp-5f,
                                   0x1.3b2a54p-7f, 0x1.5ef5d0p-10f, 0x1.44175ep-13f};
inline constexpr float kExpOverflow = 128.0f;    // x >= this gives +inf
inline constexpr float kExpUnderflow = -126.0f;  // x < this gives +0

// log2(1 + t) = t * (kLog2E_hi + kLog2E_lo) + t^2 * (kLog2[0] + t * (kLog2[1] + ...)) on [sqrt(1/2) - 1, sqrt(2) - 1].
inline constexpr uint32_t kLogSqrtHalfBits = 0x3f3504f3;  // bits of the float just below sqrt(1/2)
inline constexpr float kLog2E_hi = 0x1.715476p+0f;
inline constexpr float kLog2E_lo = 0x1.4ae0c0p-26f;
inline constexpr float kLog2[10] = {-0x1.715476p-1f, 0x1.ec7094p-2f,  -0x1.7154c6p-2f, 0x1.277c44p-2f,  -0x1.ec654ap-3f,
                                    0x1.a476bep-3f,  -0x1.6fe35ep-3f, 0x1.5e1a2ap-3f,  -0x1.517e40p-3f, 0x1.82fa3ap-4f};

// sin(2*pi*z) = z * (kSin[0] + z^2 * (kSin[1] + ...)) on [-1/4, 1/4].
inline constexpr float kSin[5] = {0x1.921fb6p+2f, -0x1.4abbdap+5f, 0x1.466b8ap+6f, -0x1.328aeep+6f, 0x1.413080p+5f};
inline constexpr float kTrigRange = 256.0f;

}  // namespace wavejit::transcendental
