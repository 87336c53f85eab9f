// Parked waves: translated code that is left in the middle and gone on with later, on any thread.
//
// Loops that may wait for what others do have polls (ir/passes/polls.cpp): WaveState::polls_left is counted down, and at
// zero the code calls poll_stub(). The stub copies the host registers and the frame of the code to the wave's ParkedWave,
// and the code returns kYield. go_on() copies them back, onto the stack of whoever calls it. Frames may be moved, as no
// address of theirs is kept across a poll: who enters code aligns the stack for it (entry_stub.cpp), so that no frame
// holds an older stack pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend-x86/compiler.h"
#include "internal/wave_state.h"

namespace wavejit::backend {

// What is kept of one wave. Not thread-safe.
class ParkedWave {
 public:
  enum class State : uint8_t { none, parked, no_memory };

  // no_memory: the wave was to be parked, and the host had no memory for it; its frame is lost.
  [[nodiscard]] State state() const { return state_; }
  // The host registers: the same at two polls if nothing in them has changed in between.
  [[nodiscard]] std::span<const std::byte> registers() const;

  // From the poll where `wave` is parked, which is one no longer; as PlainEntryFn otherwise. MXCSR is as the code left it.
  ExitReason go_on(WaveState& wave);
  // What was parked is forgotten, its memory kept for the next wave.
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

// The address of what translated code calls at polls: with the wave's address pushed, which it takes off the stack. With
// the carry flag set the code is to return kYield, else to go on; all other registers are kept then.
[[nodiscard]] uintptr_t poll_stub();

}  // namespace wavejit::backend
