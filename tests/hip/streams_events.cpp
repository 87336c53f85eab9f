// Streams that wait for each other's events, asynchronous copies of pinned memory, times, callbacks.
#include <atomic>
#include <vector>

#include "check.h"

__global__ void add(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += value;
}
__global__ void multiply(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= value;
}

std::atomic<int> called{0};
void callback(hipStream_t, hipError_t status, void* data) {
  if (status == hipSuccess && data == &called) ++called;
}

int main() {
  constexpr int kStreams = 8, kItems = 1 << 16, kRounds = 20;
  hipStream_t streams[kStreams];
  hipEvent_t events[kStreams];
  int *host[kStreams], *device[kStreams];
  for (int s = 0; s < kStreams; ++s) {
    HIP(hipStreamCreateWithFlags(&streams[s], hipStreamNonBlocking));
    HIP(hipEventCreate(&events[s]));
    HIP(hipHostMalloc(&host[s], kItems * sizeof(int)));
    HIP(hipMalloc(&device[s], kItems * sizeof(int)));
    for (int i = 0; i < kItems; ++i) host[s][i] = i + s;
    HIP(hipMemcpyAsync(device[s], host[s], kItems * sizeof(int), hipMemcpyHostToDevice, streams[s]));
  }
  for (int r = 0; r < kRounds; ++r)
    for (int s = 0; s < kStreams; ++s) add<<<kItems / 256, 256, 0, streams[s]>>>(device[s], kItems, r);
  for (int s = 0; s < kStreams; ++s) {
    HIP(hipEventRecord(events[s], streams[s]));
    // The next stream goes on when this one is here.
    HIP(hipStreamWaitEvent(streams[(s + 1) % kStreams], events[s], 0));
  }
  for (int s = 0; s < kStreams; ++s) {
    multiply<<<kItems / 256, 256, 0, streams[s]>>>(device[s], kItems, 3);
    HIP(hipMemcpyAsync(host[s], device[s], kItems * sizeof(int), hipMemcpyDeviceToHost, streams[s]));
    HIP(hipStreamAddCallback(streams[s], callback, &called, 0));
  }
  for (int s = 0; s < kStreams; ++s) HIP(hipStreamSynchronize(streams[s]));
  CHECK(called == kStreams);
  for (int s = 0; s < kStreams; ++s)
    for (int i = 0; i < kItems; ++i) CHECK(host[s][i] == (i + s + kRounds * (kRounds - 1) / 2) * 3);

  hipEvent_t start, end;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&end));
  HIP(hipEventRecord(start, nullptr));
  for (int r = 0; r < 10; ++r) add<<<kItems / 256, 256>>>(device[0], kItems, 1);
  HIP(hipEventRecord(end, nullptr));
  HIP(hipEventSynchronize(end));
  float ms = -1;
  HIP(hipEventElapsedTime(&ms, start, end));
  CHECK(ms > 0 && ms < 60000);
  CHECK(hipEventQuery(end) == hipSuccess);
  HIP(hipDeviceSynchronize());
  for (int s = 0; s < kStreams; ++s) {
    HIP(hipStreamDestroy(streams[s]));
    HIP(hipEventDestroy(events[s]));
    HIP(hipHostFree(host[s]));
    HIP(hipFree(device[s]));
  }
}
