// Random memory instructions, and the registers that they address memory by.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/isa/info.h"
#include "frontend/isa/target.h"
#include "internal/wave_state.h"
#include "tests/diff/random_instruction.h"

namespace wavejit::test {

// What random memory instructions may access.
struct MemoryMap {
  uint64_t memory = 0;  // kMemoryBytes, aligned to 256
  uint64_t scratch = 0;
};
inline constexpr uint32_t kMemoryBytes = 64 * 1024, kScratchBytesPerLane = 512;
inline constexpr uint32_t kLdsBytes = 4096, kGdsBytes = 64 * 1024;

// SGPRs that set_addresses() sets. Programs have others in s[60:89], so they cannot use the images there.
inline constexpr uint32_t kImageSgpr = 40, kSamplerSgpr = 48;
inline constexpr uint32_t kAlignedDescriptorSgpr = 52;           // elements of lanes 16 bytes apart, or the same
inline constexpr uint32_t kImage32Sgpr = 60, kImage64Sgpr = 68;  // one and two 32-bit integers
inline constexpr uint32_t kPlainSamplerSgpr = 76, kPlainImageSgpr = 80;  // one filter; one level
inline constexpr uint32_t kAddressSgpr = 90, kDescriptorSgpr = 92;       // middle of the memory; a buffer in it
inline constexpr uint32_t kSmallSgpr = 96;                               // s96 a multiple of 4, s97 of 16, below 256

// VGPRs from here on to kLastAddressVgpr, too.
inline constexpr uint32_t kAddressVgpr = 64, kLastAddressVgpr = 111;

// Programs change theirs: four of byte offsets, three pairs of addresses.
inline constexpr uint32_t kProgramVgpr = kLastAddressVgpr + 1;

// Sets those registers. Results depend on `rng`.
void set_addresses(WaveState& wave, const MemoryMap& map, isa::Target target, Rng& rng);

// Whether the instruction finds its memory by registers of set_addresses(): what writes those must not precede it.
// Others that access memory, such as most DS instructions, are checked against its limits.
[[nodiscard]] bool needs_addresses(isa::Opcode opcode);

[[nodiscard]] bool is_memory_format(isa::Format format);

// Random fields of an instruction of these formats; the decoder may reject them.
[[nodiscard]] std::vector<uint32_t> random_memory_words(isa::Opcode opcode, isa::Target target, Rng& rng);

}  // namespace wavejit::test
