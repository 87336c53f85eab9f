// What loading code objects and finding symbols costs, medians of the calling thread's CPU time:
//   hsa_bench [CODE_OBJECT]
// The default code object has 5,000 kernels and 5,000 variables (many_symbols.s). The last figure is what libamdhip64
// does for each kernel of a code object that it loads: it looks the kernel up and goes through all symbols to add up the
// sizes of constants.
#include <hsa/hsa.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: HSA status %#x\n", what, static_cast<unsigned>(status));
  std::exit(1);
}
#define HSA(call) check(call, #call)

// Median of nanoseconds.
template <typename Body>
double median(int rounds, Body&& body) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const double start = cpu_ns();
    body();
    times.push_back(cpu_ns() - start);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Loaded {
  hsa_executable_t executable{};
  std::vector<hsa_executable_symbol_t> symbols;
  std::vector<std::string> names;
};

hsa_agent_t find_gpu() {
  hsa_agent_t gpu{};
  HSA(hsa_iterate_agents(
      [](hsa_agent_t agent, void* data) {
        hsa_device_type_t type;
        const hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        if (status == HSA_STATUS_SUCCESS && type == HSA_DEVICE_TYPE_GPU) *static_cast<hsa_agent_t*>(data) = agent;
        return status;
      },
      &gpu));
  return gpu;
}

hsa_executable_t load(hsa_agent_t gpu, const std::vector<char>& bytes) {
  hsa_executable_t executable;
  hsa_code_object_reader_t reader;
  HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  HSA(hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader));
  HSA(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
  HSA(hsa_executable_freeze(executable, nullptr));
  HSA(hsa_code_object_reader_destroy(reader));
  return executable;
}

void list_symbols(Loaded& loaded) {
  HSA(hsa_executable_iterate_symbols(
      loaded.executable,
      [](hsa_executable_t, hsa_executable_symbol_t symbol, void* data) {
        auto& all = *static_cast<Loaded*>(data);
        uint32_t length = 0;
        HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length));
        std::string name(length, ' ');
        HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data()));
        all.symbols.push_back(symbol);
        all.names.push_back(std::move(name));
        return HSA_STATUS_SUCCESS;
      },
      &loaded));
}

// The size of all constants.
uint64_t add_constants(hsa_executable_t executable) {
  uint64_t bytes = 0;
  HSA(hsa_executable_iterate_symbols(
      executable,
      [](hsa_executable_t, hsa_executable_symbol_t symbol, void* data) {
        bool constant = false;
        const hsa_status_t status =
            hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST, &constant);
        uint32_t size = 0;
        if (status == HSA_STATUS_SUCCESS && constant)
          HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &size));
        *static_cast<uint64_t*>(data) += size;
        return HSA_STATUS_SUCCESS;
      },
      &bytes));
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : WAVEJIT_MANY_SYMBOLS;
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  HSA(hsa_init());
  const hsa_agent_t gpu = find_gpu();

  Loaded loaded;
  const double load_ns = median(9, [&] {
    if (loaded.executable.handle != 0) HSA(hsa_executable_destroy(loaded.executable));
    loaded.executable = load(gpu, bytes);
  });
  list_symbols(loaded);
  const auto count = static_cast<double>(loaded.symbols.size());
  std::printf("%s: %zu bytes, %.0f symbols\n", path, bytes.size(), count);
  std::printf("load and destroy                %10.2f ms, %.0f ns a symbol\n", load_ns / 1e6, load_ns / count);
  const double query_ns = median(101, [&] {
    for (const hsa_executable_symbol_t symbol : loaded.symbols) {
      hsa_symbol_kind_t kind;
      HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
    }
  });
  std::printf("hsa_executable_symbol_get_info  %10.1f ns\n", query_ns / count);
  const double find_ns = median(101, [&] {
    for (const std::string& name : loaded.names) {
      hsa_executable_symbol_t symbol;
      HSA(hsa_executable_get_symbol_by_name(loaded.executable, name.c_str(), &gpu, &symbol));
    }
  });
  std::printf("hsa_executable_get_symbol_by_name %8.1f ns\n", find_ns / count);
  uint64_t constants = 0;
  const double iterate_ns = median(101, [&] { constants += add_constants(loaded.executable); });
  std::printf("iterate and ask, a symbol       %10.1f ns; as libamdhip64 loads it: %.3f s\n", iterate_ns / count,
              (iterate_ns + find_ns / count) * count / 1e9);
  HSA(hsa_executable_destroy(loaded.executable));
  HSA(hsa_shut_down());
  return constants == 1 ? 2 : 0;
}
