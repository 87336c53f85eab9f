// What XORWOW and MRG32k3a have in common: 2^17 engines far apart in one sequence take turns.
#pragma once

#include <utility>

#include "source.h"

namespace wavejit::rocrand {

constexpr size_t kEngines = 512 * 256;

template <class Engine>
class EngineSource final : public Source {
 public:
  // `engines` are at the beginnings of their sequences.
  EngineSource(std::vector<Engine> engines, uint64_t offset) : engines_(std::move(engines)), start_(offset % kEngines) {
    for (size_t e = 0; e < kEngines; ++e) {
      for (uint64_t skip = offset / kEngines + (e < start_); skip > 0; --skip) engines_[e].next();
    }
  }

  std::vector<uint32_t> draw(size_t groups, unsigned width, bool rest) override {
    const size_t all = groups + rest;
    std::vector<uint32_t> numbers;
    numbers.reserve(all * width);
    for (size_t g = 0; g < all; ++g) {
      Engine& engine = engines_[(start_ + g) % kEngines];
      for (unsigned i = 0; i < width; ++i) numbers.push_back(engine.next());
    }
    start_ = (start_ + all) % kEngines;
    return numbers;
  }

 private:
  std::vector<Engine> engines_;
  size_t start_;
};

}  // namespace wavejit::rocrand
