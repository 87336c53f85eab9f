// The comparison's kernels through the C API, read from the HIP program's file:
//   hip_api_c FILE [--threads N] [--tiny]
#include <sys/mman.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "cases.h"
#include "wavejit/wavejit.hpp"

namespace {

wavejit::Module module_of(const std::string& file) {
  const wavejit::Container container = wavejit::Container::open(file);
  for (size_t i = 0; i < container.size(); ++i)
    if (std::string(container.entry(i).target) == "gfx906") return container.load(i);
  throw std::runtime_error(file + " has no code for gfx906");
}

class ApiDevice {
 public:
  ApiDevice(const wavejit::Module& module, uint32_t threads) {
    for (const char* name : kKernelNames) kernels_.push_back(module.kernel(name));
    options_.threads = threads;
  }

  // The process's memory, in large pages if the system has them, as hipMalloc's is: with small ones the same kernels
  // take up to twice as long.
  template <typename T>
  T* allocate(size_t n) {
    constexpr size_t kSmall = size_t{4} << 10, kLarge = size_t{2} << 20;
    const size_t bytes = n * sizeof(T), page = bytes < kLarge ? kSmall : kLarge;
    void* const memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    if (page == kLarge) madvise(memory, (bytes + page - 1) / page * page, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void release(void* memory) { std::free(memory); }
  template <typename T>
  void write(T* to, const std::vector<T>& from) {
    std::copy(from.begin(), from.end(), to);
  }
  template <typename T>
  std::vector<T> read(const T* from, size_t n) {
    return std::vector<T>(from, from + n);
  }
  template <typename... Arguments>
  void launch(Kernel kernel, Groups groups, Groups threads, const Arguments&... arguments) {
    kernels_[kernel].set_args(arguments...);
    options_.local[0] = threads.x;
    options_.local[1] = threads.y;
    options_.global[0] = groups.x * threads.x;
    options_.global[1] = groups.y * threads.y;
    (void)kernels_[kernel].launch(options_);
  }
  void wait() {}

 private:
  std::vector<wavejit::Kernel> kernels_;
  wavejit::LaunchOptions options_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times the kernels of a HIP program through the C API");
  std::string file;
  uint32_t threads = 0;
  bool tiny = false;
  app.add_option("file", file, "the HIP program, hip_api_hip")->required();
  app.add_option("--threads", threads, "host threads of a kernel (default: all CPUs)");
  app.add_flag("--tiny", tiny, "small sizes, few rounds");
  CLI11_PARSE(app, argc, argv);
  try {
    const wavejit::Module module = module_of(file);
    ApiDevice device(module, threads);
    Cases(device, tiny).run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
