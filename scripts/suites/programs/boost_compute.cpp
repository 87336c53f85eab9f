// Boost.Compute's algorithms on numbers in device memory, compared with those of the C++ library, for sizes around those of waves,
// work-groups and the blocks of the algorithms. Boost.Compute writes the kernels' source when an algorithm is called.
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <algorithm>
#include <boost/compute/algorithm.hpp>
#include <boost/compute/container/vector.hpp>
#include <boost/compute/functional.hpp>
#include <boost/compute/lambda.hpp>
#include <boost/compute/random/mersenne_twister_engine.hpp>
#include <boost/compute/system.hpp>
#include <cstdint>
#include <functional>
#include <iostream>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bc = boost::compute;

namespace {

bc::command_queue& queue() {
  return bc::system::default_queue();
}

// Numbers with repetitions, negative ones included where T has them.
template <typename T>
std::vector<T> numbers(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> out(n);
  for (T& x : out) x = static_cast<T>(static_cast<int32_t>(random() % 2001) - (std::is_signed_v<T> ? 1000 : 0));
  return out;
}

template <typename T>
bc::vector<T> on_device(const std::vector<T>& host) {
  return bc::vector<T>(host.begin(), host.end(), queue());
}

template <typename T>
std::vector<T> on_host(const bc::vector<T>& device, size_t n) {
  std::vector<T> out(n);
  bc::copy(device.begin(), device.begin() + static_cast<ptrdiff_t>(n), out.begin(), queue());
  return out;
}

int failures = 0;

void check(bool right, const std::string& algorithm, const char* type, size_t n) {
  if (right) return;
  ++failures;
  std::cout << algorithm << " of " << n << " numbers of type " << type << " differs\n";
}

template <typename T>
void check_sorting(const char* type, size_t n) {
  std::vector<T> expected = numbers<T>(n, 1);
  bc::vector<T> keys = on_device(expected);
  bc::vector<T> stable = on_device(expected);
  std::vector<std::pair<T, uint32_t>> pairs;
  for (size_t i = 0; i < n; ++i) pairs.emplace_back(expected[i], static_cast<uint32_t>(i));
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  bc::vector<uint32_t> values = on_device(order);

  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(pairs.begin(), pairs.end(), order.begin(), [](const auto& pair) { return pair.second; });
  bc::stable_sort_by_key(stable.begin(), stable.end(), values.begin(), queue());
  check(on_host(values, n) == order, "stable_sort_by_key", type, n);

  std::sort(expected.begin(), expected.end());
  check(on_host(stable, n) == expected, "the keys of stable_sort_by_key", type, n);
  bc::sort(keys.begin(), keys.end(), queue());
  check(on_host(keys, n) == expected, "sort", type, n);
  bc::sort(keys.begin(), keys.end(), bc::greater<T>(), queue());
  check(on_host(keys, n) == std::vector<T>(expected.rbegin(), expected.rend()), "descending sort", type, n);
}

template <typename T>
void check_sums(const char* type, size_t n) {
  const std::vector<T> host = numbers<T>(n, 2);
  const bc::vector<T> device = on_device(host);
  bc::vector<T> out(n, queue().get_context());
  std::vector<T> expected(n);

  std::partial_sum(host.begin(), host.end(), expected.begin());
  bc::inclusive_scan(device.begin(), device.end(), out.begin(), queue());
  check(on_host(out, n) == expected, "inclusive_scan", type, n);

  std::exclusive_scan(host.begin(), host.end(), expected.begin(), T{5});
  bc::exclusive_scan(device.begin(), device.end(), out.begin(), T{5}, queue());
  check(on_host(out, n) == expected, "exclusive_scan", type, n);

  T sum{};
  bc::reduce(device.begin(), device.end(), &sum, queue());
  check(sum == std::accumulate(host.begin(), host.end(), T{}), "reduce", type, n);

  const auto greatest = bc::max_element(device.begin(), device.end(), queue()) - device.begin();
  check(host[static_cast<size_t>(greatest)] == *std::max_element(host.begin(), host.end()), "max_element", type, n);

  std::adjacent_difference(host.begin(), host.end(), expected.begin());
  bc::adjacent_difference(device.begin(), device.end(), out.begin(), queue());
  check(on_host(out, n) == expected, "adjacent_difference", type, n);
}

template <typename T>
void check_selecting(const char* type, size_t n) {
  using bc::lambda::_1;
  const std::vector<T> host = numbers<T>(n, 3);
  bc::vector<T> device = on_device(host);
  bc::vector<T> out(2 * n, queue().get_context());
  std::vector<T> expected;

  std::copy_if(host.begin(), host.end(), std::back_inserter(expected), [](T x) { return x < T{200}; });
  auto end = bc::copy_if(device.begin(), device.end(), out.begin(), _1 < T{200}, queue());
  check(on_host(out, static_cast<size_t>(end - out.begin())) == expected, "copy_if", type, n);

  std::vector<T> sorted = host;
  std::vector<T> other = numbers<T>(n, 4);
  std::sort(sorted.begin(), sorted.end());
  std::sort(other.begin(), other.end());
  bc::vector<T> a = on_device(sorted);
  const bc::vector<T> b = on_device(other);
  const auto compare = [&](const char* name, auto host_call, auto device_call) {
    expected.clear();
    host_call(sorted.begin(), sorted.end(), other.begin(), other.end(), std::back_inserter(expected));
    const auto last = device_call(a.begin(), a.end(), b.begin(), b.end(), out.begin());
    check(on_host(out, static_cast<size_t>(last - out.begin())) == expected, name, type, n);
  };
  compare("merge", [](auto... x) { std::merge(x...); }, [](auto... x) { return bc::merge(x..., queue()); });
  compare("set_union", [](auto... x) { std::set_union(x...); }, [](auto... x) { return bc::set_union(x..., queue()); });
  compare(
      "set_difference", [](auto... x) { std::set_difference(x...); },
      [](auto... x) { return bc::set_difference(x..., queue()); });

  std::vector<T> unique = sorted;
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  end = bc::unique_copy(a.begin(), a.end(), out.begin(), queue());
  check(on_host(out, static_cast<size_t>(end - out.begin())) == unique, "unique_copy", type, n);

  const T middle = sorted[n / 2];
  const auto place = bc::lower_bound(a.begin(), a.end(), middle, queue()) - a.begin();
  check(place == std::lower_bound(sorted.begin(), sorted.end(), middle) - sorted.begin(), "lower_bound", type, n);
}

template <typename T>
void check_all(const char* type) {
  for (const size_t n : {1, 63, 64, 65, 256, 1000, 5000}) {
    check_sorting<T>(type, n);
    check_sums<T>(type, n);
    check_selecting<T>(type, n);
  }
}

}  // namespace

int main() {
  const std::string device = bc::system::default_device().name();
  if (device.rfind("gfx", 0) != 0) {
    std::cout << "Boost.Compute takes " << device << '\n';
    return 1;
  }
  check_all<int32_t>("int32_t");
  check_all<uint32_t>("uint32_t");
  check_all<int64_t>("int64_t");
  check_all<float>("float");  // whole numbers, whose sums are exact

  const size_t n = 3000;
  bc::vector<uint32_t> drawn(n, queue().get_context());
  bc::mt19937 engine(queue(), 7);
  engine.generate(drawn.begin(), drawn.end(), queue());
  std::vector<uint32_t> expected(n);
  std::mt19937 random(7);
  std::generate(expected.begin(), expected.end(), std::ref(random));
  check(on_host(drawn, n) == expected, "mt19937", "uint32_t", n);

  std::cout << failures << " algorithms differ\n";
  return failures == 0 ? 0 : 1;
}
