// Kernels in shared objects that are loaded at run time, used, and unloaded. Built as the program and as both plug-ins.
#include "check.h"

#ifdef PLUGIN
__device__ int offset = PLUGIN;
__global__ void work(int* data) {
  data[threadIdx.x] = static_cast<int>(threadIdx.x) * PLUGIN + offset;
}
extern "C" int run(int* data, int new_offset) {
  if (new_offset && hipMemcpyToSymbol(HIP_SYMBOL(offset), &new_offset, sizeof new_offset) != hipSuccess) return 1;
  work<<<1, 64>>>(data);
  return hipDeviceSynchronize();
}
#else
#include <dlfcn.h>

#include <string>

using Run = int (*)(int*, int);

__global__ void work(int* data) {
  data[threadIdx.x] = -1;
}  // the plug-ins have another of this name

// argv[1]: the folder of plugin3.so and plugin4.so
int main(int argc, char** argv) {
  CHECK(argc == 2);
  int* data;
  HIP(hipHostMalloc(&data, 64 * sizeof(int)));
  for (int round = 0; round < 3; ++round)
    for (const int plugin : {3, 4}) {
      work<<<1, 64>>>(data);
      HIP(hipDeviceSynchronize());
      for (int i = 0; i < 64; ++i) CHECK(data[i] == -1);
      const std::string file = std::string(argv[1]) + "/plugin" + std::to_string(plugin) + ".so";
      void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!library) std::printf("%s\n", dlerror());
      CHECK(library != nullptr);
      const Run run = reinterpret_cast<Run>(dlsym(library, "run"));
      CHECK(run != nullptr && run(data, 0) == hipSuccess);
      for (int i = 0; i < 64; ++i) CHECK(data[i] == i * plugin + plugin);  // each load has its variables anew
      CHECK(run(data, 100 + round) == hipSuccess);
      for (int i = 0; i < 64; ++i) CHECK(data[i] == i * plugin + 100 + round);
      CHECK(dlclose(library) == 0);
    }
}
#endif
