// A kernel compiled at run time.
#include <hip/hiprtc.h>

#include <string>
#include <vector>

#include "check.h"

int main() {
  const char* source =
      "extern \"C\" __global__ void cube(double* x, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) x[i] = x[i] * x[i] * x[i];\n"
      "}\n";
  hiprtcProgram program;
  CHECK(hiprtcCreateProgram(&program, source, "cube.cpp", 0, nullptr, nullptr) == HIPRTC_SUCCESS);
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  const std::string arch = std::string("--offload-arch=") + properties.gcnArchName;
  const char* options[] = {arch.c_str()};
  if (hiprtcCompileProgram(program, 1, options) != HIPRTC_SUCCESS) {
    size_t bytes = 0;
    hiprtcGetProgramLogSize(program, &bytes);
    std::string log(bytes, ' ');
    hiprtcGetProgramLog(program, &log[0]);
    std::printf("%s\n", log.c_str());
    return 1;
  }
  size_t bytes = 0;
  CHECK(hiprtcGetCodeSize(program, &bytes) == HIPRTC_SUCCESS);
  std::vector<char> code(bytes);
  CHECK(hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS);
  hipModule_t module;
  hipFunction_t function;
  HIP(hipModuleLoadData(&module, code.data()));
  HIP(hipModuleGetFunction(&function, module, "cube"));
  int n = 1000;
  double* x;
  HIP(hipMallocManaged(&x, n * sizeof(double)));
  for (int i = 0; i < n; ++i) x[i] = i;
  void* arguments[] = {&x, &n};
  HIP(hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr));
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < n; ++i) CHECK(x[i] == static_cast<double>(i) * i * i);
}
