// Managed variables and memory: advice, prefetching, attributes, host and device taking turns.
#include "check.h"

__managed__ int shared_counter = 5;
__managed__ float shared_table[100];

__global__ void turn(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * 2 + 1;
  if (i < 100) shared_table[i] += static_cast<float>(i);
  if (i == 0) ++shared_counter;
}

int main() {
  const int n = 6000;
  int* data;
  HIP(hipMallocManaged(&data, n * sizeof(int), hipMemAttachGlobal));
  HIP(hipMemAdvise(data, n * sizeof(int), hipMemAdviseSetReadMostly, 0));
  HIP(hipMemAdvise(data, n * sizeof(int), hipMemAdviseUnsetReadMostly, 0));
  HIP(hipMemAdvise(data, n * sizeof(int), hipMemAdviseSetPreferredLocation, 0));
  HIP(hipMemAdvise(data, n * sizeof(int), hipMemAdviseSetAccessedBy, 0));
  for (int i = 0; i < n; ++i) data[i] = i;
  for (int i = 0; i < 100; ++i) shared_table[i] = 1000;
  for (int round = 0; round < 5; ++round) {
    HIP(hipMemPrefetchAsync(data, n * sizeof(int), 0, nullptr));
    turn<<<(n + 127) / 128, 128>>>(data, n);
    HIP(hipMemPrefetchAsync(data, n * sizeof(int), hipCpuDeviceId, nullptr));
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < n; ++i) {
      CHECK(data[i] % 2 == 1);
      data[i] += 1;
    }
    shared_counter += 10;
  }
  for (int i = 0; i < n; ++i) CHECK(data[i] == 32 * i + 62);
  CHECK(shared_counter == 5 + 5 * 11);
  for (int i = 0; i < 100; ++i) CHECK(shared_table[i] == static_cast<float>(1000 + 5 * i));
  hipPointerAttribute_t attributes;
  HIP(hipPointerGetAttributes(&attributes, data));
  CHECK(attributes.isManaged == 1);
  HIP(hipFree(data));
}
