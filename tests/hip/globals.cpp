// Variables of the device, constants, and global constructors of the host's.
#include <vector>

#include "check.h"

__device__ int counter = 5;
__device__ float table[1000];
__constant__ int factors[16];

__global__ void use(int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = factors[i % 16] * i;
  table[i] = static_cast<float>(out[i]);
  atomicAdd(&counter, 1);
}

int main() {
  int host_factors[16];
  for (int i = 0; i < 16; ++i) host_factors[i] = i * i + 1;
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(factors), host_factors, sizeof host_factors));
  int* out;
  HIP(hipMalloc(&out, 960 * sizeof(int)));
  use<<<15, 64>>>(out);
  int count = 0;
  HIP(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), sizeof count));
  CHECK(count == 965);
  std::vector<float> copy(960);
  HIP(hipMemcpyFromSymbol(copy.data(), HIP_SYMBOL(table), 960 * sizeof(float)));
  for (int i = 0; i < 960; ++i) CHECK(copy[i] == static_cast<float>(host_factors[i % 16] * i));
  void* address = nullptr;
  size_t bytes = 0;
  HIP(hipGetSymbolAddress(&address, HIP_SYMBOL(table)));
  HIP(hipGetSymbolSize(&bytes, HIP_SYMBOL(table)));
  CHECK(address != nullptr && bytes == sizeof(float) * 1000);
}
