// Draws the order in which the work-groups and waves of a launch have their turns from a seed. Every drawn order is one
// that hardware could choose. On one thread, equal seeds give equal orders.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>

namespace wavejit::runtime {

// Pseudo-random numbers (splitmix64).
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  [[nodiscard]] uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  [[nodiscard]] uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }
  template <typename T>
  void shuffle(std::span<T> items) {
    for (auto left = static_cast<uint32_t>(items.size()); left > 1; --left)
      std::swap(items[left - 1], items[below(left)]);
  }

 private:
  uint64_t state_;
};

class Schedule {
 public:
  // Seed 0: the default order. `waves`: number per work-group.
  Schedule(uint64_t seed, uint64_t groups, unsigned waves, unsigned device_waves)
      : seed_(seed), groups_(groups), window_(std::clamp(device_waves / 2 / std::max(waves, 1u), 1u, kMaxWindow)) {}

  [[nodiscard]] bool is_drawn() const { return seed_ != 0; }
  [[nodiscard]] uint64_t seed() const { return seed_; }

  // Whether waves go on in translated code at a loop: at some of them, as each place costs a translation.
  [[nodiscard]] bool moves_at(uint64_t pc) const { return Draw(seed_ ^ pc).below(4) == 0; }

  // The work-group that begins as the `turn`-th. Order is drawn within windows: a device holds all work-groups of a
  // window, so they may wait for each other. Work-groups of earlier windows begin earlier.
  [[nodiscard]] uint64_t group(uint64_t turn) const {
    if (!is_drawn()) return turn;
    const uint64_t first = turn - turn % window_;
    std::array<uint32_t, kMaxWindow> order{};
    const std::span<uint32_t> window(order.data(), std::min<uint64_t>(window_, groups_ - first));
    std::iota(window.begin(), window.end(), 0u);
    Draw(seed_ ^ first * 0x2545f4914f6cdd1d).shuffle(window);
    return first + window[turn - first];
  }

 private:
  static constexpr unsigned kMaxWindow = 64;
  uint64_t seed_;
  uint64_t groups_;
  unsigned window_;
};

}  // namespace wavejit::runtime
