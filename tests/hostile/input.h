// Bytes that decide: which call comes next, with which arguments. What a fuzzer or a random generator has made is read to
// its end, and then it is all zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace wavejit::hostile {

class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool is_empty() const { return bytes_.empty(); }
  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  bool flag() { return (byte() & 1) != 0; }
  // Less than `limit`, at most 256.
  size_t below(size_t limit) { return limit == 0 ? 0 : byte() % limit; }
  uint64_t word() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }
  // Small ones, powers of two and their neighbours, and any.
  uint64_t number() {
    switch (below(8)) {
      case 0:
        return 0;
      case 1:
        return byte();
      case 2:
        return uint64_t{1} << (byte() % 64);
      case 3:
        return (uint64_t{1} << (byte() % 64)) - 1;
      case 4:
        return ~uint64_t{byte()};
      case 5:
        return 4096 * uint64_t{byte()};
      case 6:
        return word() & 0xffffffff;
      default:
        return word();
    }
  }
  // The next `count` bytes, for another reader.
  Input part(size_t count) {
    count = count < bytes_.size() ? count : bytes_.size();
    Input result(bytes_.first(count));
    bytes_ = bytes_.subspan(count);
    return result;
  }
  [[nodiscard]] size_t size() const { return bytes_.size(); }

 private:
  std::span<const uint8_t> bytes_;
};

// The bytes of a seed, for runs without a fuzzer.
inline std::vector<uint8_t> random_bytes(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

}  // namespace wavejit::hostile
