// Histograms, merges, binary searches, differences of neighbours, transformations.
#include <algorithm>
#include <numeric>

#include "check.h"

template <class Sample>
void histogram_even(size_t n, unsigned levels) {
  const std::string name =
      std::string("histogram_even of ") + name_of<Sample>() + ", " + std::to_string(levels) + " levels";
  std::vector<Sample> samples = random_values<Sample>(n, n + 1);
  // Some are outside.
  const Sample lower = static_cast<Sample>(sizeof(Sample) == 1 ? -100 : 1000);
  const Sample upper = static_cast<Sample>(sizeof(Sample) == 1 ? 99 : 1000 + 12 * (levels - 1));
  for (Sample& sample : samples) {
    if constexpr (std::is_same_v<Sample, uint32_t>) sample = sample % (upper + 500);
  }
  const Device<Sample> in(samples);
  Device<uint32_t> bins(levels - 1);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::histogram_even(storage, bytes, in.data(), static_cast<unsigned>(n), bins.data(), levels, lower,
                                   upper);
  });
  std::vector<uint32_t> wanted(levels - 1);
  // As in rocPRIM: widths of integers are rounded down, the others are multiplied by the inverse.
  for (const Sample sample : samples) {
    if (sample < lower || sample >= upper) continue;
    if constexpr (std::is_floating_point_v<Sample>) {
      const double scale = static_cast<double>(upper - lower) / (levels - 1);
      ++wanted[static_cast<size_t>((sample - lower) / scale)];
    } else {
      ++wanted[(sample - lower) / ((upper - lower) / static_cast<int>(levels - 1))];
    }
  }
  expect(name, n, bins.read(), wanted);
}

void histogram_range(size_t n) {
  const std::string name = "histogram_range of double";
  const std::vector<double> samples = random_values<double>(n, n + 2);
  const std::vector<double> levels = {-15000, -9000.5, -1, 0, 0.25, 100, 7000, 15000};
  const Device<double> in(samples), levels_in(levels);
  Device<uint32_t> bins(levels.size() - 1);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::histogram_range(storage, bytes, in.data(), static_cast<unsigned>(n), bins.data(),
                                    static_cast<unsigned>(levels.size()), levels_in.data());
  });
  std::vector<uint32_t> wanted(levels.size() - 1);
  for (const double sample : samples) {
    if (sample < levels.front() || sample >= levels.back()) continue;
    ++wanted[std::upper_bound(levels.begin(), levels.end(), sample) - levels.begin() - 1];
  }
  expect(name, n, bins.read(), wanted);
}

// Red, green and blue of pixels that have a fourth byte.
void histogram_channels(size_t n) {
  const std::string name = "multi_histogram_even";
  const std::vector<uint8_t> samples = random_values<uint8_t>(4 * n, n + 3);
  const Device<uint8_t> in(samples);
  Device<uint32_t> red(256), green(256), blue(256);
  uint32_t* bins[3] = {red.data(), green.data(), blue.data()};
  unsigned levels[3] = {257, 257, 257};
  int lower[3] = {0, 0, 0}, upper[3] = {256, 256, 256};
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::multi_histogram_even<4, 3>(storage, bytes, in.data(), static_cast<unsigned>(n), bins, levels, lower,
                                               upper);
  });
  for (int channel = 0; channel < 3; ++channel) {
    std::vector<uint32_t> wanted(256);
    for (size_t i = 0; i < n; ++i) ++wanted[samples[4 * i + channel]];
    expect(name, n, (channel == 0 ? red : channel == 1 ? green : blue).read(), wanted);
  }
}

