// What the agents say of themselves.
#include <algorithm>
#include <fstream>
#include <string>

#include "fixture.h"

namespace wavejit::test {
namespace {

class HsaAgents : public HsaTest {
 protected:
  template <typename T>
  static T info(hsa_agent_t agent, unsigned attribute) {
    T value{};
    EXPECT_EQ(hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &value), HSA_STATUS_SUCCESS);
    return value;
  }
  static std::string text(hsa_agent_t agent, unsigned attribute) {
    struct Text {
      char bytes[64];
    };
    const auto value = info<Text>(agent, attribute);
    return {value.bytes, std::find(value.bytes, value.bytes + sizeof value.bytes, '\0')};
  }
};

// As Linux names the processor, cut to the 63 characters that a name of HSA has.
TEST_F(HsaAgents, CpuHasTheNameOfTheProcessor) {
  std::ifstream file("/proc/cpuinfo");
  std::string name = "x86-64 CPU";
  for (std::string line; std::getline(file, line);)
    if (const size_t colon = line.find(':'); line.starts_with("model name") && colon != std::string::npos) {
      name = line.substr(line.find_first_not_of(' ', colon + 1));
      break;
    }
  EXPECT_EQ(text(cpu_, HSA_AGENT_INFO_NAME), name.substr(0, 63));
  EXPECT_EQ(text(cpu_, HSA_AMD_AGENT_INFO_PRODUCT_NAME), name.substr(0, 63));
  EXPECT_TRUE(text(gpu_, HSA_AGENT_INFO_NAME).starts_with("gfx"));
}

// The host has no compute units that a cooperative launch could use, no board and no waves.
TEST_F(HsaAgents, OnlyTheGpuHasABoard) {
  const auto units = info<uint32_t>(gpu_, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
  EXPECT_GT(units, 0u);
  EXPECT_EQ(info<uint32_t>(gpu_, HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT), units);
  EXPECT_GT(info<uint32_t>(cpu_, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT), 0u);
  EXPECT_EQ(info<uint32_t>(cpu_, HSA_AMD_AGENT_INFO_CACHELINE_SIZE), 64u);
  EXPECT_NE(info<uint32_t>(gpu_, HSA_AMD_AGENT_INFO_BDFID), 0u);
  for (const unsigned attribute :
       {HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT, HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY,
        HSA_AMD_AGENT_INFO_BDFID, HSA_AMD_AGENT_INFO_MEMORY_WIDTH, HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY,
        HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU}) {
    SCOPED_TRACE(attribute);
    EXPECT_EQ(info<uint32_t>(cpu_, attribute), 0u);
    EXPECT_NE(info<uint32_t>(gpu_, attribute), 0u);
  }
}

}  // namespace
}  // namespace wavejit::test
