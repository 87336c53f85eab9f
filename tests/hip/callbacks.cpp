// Kernels of the program call a function of a loaded code object, as those of rocFFT call what their users give them.
#include <cstdint>

#include "check.h"

using Callback = float (*)(const float*, size_t, const float*);

__global__ void sum_rows(Callback load, const float* data, const float* factor, float* sums) {
  __shared__ float parts[256];
  const size_t i = blockIdx.x * size_t{256} + threadIdx.x;
  parts[threadIdx.x] = threadIdx.x % 3 == 0 ? load(data, i, factor) : 0;
  __syncthreads();
  for (unsigned n = 128; n != 0; n /= 2) {
    if (threadIdx.x < n) parts[threadIdx.x] += parts[threadIdx.x + n];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}

// argv[1]: a code object with the variables `callback`, the function's address, and `calls`, which the function counts.
int main(int argc, char** argv) {
  CHECK(argc == 2);
  constexpr int kRows = 40;
  float *data, *sums;
  HIP(hipHostMalloc(&data, (kRows * 256 + 1) * sizeof(float)));
  HIP(hipHostMalloc(&sums, kRows * sizeof(float)));
  for (int i = 0; i < kRows * 256; ++i) data[i] = static_cast<float>(i / 256);
  float* const factor = data + kRows * 256;
  for (int round = 1; round < 4; ++round) {
    hipModule_t module;
    HIP(hipModuleLoad(&module, argv[1]));
    hipDeviceptr_t callback, calls;
    size_t bytes = 0;
    HIP(hipModuleGetGlobal(&callback, &bytes, module, "callback"));
    CHECK(bytes == sizeof(uint64_t));
    HIP(hipModuleGetGlobal(&calls, &bytes, module, "calls"));
    Callback function;
    HIP(hipMemcpyDtoH(&function, callback, sizeof function));
    *factor = static_cast<float>(round);
    hipLaunchKernelGGL(sum_rows, dim3(kRows), dim3(256), 0, nullptr, function, data, factor, sums);
    HIP(hipDeviceSynchronize());
    for (int row = 0; row < kRows; ++row) CHECK(sums[row] == static_cast<float>(row * round * 86));
    int count = 0;
    HIP(hipMemcpyDtoH(&count, calls, sizeof count));
    CHECK(count == kRows * 86);
    HIP(hipModuleUnload(module));
  }
  std::puts("ok");
}
