// A kernel, memory in both directions, a partial last work-group.
#include <vector>

#include "check.h"

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

int main() {
  const int n = 1000003;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i);
    y[i] = 1;
  }
  float *dx, *dy;
  HIP(hipMalloc(&dx, n * sizeof(float)));
  HIP(hipMalloc(&dy, n * sizeof(float)));
  HIP(hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
  HIP(hipMemcpy(dy, y.data(), n * sizeof(float), hipMemcpyHostToDevice));
  saxpy<<<(n + 255) / 256, 256>>>(n, 2.f, dx, dy);
  HIP(hipGetLastError());
  HIP(hipMemcpy(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) CHECK(y[i] == 2.f * x[i] + 1);
  HIP(hipFree(dx));
  HIP(hipFree(dy));
}
