// malloc and free on the device.
#include "check.h"

__global__ void build(int* sums) {
  int* list = static_cast<int*>(malloc(16 * sizeof(int)));
  int sum = -1;
  if (list) {
    sum = 0;
    for (int i = 0; i < 16; ++i) list[i] = static_cast<int>(threadIdx.x) * i;
    for (int i = 0; i < 16; ++i) sum += list[i];
    free(list);
  }
  sums[threadIdx.x] = sum;
}

int main() {
  int* sums;
  HIP(hipHostMalloc(&sums, 64 * sizeof(int)));
  build<<<1, 64>>>(sums);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < 64; ++i) CHECK(sums[i] == 120 * i);
}
