// The sum of an array: shuffles within a wave of 64 lanes, local memory between the waves of a block, one atomic per
// block.
#include <vector>

#include "check.h"

__device__ double wave_sum(double value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down(value, offset);
  return value;  // of lane 0
}

__global__ void sum(const float* data, int n, double* total) {
  __shared__ double waves[16];
  double mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += data[i];
  mine = wave_sum(mine);
  const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  if (lane == 0) waves[wave] = mine;
  __syncthreads();
  if (wave == 0) {
    const double all = wave_sum(lane < static_cast<int>(blockDim.x) / warpSize ? waves[lane] : 0);
    if (lane == 0) atomicAdd(total, all);
  }
}

int main() {
  const int n = 10000019;
  std::vector<float> data(n);
  double expected = 0;
  for (int i = 0; i < n; ++i) expected += data[i] = static_cast<float>(i % 1000) / 8;  // exact in any order
  float* device;
  double* total;
  HIP(hipMalloc(&device, n * sizeof(float)));
  HIP(hipHostMalloc(&total, sizeof *total));  // the host reads it where it is
  HIP(hipMemcpy(device, data.data(), n * sizeof(float), hipMemcpyHostToDevice));
  *total = 0;
  sum<<<240, 256>>>(device, n, total);
  HIP(hipDeviceSynchronize());
  std::printf("the sum of %d numbers is %.3f (expected: %.3f)\n", n, *total, expected);
  return *total == expected ? 0 : 1;
}
