// The reference interpreter: tier 0 and the oracle for translated code. Written from the ISA documents; it shares no
// instruction semantics with the lifter or the backend.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "frontend/interp/profile.h"
#include "frontend/isa/opcode.h"
#include "frontend/isa/target.h"
#include "internal/error.h"
#include "internal/wave_state.h"

namespace wavejit::interp {

// Executable guest code as loaded in host memory: `base` is the guest address (= host address) of bytes[0].
struct CodeRegion {
  uint64_t base = 0;
  std::span<const uint8_t> bytes;
};

// Before each memory access the interpreter leaves in wave.engine_private what the fault handler needs to find the
// lane: [0] kFaultScalar or kFaultLanes; for kFaultLanes [1] = address of a uint64_t[64] with each lane's address, [2]
// = bytes per lane, [3] = mask of the lanes that access memory. wave.fault_write tells load from store.
inline constexpr uint64_t kFaultScalar = 0;
inline constexpr uint64_t kFaultLanes = 1;
// As bytes per lane: the lane reads several places of an image, the address being where the image begins.
inline constexpr uint32_t kUnknownBytes = ~uint32_t{0};
// The lane whose access covers `address` (64 if none does, e.g. scalar loads), from that description.
[[nodiscard]] uint32_t find_fault_lane(const WaveState& wave, uint64_t address);

// Decodes lazily and caches decoded instructions by address. One Interpreter may be used by several threads at once,
// each on its own WaveState.
class Interpreter {
 public:
  // `ecc_off`: see isa::d16_loads_clear.
  Interpreter(isa::Target target, std::span<const CodeRegion> code, bool ecc_off = false);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Runs `wave` from wave.pc until something other than an ordinary instruction happens; the reason is also stored in
  // wave.exit_reason. The host FP environment is set from wave.mode and restored. Never returns kJump. Returns kYield
  // at s_sleep, after `budget` instructions, and behind the backward jump that counts wave.polls_left down to 0 (which
  // may be 0 at first: no limit). Memory faults arrive as host signals: the runtime's handler unwinds
  // (see runtime/memory/fault.h), finding the instruction in wave.pc, which is kept current before every memory access.
  ExitReason run(WaveState& wave, uint64_t budget = UINT64_MAX) const;

  // The same, slower, and adds one to `counts` (by opcode) for every instruction that WaveState::instructions counts.
  ExitReason run_counting(WaveState& wave, uint64_t budget, std::span<uint64_t, isa::kNumOpcodes> counts) const;

  // The same, much slower, and adds what the wave does to `profile`.
  ExitReason run_profiling(WaveState& wave, uint64_t budget, Profile& profile) const;

  // The typed error for kUnsupported / kIllegal at wave.pc: mnemonic, encoding, PC.
  [[nodiscard]] Error describe_exit(const WaveState& wave) const;

  // Whether the interpreter has a handler for this opcode (coverage).
  [[nodiscard]] static bool supports(isa::Opcode opcode);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wavejit::interp
