// What kernels use of rocPRIM: sorts, scans, reductions, exchanges and histograms of a work-group, and those of a wave.
#include <algorithm>
#include <numeric>

#include "check.h"

template <class T, unsigned Size, unsigned Items>
__global__ void sort_kernel(const T* in, T* out, uint32_t* ranks) {
  using Sort = rocprim::block_radix_sort<T, Size, Items, uint32_t>;
  __shared__ typename Sort::storage_type storage;
  T keys[Items];
  uint32_t values[Items];
  const unsigned begin = blockIdx.x * Size * Items;
  rocprim::block_load_direct_blocked(threadIdx.x, in + begin, keys);
  for (unsigned i = 0; i < Items; ++i) values[i] = threadIdx.x * Items + i;
  Sort().sort(keys, values, storage);
  rocprim::block_store_direct_blocked(threadIdx.x, out + begin, keys);
  rocprim::block_store_direct_blocked(threadIdx.x, ranks + begin, values);
}

template <class T, unsigned Size, unsigned Items>
__global__ void scan_kernel(const T* in, T* inclusive, T* exclusive, T* sums, T init) {
  using Scan = rocprim::block_scan<T, Size>;
  using Reduce = rocprim::block_reduce<T, Size>;
  using Load = rocprim::block_load<T, Size, Items, rocprim::block_load_method::block_load_transpose>;
  using Store = rocprim::block_store<T, Size, Items, rocprim::block_store_method::block_store_transpose>;
  __shared__ union {
    typename Scan::storage_type scan;
    typename Reduce::storage_type reduce;
    typename Load::storage_type load;
    typename Store::storage_type store;
  } storage;
  T values[Items], results[Items], sum;
  const unsigned begin = blockIdx.x * Size * Items;
  Load().load(in + begin, values, storage.load);
  __syncthreads();
  Scan().inclusive_scan(values, results, storage.scan, Operator<T>{});
  __syncthreads();
  Store().store(inclusive + begin, results, storage.store);
  __syncthreads();
  Scan().exclusive_scan(values, results, init, storage.scan, Operator<T>{});
  __syncthreads();
  Store().store(exclusive + begin, results, storage.store);
  __syncthreads();
  Reduce().reduce(values, sum, storage.reduce, Operator<T>{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class T, unsigned Size, unsigned Items>
__global__ void exchange_kernel(const T* in, T* striped, uint32_t* histogram, uint32_t* heads) {
  using Exchange = rocprim::block_exchange<T, Size, Items>;
  using Histogram = rocprim::block_histogram<uint8_t, Size, Items, 16>;
  using Discontinuity = rocprim::block_discontinuity<T, Size>;
  __shared__ union {
    typename Exchange::storage_type exchange;
    typename Histogram::storage_type histogram;
    typename Discontinuity::storage_type discontinuity;
  } storage;
  __shared__ uint32_t bins[16];
  T values[Items], moved[Items];
  uint8_t digits[Items];
  uint32_t flags[Items];
  const unsigned begin = blockIdx.x * Size * Items;
  rocprim::block_load_direct_blocked(threadIdx.x, in + begin, values);
  for (unsigned i = 0; i < Items; ++i) digits[i] = static_cast<uint8_t>(values[i]) & 15;
  Exchange().blocked_to_striped(values, moved, storage.exchange);
  rocprim::block_store_direct_blocked(threadIdx.x, striped + begin, moved);
  __syncthreads();
  Histogram().histogram(digits, bins, storage.histogram);
  __syncthreads();
  if (threadIdx.x < 16) histogram[blockIdx.x * 16 + threadIdx.x] = bins[threadIdx.x];
  Discontinuity().flag_heads(flags, values, rocprim::not_equal_to<T>{}, storage.discontinuity);
  rocprim::block_store_direct_blocked(threadIdx.x, heads + begin, flags);
}

// Logical waves of `Width` lanes.
template <class T, unsigned Width>
__global__ void warp_kernel(const T* in, T* inclusive, T* sums, T* sorted) {
  using Scan = rocprim::warp_scan<T, Width>;
  using Reduce = rocprim::warp_reduce<T, Width>;
  constexpr unsigned kWaves = 256 / Width;
  __shared__ typename Scan::storage_type scan[kWaves];
  __shared__ typename Reduce::storage_type reduce[kWaves];
  const unsigned i = blockIdx.x * 256 + threadIdx.x, wave = threadIdx.x / Width;
  T value = in[i], result;
  Scan().inclusive_scan(value, result, scan[wave], Operator<T>{});
  inclusive[i] = result;
  Reduce().reduce(value, result, reduce[wave], Operator<T>{});
  if (threadIdx.x % Width == 0) sums[i / Width] = result;
  if constexpr (!IsMap<T>::value) {
    using Sort = rocprim::warp_sort<T, Width>;
    __shared__ typename Sort::storage_type sort[kWaves];
    Sort().sort(value, sort[wave]);
    sorted[i] = value;
  }
}

template <class T, unsigned Size, unsigned Items>
std::string title(const char* what) {
  return std::string(what) + " of " + name_of<T>() + ", " + std::to_string(Size) + " x " + std::to_string(Items);
}

// Inclusive scans of tiles by themselves, and what is at their ends.
template <class T>
struct TileScans {
  std::vector<T> scan, sums;
  TileScans(const std::vector<T>& values, size_t tile) : scan(values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i % tile != 0) scan[i] = combine(scan[i - 1], values[i]);
      if (i % tile == tile - 1) sums.push_back(scan[i]);
    }
  }
};

template <class T, unsigned Size, unsigned Items>
void block_sort(unsigned blocks) {
  const std::string name = title<T, Size, Items>("block_radix_sort");
  const unsigned tile = Size * Items;
  const size_t n = size_t{blocks} * tile;
  std::vector<T> keys = random_values<T>(n, Size + Items);
  for (size_t i = 0; i < n; i += 3) keys[i] = keys[0];
  const Device<T> in(keys);
  Device<T> out(n);
  Device<uint32_t> ranks(n);
  sort_kernel<T, Size, Items><<<blocks, Size>>>(in.data(), out.data(), ranks.data());
  hip(hipDeviceSynchronize(), name.c_str());
  std::vector<T> wanted(n);
  std::vector<uint32_t> wanted_ranks(n);
  for (size_t begin = 0; begin < n; begin += tile) {
    const auto order = wanted_ranks.begin() + begin;
    std::iota(order, order + tile, 0);
    std::stable_sort(order, order + tile, [&](uint32_t a, uint32_t b) { return keys[begin + a] < keys[begin + b]; });
    for (unsigned i = 0; i < tile; ++i) wanted[begin + i] = keys[begin + order[i]];
  }
  expect(name + ", keys", n, out.read(), wanted);
  expect(name + ", values", n, ranks.read(), wanted_ranks);
}

template <class T, unsigned Size, unsigned Items>
void block_scan(unsigned blocks) {
  const std::string name = title<T, Size, Items>("block_scan");
  const unsigned tile = Size * Items;
  const size_t n = size_t{blocks} * tile;
  const std::vector<T> values = random_values<T>(n, Size + Items + 1);
  Random random(Size);
  const T init = random_value<T>(random);
  const Device<T> in(values);
  Device<T> inclusive(n), exclusive(n), sums(blocks);
  scan_kernel<T, Size, Items><<<blocks, Size>>>(in.data(), inclusive.data(), exclusive.data(), sums.data(), init);
  hip(hipDeviceSynchronize(), name.c_str());
  const TileScans<T> wanted(values, tile);
  std::vector<T> wanted_exclusive(n, init);
  for (size_t i = 0; i < n; ++i)
    if (i % tile != 0) wanted_exclusive[i] = combine(wanted_exclusive[i - 1], values[i - 1]);
  expect(name + ", inclusive", n, inclusive.read(), wanted.scan);
  expect(name + ", exclusive", n, exclusive.read(), wanted_exclusive);
  expect(name + ", block_reduce", n, sums.read(), wanted.sums);
}

template <class T, unsigned Size, unsigned Items>
void block_exchange(unsigned blocks) {
  const std::string name = title<T, Size, Items>("block_exchange");
  const unsigned tile = Size * Items;
  const size_t n = size_t{blocks} * tile;
  std::vector<T> values;
  for (const uint32_t key : random_runs(n, 5, Size)) values.push_back(static_cast<T>(key));
  const Device<T> in(values);
  Device<T> striped(n);
  Device<uint32_t> histogram(size_t{blocks} * 16), heads(n);
  exchange_kernel<T, Size, Items><<<blocks, Size>>>(in.data(), striped.data(), histogram.data(), heads.data());
  hip(hipDeviceSynchronize(), name.c_str());
  std::vector<T> wanted(n);
  std::vector<uint32_t> wanted_bins(size_t{blocks} * 16), wanted_heads(n);
  for (size_t i = 0; i < n; ++i) {
    const size_t block = i / tile, at = i % tile;
    // Item k of thread t is number k * Size + t.
    wanted[i] = values[block * tile + at % Items * Size + at / Items];
    ++wanted_bins[block * 16 + (static_cast<uint8_t>(values[i]) & 15)];
    wanted_heads[i] = at == 0 || values[i] != values[i - 1];
  }
  expect(name, n, striped.read(), wanted);
  expect(name + ", block_histogram", n, histogram.read(), wanted_bins);
  expect(name + ", block_discontinuity", n, heads.read(), wanted_heads);
}

template <class T, unsigned Width>
void warp(unsigned blocks) {
  const std::string name = std::string("warp_scan of ") + name_of<T>() + ", " + std::to_string(Width) + " lanes";
  const size_t n = size_t{blocks} * 256;
  const std::vector<T> values = random_values<T>(n, Width);
  const Device<T> in(values);
  Device<T> inclusive(n), sums(n / Width), sorted(n);
  warp_kernel<T, Width><<<blocks, 256>>>(in.data(), inclusive.data(), sums.data(), sorted.data());
  hip(hipDeviceSynchronize(), name.c_str());
  const TileScans<T> wanted(values, Width);
  expect(name, n, inclusive.read(), wanted.scan);
  expect(name + ", warp_reduce", n, sums.read(), wanted.sums);
  if constexpr (!IsMap<T>::value) {
    std::vector<T> wanted_sorted = values;
    for (size_t i = 0; i < n; i += Width) std::sort(wanted_sorted.begin() + i, wanted_sorted.begin() + i + Width);
    expect(name + ", warp_sort", n, sorted.read(), wanted_sorted);
  }
}

int main(int argc, char** argv) {
  const unsigned blocks = static_cast<unsigned>(sizes_of(argc, argv).back() / 2000 + 1);
  block_scan<uint32_t, 256, 4>(blocks);
  warp<Map12, 64>(blocks);
  warp<int8_t, 32>(blocks);
  if constexpr (kAll) {
    block_sort<uint32_t, 256, 4>(blocks);
    block_sort<int8_t, 64, 3>(blocks);
    block_sort<double, 192, 5>(blocks);
    block_sort<float, 1024, 1>(blocks);
    block_scan<int8_t, 1024, 2>(blocks);
    block_scan<double, 192, 3>(blocks);
    block_scan<Map12, 64, 7>(blocks);
    block_scan<Map24, 256, 2>(blocks);
    block_exchange<uint32_t, 256, 4>(blocks);
    block_exchange<int8_t, 64, 7>(blocks);
    block_exchange<double, 192, 3>(blocks);
    warp<uint32_t, 8>(blocks);
    warp<double, 64>(blocks);
    warp<float, 16>(blocks);
    warp<Map24, 32>(blocks);
    warp<uint16_t, 2>(blocks);
  }
  return finish();
}
