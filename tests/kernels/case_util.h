// Data generators and comparisons for the kernel cases.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel_case.h"

namespace wavejit::kernels {

// SplitMix64 (Steele, Lea, Flood 2014): small, fast and the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }
  double uniform(double low, double high) { return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

inline std::vector<float> random_floats(size_t n, double low, double high, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(random.uniform(low, high));
  return values;
}

inline std::vector<double> random_doubles(size_t n, double low, double high, uint64_t seed) {
  Random random(seed);
  std::vector<double> values(n);
  for (double& v : values) v = random.uniform(low, high);
  return values;
}

template <typename T>
std::vector<T> random_integers(size_t n, uint64_t seed, uint64_t mask = ~uint64_t{0}) {
  Random random(seed);
  std::vector<T> values(n);
  for (T& v : values) v = static_cast<T>(random.next() & mask);
  return values;
}

template <typename T>
Buffer make_buffer(std::string name, const std::vector<T>& values) {
  Buffer buffer{.name = std::move(name), .bytes = std::vector<uint8_t>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(buffer.bytes.data(), values.data(), buffer.bytes.size());
  return buffer;
}

template <typename T>
Buffer filled_buffer(std::string name, size_t count, T value) {
  return make_buffer(std::move(name), std::vector<T>(count, value));
}

inline bool fail(std::string* why, std::string message) {
  if (why != nullptr) *why = std::move(message);
  return false;
}

// Exact comparison (of bits, for floating point).
template <typename T>
bool equal(const Buffer& buffer, const std::vector<T>& want, std::string* why) {
  auto got = buffer.as<T>();
  if (got.size() != want.size())
    return fail(why, fmt::format("{}: {} elements, expected {}", buffer.name, got.size(), want.size()));
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::memcmp(&got[i], &want[i], sizeof(T)) == 0) continue;
    size_t wrong = 0;
    for (size_t k = i; k < want.size(); ++k) wrong += std::memcmp(&got[k], &want[k], sizeof(T)) != 0;
    if constexpr (std::is_floating_point_v<T>)
      return fail(why, fmt::format("{}[{}] = {:.9g}, expected {:.9g} ({} of {} differ)", buffer.name, i,
                                   static_cast<double>(got[i]), static_cast<double>(want[i]), wrong, want.size()));
    else
      return fail(why, fmt::format("{}[{}] = {} ({:#x}), expected {} ({:#x}) ({} of {} differ)", buffer.name, i,
                                   +got[i], +got[i], +want[i], +want[i], wrong, want.size()));
  }
  return true;
}

// |got - want| <= bound(i) for every element; NaN never passes unless wanted.
template <typename T, typename Bound>
bool close(const Buffer& buffer, const std::vector<double>& want, Bound bound, std::string* why) {
  auto got = buffer.as<T>();
  if (got.size() != want.size())
    return fail(why, fmt::format("{}: {} elements, expected {}", buffer.name, got.size(), want.size()));
  for (size_t i = 0; i < want.size(); ++i) {
    double value = static_cast<double>(got[i]);
    if (std::isnan(want[i]) ? std::isnan(value) : (value == want[i] || std::abs(value - want[i]) <= bound(i))) continue;
    return fail(why, fmt::format("{}[{}] = {:.9g}, expected {:.9g} within {:.3g}", buffer.name, i, value, want[i],
                                 static_cast<double>(bound(i))));
  }
  return true;
}

// Distance between a result and a more precise reference in units of the last place of T at the reference.
template <typename T>
double ulps(T got, double want) {
  if (static_cast<double>(got) == want) return 0;
  if (std::isnan(want) && std::isnan(got)) return 0;
  if (!std::isfinite(want) || !std::isfinite(static_cast<double>(got))) {
    return static_cast<T>(want) == got ? 0 : std::numeric_limits<double>::infinity();
  }
  int exponent = std::max(std::ilogb(want == 0 ? static_cast<double>(std::numeric_limits<T>::min()) : want),
                          std::numeric_limits<T>::min_exponent - 1);
  double ulp = std::ldexp(1.0, exponent - (std::numeric_limits<T>::digits - 1));
  return std::abs(static_cast<double>(got) - want) / ulp;
}

// IEEE binary16, round to nearest even.
uint16_t float_to_half(float value);
float half_to_float(uint16_t bits);

// Rounds up to a multiple.
constexpr uint32_t round_up(uint32_t value, uint32_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace wavejit::kernels
