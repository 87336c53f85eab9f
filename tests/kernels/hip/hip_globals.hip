// Device variables: initialised tables, constant memory, zero-initialised counters and a pointer to another variable.
#include <hip/hip_runtime.h>

__device__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__constant__ float weights[4] = {0.5f, 0.25f, -1.0f, 2.0f};
__device__ unsigned int counter;  // in .bss
__device__ int* table_end = table + 7;

extern "C" __global__ void hip_globals(const float* in, float* out, unsigned int* count_out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i] * weights[i & 3] + (float)table[i & 7] + (float)*(table_end - (i % 5));
  out[i] = v;
  atomicAdd(&counter, 1u);
  // Float atomics, 64-bit atomics and unsafe casts of generic pointers.
  atomicMax((int*)(count_out + 1), i);
  atomicAdd((float*)(count_out + 2), 0.5f);
}

extern "C" __global__ void hip_globals_read(unsigned int* count_out) { count_out[0] = counter; }
