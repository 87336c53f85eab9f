// hipExtLaunchKernel with events of its own, launches of functions with extra options, contexts, reset of the device.
#include <hip/hip_ext.h>

#include <vector>

#include "check.h"

__global__ void fill(int* data, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value * i;
}

void round_of(int value) {
  int n = 20000, *data;
  HIP(hipMalloc(&data, n * sizeof(int)));
  hipEvent_t start, stop;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&stop));
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  void* arguments[] = {&data, &value, &n};
  HIP(hipExtLaunchKernel(reinterpret_cast<const void*>(fill), dim3((n + 255) / 256), dim3(256), arguments, 0, stream,
                         start, stop, 0));
  HIP(hipEventSynchronize(stop));
  float ms = -1;
  HIP(hipEventElapsedTime(&ms, start, stop));
  CHECK(ms > 0 && ms < 30000);
  std::vector<int> host(n);
  HIP(hipMemcpy(host.data(), data, n * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) CHECK(host[i] == value * i);
  hipExtLaunchKernelGGL(fill, dim3((n + 63) / 64), dim3(64), 0, stream, nullptr, nullptr, 0, data, value + 1, n);
  HIP(hipStreamSynchronize(stream));
  HIP(hipMemcpy(host.data(), data, n * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) CHECK(host[i] == (value + 1) * i);
  HIP(hipStreamDestroy(stream));
  HIP(hipEventDestroy(start));
  HIP(hipEventDestroy(stop));
  HIP(hipFree(data));
}

int main() {
  round_of(3);
  HIP(hipDeviceReset());
  round_of(4);

  hipDevice_t device;
  HIP(hipDeviceGet(&device, 0));
  hipCtx_t context, current;
  HIP(hipCtxCreate(&context, 0, device));
  HIP(hipCtxGetCurrent(&current));
  CHECK(current == context);
  round_of(5);
  HIP(hipCtxDestroy(context));
  HIP(hipDevicePrimaryCtxRetain(&context, device));
  round_of(6);
  HIP(hipDevicePrimaryCtxRelease(device));
}
