// One pass of polynomials: no library calls, no divisions and only two exponentials, because
//   strike e^(-rate years) phi(d2) = spot phi(d1)
// for the density phi of the normal distribution.
#include "ceilings/ceilings.h"
#include "ceilings/simd.h"

namespace wavejit::perf::WAVEJIT_CEILING {
namespace {

// For x up to 0; below -87 as for -87. 2^f of the fraction by Cephes' polynomial (exp2f.c).
inline F exponential(F x) {
  const F y = max(x, splat(-87.0f)) * splat(1.44269504f);
  const F whole = round(y), f = y - whole;
  F p = splat(1.535336188e-4f);
  p = fma(p, f, splat(1.339887440e-3f));
  p = fma(p, f, splat(9.618437357e-3f));
  p = fma(p, f, splat(5.550332471e-2f));
  p = fma(p, f, splat(2.402264791e-1f));
  p = fma(p, f, splat(6.931472028e-1f));
  return scale(fma(p, f, splat(1.0f)), whole);
}

// For positive normal numbers: x = m 2^e with m around 1, then Cephes' polynomial (logf.c).
inline F logarithm(F x) {
  const I above = sub(bits(x), splat(uint32_t{0x3f3504f3}));  // sqrt(1/2)
  const F exponent = to_float(sar<23>(above));
  const F m = from_bits(sub(bits(x), shl<23>(sar<23>(above)))) - splat(1.0f);
  F p = splat(7.0376836292e-2f);
  p = fma(p, m, splat(-1.1514610310e-1f));
  p = fma(p, m, splat(1.1676998740e-1f));
  p = fma(p, m, splat(-1.2420140846e-1f));
  p = fma(p, m, splat(1.4249322787e-1f));
  p = fma(p, m, splat(-1.6668057665e-1f));
  p = fma(p, m, splat(2.0000714765e-1f));
  p = fma(p, m, splat(-2.4999993993e-1f));
  p = fma(p, m, splat(3.3333331174e-1f));
  const F square = m * m;
  const F tail = fma(p, m, splat(-0.5f)) * square;
  return fma(exponent, splat(0.693147181f), m + tail);
}

// The factor of phi(d) in the upper tail behind |d| (Abramowitz and Stegun 26.2.17).
inline F tail_factor(F d) {
  const F k = reciprocal(fma(splat(0.2316419f), abs(d), splat(1.0f)));
  F p = splat(1.330274429f);
  p = fma(p, k, splat(-1.821255978f));
  p = fma(p, k, splat(1.781477937f));
  p = fma(p, k, splat(-0.356563782f));
  p = fma(p, k, splat(0.31938153f));
  return p * k;
}

struct Parameters {
  F rate, volatility, drift, inverse_volatility;
};

inline void price(const Parameters& q, F spot, F strike, F years, F& call, F& put) {
  const F inverse_root = rsqrt(years), root = years * inverse_root;
  const F d1 = fma(q.drift, years, logarithm(spot * reciprocal(strike))) * (q.inverse_volatility * inverse_root);
  const F d2 = fnma(q.volatility, root, d1);
  const F discounted = strike * exponential(splat(-1.0f) * q.rate * years);
  const F density = spot * splat(0.39894228f) * exponential(splat(-0.5f) * d1 * d1);
  // spot N(d1) and strike e^(-rate years) N(d2), and both of the other side
  const F t1 = density * tail_factor(d1), t2 = density * tail_factor(d2);
  const F zero = splat(0.0f);
  const M down1 = less(d1, zero), down2 = less(d2, zero);
  const F other1 = spot - t1, other2 = discounted - t2;
  call = select(down1, t1, other1) - select(down2, t2, other2);
  put = select(down2, other2, t2) - select(down1, other1, t1);
}

}  // namespace

void black_scholes(const CeilingData& data) {
  const float* const spot = data.buffer<float>(0);
  const float* const strike = data.buffer<float>(1);
  const float* const years = data.buffer<float>(2);
  float* const call = data.buffer<float>(3);
  float* const put = data.buffer<float>(4);
  const float rate = data.scalar<float>(5), volatility = data.scalar<float>(6);
  const size_t n = data.scalar<uint32_t>(7);
  const Parameters q = {splat(rate), splat(volatility), splat(rate + 0.5f * volatility * volatility),
                        splat(1.0f / volatility)};
  F c, p;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    price(q, load(spot + i), load(strike + i), load(years + i), c, p);
    store(call + i, c);
    store(put + i, p);
  }
  if (const auto left = static_cast<ptrdiff_t>(n - i); left != 0) {
    price(q, load_first(spot + i, left), load_first(strike + i, left), load_first(years + i, left), c, p);
    store_first(call + i, c, left);
    store_first(put + i, p, left);
  }
}

}  // namespace wavejit::perf::WAVEJIT_CEILING
