// The comparison's kernels as a HIP program:
//   wavejit exec [--threads N] -- hip_api_hip [--tiny]
#include <hip/hip_runtime.h>

#include <cstring>

#include "../hip_check.h"
#include "cases.h"
#include "kernels.h"

class HipDevice {
 public:
  HipDevice() { HIP(hipStreamCreate(&stream_)); }
  ~HipDevice() { HIP(hipStreamDestroy(stream_)); }

  template <typename T>
  T* allocate(size_t n) {
    T* memory = nullptr;
    HIP(hipMalloc(&memory, n * sizeof(T)));
    return memory;
  }
  void release(void* memory) { HIP(hipFree(memory)); }
  template <typename T>
  void write(T* to, const std::vector<T>& from) {
    HIP(hipMemcpy(to, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice));
  }
  template <typename T>
  std::vector<T> read(const T* from, size_t n) {
    std::vector<T> to(n);
    HIP(hipMemcpy(to.data(), from, n * sizeof(T), hipMemcpyDeviceToHost));
    return to;
  }
  template <typename... Arguments>
  void launch(Kernel kernel, Groups groups, Groups threads, Arguments... arguments) {
    static const void* const kFunctions[kKernels] = {
        reinterpret_cast<const void*>(&empty),          reinterpret_cast<const void*>(&saxpy),
        reinterpret_cast<const void*>(&matmul),         reinterpret_cast<const void*>(&reduce),
        reinterpret_cast<const void*>(&sort_histogram), reinterpret_cast<const void*>(&sort_scan),
        reinterpret_cast<const void*>(&sort_scatter)};
    void* pointers[] = {&arguments..., nullptr};
    HIP(hipLaunchKernel(kFunctions[kernel], dim3(groups.x, groups.y), dim3(threads.x, threads.y), pointers, 0,
                        stream_));
  }
  void wait() { HIP(hipStreamSynchronize(stream_)); }

 private:
  hipStream_t stream_;
};

int main(int argc, char** argv) {
  const bool tiny = argc > 1 && std::strcmp(argv[1], "--tiny") == 0;
  if (argc > 1 + tiny) {
    std::puts("usage: wavejit exec [--threads N] -- hip_api_hip [--tiny]");
    return 2;
  }
  HipDevice device;
  Cases(device, tiny).run();
}
