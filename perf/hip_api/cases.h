// The cases of the comparison, for any way to run the kernels. Device:
//   T* allocate<T>(n)              memory that kernels and the calls below access
//   write(T* to, vector), read(const T* from, n)
//   launch(kernel, Groups, Groups threads, arguments...)
//   wait()                         until all launches have ended
//
// Each case checks its results, prints a line "CASE SIZE LAUNCHES MEDIAN BEST" (microseconds from the first of its
// launches until the last has ended), and ends the program when a result is wrong.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sizes.h"

enum Kernel { kEmpty, kSaxpy, kMatmul, kReduce, kSortHistogram, kSortScan, kSortScatter, kKernels };
inline constexpr const char* kKernelNames[kKernels] = {"empty",          "saxpy",     "matmul",      "reduce",
                                                       "sort_histogram", "sort_scan", "sort_scatter"};

struct Groups {
  unsigned x, y = 1;
};

inline unsigned groups_for(int n, int per_group) {
  return static_cast<unsigned>((n + per_group - 1) / per_group);
}

inline void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "%s: the result is wrong\n", what);
  std::exit(1);
}

template <typename Device>
class Cases {
 public:
  Cases(Device& device, bool tiny) : device_(device), tiny_(tiny) {}

  void run() {
    empty();
    for (const int n : tiny_ ? std::vector<int>{1000} : std::vector<int>{1 << 12, 1 << 16, 1 << 24}) saxpy(n);
    for (const int n : tiny_ ? std::vector<int>{32} : std::vector<int>{64, 512}) matmul(n);
    for (const int n : tiny_ ? std::vector<int>{5000} : std::vector<int>{1 << 16, 1 << 24}) reduction(n);
    for (const int n : tiny_ ? std::vector<int>{5000} : std::vector<int>{1 << 14, 1 << 22}) sort(n);
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Times `launches` launches, which `body` makes; returns how often it was called.
  template <typename Body>
  int measure(const char* name, int n, int launches, Body&& body) {
    using Microseconds = std::chrono::duration<double, std::micro>;
    const auto once = [&] {
      const auto start = Clock::now();
      body();
      device_.wait();
      return Microseconds(Clock::now() - start).count();
    };
    // Until code is translated and caches are warm.
    int calls = 0;
    const auto warm = Clock::now() + (tiny_ ? Clock::duration(0) : std::chrono::milliseconds(200));
    do {
      once();
    } while (++calls < 3 || Clock::now() < warm);
    std::vector<double> times;
    const auto end = Clock::now() + (tiny_ ? Clock::duration(0) : std::chrono::milliseconds(400));
    do {
      times.push_back(once());
    } while (times.size() < 11 || (Clock::now() < end && times.size() < 4001));
    std::sort(times.begin(), times.end());
    std::printf("%s %d %d %.2f %.2f\n", name, n, launches, times[times.size() / 2], times[0]);
    std::fflush(stdout);
    return calls + static_cast<int>(times.size());
  }

  void empty() {
    (void)measure("empty", 1, 1, [&] { device_.launch(kEmpty, {1}, {64}); });
  }

  void saxpy(int n) {
    std::vector<float> x(n), y(n);
    for (int i = 0; i < n; ++i) {
      x[i] = static_cast<float>(i % 7);
      y[i] = static_cast<float>(i % 5);
    }
    auto* const device_x = device_.template allocate<float>(n);
    auto* const device_y = device_.template allocate<float>(n);
    device_.write(device_x, x);
    device_.write(device_y, y);
    const int calls = measure("saxpy", n, 1, [&] {
      device_.launch(kSaxpy, {groups_for(n, kThreads)}, {kThreads}, n, 2.0f, static_cast<const float*>(device_x),
                     device_y);
    });
    const std::vector<float> result = device_.read(device_y, n);
    for (int i = 0; i < n; ++i) expect(result[i] == y[i] + static_cast<float>(calls) * 2 * x[i], "saxpy");
    device_.release(device_x);
    device_.release(device_y);
  }

  // Of small integers, so that sums are exact in any order.
  void matmul(int n) {
    std::vector<float> a(n * n), b(n * n);
    for (int i = 0; i < n * n; ++i) {
      a[i] = static_cast<float>(i % 11 - 5);
      b[i] = static_cast<float>(i % 13 - 6);
    }
    auto* const device_a = device_.template allocate<float>(n * n);
    auto* const device_b = device_.template allocate<float>(n * n);
    auto* const device_c = device_.template allocate<float>(n * n);
    device_.write(device_a, a);
    device_.write(device_b, b);
    const unsigned tiles = static_cast<unsigned>(n / kTile);
    (void)measure("matmul", n, 1, [&] {
      device_.launch(kMatmul, {tiles, tiles}, {kTile, kTile}, static_cast<const float*>(device_a),
                     static_cast<const float*>(device_b), device_c, n);
    });
    std::vector<float> c(n * n);
    for (int row = 0; row < n; ++row)
      for (int k = 0; k < n; ++k)
        for (int column = 0; column < n; ++column) c[row * n + column] += a[row * n + k] * b[k * n + column];
    expect(device_.read(device_c, n * n) == c, "matmul");
    device_.release(device_a);
    device_.release(device_b);
    device_.release(device_c);
  }

  // Sums of parts, sums of those, until there is one.
  void reduction(int n) {
    const std::vector<unsigned> values = random(n);
    auto* const in = device_.template allocate<unsigned>(n);
    unsigned* const parts[2] = {device_.template allocate<unsigned>(groups_for(n, kReducePerGroup)),
                                device_.template allocate<unsigned>(groups_for(n, kReducePerGroup))};
    device_.write(in, values);
    int launches = 0;
    for (unsigned left = n; left > 1 || launches == 0; ++launches)
      left = groups_for(static_cast<int>(left), kReducePerGroup);
    (void)measure("reduction", n, launches, [&] {
      const unsigned* from = in;
      int left = n;
      for (int i = 0; i < launches; ++i) {
        const unsigned groups = groups_for(left, kReducePerGroup);
        device_.launch(kReduce, {groups}, {kThreads}, from, parts[i % 2], left);
        from = parts[i % 2];
        left = static_cast<int>(groups);
      }
    });
    unsigned sum = 0;
    for (const unsigned value : values) sum += value;
    expect(device_.read(parts[(launches - 1) % 2], 1)[0] == sum, "reduction");
    device_.release(in);
    device_.release(parts[0]);
    device_.release(parts[1]);
  }

  void sort(int n) {
    std::vector<unsigned> keys = random(n);
    const unsigned groups = groups_for(n, kKeysPerGroup);
    auto* const in = device_.template allocate<unsigned>(n);
    auto* const counts = device_.template allocate<unsigned>(kDigits * groups);
    unsigned* const out[2] = {device_.template allocate<unsigned>(n), device_.template allocate<unsigned>(n)};
    device_.write(in, keys);
    constexpr int kPasses = 32 / kDigitBits;
    (void)measure("sort", n, 3 * kPasses, [&] {
      const unsigned* from = in;
      for (int pass = 0; pass < kPasses; ++pass) {
        const int shift = pass * kDigitBits;
        device_.launch(kSortHistogram, {groups}, {kThreads}, from, counts, n, shift);
        device_.launch(kSortScan, {1}, {kThreads}, counts, static_cast<int>(kDigits * groups));
        device_.launch(kSortScatter, {groups}, {kThreads}, from, static_cast<const unsigned*>(counts), out[pass % 2], n,
                       shift);
        from = out[pass % 2];
      }
    });
    std::sort(keys.begin(), keys.end());
    expect(device_.read(out[(kPasses - 1) % 2], n) == keys, "sort");
    device_.release(in);
    device_.release(counts);
    device_.release(out[0]);
    device_.release(out[1]);
  }

  static std::vector<unsigned> random(int n) {
    std::vector<unsigned> values(n);
    uint64_t state = 42;
    for (unsigned& value : values) {
      state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth, MMIX
      value = static_cast<unsigned>(state >> 32);
    }
    return values;
  }

  Device& device_;
  const bool tiny_;
};
