// Several devices in one process: work, copies from one to the other, peer access, streams and events of each.
#include <vector>

#include "check.h"

__global__ void fill(int* data, int n, int seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = i * 3 + seed;
}
// Reads another device's memory.
__global__ void add(int* mine, const int* theirs, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) mine[i] += theirs[i];
}
__device__ int number = 1;  // one for each device
__global__ void advance(int by) {
  number += by;
}

int main() {
  int count = 0;
  HIP(hipGetDeviceCount(&count));
  CHECK(count == 2);
  CHECK(hipSetDevice(2) == hipErrorInvalidDevice);
  hipDeviceProp_t properties[2];
  for (int d = 0; d < 2; ++d) HIP(hipGetDeviceProperties(&properties[d], d));
  CHECK(properties[0].pciBusID != properties[1].pciBusID);
  for (int d = 0; d < 2; ++d) {
    char id[32];
    int found = -1;
    HIP(hipDeviceGetPCIBusId(id, sizeof id, d));
    HIP(hipDeviceGetByPCIBusId(&found, id));
    CHECK(found == d);
  }

  const int n = 100001, bytes = n * sizeof(int);
  int* data[2];
  hipStream_t streams[2];
  hipEvent_t events[2];
  for (int d = 0; d < 2; ++d) {
    HIP(hipSetDevice(d));
    int current = -1;
    HIP(hipGetDevice(&current));
    CHECK(current == d);
    HIP(hipMalloc(&data[d], bytes));
    HIP(hipStreamCreate(&streams[d]));
    HIP(hipEventCreate(&events[d]));
    fill<<<(n + 255) / 256, 256, 0, streams[d]>>>(data[d], n, 1000 * d);
    HIP(hipEventRecord(events[d], streams[d]));
    hipPointerAttribute_t attributes;
    HIP(hipPointerGetAttributes(&attributes, data[d]));
    CHECK(attributes.device == d);
  }
  for (int d = 0; d < 2; ++d) {
    HIP(hipSetDevice(d));
    int can = 0;
    HIP(hipDeviceCanAccessPeer(&can, d, 1 - d));
    CHECK(can == 1);
    HIP(hipDeviceCanAccessPeer(&can, d, d));
    CHECK(can == 0);
    HIP(hipDeviceEnablePeerAccess(1 - d, 0));
    CHECK(hipDeviceEnablePeerAccess(1 - d, 0) == hipErrorPeerAccessAlreadyEnabled);
    CHECK(hipDeviceEnablePeerAccess(d, 0) == hipErrorInvalidDevice);
  }
  (void)hipGetLastError();

  // Device 1 waits for device 0's stream, then reads its memory.
  HIP(hipSetDevice(1));
  HIP(hipStreamWaitEvent(streams[1], events[0], 0));
  add<<<(n + 255) / 256, 256, 0, streams[1]>>>(data[1], data[0], n);
  HIP(hipStreamSynchronize(streams[1]));
  std::vector<int> host(n);
  HIP(hipMemcpy(host.data(), data[1], bytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) CHECK(host[i] == 6 * i + 1000);

  HIP(hipMemcpyPeer(data[0], 0, data[1], 1, bytes));
  HIP(hipMemcpy(host.data(), data[0], bytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) CHECK(host[i] == 6 * i + 1000);
  HIP(hipSetDevice(0));
  fill<<<(n + 255) / 256, 256, 0, streams[0]>>>(data[0], n, 5);
  HIP(hipMemcpyPeerAsync(data[1] + 1, 1, data[0], 0, bytes - sizeof(int), streams[0]));
  HIP(hipStreamSynchronize(streams[0]));
  HIP(hipMemcpy(host.data(), data[1], bytes, hipMemcpyDefault));
  CHECK(host[0] == 1000);
  for (int i = 1; i < n; ++i) CHECK(host[i] == 3 * (i - 1) + 5);

  for (int d = 0; d < 2; ++d) {
    HIP(hipSetDevice(d));
    HIP(hipDeviceDisablePeerAccess(1 - d));
    CHECK(hipDeviceDisablePeerAccess(1 - d) == hipErrorPeerAccessNotEnabled);
    advance<<<1, 1>>>(10 * (d + 1));
  }
  for (int d = 0; d < 2; ++d) {
    HIP(hipSetDevice(d));
    int value = 0;
    HIP(hipMemcpyFromSymbol(&value, HIP_SYMBOL(number), sizeof value));
    CHECK(value == 1 + 10 * (d + 1));
    HIP(hipEventDestroy(events[d]));
    HIP(hipStreamDestroy(streams[d]));
    HIP(hipFree(data[d]));
  }
}
