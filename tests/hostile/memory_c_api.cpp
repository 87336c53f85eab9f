// Launches of the C API while memory runs out: the result is right, or the error says so, and the next launch is right.
//   memory_c_api one|all|limits interp|jit|auto
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "failing_memory.h"
#include "runtime/api/c_api_internal.h"
#include "wavejit/wavejit.h"

namespace {

uint32_t g_out[1024];

// The status of loading and launching; g_out is right if that is OK.
wavejit_status launch(const std::vector<uint8_t>& object, wavejit_engine engine) {
  wavejit_module* module = nullptr;
  wavejit_status status = wavejit_module_load_memory(object.data(), object.size(), nullptr, &module);
  if (status != WAVEJIT_OK) return status;
  wavejit_kernel* kernel = nullptr;
  status = wavejit_kernel_create(module, "add", &kernel);
  wavejit_module_destroy(module);
  if (status != WAVEJIT_OK) return status;
  const uint32_t value = 7;
  status = wavejit_kernel_set_arg_pointer(kernel, 0, g_out);
  if (status == WAVEJIT_OK) status = wavejit_kernel_set_arg(kernel, 1, &value, sizeof value);
  if (status == WAVEJIT_OK) {
    wavejit_launch_options options = wavejit_launch_options_default();
    options.global[0] = 1024;
    options.local[0] = 64;
    options.engine = engine;
    options.threads = 2;
    options.timeout_ns = 60'000'000'000;  // with a thread that watches
    std::memset(g_out, 0, sizeof g_out);
    status = wavejit_launch(kernel, &options, nullptr);
  }
  wavejit_kernel_destroy(kernel);
  if (status != WAVEJIT_OK) return status;
  for (const uint32_t word : g_out)
    if (word != value) {
      std::fprintf(stderr, "a wrong result\n");
      std::exit(1);
    }
  return WAVEJIT_OK;
}

// An exception whose message there is no memory for.
bool reports_exceptions_without_memory() {
  struct Exception : std::exception {
    const char* what() const noexcept override { return "a message that does not fit into a std::string itself"; }
  };
  wavejit::hostile::fail_allocation(1, true);
  const wavejit_status status = wavejit::runtime::guarded([]() -> wavejit_status { throw Exception(); });
  wavejit::hostile::fail_allocation(0);
  return status == WAVEJIT_OUT_OF_MEMORY;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream file(WAVEJIT_HSA_TEST_FOLDER "/kernels.co", std::ios::binary);
  const std::vector<uint8_t> object(std::istreambuf_iterator<char>(file), {});
  const std::string name = argv[2];
  if (!reports_exceptions_without_memory()) {
    std::fprintf(stderr, "another status for an exception\n");
    return 1;
  }
  const wavejit_engine engine = name == "jit"      ? WAVEJIT_ENGINE_JIT
                                : name == "interp" ? WAVEJIT_ENGINE_INTERP
                                                   : WAVEJIT_ENGINE_AUTO;
  return wavejit::hostile::with_failing_memory(
      argv,
      [&] {
        const wavejit_status status = launch(object, engine);
        if (status != WAVEJIT_OK && status != WAVEJIT_OUT_OF_MEMORY) {
          wavejit::hostile::fail_allocation(0);
          std::fprintf(stderr, "status %d: %s\n", static_cast<int>(status),
                       wavejit_error_message(wavejit_last_error()));
          std::exit(1);
        }
        return status == WAVEJIT_OK;
      },
      [&] {
        const wavejit_status status = launch(object, engine);
        if (status == WAVEJIT_OK) return;
        std::fprintf(stderr, "afterwards: status %d: %s\n", static_cast<int>(status),
                     wavejit_error_message(wavejit_last_error()));
        std::exit(1);
      });
}
