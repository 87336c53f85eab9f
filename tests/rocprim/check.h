// What the programs here share: buffers with a guard behind them, random input, types and operators that are not the
// usual ones, the comparison with the host. WAVEJIT_ROCPRIM_SAMPLE leaves most types out, as each takes seconds to
// compile.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <rocprim/rocprim.hpp>
#include <string>
#include <vector>

#ifdef WAVEJIT_ROCPRIM_SAMPLE
constexpr bool kAll = false;
#else
constexpr bool kAll = true;
#endif

inline int failures = 0;
inline long checks = 0;

inline void hip(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::printf("%s: %s\n", what, hipGetErrorName(error));
  std::exit(1);
}

// ---- types

// x -> a * x + b in integers modulo 2^32 or 2^64: 12 and 24 bytes, and to compose them is associative, not commutative.
struct Map12 {
  uint32_t a, b, steps;
};
struct Map24 {
  uint64_t a, b;
  uint32_t steps, padding;
};
struct Compose {
  template <class M>
  __host__ __device__ M operator()(const M& first, const M& second) const {
    M both{};
    both.a = first.a * second.a;
    both.b = first.b * second.a + second.b;
    both.steps = first.steps + second.steps;
    return both;
  }
};
inline bool operator==(const Map12& x, const Map12& y) {
  return x.a == y.a && x.b == y.b && x.steps == y.steps;
}
inline bool operator==(const Map24& x, const Map24& y) {
  return x.a == y.a && x.b == y.b && x.steps == y.steps;
}
template <class M>
struct IsMap : std::false_type {};
template <>
struct IsMap<Map12> : std::true_type {};
template <>
struct IsMap<Map24> : std::true_type {};

// Sums of doubles are those of multiples of 1/64, exact in any order.
template <class T>
T combine(const T& a, const T& b) {
  if constexpr (IsMap<T>::value) {
    return Compose{}(a, b);
  } else {
    return static_cast<T>(a + b);
  }
}
template <class T>
using Operator = std::conditional_t<IsMap<T>::value, Compose, rocprim::plus<T>>;

// rocPRIM's reductions, those by key aside, take operators that commute.
struct EachField {
  template <class M>
  __host__ __device__ M operator()(const M& x, const M& y) const {
    M both{};
    both.a = x.a * y.a;
    both.b = x.b ^ y.b;
    both.steps = x.steps + y.steps;
    return both;
  }
};
template <class T>
T combine_in_any_order(const T& a, const T& b) {
  if constexpr (IsMap<T>::value) {
    return EachField{}(a, b);
  } else {
    return static_cast<T>(a + b);
  }
}
template <class T>
using AnyOrderOperator = std::conditional_t<IsMap<T>::value, EachField, rocprim::plus<T>>;

// ---- input

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1d >> 11;
  }

 private:
  uint64_t state_;
};

template <class T>
T random_value(Random& random) {
  if constexpr (IsMap<T>::value) {
    T map{};
    map.a = static_cast<decltype(map.a)>(random.next() | 1);
    map.b = static_cast<decltype(map.b)>(random.next());
    map.steps = 1;
    return map;
  } else if constexpr (std::is_floating_point_v<T>) {
    return (static_cast<T>(random.next() % 2'000'001) - 1'000'000) / 64;
  } else {
    return static_cast<T>(random.next());
  }
}

template <class T>
std::vector<T> random_values(size_t n, uint64_t seed) {
  Random random(seed);
  std::vector<T> values(n);
  for (T& value : values) value = random_value<T>(random);
  return values;
}

// Runs of equal keys, of 1 to 1 + `longest` elements.
inline std::vector<uint32_t> random_runs(size_t n, size_t longest, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> keys;
  uint32_t key = 0;
  while (keys.size() < n) {
    const size_t length = std::min(1 + random.next() % longest, n - keys.size());
    keys.insert(keys.end(), length, key);
    key += 1 + static_cast<uint32_t>(random.next() % 3);
  }
  return keys;
}

