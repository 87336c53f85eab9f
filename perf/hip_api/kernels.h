// The kernels of the comparison: compiled for the device by hipcc, run by HIP and, from the same code object, by the C
// API.
#pragma once

#include <hip/hip_runtime.h>

#include "sizes.h"

extern "C" __global__ void empty() {}

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = a * x[i] + y[i];
}

// c = a * b, n * n elements, n a multiple of kTile.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int tile = 0; tile < n; tile += kTile) {
    a_tile[y][x] = a[row * n + tile + x];
    b_tile[y][x] = b[(tile + y) * n + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += a_tile[y][k] * b_tile[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// One sum for each work-group, of kReducePerGroup elements.
extern "C" __global__ void reduce(const unsigned* in, unsigned* sums, int n) {
  __shared__ unsigned waves[kThreads / 64];
  unsigned sum = 0;
  const int first = blockIdx.x * kReducePerGroup, last = min(n, first + kReducePerGroup);
  for (int i = first + threadIdx.x; i < last; i += kThreads) sum += in[i];
  for (int distance = 32; distance > 0; distance /= 2) sum += __shfl_down(sum, distance);
  if (threadIdx.x % 64 == 0) waves[threadIdx.x / 64] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kThreads / 64; ++w) sum += waves[w];
  sums[blockIdx.x] = sum;
}

// Radix sort, kDigits values of a digit: counts by digit, and in each by work-group; their sums up to there; then each
// key to its place. Keys that are equal in the digit keep their order.
extern "C" __global__ void sort_histogram(const unsigned* keys, unsigned* counts, int n, int shift) {
  __shared__ unsigned histogram[kDigits];
  if (threadIdx.x < kDigits) histogram[threadIdx.x] = 0;
  __syncthreads();
  const int first = blockIdx.x * kKeysPerGroup, last = min(n, first + kKeysPerGroup);
  for (int i = first + threadIdx.x; i < last; i += kThreads)
    atomicAdd(&histogram[keys[i] >> shift & (kDigits - 1)], 1u);
  __syncthreads();
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = histogram[threadIdx.x];
}

// The sum of `value` over the threads before this one, which all of the work-group call.
__device__ unsigned sum_before(unsigned value, unsigned* waves) {
  const unsigned lane = threadIdx.x % 64, wave = threadIdx.x / 64;
  unsigned sum = value;
  for (unsigned distance = 1; distance < 64; distance *= 2) {
    const unsigned other = __shfl_up(sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == 63) waves[wave] = sum;
  __syncthreads();
  for (unsigned w = 0; w < wave; ++w) sum += waves[w];
  __syncthreads();
  return sum - value;
}

// One work-group.
extern "C" __global__ void sort_scan(unsigned* counts, int n) {
  __shared__ unsigned waves[kThreads / 64];
  const int each = (n + kThreads - 1) / kThreads, first = min(n, static_cast<int>(threadIdx.x) * each),
            last = min(n, first + each);
  unsigned sum = 0;
  for (int i = first; i < last; ++i) sum += counts[i];
  unsigned before = sum_before(sum, waves);
  for (int i = first; i < last; ++i) {
    const unsigned count = counts[i];
    counts[i] = before;
    before += count;
  }
}

extern "C" __global__ void sort_scatter(const unsigned* keys, const unsigned* places, unsigned* sorted, int n,
                                        int shift) {
  __shared__ unsigned waves[kThreads / 64];
  __shared__ unsigned ranks[kDigits * kThreads];  // by digit, and in each by thread
  const int first = blockIdx.x * kKeysPerGroup + threadIdx.x * kKeysPerThread;
  unsigned mine[kKeysPerThread];
  for (int digit = 0; digit < kDigits; ++digit) ranks[digit * kThreads + threadIdx.x] = 0;
  for (int i = 0; i < kKeysPerThread; ++i) {
    mine[i] = first + i < n ? keys[first + i] : 0;
    if (first + i < n) ++ranks[(mine[i] >> shift & (kDigits - 1)) * kThreads + threadIdx.x];
  }
  __syncthreads();
  for (int digit = 0; digit < kDigits; ++digit) {
    unsigned& rank = ranks[digit * kThreads + threadIdx.x];
    rank = sum_before(rank, waves) + places[digit * gridDim.x + blockIdx.x];
  }
  for (int i = 0; i < kKeysPerThread; ++i)
    if (first + i < n) sorted[ranks[(mine[i] >> shift & (kDigits - 1)) * kThreads + threadIdx.x]++] = mine[i];
}
