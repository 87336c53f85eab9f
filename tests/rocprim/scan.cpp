// Device-wide scans (decoupled look-back), by key, of segments; integers, and an operator that does not commute.
#include "check.h"

template <class T>
void scan(size_t n) {
  const std::string name = std::string("scan of ") + name_of<T>();
  const std::vector<T> values = random_values<T>(n, n + 1);
  Random random(n + 2);
  const T init = random_value<T>(random);
  const Device<T> in(values);
  Device<T> inclusive(n), exclusive(n);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::inclusive_scan(storage, bytes, in.data(), inclusive.data(), n, Operator<T>{});
  });
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::exclusive_scan(storage, bytes, in.data(), exclusive.data(), init, n, Operator<T>{});
  });
  std::vector<T> sums(n), before(n);
  T sum = init;
  for (size_t i = 0; i < n; ++i) {
    before[i] = sum;
    sum = combine(sum, values[i]);
    sums[i] = i == 0 ? values[0] : combine(sums[i - 1], values[i]);
  }
  expect("inclusive " + name, n, inclusive.read(), sums);
  expect("exclusive " + name, n, exclusive.read(), before);
}

template <class T>
void by_key(size_t n) {
  const std::string name = std::string("scan by key of ") + name_of<T>();
  const std::vector<uint32_t> keys = random_runs(n, n % 2 == 1 ? 20 : 5000, n + 3);
  const std::vector<T> values = random_values<T>(n, n + 4);
  Random random(n + 5);
  const T init = random_value<T>(random);
  const Device<uint32_t> keys_in(keys);
  const Device<T> in(values);
  Device<T> inclusive(n), exclusive(n);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::inclusive_scan_by_key(storage, bytes, keys_in.data(), in.data(), inclusive.data(), n,
                                          Operator<T>{});
  });
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::exclusive_scan_by_key(storage, bytes, keys_in.data(), in.data(), exclusive.data(), init, n,
                                          Operator<T>{});
  });
  std::vector<T> sums(n), before(n);
  for (size_t i = 0; i < n; ++i) {
    const bool first = i == 0 || keys[i] != keys[i - 1];
    sums[i] = first ? values[i] : combine(sums[i - 1], values[i]);
    before[i] = first ? init : combine(before[i - 1], values[i - 1]);
  }
  expect("inclusive " + name, n, inclusive.read(), sums);
  expect("exclusive " + name, n, exclusive.read(), before);
}

template <class T>
void segmented(size_t n) {
  const std::string name = std::string("segmented_inclusive_scan of ") + name_of<T>();
  const std::vector<T> values = random_values<T>(n, n + 6);
  const std::vector<uint32_t> offsets = random_segments(n, n + 7);
  const Device<T> in(values);
  const Device<uint32_t> begins(offsets);
  Device<T> out(n);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::segmented_inclusive_scan(storage, bytes, in.data(), out.data(), offsets.size() - 1, begins.data(),
                                             begins.data() + 1, Operator<T>{});
  });
  std::vector<T> sums = values;
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    for (size_t i = offsets[s] + 1; i < offsets[s + 1]; ++i) sums[i] = combine(sums[i - 1], sums[i]);
  }
  expect(name, n, out.read(), sums);
}

int main(int argc, char** argv) {
  for (const size_t n : sizes_of(argc, argv)) {
    scan<uint32_t>(n);
    by_key<Map12>(n);
    if constexpr (kAll) {
      scan<int8_t>(n);
      scan<double>(n);
      scan<Map12>(n);
      scan<Map24>(n);
      by_key<int8_t>(n);
      by_key<double>(n);
      by_key<Map24>(n);
      if (n == 0) continue;  // a grid without work-groups
      segmented<uint32_t>(n);
      segmented<double>(n);
      segmented<Map12>(n);
    }
  }
  return finish();
}
