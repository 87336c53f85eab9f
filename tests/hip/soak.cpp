// Many dispatches over eight streams with copies and events: soak [DISPATCHES], 4000 without. Fails if a result is
// wrong or if the process keeps growing.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "check.h"

constexpr int kStreams = 8, kCount = 1024;

__global__ void step(unsigned* values, unsigned round) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = values[i] * 3 + round;
}

// Resident memory in KiB.
long resident() {
  std::ifstream file("/proc/self/statm");
  long total = 0, pages = 0;
  file >> total >> pages;
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

struct Stream {
  hipStream_t stream;
  hipEvent_t event;
  unsigned* device;
  unsigned* pinned;
  unsigned expected = 0, round = 0;
};

int main(int argc, char** argv) {
  const long dispatches = argc > 1 ? std::atol(argv[1]) : 4000;
  std::vector<Stream> streams(kStreams);
  for (Stream& s : streams) {
    HIP(hipStreamCreate(&s.stream));
    HIP(hipEventCreate(&s.event));
    HIP(hipMalloc(&s.device, kCount * sizeof(unsigned)));
    HIP(hipHostMalloc(&s.pinned, kCount * sizeof(unsigned)));
    HIP(hipMemset(s.device, 0, kCount * sizeof(unsigned)));
  }
  HIP(hipDeviceSynchronize());
  long after_start = 0;
  for (long n = 0; n < dispatches; ++n) {
    Stream& s = streams[n % kStreams];
    // Now and then a stream waits for its neighbour.
    if (n % 5 == 0) HIP(hipStreamWaitEvent(s.stream, streams[(n + 1) % kStreams].event, 0));
    step<<<kCount / 256, 256, 0, s.stream>>>(s.device, s.round);
    s.expected = s.expected * 3 + s.round++;
    HIP(hipEventRecord(s.event, s.stream));
    if (n % 16 >= kStreams)
      HIP(hipMemcpyAsync(s.pinned, s.device, kCount * sizeof(unsigned), hipMemcpyDeviceToHost, s.stream));
    if (n % 64 < kStreams) {
      HIP(hipMemcpyAsync(s.pinned, s.device, kCount * sizeof(unsigned), hipMemcpyDeviceToHost, s.stream));
      HIP(hipStreamSynchronize(s.stream));
      CHECK(hipEventQuery(s.event) == hipSuccess);
      for (int i = 0; i < kCount; ++i) CHECK(s.pinned[i] == s.expected);
    }
    if (n == dispatches / 4) after_start = resident();
  }
  HIP(hipDeviceSynchronize());
  const long at_end = resident();
  std::printf("%ld dispatches, resident %ld KiB after a quarter, %ld KiB at the end\n", dispatches, after_start,
              at_end);
  CHECK(at_end < after_start + after_start / 10 + 4096);
  for (Stream& s : streams) {
    HIP(hipEventDestroy(s.event));
    HIP(hipStreamDestroy(s.stream));
    HIP(hipFree(s.device));
    HIP(hipHostFree(s.pinned));
  }
}
