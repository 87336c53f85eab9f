// European call and put prices; the normal distribution by Abramowitz and Stegun 26.2.17.
float normal_cdf(float d) {
  float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
  float poly =
      k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.39894228040143267794f * exp(-0.5f * d * d) * poly;
  return d > 0.0f ? 1.0f - tail : tail;
}

kernel void black_scholes(global const float* restrict spot, global const float* restrict strike,
                          global const float* restrict years, global float* restrict call, global float* restrict put,
                          float rate, float volatility, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float s = spot[i], x = strike[i], t = years[i];
  float root = sqrt(t);
  float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
  float d2 = d1 - volatility * root;
  float c1 = normal_cdf(d1), c2 = normal_cdf(d2);
  float discount = exp(-rate * t);
  call[i] = s * c1 - x * discount * c2;
  put[i] = x * discount * (1.0f - c2) - s * (1.0f - c1);
}
