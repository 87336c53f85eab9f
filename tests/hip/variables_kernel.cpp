// For module_variables.cpp.
#include <hip/hip_runtime.h>

extern "C" __device__ float weights[64] = {0.5f, 1.5f, 2.5f};
extern "C" __device__ int counter = 41;
extern "C" __global__ void step(float* out) {
  if (threadIdx.x == 0) ++counter;
  __syncthreads();
  out[threadIdx.x] = weights[threadIdx.x] + static_cast<float>(counter);
}
