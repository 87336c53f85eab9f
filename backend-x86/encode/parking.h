// Parked waves: translated code that is suspended in the middle and resumed later, on any thread.
//
// Loops that may wait for other waves have polls (ir/passes/polls.cpp). A poll decrements WaveState::polls_left and
// calls poll_stub() at zero. The stub copies the host registers and the frame of the code to the wave's ParkedWave, and
// the code returns kYield. go_on() copies them back, onto the stack of its caller. A frame may be moved because no
// address into it lives across a poll: the trampoline aligns the stack before it enters code (entry_stub.cpp), so that
// no frame holds an older stack pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend-x86/compiler.h"
#include "internal/wave_state.h"

namespace wavejit::backend {

// The saved registers and frame of one wave. Not thread-safe.
class ParkedWave {
 public:
  enum class State : uint8_t { none, parked, no_memory };

  // no_memory: the host had no memory to park the wave; its frame is lost.
  [[nodiscard]] State state() const { return state_; }
  // The saved host registers. Equal at two polls if no register has changed in between.
  [[nodiscard]] std::span<const std::byte> registers() const;

  // Resumes `wave` at the poll where it is parked; afterwards it is not parked any more. Otherwise like PlainEntryFn.
  // MXCSR is as the code leaves it.
  ExitReason go_on(WaveState& wave);
  // Drops the parked wave and keeps its memory for the next one.
  void forget() { state_ = State::none; }

  // For poll_stub().
  void park(std::span<const std::byte> vectors, std::span<const std::byte> frame);

 private:
  [[nodiscard]] bool reserve(size_t bytes);

  std::unique_ptr<std::byte[]> memory_;  // the vector registers, then the frame, which the general registers begin
  size_t capacity_ = 0;
  size_t frame_bytes_ = 0;
  State state_ = State::none;
};

// The address of the stub that translated code calls at polls. The caller pushes the wave's address; the stub pops it.
// If the carry flag is set on return, the code must return kYield. Otherwise it continues, with all registers
// preserved.
[[nodiscard]] uintptr_t poll_stub();

}  // namespace wavejit::backend
