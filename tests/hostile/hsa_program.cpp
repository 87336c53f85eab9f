#include "hsa_program.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>

namespace wavejit::hostile {
namespace {

void must(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: status %#x\n", what, static_cast<unsigned>(status));
  std::abort();
}

HsaProgram make_program() {
  HsaProgram program;
  must(hsa_iterate_agents(
           [](hsa_agent_t agent, void* data) {
             static_cast<HsaProgram*>(data)->agents.push_back(agent);
             return HSA_STATUS_SUCCESS;
           },
           &program),
       "agents");
  for (const hsa_agent_t agent : program.agents) {
    hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
    must(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type), "device");
    if (type == HSA_DEVICE_TYPE_GPU) program.gpu = agent;
    must(hsa_amd_agent_iterate_memory_pools(
             agent,
             [](hsa_amd_memory_pool_t pool, void* data) {
               static_cast<HsaProgram*>(data)->pools.push_back(pool);
               return HSA_STATUS_SUCCESS;
             },
             &program),
         "pools");
  }
  std::ifstream file(WAVEJIT_HSA_TEST_FOLDER "/kernels.co", std::ios::binary);
  program.code = {std::istreambuf_iterator<char>(file), {}};
  if (program.code.empty()) must(HSA_STATUS_ERROR_INVALID_FILE, "kernels.co");
  constexpr size_t kAround = 64 << 20;
  void* block =
      mmap(nullptr, HsaProgram::kBlock + 2 * kAround, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) must(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "memory");
  program.block = static_cast<uint8_t*>(block) + kAround;
  if (mprotect(program.block, HsaProgram::kBlock, PROT_READ | PROT_WRITE) != 0)
    must(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "memory");
  return program;
}

}  // namespace

const HsaProgram& hsa_program() {
  static const HsaProgram& program = *new HsaProgram(make_program());
  return program;
}

void check_status(hsa_status_t status, const char* call) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK || status == HSA_STATUS_ERROR_NOT_INITIALIZED)
    return;
  // The function answers the same whether the runtime is open or not: what it does not know is an invalid argument.
  const char* text = nullptr;
  const hsa_status_t known = hsa_status_string(status, &text);
  if (known == HSA_STATUS_ERROR_NOT_INITIALIZED || (known == HSA_STATUS_SUCCESS && text)) return;
  std::fprintf(stderr, "%s answered %#x, which is no status\n", call, static_cast<unsigned>(status));
  std::abort();
}

LoadedKernels load_kernels() {
  const HsaProgram& program = hsa_program();
  LoadedKernels loaded;
  hsa_code_object_reader_t reader{};
  must(hsa_code_object_reader_create_from_memory(program.code.data(), program.code.size(), &reader), "reader");
  must(
      hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &loaded.executable),
      "executable");
  must(hsa_executable_load_agent_code_object(loaded.executable, program.gpu, reader, nullptr, nullptr), "load");
  must(hsa_code_object_reader_destroy(reader), "reader");
  must(hsa_executable_freeze(loaded.executable, nullptr), "freeze");
  must(hsa_executable_iterate_symbols(
           loaded.executable,
           [](hsa_executable_t, hsa_executable_symbol_t symbol, void* data) {
             uint64_t object = 0;
             if (hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object) ==
                 HSA_STATUS_SUCCESS)
               static_cast<LoadedKernels*>(data)->objects.push_back(object);
             return HSA_STATUS_SUCCESS;
           },
           &loaded),
       "symbols");
  return loaded;
}

}  // namespace wavejit::hostile
