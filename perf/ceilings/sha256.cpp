// One message per lane; the words of a register's messages are transposed from and to memory.
#include <algorithm>

#include "ceilings/ceilings.h"
#include "ceilings/simd.h"

namespace wavejit::perf::WAVEJIT_CEILING {
namespace {

// FIPS 180-4, section 4.2.2.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr uint32_t kInitial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

void compress(I (&h)[8], I (&w)[16]) {
  I a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], i = h[7];
#pragma GCC unroll 64
  for (int r = 0; r < 64; ++r) {
    if (r >= 16) {
      const I w15 = w[(r + 1) & 15], w2 = w[(r + 14) & 15];
      const I s0 = xor3(rotr<7>(w15), rotr<18>(w15), shr<3>(w15));
      const I s1 = xor3(rotr<17>(w2), rotr<19>(w2), shr<10>(w2));
      w[r & 15] = add(add(w[r & 15], s0), add(w[(r + 9) & 15], s1));
    }
    const I t1 =
        add(add(add(i, splat(kRound[r])), add(w[r & 15], choose(e, f, g))), xor3(rotr<6>(e), rotr<11>(e), rotr<25>(e)));
    const I t2 = add(xor3(rotr<2>(a), rotr<13>(a), rotr<22>(a)), majority(a, b, c));
    i = g;
    g = f;
    f = e;
    e = add(d, t1);
    d = c;
    c = b;
    b = a;
    a = add(t1, t2);
  }
  const I out[8] = {a, b, c, d, e, f, g, i};
  for (int k = 0; k < 8; ++k) h[k] = add(h[k], out[k]);
}

// Words [first, first + kLanes) of `lanes` messages of `words` words each, transposed; 0 behind their end.
void load_words(const uint32_t* messages, uint32_t words, uint32_t first, uint32_t lanes, I (&rows)[kLanes]) {
  const ptrdiff_t left = static_cast<ptrdiff_t>(words) - static_cast<ptrdiff_t>(first);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t* const message = messages + size_t{std::min(lane, lanes - 1)} * words;
    rows[lane] = left <= 0 ? splat(0u) : left >= kLanes ? load(message + first) : load_first(message + first, left);
  }
  transpose(rows);
}

}  // namespace

void sha256(const CeilingData& data) {
  const uint32_t* const messages = data.buffer<uint32_t>(0);
  uint32_t* const digests = data.buffer<uint32_t>(1);
  const uint32_t words = data.scalar<uint32_t>(2), count = data.scalar<uint32_t>(3);
  const uint32_t blocks = (words + 3 + 15) / 16;
  for (uint32_t id = 0; id < count; id += kLanes) {
    const uint32_t lanes = std::min<uint32_t>(kLanes, count - id);
    I h[8];
    for (int k = 0; k < 8; ++k) h[k] = splat(kInitial[k]);
    for (uint32_t block = 0; block < blocks; ++block) {
      I w[16];
      for (uint32_t part = 0; part < 16; part += kLanes) {
        I rows[kLanes];
        load_words(messages + size_t{id} * words, words, block * 16 + part, lanes, rows);
        for (uint32_t k = 0; k < kLanes; ++k) w[part + k] = rows[k];
      }
      if (words / 16 == block) w[words % 16] = splat(0x80000000u);
      if (block == blocks - 1) w[15] = splat(words * 32);
      compress(h, w);
    }
    I rows[kLanes];
    for (int k = 0; k < kLanes; ++k) rows[k] = k < 8 ? h[k] : splat(0u);
    transpose(rows);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
#ifdef WAVEJIT_CEILING_AVX512
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(digests + size_t{id + lane} * 8),
                          _mm512_castsi512_si256(rows[lane]));
#else
      store(digests + size_t{id + lane} * 8, rows[lane]);
#endif
    }
  }
}

}  // namespace wavejit::perf::WAVEJIT_CEILING
