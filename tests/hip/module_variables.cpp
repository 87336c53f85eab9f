// Variables of loaded code objects: found by name, read, written, filled; each loaded copy has its own.
#include <fstream>
#include <iterator>
#include <vector>

#include "check.h"

struct Loaded {
  hipModule_t module;
  hipFunction_t step;
  hipDeviceptr_t weights, counter;
};

Loaded load(const std::vector<char>& file) {
  Loaded l;
  HIP(hipModuleLoadData(&l.module, file.data()));
  HIP(hipModuleGetFunction(&l.step, l.module, "step"));
  size_t bytes = 0;
  HIP(hipModuleGetGlobal(&l.weights, &bytes, l.module, "weights"));
  CHECK(bytes == 64 * sizeof(float));
  HIP(hipModuleGetGlobal(&l.counter, &bytes, l.module, "counter"));
  CHECK(bytes == sizeof(int));
  return l;
}

// argv[1]: a code object with kernel `step(float*)` and variables `weights` and `counter`.
int main(int argc, char** argv) {
  CHECK(argc == 2);
  std::ifstream in(argv[1], std::ios::binary);
  const std::vector<char> file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  CHECK(!file.empty());
  Loaded loaded[2] = {load(file), load(file)};
  CHECK(loaded[0].weights != loaded[1].weights && loaded[0].counter != loaded[1].counter);
  hipDeviceptr_t none;
  size_t bytes = 0;
  CHECK(hipModuleGetGlobal(&none, &bytes, loaded[0].module, "no_such_variable") == hipErrorNotFound);

  float* out;
  HIP(hipHostMalloc(&out, 64 * sizeof(float)));
  float weights[2][64];
  for (int m = 0; m < 2; ++m) {
    int counter = 0;
    HIP(hipMemcpyDtoH(weights[m], loaded[m].weights, sizeof weights[m]));
    for (int i = 0; i < 64; ++i) CHECK(weights[m][i] == (i < 3 ? 0.5f + static_cast<float>(i) : 0));
    HIP(hipMemcpyDtoH(&counter, loaded[m].counter, sizeof counter));
    CHECK(counter == 41);
    for (int i = 0; i < 64; ++i) weights[m][i] = static_cast<float>(i * (m + 1));
    HIP(hipMemcpyHtoD(loaded[m].weights, weights[m], sizeof weights[m]));
  }
  HIP(hipMemsetD32(loaded[1].counter, 1000, 1));
  void* arguments[] = {&out};
  for (int round = 0; round < 3; ++round)
    for (int m = 0; m < 2; ++m) {
      HIP(hipModuleLaunchKernel(loaded[m].step, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
      HIP(hipDeviceSynchronize());
      const float counter = static_cast<float>((m ? 1000 : 41) + round + 1);
      for (int i = 0; i < 64; ++i) CHECK(out[i] == weights[m][i] + counter);
    }
  HIP(hipModuleUnload(loaded[0].module));
  HIP(hipModuleLaunchKernel(loaded[1].step, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  HIP(hipDeviceSynchronize());
  CHECK(out[63] == 126 + 1004);
  HIP(hipModuleUnload(loaded[1].module));

  hipModule_t broken;
  std::vector<char> noise(file.size(), 7);
  CHECK(hipModuleLoadData(&broken, noise.data()) != hipSuccess);
  CHECK(hipModuleLoad(&broken, "/no/such/file.co") != hipSuccess);
}
