// MTGP32, period 2^11213 - 1: M. Saito and M. Matsumoto, "Variants of Mersenne Twister suitable for graphic
// processors", 2013.
#include <array>

#include "source.h"

// rocRAND's copy of the parameter sets that the authors publish; functions for the device come with it.
#define FQUALIFIERS inline
#include <rocrand/rocrand_mtgp32_11213.h>

namespace wavejit::rocrand {
namespace {

constexpr size_t kBlocks = 512, kThreads = 256, kWords = 351;

class Twister {
 public:
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
    first_ = (first_ + 1) % kWords;
    return made ^ p.tmp_tbl[t & 15];
  }

 private:
  [[nodiscard]] uint32_t at(int distance) const { return words_[(first_ + static_cast<size_t>(distance)) % kWords]; }

  const mtgp32_params_fast_t* parameters_;
  std::array<uint32_t, kWords> words_;
  size_t first_ = 0;
};

// Work-group b has the twister of parameter set b, and its 256 work-items take 256 numbers at once. Work-groups make
// 256 groups of outputs in turn.
class Mtgp32 final : public Source {
 public:
  explicit Mtgp32(uint64_t seed) {
    seed ^= seed >> 32;
    for (size_t b = 0; b < kBlocks; ++b) {
      twisters_.emplace_back(mtgp32dc_params_fast_11213[b], static_cast<uint32_t>(seed + b + 1));
    }
  }

  std::vector<uint32_t> draw(size_t groups, unsigned width, bool rest) override {
    std::vector<uint32_t> numbers((groups + rest) * width);
    const size_t rounds = (groups + kThreads - 1) / kThreads;
    for (size_t round = 0; round < rounds; ++round) {
      fill(twisters_[round % kBlocks], width, [&](size_t t, unsigned i, uint32_t number) {
        const size_t group = round * kThreads + t;
        if (group < groups) numbers[group * width + i] = number;
      });
    }
    // Everyone draws once more then; the second work-item behind the last round has the group.
    for (size_t b = 0; rest && b < kBlocks; ++b) {
      fill(twisters_[b], width, [&](size_t t, unsigned i, uint32_t number) {
        if (b == rounds % kBlocks && t == 1) numbers[groups * width + i] = number;
      });
    }
    return numbers;
  }

 private:
  template <class Store>
  static void fill(Twister& twister, unsigned width, Store store) {
    for (unsigned i = 0; i < width; ++i) {
      for (size_t t = 0; t < kThreads; ++t) store(t, i, twister.next());
    }
  }

  std::vector<Twister> twisters_;
};

}  // namespace

std::unique_ptr<Source> make_mtgp32(uint64_t seed) {
  return std::make_unique<Mtgp32>(seed);
}

}  // namespace wavejit::rocrand
