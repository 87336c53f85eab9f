// What waves did at each instruction, as the interpreter counts it.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace wavejit::interp {

// Of one instruction. Sums over its executions.
struct InstructionProfile {
  uint64_t executed = 0;  // by a wave: 64 lanes count once
  uint64_t lanes = 0;     // active ones
  uint64_t taken = 0;     // of a branch: how often the wave did not go on behind it

  // Accesses to global memory, scratch and images, by vector instructions, of which the interpreter knows each lane's
  // address; the executions of others (scalar loads, the LDS) are none.
  struct Accesses {
    uint64_t count = 0;
    uint64_t same = 0;         // all lanes at one place
    uint64_t consecutive = 0;  // one lane's bytes behind those of the lane before
    uint64_t strided = 0;      // another distance, the same between all
    int64_t stride = 0;        // bytes; of the last one of these
    uint64_t lanes = 0;        // that access memory
    uint64_t lines = 0;        // of 64 bytes that they touch
    uint32_t bytes = 0;        // of a lane, in the last one
  } memory;

  // Accesses to the LDS with an address for each lane.
  struct LdsAccesses {
    uint64_t count = 0;
    uint64_t halves = 0;  // of waves: 32 lanes, of which at least one is active
    uint64_t cycles = 0;  // see lds_cycles()
  } lds;

  void add(const InstructionProfile& other);
};

// By the instruction's address.
using Profile = std::unordered_map<uint64_t, InstructionProfile>;

void add(Profile& sum, const Profile& other);

// An access to memory by the lanes of the mask, so many bytes each.
void add_access(InstructionProfile& at, const uint64_t* addresses, uint64_t lanes, uint32_t bytes);

// How many cycles the hardware's LDS takes for the first dwords of an access: in each cycle every one of its 32 banks
// serves one dword to all lanes of half a wave that want it (AMD OpenCL Optimization Guide, "Local Memory (LDS)
// Optimization"). Without conflicts 1 for each half.
[[nodiscard]] unsigned lds_cycles(const uint32_t* addresses, uint64_t lanes);

}  // namespace wavejit::interp
