// y = a*x + y: memory to the device, one kernel, memory back.
#include <vector>

#include "check.h"

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

int main() {
  hipDeviceProp_t device;
  HIP(hipGetDeviceProperties(&device, 0));
  std::printf("device: %s (%s)\n", device.name, device.gcnArchName);

  const int n = 1 << 20;
  const float a = 2;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i) / 1024;
    y[i] = 1;
  }
  float *dx, *dy;
  HIP(hipMalloc(&dx, n * sizeof(float)));
  HIP(hipMalloc(&dy, n * sizeof(float)));
  HIP(hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
  HIP(hipMemcpy(dy, y.data(), n * sizeof(float), hipMemcpyHostToDevice));
  saxpy<<<(n + 255) / 256, 256>>>(n, a, dx, dy);
  HIP(hipGetLastError());
  HIP(hipMemcpy(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost));
  HIP(hipFree(dx));
  HIP(hipFree(dy));

  for (int i = 0; i < n; ++i)
    if (y[i] != a * x[i] + 1) {
      std::printf("y[%d] is %g instead of %g\n", i, y[i], a * x[i] + 1);
      return 1;
    }
  std::printf("%d values, all as expected; the last is %g\n", n, y[n - 1]);
}
