// The recurrences of rocRAND's pseudorandom generators, as their authors publish them.
#pragma once

#include <array>
#include <cstdint>

namespace wavejit::rocrand {

// Philox4x32-10: J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
struct PhiloxBlock {
  uint32_t word[4];
};
inline PhiloxBlock philox4x32_10(PhiloxBlock c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53ull * c.word[0];
    const uint64_t b = 0xCD9E8D57ull * c.word[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c.word[1] ^ key0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c.word[3] ^ key1, static_cast<uint32_t>(a)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

// XORWOW: G. Marsaglia, "Xorshift RNGs", 2003, section 3.1.
struct Xorwow {
  using Bits = std::array<uint32_t, 5>;
  static void step(Bits& x) {
    const uint32_t t = x[0] ^ (x[0] >> 2);
    x = {x[1], x[2], x[3], x[4], (x[4] ^ (x[4] << 4)) ^ (t ^ (t << 1))};
  }

  Bits x;
  uint32_t d;
  uint32_t next() {
    step(x);
    d += 362437;
    return x[4] + d;
  }
};

// MRG32k3a: P. L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number
// generators", 1999.
struct Mrg32k3a {
  static constexpr uint64_t kM1 = 4294967087, kM2 = 4294944443;
  using Vector = std::array<uint64_t, 3>;
  Vector s1, s2;
  uint32_t next() {
    const uint64_t p1 = (1403580 * s1[1] + 810728 * (kM1 - s1[0])) % kM1;
    s1 = {s1[1], s1[2], p1};
    const uint64_t p2 = (527612 * s2[2] + 1370589 * (kM2 - s2[0])) % kM2;
    s2 = {s2[1], s2[2], p2};
    return static_cast<uint32_t>(p1 > p2 ? p1 - p2 : p1 + kM1 - p2);
  }
};

}  // namespace wavejit::rocrand