// Beginnings of segments, the last one's end behind them; some are empty.
inline std::vector<uint32_t> random_segments(size_t n, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> offsets{0};
  while (offsets.back() < n) {
    const size_t length = random.next() % 7 == 0 ? 0 : random.next() % (random.next() % 16 == 0 ? 9000 : 300);
    offsets.push_back(static_cast<uint32_t>(std::min<size_t>(n, offsets.back() + length)));
  }
  return offsets;
}

// ---- device memory

template <class T>
class Device {
 public:
  explicit Device(size_t n) : n_(n) {
    hip(hipMalloc(&pointer_, n * sizeof(T) + kGuard), "hipMalloc");
    hip(hipMemset(pointer_, kByte, n * sizeof(T) + kGuard), "hipMemset");
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) {
    hip(hipMemcpy(pointer_, values.data(), n_ * sizeof(T), hipMemcpyHostToDevice), "hipMemcpy");
  }
  ~Device() { (void)hipFree(pointer_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] T* data() const { return pointer_; }
  // The first `n` elements.
  [[nodiscard]] std::vector<T> read(size_t n) const {
    std::vector<uint8_t> bytes(n_ * sizeof(T) + kGuard);
    hip(hipMemcpy(bytes.data(), pointer_, bytes.size(), hipMemcpyDeviceToHost), "hipMemcpy");
    for (size_t i = n_ * sizeof(T); i < bytes.size(); ++i) {
      if (bytes[i] == kByte) continue;
      std::printf("written behind %zu elements of %zu bytes\n", n_, sizeof(T));
      ++failures;
      break;
    }
    std::vector<T> values(n);
    std::memcpy(values.data(), bytes.data(), n * sizeof(T));
    return values;
  }
  [[nodiscard]] std::vector<T> read() const { return read(n_); }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr uint8_t kByte = 0xA5;
  T* pointer_ = nullptr;
  size_t n_;
};

// rocPRIM's two calls: how much temporary memory, and the work, which may use `beyond` more bytes.
template <class Call>
void with_storage(const char* what, Call call, size_t beyond = 0) {
  size_t bytes = 0;
  hip(call(nullptr, bytes), what);
  Device<uint8_t> storage(bytes + beyond);
  hip(call(static_cast<void*>(storage.data()), bytes), what);
  hip(hipDeviceSynchronize(), what);
  (void)storage.read();  // looks at the guard
}

// ---- comparison

template <class T>
void expect(const std::string& what, size_t n, const std::vector<T>& got, const std::vector<T>& wanted) {
  ++checks;
  if (got.size() == wanted.size() && std::equal(got.begin(), got.end(), wanted.begin())) return;
  ++failures;
  if (got.size() != wanted.size()) {
    std::printf("%s, %zu elements: %zu results instead of %zu\n", what.c_str(), n, got.size(), wanted.size());
    return;
  }
  const size_t at = std::mismatch(got.begin(), got.end(), wanted.begin()).first - got.begin();
  std::printf("%s, %zu elements: element %zu of %zu is wrong", what.c_str(), n, at, got.size());
  if constexpr (std::is_arithmetic_v<T>) std::printf(": %.17g instead of %.17g", double(got[at]), double(wanted[at]));
  std::printf("\n");
}

template <class T>
const char* name_of() {
  if constexpr (IsMap<T>::value) return sizeof(T) == 12 ? "12 bytes" : "24 bytes";
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? "float" : "double";
  constexpr const char* kNames[2][4] = {{"uint8", "uint16", "uint32", "uint64"}, {"int8", "int16", "int32", "int64"}};
  return kNames[std::is_signed_v<T>][sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3];
}

// ---- a program

// Sizes up to the one in the program's argument, that one included.
inline std::vector<size_t> sizes_of(int argc, char** argv) {
  const size_t largest = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'003;
  std::vector<size_t> sizes;
  for (const size_t n : {0, 1, 2, 63, 64, 65, 255, 1023, 4097, 65'537, 1'000'003}) {
    if (n < largest) sizes.push_back(n);
  }
  sizes.push_back(largest);
  return sizes;
}

inline int finish() {
  std::printf("%ld checks, %d failures\n", checks, failures);
  return failures > 0 || checks == 0;
}
