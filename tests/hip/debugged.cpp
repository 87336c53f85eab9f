// What runs under gdb: debugged good | outside | endless
#include <cstring>
#include <vector>

#include "check.h"

__global__ void add(int* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += i;
}
__global__ void outside(int* p) {
  p[1 << 20] = 1;
}
__global__ void endless(volatile int* p) {
  while (*p == 0) {
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const int n = 4096;
  std::vector<int> host(n);
  HIP(hipHostRegister(host.data(), n * sizeof(int), hipHostRegisterMapped));
  int* device;
  HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), host.data(), 0));
  for (int round = 0; round < 20; ++round) add<<<n / 256, 256>>>(device, n);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < n; ++i) CHECK(host[i] == 20 * i);
  if (std::strcmp(argv[1], "outside") == 0) outside<<<1, 1>>>(device);
  if (std::strcmp(argv[1], "endless") == 0) {
    int* flag;
    HIP(hipHostMalloc(&flag, sizeof *flag));
    *flag = 0;
    endless<<<1, 1>>>(flag);
  }
  HIP(hipDeviceSynchronize());
  HIP(hipHostUnregister(host.data()));
  std::printf("done\n");
}
