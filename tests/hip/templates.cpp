// Kernels that are templates and take lambdas, and recursion with large frames on the device's stack.
#include <vector>

#include "check.h"

template <typename T, int kWidth, typename Operation>
__global__ void transform(T* data, int n, Operation operation) {
  for (int i = (blockIdx.x * blockDim.x + threadIdx.x) * kWidth; i < n; i += gridDim.x * blockDim.x * kWidth)
#pragma unroll
    for (int j = 0; j < kWidth; ++j)
      if (i + j < n) data[i + j] = operation(data[i + j], i + j);
}

template <typename T, int kWidth, typename Operation>
void check(Operation operation) {
  const int n = 5003;
  T* data;
  HIP(hipMallocManaged(&data, n * sizeof(T)));
  for (int i = 0; i < n; ++i) data[i] = static_cast<T>(i % 120);
  transform<T, kWidth><<<3, 192>>>(data, n, operation);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < n; ++i) CHECK(data[i] == operation(static_cast<T>(i % 120), i));
  HIP(hipFree(data));
}

template <int kFactor>
struct Scale {
  template <typename T>
  __host__ __device__ T operator()(T value, int) const {
    return static_cast<T>(value * kFactor);
  }
};

// Sorts by recursion; each frame holds a copy of its part.
__host__ __device__ __attribute__((noinline)) void merge_sort(int* data, int n) {
  if (n < 2) return;
  int copy[96];
  for (int i = 0; i < n; ++i) copy[i] = data[i];
  merge_sort(copy, n / 2);
  merge_sort(copy + n / 2, n - n / 2);
  for (int i = 0, a = 0, b = n / 2; i < n; ++i)
    data[i] = b == n || (a < n / 2 && copy[a] <= copy[b]) ? copy[a++] : copy[b++];
}
__host__ __device__ __attribute__((noinline)) unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

__host__ __device__ int element(int thread, int i) {
  return (thread * 31 + i * 57 + i * i) % 101;
}
__global__ void recurse(int* sorted, unsigned* numbers) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x, n = 33 + thread % 64;
  int data[96];
  for (int i = 0; i < n; ++i) data[i] = element(thread, i);
  merge_sort(data, n);
  for (int i = 0; i < n; ++i) sorted[thread * 96 + i] = data[i];
  numbers[thread] = ackermann(thread % 3, thread % 4);
}

int main() {
  const int offset = 17;
  const double factor = 0.25;
  check<int, 1>([=] __host__ __device__(int v, int i) { return v * 3 + i % offset; });
  check<double, 4>([=] __host__ __device__(double v, int i) { return i % 2 ? v * factor : v; });
  check<short, 2>(Scale<7>());
  check<unsigned char, 8>(Scale<3>());
  check<long long, 3>([] __host__ __device__(long long v, int i) { return v << i % 50; });

  const int threads = 128;
  int* sorted;
  unsigned* numbers;
  HIP(hipHostMalloc(&sorted, threads * 96 * sizeof(int)));
  HIP(hipHostMalloc(&numbers, threads * sizeof(unsigned)));
  recurse<<<2, threads / 2>>>(sorted, numbers);
  HIP(hipDeviceSynchronize());
  for (int t = 0; t < threads; ++t) {
    int data[96];
    const int n = 33 + t % 64;
    for (int i = 0; i < n; ++i) data[i] = element(t, i);
    merge_sort(data, n);
    for (int i = 0; i < n; ++i) CHECK(sorted[t * 96 + i] == data[i]);
    CHECK(numbers[t] == ackermann(t % 3, t % 4));
  }
}
