// Philox4x32-10 counter-based random numbers (Salmon et al., SC'11) and a Monte-Carlo estimate of pi from them.
uint4 philox_round(uint4 c, uint2 k) {
  uint hi0 = mul_hi(0xD2511F53u, c.x), lo0 = 0xD2511F53u * c.x;
  uint hi1 = mul_hi(0xCD9E8D57u, c.z), lo1 = 0xCD9E8D57u * c.z;
  return (uint4)(hi1 ^ c.y ^ k.x, lo1, hi0 ^ c.w ^ k.y, lo0);
}

kernel void philox(global uint4* restrict numbers, global uint* restrict inside, uint2 seed, uint rounds) {
  uint i = get_global_id(0);
  uint hits = 0;
  uint4 last = (uint4)(0);
  for (uint r = 0; r < rounds; ++r) {
    uint4 c = (uint4)(i, r, 0xdecafbadu, 7u);
    uint2 k = seed;
    for (int round = 0; round < 10; ++round) {
      c = philox_round(c, k);
      k += (uint2)(0x9E3779B9u, 0xBB67AE85u);
    }
    float x = (float)(c.x >> 8) * 0x1p-24f, y = (float)(c.y >> 8) * 0x1p-24f;
    if (fma(x, x, y * y) < 1.0f) ++hits;
    last = c;
  }
  numbers[i] = last;
  inside[i] = hits;
}
