// The architectural state of one 64-lane wavefront, shared by the interpreter, translated code and the runtime.
//
// Layout is an internal ABI: translated code addresses the members by offsetof. One wave is touched by one host thread
// at a time; nothing in it is synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wavejit {

inline constexpr unsigned kWaveSize = 64;
inline constexpr unsigned kNumVgprs = 256;
inline constexpr unsigned kNumAgprs = 256;
inline constexpr uint32_t kLastScratchByte = 0x03ffffff;  // of a lane; larger offsets count as this one

// SGPR file indices that are ISA operand encodings with a name (GFX8/GFX9; GFX7 has FLAT_SCRATCH at 104).
namespace sreg {
inline constexpr unsigned kFlatScratchLo = 102;  // GFX8, GFX9
inline constexpr unsigned kXnackMaskLo = 104;
inline constexpr unsigned kVccLo = 106;
inline constexpr unsigned kTtmp0 = 108;
inline constexpr unsigned kM0 = 124;
inline constexpr unsigned kExecLo = 126;
}  // namespace sreg

// Why an engine handed control back to the runtime.
enum class ExitReason : uint32_t {
  kEnd = 0,          // s_endpgm
  kBarrier = 1,      // s_barrier; pc is the following instruction
  kYield = 2,        // s_sleep or a spin-wait yield point; pc is where to go on
  kJump = 3,         // translated code only: control goes to pc, which this translation does not contain
  kTrap = 4,         // s_trap; trap_id holds the immediate, pc the s_trap itself
  kFault = 5,        // memory fault; fault_* are set, pc the faulting instruction
  kUnsupported = 6,  // instruction not executed by this engine; pc is that instruction
  kIllegal = 7,      // undecodable bytes at pc
  kStopped = 8,      // the launch's stop flag was seen (timeout or error elsewhere)
};

// MODE register fields (Vega ISA manual, section 3.3.4 "MODE").
namespace mode {
inline constexpr uint32_t kRoundF32Shift = 0;      // 2 bits: 0 even, 1 +inf, 2 -inf, 3 zero
inline constexpr uint32_t kRoundF16F64Shift = 2;   // 2 bits
inline constexpr uint32_t kDenormF32Shift = 4;     // 2 bits: bit 0 keep input denormals, bit 1 keep output denormals
inline constexpr uint32_t kDenormF16F64Shift = 6;  // 2 bits
inline constexpr uint32_t kDx10Clamp = 1u << 8;    // clamp maps NaN to 0
inline constexpr uint32_t kIeee = 1u << 9;         // quiet signalling NaNs in min/max etc.
inline constexpr uint32_t kFp16Ovfl = 1u << 23;
inline constexpr uint32_t kGprIdxEn = 1u << 27;
inline constexpr uint32_t kVskip = 1u << 28;  // vector instructions are not executed
inline constexpr uint32_t kCspShift = 29;     // 3 bits: entries on the stack of s_cbranch_*_fork
}  // namespace mode

// STATUS register fields (Vega ISA manual, section 3.3.1 "Status register").
namespace status {
inline constexpr uint32_t kInTg = 1u << 11;  // the wave's work-group has more than one wave
}  // namespace status

// Apertures of the generic (flat) address space: addresses whose upper 32 bits equal these. Both are non-canonical on
// x86-64, so no host pointer can be mistaken for them (the same values ROCm uses on Vega).
inline constexpr uint32_t kSharedApertureHi = 0x00010000;
inline constexpr uint32_t kPrivateApertureHi = 0x00020000;

struct alignas(64) WaveState {
  // Indexed by scalar operand encoding 0..127: s0..s101, flat_scratch 102, xnack_mask 104, vcc 106, ttmp0..15 108, m0
  // 124, exec 126. 64-bit registers are little-endian pairs.
  uint32_t sgpr[128];

