// Prints nothing and returns 0 if the process has the devices of its arguments, in their order, and a kernel runs on each.
#include <string_view>

#include "check.h"

__global__ void store(int* p, int value) {
  *p = value;
}

int main(int argc, char** argv) {
  int devices = -1;
  const hipError_t error = hipGetDeviceCount(&devices);
  if (argc == 1) {
    CHECK(error == hipErrorNoDevice);
    return 0;
  }
  HIP(error);
  CHECK(devices == argc - 1);
  for (int i = 0; i < devices; ++i) {
    hipDeviceProp_t properties;
    HIP(hipGetDeviceProperties(&properties, i));
    const std::string_view name = properties.gcnArchName;
    if (name.substr(0, name.find(':')) != argv[i + 1]) {
      std::printf("device %d is %s, not %s\n", i, properties.gcnArchName, argv[i + 1]);
      return 1;
    }
    HIP(hipSetDevice(i));
    int *memory, value = 0;
    HIP(hipMalloc(&memory, sizeof(int)));
    store<<<1, 1>>>(memory, 40 + i);
    HIP(hipMemcpy(&value, memory, sizeof(int), hipMemcpyDeviceToHost));
    CHECK(value == 40 + i);
  }
}
