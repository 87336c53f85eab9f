// Block-wise soft-max with dynamic shared memory (its size is given at launch), exp and double accumulation.
#include <hip/hip_runtime.h>

extern "C" __global__ void hip_dynamic_shared(const float* in, float* out, int columns) {
  extern __shared__ float row[];
  __shared__ float largest;
  __shared__ double total;
  const float* mine = in + blockIdx.x * columns;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) row[c] = mine[c];
  __syncthreads();
  if (threadIdx.x == 0) {
    float m = row[0];
    for (int c = 1; c < columns; ++c) m = fmaxf(m, row[c]);
    largest = m;
  }
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += blockDim.x) row[c] = expf(row[c] - largest);
  __syncthreads();
  if (threadIdx.x == 0) {
    double t = 0.0;
    for (int c = 0; c < columns; ++c) t += row[c];
    total = t;
  }
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += blockDim.x) out[blockIdx.x * columns + c] = (float)(row[c] / total);
}
