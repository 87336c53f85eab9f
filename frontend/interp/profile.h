// What waves did at each instruction, as the interpreter counts it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "frontend/isa/opcode.h"
#include "internal/wave_state.h"

namespace wavejit::interp {

// Of one instruction. Sums over its executions.
struct InstructionProfile {
  isa::Opcode opcode{};
  uint64_t executed = 0;  // by a wave: 64 lanes count once
  uint64_t lanes = 0;     // active ones
  uint64_t taken = 0;     // of a branch: how often the wave did not go on behind it

  // Accesses to global memory, scratch and images by vector instructions. Scalar loads, the LDS and samples of images are
  // none.
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
    uint64_t cycles = 0;  // LdsCycles::taken
    uint64_t least = 0;   // LdsCycles::least
  } lds;

  // Groups of four neighbouring lanes, two or more of which access memory, scratch, an image or the LDS.
  struct Groups {
    uint64_t count = 0;
    uint64_t same = 0;         // all at one place
    uint64_t consecutive = 0;  // one lane's bytes behind those of the lane before, or overlapping them

    void add(const Groups& other);
  } groups;

  void add(const InstructionProfile& other);
};

// By the instruction's address.
using Profile = std::unordered_map<uint64_t, InstructionProfile>;

void add(Profile& sum, const Profile& other);

// An access to memory by the lanes of the mask, so many bytes each.
void add_access(InstructionProfile& at, const uint64_t* addresses, uint64_t lanes, uint32_t bytes);

// Of the lanes of the mask, so many bytes each.
[[nodiscard]] InstructionProfile::Groups groups_of(std::span<const uint64_t, kWaveSize> addresses, uint64_t lanes,
                                                   uint32_t bytes);

// Cycles of an access to the hardware's LDS.
struct LdsCycles {
  unsigned taken = 0;
  unsigned least = 0;  // for as many different dwords, spread over all banks
};
// Of the lanes of the mask, each with up to 4 dwords from its address on: in each cycle every one of the LDS's 32 banks
// serves one dword to all lanes of half a wave that want it (AMD OpenCL Optimization Guide, "Local Memory (LDS)
// Optimization").
[[nodiscard]] LdsCycles lds_cycles(const uint32_t* addresses, uint64_t lanes, unsigned dwords);

}  // namespace wavejit::interp
