// Pinned host memory with all flags, device addresses of it, registered memory, write-combined and coherent kinds.
#include <vector>

#include "check.h"

__global__ void square(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * in[i];
}

void run(const int* in, int* out, int n) {
  square<<<(n + 127) / 128, 128>>>(in, out, n);
  HIP(hipDeviceSynchronize());
}

int main() {
  const int n = 5000, bytes = n * sizeof(int);
  const unsigned kinds[] = {
      hipHostMallocDefault,     hipHostMallocPortable,
      hipHostMallocMapped,      hipHostMallocWriteCombined,
      hipHostMallocNumaUser,    hipHostMallocCoherent,
      hipHostMallocNonCoherent, hipHostMallocPortable | hipHostMallocMapped | hipHostMallocCoherent};
  for (const unsigned kind : kinds) {
    int *host, *result, *device = nullptr, *device_result = nullptr;
    HIP(hipHostMalloc(&host, bytes, kind));
    HIP(hipHostMalloc(&result, bytes, kind));
    HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), host, 0));
    HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&device_result), result, 0));
    unsigned flags = ~0u;
    HIP(hipHostGetFlags(&flags, host));
    CHECK((flags & 7) == (kind & 7));  // the others are not kept
    hipPointerAttribute_t attributes;
    HIP(hipPointerGetAttributes(&attributes, host));
    CHECK(attributes.memoryType == hipMemoryTypeHost && attributes.hostPointer == host);
    CHECK(attributes.devicePointer == device);
    for (int i = 0; i < n; ++i) host[i] = i - 100;
    run(device, device_result, n);
    for (int i = 0; i < n; ++i) CHECK(result[i] == (i - 100) * (i - 100));
    HIP(hipHostFree(host));
    HIP(hipHostFree(result));
  }
  int* host;
  CHECK(hipHostMalloc(&host, bytes, hipHostMallocCoherent | hipHostMallocNonCoherent) == hipErrorInvalidValue);
  HIP(hipHostMalloc(&host, 0));
  CHECK(host == nullptr);

  // Memory of malloc, from the middle of a page on.
  std::vector<int> own(2 * n);
  int* const begin = own.data() + 3;
  for (int i = 0; i < n; ++i) begin[i] = 7 * i;
  HIP(hipHostRegister(begin, bytes, hipHostRegisterMapped | hipHostRegisterPortable));
  int *device, *out;
  HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), begin, 0));
  HIP(hipMalloc(&out, bytes));
  run(device, out, n);
  std::vector<int> result(n);
  HIP(hipMemcpy(result.data(), out, bytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) CHECK(result[i] == 49 * i * i);
  run(out, device, n);
  for (int i = 0; i < n; ++i) CHECK(begin[i] == static_cast<int>(49u * i * i * 49u * i * i));

  // Other memory has no address of the device as far as HIP knows. Kernels of wavejit see it all the same.
  for (int i = 0; i < n; ++i) result[i] = 3 * i;
  run(result.data(), out, n);
  HIP(hipMemcpy(begin, out, bytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) CHECK(begin[i] == 9 * i * i);
  void* nothing = nullptr;
  CHECK(hipHostGetDevicePointer(&nothing, own.data() + 2 * n - 1, 0) == hipErrorInvalidValue);
  hipPointerAttribute_t attributes;
  CHECK(hipPointerGetAttributes(&attributes, own.data() + 2 * n - 1) == hipErrorInvalidValue);
}
