// Streams on some of the compute units: masks come back as they were given, and kernels run whatever they are.
#include <vector>

#include "check.h"

__global__ void add(int* data, int value) {
  atomicAdd(&data[threadIdx.x], value);
}

int main() {
  hipDeviceProp_t device;
  HIP(hipGetDeviceProperties(&device, 0));
  const unsigned words = (device.multiProcessorCount + 31) / 32;
  int* data;
  HIP(hipHostMalloc(&data, 64 * sizeof(int)));
  HIP(hipMemset(data, 0, 64 * sizeof(int)));
  for (const unsigned bits : {1u, 0xffu, 0xf0f0u, 0xffffffffu}) {
    const std::vector<unsigned> mask(words, bits);
    hipStream_t stream;
    HIP(hipExtStreamCreateWithCUMask(&stream, words, mask.data()));
    add<<<20, 64, 0, stream>>>(data, 1);
    HIP(hipStreamSynchronize(stream));
    std::vector<unsigned> got(words);
    HIP(hipExtStreamGetCUMask(stream, words, got.data()));
    for (unsigned w = 0; w < words; ++w) {
      const unsigned units = device.multiProcessorCount - 32 * w, exist = units >= 32 ? ~0u : (1u << units) - 1;
      CHECK((got[w] & exist) == (bits & exist));
    }
    HIP(hipStreamDestroy(stream));
  }
  for (int i = 0; i < 64; ++i) CHECK(data[i] == 80);
  hipStream_t stream;
  CHECK(hipExtStreamCreateWithCUMask(&stream, 0, nullptr) != hipSuccess);
}
