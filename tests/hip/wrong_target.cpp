// A program without code for the device: an error that says so, not a crash or wrong results. Built for gfx906, run on
// others.
#include "child.h"

__global__ void add(int* data) {
  ++data[threadIdx.x];
}

int main() {
  // HIP 5.2 ends the process when it finds no code for a kernel's device. With 5.7 the launch fails.
  const ChildResult launched = run_child([] {
    int* data;
    if (hipHostMalloc(&data, 64 * sizeof(int)) != hipSuccess) _exit(1);
    data[0] = 5;
    add<<<1, 64>>>(data);
    const hipError_t error = hipGetLastError();
    if (error == hipSuccess && hipDeviceSynchronize() == hipSuccess) std::printf("launched: %d\n", data[0]);
    if (data[0] != 5) std::printf("launched all the same: %d\n", data[0]);
    std::printf("%s\n", hipGetErrorName(error));
    std::fflush(stdout);
    _exit(error == hipSuccess ? 0 : 1);
  });
  CHECK(!launched.ended_well() && !launched.has("launched"));
  CHECK(launched.has(HIP_VERSION >= 50700000 ? "hipErrorInvalidDeviceFunction" : "hipErrorNoBinaryForGpu"));
  // Without kernels nothing is wrong.
  const ChildResult memory = run_child([] {
    int count = 0;
    HIP(hipGetDeviceCount(&count));
    std::printf("%d device\n", count);
  });
  CHECK(memory.ended_well() == memory.has("1 device"));
}
