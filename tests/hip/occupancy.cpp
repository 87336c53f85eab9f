// How many blocks fit, launches with what the runtime proposes, and attributes of kernels.
#include "check.h"

__global__ void plain(int* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}
__global__ void __launch_bounds__(256) shared(int* data) {
  __shared__ int tile[8192];
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) tile[i] = i;
  __syncthreads();
  data[threadIdx.x] += tile[8191 - threadIdx.x];
}

int main() {
  hipDeviceProp_t device;
  HIP(hipGetDeviceProperties(&device, 0));
  int grid = 0, block = 0;
  HIP(hipOccupancyMaxPotentialBlockSize(&grid, &block, reinterpret_cast<const void*>(plain), 0, 0));
  CHECK(block >= 64 && block <= 1024 && grid >= device.multiProcessorCount);
  int last = 1 << 30;
  for (const int size : {64, 128, 256, 512, 1024}) {
    int blocks = 0;
    HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(plain), size, 0));
    CHECK(blocks >= 1 && blocks <= last && blocks * size <= device.maxThreadsPerMultiProcessor);
    last = blocks;
  }
  // 32 KiB of LDS of its own and as much again: one block fits into 64 KiB, two without.
  int without = 0, with = 0;
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&without, reinterpret_cast<const void*>(shared), 256, 0));
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&with, reinterpret_cast<const void*>(shared), 256, 32768));
  CHECK(without == 2 && with == 1);

  hipFuncAttributes attributes;
  HIP(hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(shared)));
  CHECK(attributes.sharedSizeBytes == 32768 && attributes.maxThreadsPerBlock == 256 && attributes.numRegs > 0);
  HIP(hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(plain)));
  CHECK(attributes.sharedSizeBytes == 0 && attributes.maxThreadsPerBlock == 1024 && attributes.localSizeBytes == 0);

  int* data;
  HIP(hipHostMalloc(&data, static_cast<size_t>(grid) * 1024 * sizeof(int)));
  HIP(hipMemset(data, 0, static_cast<size_t>(grid) * 1024 * sizeof(int)));
  plain<<<grid, 1024>>>(data);
  shared<<<1, 256>>>(data);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < grid * 1024; ++i) CHECK(data[i] == 1 + (i < 256 ? 8191 - i : 0));
}
