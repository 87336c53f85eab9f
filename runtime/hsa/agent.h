// Agents: the host CPU, and one GPU for each device that the environment names (devices.h).
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/codeobject/code_object.h"
#include "runtime/hsa/board.h"
#include "runtime/launch/device.h"

namespace wavejit::hsa {

struct Agent;

// A memory pool of the AMD extension; the same object is a region of the core API.
struct Pool {
  Agent* agent = nullptr;
  hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GLOBAL;
  uint32_t flags = 0;  // hsa_amd_memory_pool_global_flag_t; their values are those of regions
  uint64_t bytes = 0;

  [[nodiscard]] bool can_allocate() const { return segment == HSA_AMD_SEGMENT_GLOBAL; }
};

struct Cache {
  std::string name;
  uint8_t level = 1;
  uint32_t bytes = 0;
};

struct Agent {
  hsa_device_type_t device = HSA_DEVICE_TYPE_CPU;
  uint32_t node = 0;               // of the driver's topology, which has hidden devices too
  uint32_t gpu_index = 0;          // counts GPUs, hidden ones too
  const Board* board = nullptr;    // GPUs
  isa::Target target{};            // GPUs: what it presents, which HSA_OVERRIDE_GFX_VERSION changes
  codeobject::TargetId target_id;  // GPUs: with what features its code objects may have
  std::string isa_name;            // "amdgcn-amd-amdhsa--gfx906:sramecc-:xnack-"
  std::string uuid;                // GPUs
  std::vector<std::unique_ptr<Pool>> pools;
  std::vector<Cache> caches;
  std::atomic<uint64_t> allocated_bytes{0};  // in all of its pools, by this process
  std::unique_ptr<runtime::Device> shared;   // GPUs: what its launches share

  [[nodiscard]] bool is_gpu() const { return device == HSA_DEVICE_TYPE_GPU; }
  // False if a device has no room for that many bytes more. What is taken is given back.
  [[nodiscard]] bool take_memory(uint64_t bytes);
  void give_memory_back(uint64_t bytes) { allocated_bytes.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] hsa_agent_t handle() { return {reinterpret_cast<uint64_t>(this)}; }
};

// Made by the first hsa_init and kept until the process ends, so that handles stay good.
[[nodiscard]] std::span<const std::unique_ptr<Agent>> agents();
[[nodiscard]] Agent* agent_of(hsa_agent_t handle);  // nullptr if there is no such
[[nodiscard]] Pool* pool_of(uint64_t handle);       // of a pool or region
[[nodiscard]] Agent* gpu_of_isa(hsa_isa_t handle);  // an ISA handle is its agent's
[[nodiscard]] uint64_t host_memory_bytes();
[[nodiscard]] bool has_xnack();  // one setting for all devices, see select_devices()

// Fails with a message if the environment names devices that wavejit does not have.
[[nodiscard]] bool make_agents(std::string& problem);

}  // namespace wavejit::hsa
