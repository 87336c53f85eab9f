// Eight host threads, each with a stream of its own, at the same time; the default stream shared by all.
#include <thread>
#include <vector>

#include "check.h"

constexpr int kThreads = 8, kRounds = 25, kItems = 4096;

__global__ void step(unsigned* data, unsigned factor, unsigned* launches) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = data[i] * factor + 1;
  if (i == 0) atomicAdd(launches, 1u);
}
__device__ unsigned everywhere;
__global__ void count() {
  atomicAdd(&everywhere, 1u);
}

void work(int thread, unsigned* launches) {
  HIP(hipSetDevice(0));
  hipStream_t stream;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  const unsigned factor = 2 * thread + 3;
  std::vector<unsigned> host(kItems);
  for (int round = 0; round < kRounds; ++round) {
    unsigned* data;
    HIP(hipMalloc(&data, kItems * sizeof(unsigned)));
    for (int i = 0; i < kItems; ++i) host[i] = i + thread;
    HIP(hipMemcpyAsync(data, host.data(), kItems * sizeof(unsigned), hipMemcpyHostToDevice, stream));
    step<<<kItems / 256, 256, 0, stream>>>(data, factor, launches);
    step<<<kItems / 256, 256, 0, stream>>>(data, factor, launches);
    count<<<1, 64>>>();
    HIP(hipGetLastError());  // errors are each thread's own
    HIP(hipMemcpyAsync(host.data(), data, kItems * sizeof(unsigned), hipMemcpyDeviceToHost, stream));
    HIP(hipStreamSynchronize(stream));
    for (int i = 0; i < kItems; ++i) CHECK(host[i] == ((i + thread) * factor + 1) * factor + 1);
    HIP(hipFree(data));
    if (thread == 3) CHECK(hipSetDevice(100) == hipErrorInvalidDevice);
    if (thread == 4) CHECK(hipGetLastError() == hipSuccess);
    if (thread == 3) (void)hipGetLastError();
  }
  HIP(hipStreamDestroy(stream));
}

int main() {
  unsigned* launches;
  HIP(hipHostMalloc(&launches, sizeof *launches));
  *launches = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t, launches);
  for (std::thread& t : threads) t.join();
  HIP(hipDeviceSynchronize());
  CHECK(*launches == 2 * kThreads * kRounds);
  unsigned counted = 0;
  HIP(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(everywhere), sizeof counted));
  CHECK(counted == 64 * kThreads * kRounds);
}
