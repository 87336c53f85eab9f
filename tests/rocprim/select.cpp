// Device-wide selections, partitions, and the first ones of equal elements.
#include "check.h"

struct Third {
  template <class T>
  __host__ __device__ bool operator()(const T& value) const {
    if constexpr (IsMap<T>::value) {
      return value.b % 3 == 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      return value > 5000;
    } else {
      return static_cast<unsigned>(value) % 3 == 0;
    }
  }
};
struct Odd {
  __host__ __device__ bool operator()(uint32_t value) const { return value % 2 == 1; }
};

// What is selected, in order.
template <class T, class Wanted>
std::vector<T> selected(const std::vector<T>& values, Wanted wanted) {
  std::vector<T> result;
  for (size_t i = 0; i < values.size(); ++i) {
    if (wanted(i)) result.push_back(values[i]);
  }
  return result;
}

template <class T>
void select(size_t n) {
  const std::string name = std::string("select of ") + name_of<T>();
  const std::vector<T> values = random_values<T>(n, n + 1);
  std::vector<uint8_t> flags;
  Random random(n + 2);
  for (size_t i = 0; i < n; ++i) flags.push_back(random.next() % 5 == 0);
  const Device<T> in(values);
  const Device<uint8_t> flags_in(flags);
  Device<T> by_flag(n), by_predicate(n);
  Device<uint32_t> count(1), predicate_count(1);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::select(storage, bytes, in.data(), flags_in.data(), by_flag.data(), count.data(), n);
  });
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::select(storage, bytes, in.data(), by_predicate.data(), predicate_count.data(), n, Third{});
  });
  const std::vector<T> flagged = selected(values, [&](size_t i) { return flags[i] != 0; });
  const std::vector<T> chosen = selected(values, [&](size_t i) { return Third{}(values[i]); });
  expect(name + " by flag, count", n, count.read(), {static_cast<uint32_t>(flagged.size())});
  expect(name + " by flag", n, by_flag.read(flagged.size()), flagged);
  expect(name + " by predicate, count", n, predicate_count.read(), {static_cast<uint32_t>(chosen.size())});
  expect(name + " by predicate", n, by_predicate.read(chosen.size()), chosen);
}

template <class T>
void partition(size_t n) {
  const std::string name = std::string("partition of ") + name_of<T>();
  const std::vector<T> values = random_values<T>(n, n + 3);
  const Device<T> in(values);
  Device<T> out(n);
  Device<uint32_t> count(1);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::partition(storage, bytes, in.data(), out.data(), count.data(), n, Third{});
  });
  std::vector<T> wanted = selected(values, [&](size_t i) { return Third{}(values[i]); });
  expect(name + ", count", n, count.read(), {static_cast<uint32_t>(wanted.size())});
  // The others are behind them from the last to the first.
  const std::vector<T> others = selected(values, [&](size_t i) { return !Third{}(values[i]); });
  wanted.insert(wanted.end(), others.rbegin(), others.rend());
  expect(name, n, out.read(), wanted);
}

void partition_three_way(size_t n) {
  const std::string name = "partition_three_way";
  const std::vector<uint32_t> values = random_values<uint32_t>(n, n + 4);
  const Device<uint32_t> in(values);
  Device<uint32_t> first(n), second(n), third(n), counts(2);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::partition_three_way(storage, bytes, in.data(), first.data(), second.data(), third.data(),
                                        counts.data(), n, Third{}, Odd{});
  });
  const std::vector<uint32_t> a = selected(values, [&](size_t i) { return Third{}(values[i]); });
  const std::vector<uint32_t> b = selected(values, [&](size_t i) { return !Third{}(values[i]) && Odd{}(values[i]); });
  const std::vector<uint32_t> c = selected(values, [&](size_t i) { return !Third{}(values[i]) && !Odd{}(values[i]); });
  expect(name + ", counts", n, counts.read(), {static_cast<uint32_t>(a.size()), static_cast<uint32_t>(b.size())});
  expect(name + ", first part", n, first.read(a.size()), a);
  expect(name + ", second part", n, second.read(b.size()), b);
  expect(name + ", rest", n, third.read(c.size()), c);
}

template <class Key, class Value>
void unique(size_t n) {
  const std::string name = std::string("unique of ") + name_of<Key>() + " with " + name_of<Value>();
  std::vector<Key> keys;
  for (const uint32_t key : random_runs(n, n % 2 == 1 ? 4 : 3000, n + 5)) keys.push_back(static_cast<Key>(key));
  const std::vector<Value> values = random_values<Value>(n, n + 6);
  const Device<Key> in(keys);
  const Device<Value> values_in(values);
  Device<Key> out(n), by_key(n);
  Device<Value> values_out(n);
  Device<uint32_t> count(1), count_by_key(1);
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::unique(storage, bytes, in.data(), out.data(), count.data(), n);
  });
  with_storage(name.c_str(), [&](void* storage, size_t& bytes) {
    return rocprim::unique_by_key(storage, bytes, in.data(), values_in.data(), by_key.data(), values_out.data(),
                                  count_by_key.data(), n);
  });
  const auto is_first = [&](size_t i) { return i == 0 || !(keys[i] == keys[i - 1]); };
  const std::vector<Key> wanted = selected(keys, is_first);
  expect(name + ", count", n, count.read(), {static_cast<uint32_t>(wanted.size())});
  expect(name, n, out.read(wanted.size()), wanted);
  expect(name + ", count by key", n, count_by_key.read(), {static_cast<uint32_t>(wanted.size())});
  expect(name + ", keys", n, by_key.read(wanted.size()), wanted);
  expect(name + ", values", n, values_out.read(wanted.size()), selected(values, is_first));
}

int main(int argc, char** argv) {
  for (const size_t n : sizes_of(argc, argv)) {
    select<uint32_t>(n);
    partition<Map12>(n);
    if constexpr (kAll) {
      select<int8_t>(n);
      select<double>(n);
      select<Map24>(n);
      partition<int8_t>(n);
      partition<uint32_t>(n);
      partition<double>(n);
      partition<Map24>(n);
      partition_three_way(n);
      unique<int8_t, double>(n);
      unique<uint32_t, Map12>(n);
      unique<double, uint16_t>(n);
    }
  }
  return finish();
}
