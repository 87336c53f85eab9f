// Host stacks of waves, so that translated code can be left in the middle and gone on with.
//
// Loops that may wait for what others do have polls (ir/passes/polls.cpp): WaveState::polls_left is counted down, and at
// zero the code calls poll_stub(). If the wave runs on a stack of its own, the stub leaves all registers there and returns
// to who runs it, as the code would with ExitReason::kYield; go_on() goes back. Otherwise it does nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend-x86/compiler.h"
#include "internal/wave_state.h"

namespace wavejit::backend {

// One wave at a time runs on it. Not thread-safe.
class WaveStack {
 public:
  WaveStack() = default;
  ~WaveStack();
  WaveStack(const WaveStack&) = delete;
  WaveStack& operator=(const WaveStack&) = delete;

  // Maps the stack, with an inaccessible page below it, if that has not been done. False: the host refuses.
  [[nodiscard]] bool prepare();

  // As PlainEntryFn, on this stack. kYield with is_parked(wave): at a poll, from where go_on() goes on. What ran here
  // before is forgotten.
  ExitReason enter(WaveState& wave, uint32_t entry_index, CompiledCode::EntryFn code);
  // From the poll where the wave is parked. MXCSR is as the code left it.
  static ExitReason go_on(WaveState& wave);

 private:
  void* mapping_ = nullptr;
};

[[nodiscard]] inline bool is_parked(const WaveState& wave) {
  return wave.parked_stack != 0;
}
// The host registers of a parked wave: the same at two polls if nothing in them has changed in between.
[[nodiscard]] std::span<const std::byte> parked_registers(const WaveState& wave);

// The address of what translated code calls at polls: with the wave's address pushed, which it takes off the stack.
[[nodiscard]] uintptr_t poll_stub();

}  // namespace wavejit::backend
