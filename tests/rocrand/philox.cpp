#include "engines.h"
#include "source.h"

namespace wavejit::rocrand {

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
