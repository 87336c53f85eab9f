// What HIP costs on wavejit, medians, with a plain loop or memcpy from the same run beside each:
//   wavejit exec [--threads N] -- hip_bench
// Launches of an empty kernel with and without waiting, copies, and SAXPY from launch to completion.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "hip_check.h"

__global__ void empty() {}

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = a * x[i] + y[i];
}

// Microseconds.
template <typename Body>
double median(int rounds, Body&& body) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void launches(hipStream_t stream) {
  const auto launch = [&] { empty<<<1, 64, 0, stream>>>(); };
  for (int i = 0; i < 200; ++i) launch();
  HIP(hipStreamSynchronize(stream));
  std::printf("launch and wait           %8.1f us\n", median(2000, [&] {
                launch();
                HIP(hipStreamSynchronize(stream));
              }));
  std::printf("launch, one of 100        %8.1f us\n", median(100, [&] {
                                                        for (int i = 0; i < 100; ++i) launch();
                                                        HIP(hipStreamSynchronize(stream));
                                                      }) / 100);
}

void copies(size_t bytes) {
  std::vector<char> from(bytes, 1), to(bytes, 2);
  char* device = nullptr;
  HIP(hipMalloc(&device, bytes));
  const int rounds = bytes > 10'000'000 ? 15 : 200;
  const double host = median(rounds, [&] {
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" ::: "memory");
  });
  const double in = median(rounds, [&] { HIP(hipMemcpy(device, from.data(), bytes, hipMemcpyHostToDevice)); });
  const double out = median(rounds, [&] { HIP(hipMemcpy(to.data(), device, bytes, hipMemcpyDeviceToHost)); });
  std::printf("%9zu bytes: to the device %8.1f us, from it %8.1f us, memcpy %8.1f us\n", bytes, in, out, host);
  HIP(hipFree(device));
}

void saxpies(hipStream_t stream, int n) {
  float *x = nullptr, *y = nullptr;
  HIP(hipMalloc(&x, n * sizeof(float)));
  HIP(hipMalloc(&y, n * sizeof(float)));
  HIP(hipMemset(x, 0, n * sizeof(float)));
  HIP(hipMemset(y, 0, n * sizeof(float)));
  const auto run = [&] {
    saxpy<<<(n + 255) / 256, 256, 0, stream>>>(n, 2, x, y);
    HIP(hipStreamSynchronize(stream));
  };
  for (int i = 0; i < 5; ++i) run();
  const int rounds = n > 1'000'000 ? 20 : 300;
  const double device = median(rounds, run);
  std::vector<float> a(n), b(n);
  const double host = median(rounds, [&] {
    for (int i = 0; i < n; ++i) b[i] = 2 * a[i] + b[i];
    asm volatile("" ::: "memory");
  });
  std::printf("%9d elements: SAXPY %8.1f us, a loop on one thread %8.1f us\n", n, device, host);
  HIP(hipFree(x));
  HIP(hipFree(y));
}

int main(int argc, char**) {
  if (argc > 1) {
    std::puts("usage: wavejit exec [--threads N] -- hip_bench");
    return 2;
  }
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  launches(stream);
  for (const size_t bytes : {size_t{4096}, size_t{65'536}, size_t{1} << 20, size_t{64} << 20}) copies(bytes);
  for (const int n : {1 << 12, 1 << 16, 1 << 20, 1 << 24}) saxpies(stream, n);
  HIP(hipStreamDestroy(stream));
}
