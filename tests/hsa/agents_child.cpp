// Prints the GPUs that the process has, one a line: "NODE UUID ISA CHIP COMPUTE_UNITS LDS_KIB", "pools FLAGS" behind those that
// have other pools than most, and "no images" behind those that have none. For each file in the arguments, "load STATUS" follows:
// what loading that code object for the first GPU gives.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

hsa_agent_t first{};

template <typename T>
T info(hsa_agent_t agent, uint32_t attribute) {
  T value{};
  if (hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &value) != HSA_STATUS_SUCCESS)
    std::printf("no attribute %#x\n", attribute);
  return value;
}

hsa_status_t print(hsa_agent_t agent, void*) {
  if (info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  if (first.handle == 0) first = agent;
  struct Text {
    char text[64];
  };
  const auto isa = info<hsa_isa_t>(agent, HSA_AGENT_INFO_ISA);
  char name[64] = "";
  (void)hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name);
  struct Pools {
    size_t lds = 0;
    uint32_t flags = 0;  // of all global pools
  } pools;
  (void)hsa_amd_agent_iterate_memory_pools(
      agent,
      [](hsa_amd_memory_pool_t pool, void* data) {
        hsa_amd_segment_t segment{};
        (void)hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
        auto& found = *static_cast<Pools*>(data);
        uint32_t flags = 0;
        if (segment == HSA_AMD_SEGMENT_GROUP)
          (void)hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &found.lds);
        else if (hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags) ==
                 HSA_STATUS_SUCCESS)
          found.flags |= flags;
        return HSA_STATUS_SUCCESS;
      },
      &pools);
  std::printf("%u %s %s %#x %u %zu\n", info<uint32_t>(agent, HSA_AGENT_INFO_NODE),
              info<Text>(agent, HSA_AMD_AGENT_INFO_UUID).text, name, info<uint32_t>(agent, HSA_AMD_AGENT_INFO_CHIP_ID),
              info<uint32_t>(agent, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT), pools.lds >> 10);
  constexpr uint32_t kCoarseAndExtended = 4 | 8;
  if (pools.flags != kCoarseAndExtended) std::printf("pools %#x\n", pools.flags);
  if (info<uint32_t>(agent, HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES) == 0) std::printf("no images\n");
  return HSA_STATUS_SUCCESS;
}

void load(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> code(std::istreambuf_iterator<char>(file), {});
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  hsa_status_t status = hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader);
  if (status == HSA_STATUS_SUCCESS)
    status = hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable);
  if (status == HSA_STATUS_SUCCESS)
    status = hsa_executable_load_agent_code_object(executable, first, reader, nullptr, nullptr);
  std::printf("load %#x\n", status);
}

}  // namespace

int main(int argc, char** argv) {
  if (const hsa_status_t status = hsa_init(); status != HSA_STATUS_SUCCESS) {
    std::printf("hsa_init %#x\n", status);
    return 1;
  }
  const hsa_status_t status = hsa_iterate_agents(print, nullptr);
  bool svm = false;
  (void)hsa_system_get_info(static_cast<hsa_system_info_t>(HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT), &svm);
  if (svm) std::printf("svm\n");
  for (int i = 1; i < argc; ++i) load(argv[i]);
  return status == HSA_STATUS_SUCCESS && hsa_shut_down() == HSA_STATUS_SUCCESS ? 0 : 1;
}