  uint64_t pc;       // guest program counter: host address of the next instruction
  uint32_t scc;      // 0 or 1
  uint32_t vccz;     // 0 or 1; up to GFX9 a write of only vcc_lo or vcc_hi leaves it stale
  uint32_t mode;     // MODE register, bits as in namespace mode
  uint32_t trapsts;  // TRAPSTS register
  uint32_t status;   // STATUS register bits that are not modelled elsewhere
  uint32_t hw_id;    // HW_ID register

  // Work-group local memory: LDS offset 0 is at lds_base. lds_size is in bytes (allocated, i.e. rounded up). Memory
  // beyond lds_size up to 4 GiB + 64 KiB above lds_base is reserved; of its beginning backend::kLdsSlack bytes are
  // accessible, to vector accesses that reach over the end, and at least 4 GiB of it are not.
  uint64_t lds_base;
  uint32_t lds_size;

  // Scratch of this wave, swizzled: byte b of lane l is at scratch_base + (b / 4) * 256 + l * 4 + b % 4.
  uint32_t scratch_bytes_per_lane;
  uint64_t scratch_base;

  // Set non-zero (by another thread) when the wave must stop; engines poll it at back edges or are interrupted.
  const volatile uint32_t* stop_flag;

  // Filled in on exit.
  ExitReason exit_reason;
  uint32_t trap_id;
  uint64_t fault_address;
  uint32_t fault_lane;   // 0..63, or 64 when the access was scalar
  uint32_t fault_write;  // 1 for a store or atomic

  // Counters, updated by the interpreter always and by translated code when asked to: instructions executed by the
  // wave.
  uint64_t instructions;

  // Identity, for messages and for hardware-register reads.
  uint32_t workgroup_id[3];
  uint32_t wave_in_group;  // 0..15

  uint64_t engine_private[8];  // free for the engine; not architectural

  // Global data share: memory of the device that all work-groups see, as the GDS forms of DS instructions address it.
  uint64_t gds_base;
  uint32_t gds_size;

  uint32_t gpr_alloc;  // GPR_ALLOC register

  // Polls until the wave is left with kYield: backward jumps of the interpreter, and polls of translated code
  // (backend-x86/encode/parking.h). The interpreter takes 0 for no limit.
  uint32_t polls_left;
  uint64_t runner_stack;  // host stack pointer of the trampoline that has entered translated code
  uint64_t parked_waves;  // the address of the work-group's backend::ParkedWave, by wave_in_group; 0: polls do nothing

  // For code that keeps stores of lanes back (internal/lane_streams.h): addresses that may be stored to; the buffer of lane 0;
  // not 0: the arrays of lanes are in the order of the lanes.
  uint64_t stream_space_begin, stream_space_bytes, stream_buffers, streams_in_order;

  uint64_t lane_ways;  // the address of a LaneWays (internal/lane_way.h); 0: loops are executed in lockstep

  uint32_t fault_misaligned;  // like fault_write: 1 for an atomic whose address is not a multiple of its size

  // Work-items of a launch whose stores may bypass the caches: the runtime orders them before what follows (SFENCE). 0 for
  // other launches; UINT32_MAX stands for more, too.
  uint32_t streamed_items;

  // One 256-byte row per register, element = lane. AGPRs follow VGPRs, so on GFX90A's unified file agpr i is row 256 +
  // i too.
  alignas(64) uint32_t vgpr[kNumVgprs][kWaveSize];
  alignas(64) uint32_t agpr[kNumAgprs][kWaveSize];

  [[nodiscard]] uint64_t sgpr64(unsigned index) const {
    uint64_t value;
    std::memcpy(&value, &sgpr[index], sizeof value);
    return value;
  }
  void set_sgpr64(unsigned index, uint64_t value) { std::memcpy(&sgpr[index], &value, sizeof value); }
  [[nodiscard]] uint64_t exec() const { return sgpr64(sreg::kExecLo); }
  void set_exec(uint64_t value) { set_sgpr64(sreg::kExecLo, value); }
  [[nodiscard]] uint64_t vcc() const { return sgpr64(sreg::kVccLo); }
  void set_vcc(uint64_t value) {
    set_sgpr64(sreg::kVccLo, value);
    vccz = value == 0;
  }
};

}  // namespace wavejit
