// Fixture of the drivers for the HSA library: its agents and pools, a code object, and checks of statuses.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <vector>

namespace wavejit::hostile {

struct HsaProgram {
  std::vector<hsa_agent_t> agents;           // the host's first
  std::vector<hsa_amd_memory_pool_t> pools;  // of all of them, some of which nothing can be allocated from
  hsa_agent_t gpu{};
  std::vector<uint8_t> code;  // tests/hsa/kernels.cl
  // Memory that sequences copy from, copy to and pass to kernels. Never freed, and nothing else is near.
  static constexpr size_t kBlock = 1 << 16;
  uint8_t* block = nullptr;
};
// The runtime must be open. Agents and pools stay what they are as long as the process lives.
[[nodiscard]] const HsaProgram& hsa_program();

// Aborts unless it is a status that hsa_status_string() knows.
void check_status(hsa_status_t status, const char* call);

// An executable with the kernels of tests/hsa/kernels.cl for the GPU agent, frozen.
struct LoadedKernels {
  hsa_executable_t executable{};
  std::vector<uint64_t> objects;
};
[[nodiscard]] LoadedKernels load_kernels();

}  // namespace wavejit::hostile
