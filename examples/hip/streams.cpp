// Four streams, each with its part of the work: copy, kernel, copy back. An event makes a last kernel wait for all.

#include "check.h"

__global__ void collatz(const unsigned* in, unsigned* steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long value = in[i];
  unsigned count = 0;
  while (value != 1) {
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++count;
  }
  steps[i] = count;
}
__global__ void longest(const unsigned* steps, int n, unsigned* most) {
  unsigned mine = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine = max(mine, steps[i]);
  atomicMax(most, mine);
}

int main() {
  constexpr int kStreams = 4, kPart = 50000, kAll = kStreams * kPart;
  unsigned *in, *out, *most, *device_in, *device_steps;
  HIP(hipHostMalloc(&in, kAll * sizeof(unsigned)));  // pinned: copies do not hold up the host
  HIP(hipHostMalloc(&out, kAll * sizeof(unsigned)));
  HIP(hipHostMalloc(&most, sizeof(unsigned)));
  HIP(hipMalloc(&device_in, kAll * sizeof(unsigned)));
  HIP(hipMalloc(&device_steps, kAll * sizeof(unsigned)));
  for (int i = 0; i < kAll; ++i) in[i] = i + 1;
  *most = 0;

  hipStream_t streams[kStreams];
  hipEvent_t begin, end, done[kStreams];
  HIP(hipEventCreate(&begin));
  HIP(hipEventCreate(&end));
  for (int s = 0; s < kStreams; ++s) {
    HIP(hipStreamCreate(&streams[s]));
    HIP(hipEventCreateWithFlags(&done[s], hipEventDisableTiming));
  }
  HIP(hipEventRecord(begin, streams[0]));
  for (int s = 0; s < kStreams; ++s) {
    const int first = s * kPart;
    HIP(hipMemcpyAsync(device_in + first, in + first, kPart * sizeof(unsigned), hipMemcpyHostToDevice, streams[s]));
    collatz<<<(kPart + 255) / 256, 256, 0, streams[s]>>>(device_in + first, device_steps + first, kPart);
    HIP(hipMemcpyAsync(out + first, device_steps + first, kPart * sizeof(unsigned), hipMemcpyDeviceToHost, streams[s]));
    HIP(hipEventRecord(done[s], streams[s]));
  }
  for (int s = 1; s < kStreams; ++s) HIP(hipStreamWaitEvent(streams[0], done[s], 0));
  longest<<<1, 1024, 0, streams[0]>>>(device_steps, kAll, most);
  HIP(hipEventRecord(end, streams[0]));
  HIP(hipEventSynchronize(end));
  float ms = 0;
  HIP(hipEventElapsedTime(&ms, begin, end));

  unsigned expected = 0, at = 0;
  for (int i = 0; i < kAll; ++i)
    if (out[i] > expected) {
      expected = out[i];
      at = in[i];
    }
  std::printf("%d numbers in %d streams, %.1f ms: %u takes longest to get to 1, %u steps\n", kAll, kStreams, ms, at,
              *most);
  return *most == expected && at == 156159 && expected == 382 ? 0 : 1;
}
