// All blocks of a cooperative launch meet at a grid barrier; so do those of another device at the same time, which are fewer.
#include <hip/hip_runtime.h>

// Debian's header of HIP 5.2 still uses names that hip_runtime.h no longer has.
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#include <hip/hip_cooperative_groups.h>

#include <thread>
#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void exchange(int* a, int* b, int n) {
  const cg::grid_group grid = cg::this_grid();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = i;
  grid.sync();
  b[i] = a[n - 1 - i] + a[(i + 256) % n];
  grid.sync();
  a[i] = b[(i + n / 2) % n];
}

void run(int device, int blocks) {
  HIP(hipSetDevice(device));
  int n = blocks * 256;
  int *a, *b;
  HIP(hipMalloc(&a, n * sizeof(int)));
  HIP(hipMalloc(&b, n * sizeof(int)));
  void* arguments[] = {&a, &b, &n};
  for (int round = 0; round < 8; ++round) {
    HIP(hipLaunchCooperativeKernel(reinterpret_cast<const void*>(exchange), dim3(blocks), dim3(256), arguments, 0,
                                   nullptr));
    HIP(hipDeviceSynchronize());
    std::vector<int> result(n);
    HIP(hipMemcpy(result.data(), a, n * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) {
      const int j = (i + n / 2) % n;
      CHECK(result[i] == n - 1 - j + (j + 256) % n);
    }
  }
  HIP(hipFree(a));
  HIP(hipFree(b));
}

int main() {
  int devices = 0;
  HIP(hipGetDeviceCount(&devices));
  std::vector<std::thread> threads;
  for (int device = 0; device < devices; ++device) threads.emplace_back(run, device, 32 - 9 * device);
  for (std::thread& thread : threads) thread.join();
}
