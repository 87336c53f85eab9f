#include "mtgp32.h"

#include "source.h"

namespace wavejit::rocrand {
namespace {

constexpr size_t kBlocks = 512, kThreads = 256;

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
