// MTGP32, period 2^11213 - 1: M. Saito and M. Matsumoto, "Variants of Mersenne Twister suitable for graphic
// processors", 2013.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// rocRAND's copy of the parameter sets that the authors publish; functions for the device come with it.
#define FQUALIFIERS inline
#include <rocrand/rocrand_mtgp32_11213.h>

namespace wavejit::rocrand {

class Twister {
 public:
  static constexpr size_t kWords = 351;

  Twister(const mtgp32_params_fast_t& parameters, uint32_t seed) : parameters_(&parameters) {
    const uint32_t hidden = parameters.tbl[4] ^ parameters.tbl[8] << 16;
    uint32_t fill = hidden;
    fill += fill >> 16;
    fill += fill >> 8;
    words_.fill((fill & 0xff) * 0x01010101u);
    words_[0] = seed;
    words_[1] = hidden;
    for (uint32_t i = 1; i < kWords; ++i) words_[i] ^= 1812433253u * (words_[i - 1] ^ words_[i - 1] >> 30) + i;
  }

  uint32_t next() {
    const mtgp32_params_fast_t& p = *parameters_;
    // All sets of one period have the same mask.
    uint32_t x = (at(0) & mtgp32dc_params_fast_11213[0].mask) ^ at(1);
    x ^= x << p.sh1;
    const uint32_t y = x ^ at(p.pos) >> p.sh2;
    const uint32_t made = y ^ p.tbl[y & 15];
    uint32_t t = at(p.pos - 1);
    t ^= t >> 16;
    t ^= t >> 8;
    words_[first_] = made;
    first_ = first_ + 1 < kWords ? first_ + 1 : 0;
    return made ^ p.tmp_tbl[t & 15];
  }

 private:
  [[nodiscard]] uint32_t at(int distance) const {
    const size_t i = first_ + static_cast<size_t>(distance);
    return words_[i < kWords ? i : i - kWords];
  }

  const mtgp32_params_fast_t* parameters_;
  std::array<uint32_t, kWords> words_;
  size_t first_ = 0;
};

}  // namespace wavejit::rocrand
