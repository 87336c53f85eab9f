// Philox4x32-10: J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
#include "source.h"

namespace wavejit::rocrand {

PhiloxBlock philox4x32_10(PhiloxBlock c, uint32_t key0, uint32_t key1) {
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

namespace {

// rocRAND hands out one sequence: four numbers of each counter, the seed is the key.
class Philox final : public Source {
 public:
  Philox(uint64_t seed, uint64_t offset) : seed_(seed), next_(offset) {}

  std::vector<uint32_t> draw(size_t groups, unsigned width, bool rest) override {
    std::vector<uint32_t> numbers((groups + rest) * width);
    PhiloxBlock block{};
    uint64_t have = ~uint64_t{0};
    for (uint32_t& number : numbers) {
      const uint64_t counter = next_ / 4;
      if (counter != have) {
        block = philox4x32_10({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0},
                              static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32));
        have = counter;
      }
      number = block.word[next_++ % 4];
    }
    return numbers;
  }

 private:
  uint64_t seed_, next_;
};

}  // namespace

std::unique_ptr<Source> make_philox4x32_10(uint64_t seed, uint64_t offset) {
  return std::make_unique<Philox>(seed, offset);
}

}  // namespace wavejit::rocrand
