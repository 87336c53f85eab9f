// Device-wide reductions: of all, by key, of segments, and runs.
#include <numeric>

#include "check.h"

template <class T>
void reduce(size_t n) {
  const std::string name = std::string("reduce of ") + name_of<T>();
  const std::vector<T> values = random_values<T>(n, n + 1);
  Random random(n + 2);
  const T init = random_value<T>(random);
  const Device<T> in(values);
  Device<T> out(1);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::reduce(storage, bytes, in.data(), out.data(), init, n, AnyOrderOperator<T>{});
  });
  expect(name, n, out.read(), {std::accumulate(values.begin(), values.end(), init, combine_in_any_order<T>)});
}

template <class T>
void by_key(size_t n) {
  const std::string name = std::string("reduce_by_key of ") + name_of<T>();
  const std::vector<uint32_t> keys = random_runs(n, n % 2 == 1 ? 20 : 5000, n + 3);
  const std::vector<T> values = random_values<T>(n, n + 4);
  const Device<uint32_t> keys_in(keys);
  const Device<T> in(values);
  Device<uint32_t> unique(n), count(1);
  Device<T> sums(n);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::reduce_by_key(storage, bytes, keys_in.data(), in.data(), n, unique.data(), sums.data(),
                                  count.data(), Operator<T>{});
  });
  std::vector<uint32_t> wanted_keys;
  std::vector<T> wanted;
  for (size_t i = 0; i < n; ++i) {
    if (i > 0 && keys[i] == keys[i - 1]) {
      wanted.back() = combine(wanted.back(), values[i]);
    } else {
      wanted_keys.push_back(keys[i]);
      wanted.push_back(values[i]);
    }
  }
  expect(name + ", count", n, count.read(), {static_cast<uint32_t>(wanted.size())});
  expect(name + ", keys", n, unique.read(wanted.size()), wanted_keys);
  expect(name, n, sums.read(wanted.size()), wanted);
}

template <class T>
void segmented(size_t n) {
  const std::string name = std::string("segmented_reduce of ") + name_of<T>();
  const std::vector<T> values = random_values<T>(n, n + 5);
  const std::vector<uint32_t> offsets = random_segments(n, n + 6);
  const size_t segments = offsets.size() - 1;
  Random random(n + 7);
  const T init = random_value<T>(random);
  const Device<T> in(values);
  const Device<uint32_t> begins(offsets);
  Device<T> out(segments);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::segmented_reduce(storage, bytes, in.data(), out.data(), segments, begins.data(), begins.data() + 1,
                                     AnyOrderOperator<T>{}, init);
  });
  std::vector<T> wanted;
  for (size_t s = 0; s < segments; ++s) {
    wanted.push_back(
        std::accumulate(values.begin() + offsets[s], values.begin() + offsets[s + 1], init, combine_in_any_order<T>));
  }
  expect(name, n, out.read(), wanted);
}

template <class T>
void runs(size_t n) {
  const std::string name = std::string("run_length_encode of ") + name_of<T>();
  const std::vector<uint32_t> keys = random_runs(n, n % 2 == 1 ? 4 : 3000, n + 8);
  std::vector<T> values;
  for (const uint32_t key : keys) values.push_back(static_cast<T>(key));
  const Device<T> in(values);
  Device<T> unique(n);
  Device<uint32_t> lengths(n), count(1), offsets(n), long_lengths(n), long_count(1);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::run_length_encode(storage, bytes, in.data(), n, unique.data(), lengths.data(), count.data());
  });
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::run_length_encode_non_trivial_runs(storage, bytes, in.data(), n, offsets.data(),
                                                       long_lengths.data(), long_count.data());
  });
  std::vector<T> wanted;
  std::vector<uint32_t> wanted_lengths, wanted_offsets, wanted_long;
  for (size_t i = 0; i < n;) {
    size_t end = i + 1;
    while (end < n && values[end] == values[i]) ++end;
    wanted.push_back(values[i]);
    wanted_lengths.push_back(static_cast<uint32_t>(end - i));
    if (end - i > 1) {
      wanted_offsets.push_back(static_cast<uint32_t>(i));
      wanted_long.push_back(static_cast<uint32_t>(end - i));
    }
    i = end;
  }
  expect(name + ", count", n, count.read(), {static_cast<uint32_t>(wanted.size())});
  expect(name, n, unique.read(wanted.size()), wanted);
  expect(name + ", lengths", n, lengths.read(wanted.size()), wanted_lengths);
  expect(name + ", count of non-trivial runs", n, long_count.read(), {static_cast<uint32_t>(wanted_long.size())});
  expect(name + ", non-trivial runs", n, offsets.read(wanted_long.size()), wanted_offsets);
  expect(name + ", lengths of non-trivial runs", n, long_lengths.read(wanted_long.size()), wanted_long);
}

int main(int argc, char** argv) {
  for (const size_t n : sizes_of(argc, argv)) {
    reduce<double>(n);
    by_key<uint32_t>(n);
    if constexpr (kAll) {
      reduce<int8_t>(n);
      reduce<uint32_t>(n);
      reduce<Map12>(n);
      reduce<Map24>(n);
      by_key<int8_t>(n);
      by_key<double>(n);
      by_key<Map12>(n);
      by_key<Map24>(n);
      runs<uint32_t>(n);
      runs<int8_t>(n);
      runs<double>(n);
      if (n == 0) continue;  // a grid without work-groups
      segmented<int8_t>(n);
      segmented<double>(n);
      segmented<Map24>(n);
    }
  }
  return finish();
}
