// What the runtime says of the devices.
#include <cstring>

#include "check.h"

int main() {
  int count = 0;
  HIP(hipGetDeviceCount(&count));
  CHECK(count >= 1);
  for (int i = 0; i < count; ++i) {
    hipDeviceProp_t p;
    HIP(hipGetDeviceProperties(&p, i));
    std::printf("%d: %s, %s, %d compute units, %zu MiB\n", i, p.name, p.gcnArchName, p.multiProcessorCount,
                p.totalGlobalMem >> 20);
    CHECK(p.warpSize == 64);
    CHECK(p.maxThreadsPerBlock == 1024);
    CHECK(p.sharedMemPerBlock == 65536);
    CHECK(p.totalGlobalMem > (64 << 20));
    CHECK(p.multiProcessorCount > 0 && p.clockRate > 0 && p.memoryClockRate > 0 && p.memoryBusWidth > 0);
    CHECK(std::strncmp(p.gcnArchName, "gfx", 3) == 0);
    // Libraries have other kernels for the early MI100.
    CHECK(p.asicRevision == (std::strncmp(p.gcnArchName, "gfx908", 6) == 0 ? 2 : 1));
    size_t available = 0, total = 0;
    HIP(hipSetDevice(i));
    HIP(hipMemGetInfo(&available, &total));
    CHECK(available <= total && total == p.totalGlobalMem);
  }
}
