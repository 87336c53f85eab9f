// Code objects loaded at run time, launched with an argument buffer.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "check.h"

// argv[1]: a code object with kernel `scale(float*, float, int)`.
int main(int argc, char** argv) {
  CHECK(argc == 2);
  hipModule_t module;
  HIP(hipModuleLoad(&module, argv[1]));
  hipFunction_t function;
  HIP(hipModuleGetFunction(&function, module, "scale"));
  hipFunction_t none;
  CHECK(hipModuleGetFunction(&none, module, "no_such_kernel") == hipErrorNotFound);
  const int n = 1000;
  float* data;
  HIP(hipMallocManaged(&data, n * sizeof(float)));
  for (int i = 0; i < n; ++i) data[i] = static_cast<float>(i);
  struct {
    float* data;
    float factor;
    int n;
  } arguments = {data, 3, n};
  size_t bytes = sizeof arguments;
  void* config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                    HIP_LAUNCH_PARAM_END};
  HIP(hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, nullptr, nullptr, config));
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < n; ++i) CHECK(data[i] == 3.f * static_cast<float>(i));
  HIP(hipModuleUnload(module));
}