template <class Key, class Value>
void merge(size_t n) {
  const std::string name = std::string("merge of ") + name_of<Key>() + " with " + name_of<Value>();
  const size_t n1 = n / 3;
  std::vector<Key> keys = random_values<Key>(n, n + 4);
  std::sort(keys.begin(), keys.begin() + n1);
  std::sort(keys.begin() + n1, keys.end());
  const std::vector<Value> values = random_values<Value>(n, n + 5);
  const Device<Key> in(keys);
  const Device<Value> values_in(values);
  Device<Key> out(n);
  Device<Value> values_out(n);
  // Every work-item of rocPRIM 5.3's partition_kernel writes an index, beyond the memory that it has asked for.
  with_storage(
      name.c_str(),
      [&](void* storage, size_t& bytes) {
        return rocprim::merge(storage, bytes, in.data(), in.data() + n1, out.data(), values_in.data(),
                              values_in.data() + n1, values_out.data(), n1, n - n1, rocprim::less<Key>{});
      },
      4096);
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  std::vector<Key> merged(n);
  std::vector<Value> carried(n);
  for (size_t i = 0; i < n; ++i) merged[i] = keys[order[i]], carried[i] = values[order[i]];
  expect(name + ", keys", n, out.read(), merged);
  expect(name + ", values", n, values_out.read(), carried);
}

template <class T>
void bounds(size_t n) {
  const std::string name = std::string("bounds in ") + name_of<T>();
  std::vector<T> haystack = random_values<T>(n, n + 6);
  std::sort(haystack.begin(), haystack.end());
  std::vector<T> needles = random_values<T>(n / 2 + 1, n + 7);
  for (size_t i = 0; i < std::min(n, needles.size()); i += 2) needles[i] = haystack[i];
  const Device<T> in(haystack), needles_in(needles);
  Device<uint32_t> lower(needles.size()), upper(needles.size());
  Device<uint8_t> found(needles.size());
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::lower_bound(storage, bytes, in.data(), needles_in.data(), lower.data(), n, needles.size());
  });
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::upper_bound(storage, bytes, in.data(), needles_in.data(), upper.data(), n, needles.size());
  });
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::binary_search(storage, bytes, in.data(), needles_in.data(), found.data(), n, needles.size());
  });
  std::vector<uint32_t> wanted_lower, wanted_upper;
  std::vector<uint8_t> wanted_found;
  for (const T needle : needles) {
    const auto [first, last] = std::equal_range(haystack.begin(), haystack.end(), needle);
    wanted_lower.push_back(static_cast<uint32_t>(first - haystack.begin()));
    wanted_upper.push_back(static_cast<uint32_t>(last - haystack.begin()));
    wanted_found.push_back(first != last);
  }
  expect("lower " + name, n, lower.read(), wanted_lower);
  expect("upper " + name, n, upper.read(), wanted_upper);
  expect("binary_search, " + name, n, found.read(), wanted_found);
}

template <class T>
void neighbours(size_t n) {
  const std::string name = std::string("adjacent_difference of ") + name_of<T>();
  const std::vector<T> values = random_values<T>(n, n + 8);
  const Device<T> in(values);
  Device<T> out(n), both(n);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::adjacent_difference(storage, bytes, in.data(), out.data(), n, rocprim::minus<T>{});
  });
  hip(rocprim::transform(in.data(), out.data(), both.data(), n, rocprim::plus<T>{}), "transform");
  std::vector<T> wanted(n), wanted_both(n);
  for (size_t i = 0; i < n; ++i) {
    wanted[i] = static_cast<T>(i == 0 ? values[0] : values[i] - values[i - 1]);
    wanted_both[i] = static_cast<T>(values[i] + wanted[i]);
  }
  expect(name, n, out.read(), wanted);
  expect("transform, after " + name, n, both.read(), wanted_both);
}

int main(int argc, char** argv) {
  for (const size_t n : sizes_of(argc, argv)) {
    histogram_even<uint32_t>(n, 257);
    merge<uint32_t, uint32_t>(n);
    if constexpr (kAll) {
      histogram_even<uint32_t>(n, 10'001);  // does not fit LDS
      histogram_even<int8_t>(n, 200);
      histogram_even<double>(n, 65);
      histogram_range(n);
      histogram_channels(n);
      merge<int8_t, double>(n);
      merge<double, Map12>(n);
      merge<uint16_t, Map24>(n);
      bounds<uint32_t>(n);
      bounds<int8_t>(n);
      bounds<double>(n);
      neighbours<int8_t>(n);
      neighbours<uint32_t>(n);
      neighbours<double>(n);
    }
  }
  return finish();
}
