// printf on the device.
#include "check.h"

__global__ void hello(int value, double number, const char* text) {
  if (threadIdx.x % 32 == 0)
    printf("block %d thread %d: %d %.3f %s\n", static_cast<int>(blockIdx.x), static_cast<int>(threadIdx.x), value,
           number, text);
}

int main() {
  hello<<<2, 64>>>(42, 2.5, "text");
  HIP(hipDeviceSynchronize());
}
