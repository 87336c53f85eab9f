// Memory of the program's own that is registered for devices: kernels use it through the address that HIP gives.
#include <cstdlib>
#include <vector>

#include "check.h"

__global__ void add(int* p, int value, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) p[i] += value;
}

int main() {
  constexpr int count = 5000;
  for (int round = 0; round < 3; ++round) {
    std::vector<int> host(count, round);
    HIP(hipHostRegister(host.data(), count * sizeof(int), hipHostRegisterMapped));
    int* device = nullptr;
    HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), host.data(), 0));
    add<<<(count + 255) / 256, 256>>>(device, 10, count);
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < count; ++i) CHECK(host[i] == round + 10);

    // As the source and the destination of copies.
    int* other = nullptr;
    HIP(hipMalloc(&other, count * sizeof(int)));
    HIP(hipMemcpy(other, host.data(), count * sizeof(int), hipMemcpyDefault));
    add<<<(count + 255) / 256, 256>>>(other, 1, count);
    HIP(hipMemcpyAsync(host.data(), other, count * sizeof(int), hipMemcpyDefault, nullptr));
    HIP(hipStreamSynchronize(nullptr));
    for (int i = 0; i < count; ++i) CHECK(host[i] == round + 11);
    HIP(hipFree(other));

    hipPointerAttribute_t attributes{};
    HIP(hipPointerGetAttributes(&attributes, host.data()));
    CHECK(attributes.hostPointer == host.data() && attributes.devicePointer == device);
    HIP(hipHostUnregister(host.data()));
    for (int i = 0; i < count; ++i) CHECK(host[i] == round + 11);
  }
  CHECK(hipHostRegister(nullptr, 16, 0) != hipSuccess);
}
