// Device-wide sorts: radix and merge, keys alone and with values, ascending and descending, some bits only, segments.
#include <algorithm>
#include <numeric>

#include "check.h"

template <class Key, class Value>
void radix(size_t n) {
  const std::string name = std::string("radix_sort of ") + name_of<Key>() + " with " + name_of<Value>();
  // Few different keys, so that values show whether equal ones keep their order.
  std::vector<Key> keys = random_values<Key>(n, n + 1);
  if (n % 2 == 1) {
    for (Key& key : keys) key = static_cast<Key>(static_cast<int>(key) % 100);
  }
  const std::vector<Value> values = random_values<Value>(n, n + 2);
  std::vector<size_t> order(n);
  const Device<Key> in(keys);
  const Device<Value> values_in(values);
  for (const bool descending : {false, true}) {
    Device<Key> out(n);
    Device<Value> values_out(n);
    with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
      return descending ? rocprim::radix_sort_pairs_desc(storage, bytes, in.data(), out.data(), values_in.data(),
                                                         values_out.data(), n)
                        : rocprim::radix_sort_pairs(storage, bytes, in.data(), out.data(), values_in.data(),
                                                    values_out.data(), n);
    });
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return descending ? keys[b] < keys[a] : keys[a] < keys[b]; });
    std::vector<Key> sorted(n);
    std::vector<Value> carried(n);
    for (size_t i = 0; i < n; ++i) sorted[i] = keys[order[i]], carried[i] = values[order[i]];
    expect(name + ", keys", n, out.read(), sorted);
    expect(name + ", values", n, values_out.read(), carried);
    if (!descending) {
      Device<Key> alone(n);
      with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
        return rocprim::radix_sort_keys(storage, bytes, in.data(), alone.data(), n);
      });
      expect(name + ", keys alone", n, alone.read(), sorted);
    }
  }
}

void radix_bits(size_t n) {
  const std::vector<uint32_t> keys = random_values<uint32_t>(n, n + 3);
  const Device<uint32_t> in(keys);
  Device<uint32_t> out(n);
  with_storage("radix_sort of bits 5 to 17", [&](void* storage, size_t& bytes) {
    return rocprim::radix_sort_keys(storage, bytes, in.data(), out.data(), n, 5, 17);
  });
  std::vector<uint32_t> sorted = keys;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](uint32_t a, uint32_t b) { return (a >> 5 & 0xfff) < (b >> 5 & 0xfff); });
  expect("radix_sort of bits 5 to 17", n, out.read(), sorted);
}

struct FewerLowBits {
  template <class T>
  __host__ __device__ bool operator()(const T& a, const T& b) const {
    if constexpr (IsMap<T>::value) {
      return (a.b & 0xfff) < (b.b & 0xfff);
    } else {
      return a < b;
    }
  }
};

template <class Key>
void merge(size_t n) {
  const std::string name = std::string("merge_sort of ") + name_of<Key>();
  const std::vector<Key> keys = random_values<Key>(n, n + 4);
  std::vector<uint32_t> values(n);
  std::iota(values.begin(), values.end(), 0);
  const Device<Key> in(keys);
  const Device<uint32_t> values_in(values);
  Device<Key> out(n);
  Device<uint32_t> values_out(n);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::merge_sort(storage, bytes, in.data(), out.data(), values_in.data(), values_out.data(), n,
                               FewerLowBits{});
  });
  std::stable_sort(values.begin(), values.end(),
                   [&](uint32_t a, uint32_t b) { return FewerLowBits{}(keys[a], keys[b]); });
  std::vector<Key> sorted(n);
  for (size_t i = 0; i < n; ++i) sorted[i] = keys[values[i]];
  expect(name + ", keys", n, out.read(), sorted);
  expect(name + ", values", n, values_out.read(), values);
}

template <class Key>
void segmented(size_t n) {
  const std::string name = std::string("segmented_radix_sort of ") + name_of<Key>();
  const std::vector<Key> keys = random_values<Key>(n, n + 5);
  const std::vector<uint32_t> offsets = random_segments(n, n + 6);
  const Device<Key> in(keys);
  const Device<uint32_t> begins(offsets);
  Device<Key> out(n);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::segmented_radix_sort_keys(storage, bytes, in.data(), out.data(), n, offsets.size() - 1,
                                              begins.data(), begins.data() + 1);
  });
  std::vector<Key> sorted = keys;
  for (size_t s = 0; s + 1 < offsets.size(); ++s)
    std::sort(sorted.begin() + offsets[s], sorted.begin() + offsets[s + 1]);
  expect(name, n, out.read(), sorted);
}

int main(int argc, char** argv) {
  for (const size_t n : sizes_of(argc, argv)) {
    radix<uint32_t, uint32_t>(n);
    merge<Map12>(n);
    if constexpr (kAll) {
      radix<int8_t, double>(n);
      radix<uint16_t, uint8_t>(n);
      radix<float, Map12>(n);
      radix<double, Map24>(n);
      radix<int64_t, uint16_t>(n);
      radix_bits(n);
      merge<int8_t>(n);
      merge<double>(n);
      merge<Map24>(n);
      segmented<uint32_t>(n);
      segmented<int8_t>(n);
      segmented<double>(n);
    }
  }
  return finish();
}
