// A work-group that has begun on a host thread.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "internal/wave_state.h"
#include "runtime/kernel/dispatch_state.h"
#include "runtime/launch/wave_runner.h"
#include "runtime/memory/arena.h"

namespace wavejit::runtime {

struct WorkGroup {
  std::unique_ptr<Arena> arena;        // states of its waves, LDS and scratch
  DispatchState::WaveTemplate common;  // initial state that its waves share
  unsigned count = 0;                  // waves; 0: none has begun
  std::array<WaveSlot, kMaxWavesPerGroup> slots{};
  // While set aside: the waves that must be released before it can continue (GlobalSync); empty if it may continue
  // anyway.
  std::vector<const WaveState*> waiting;

  [[nodiscard]] bool all_ended() const {
    return std::all_of(slots.begin(), slots.begin() + count,
                       [](const WaveSlot& slot) { return slot.status == WaveSlot::Status::ended; });
  }

  [[nodiscard]] bool is_at_sync() const {
    return std::any_of(slots.begin(), slots.end(),
                       [](const WaveSlot& slot) { return slot.status == WaveSlot::Status::at_sync; });
  }

  // Computes `waiting` from the current state of the waves.
  [[nodiscard]] std::vector<const WaveState*> waiting_at_sync() const {
    std::vector<const WaveState*> waves;
    for (unsigned i = 0; i < count; ++i) {
      if (slots[i].status == WaveSlot::Status::ready) return {};
      if (slots[i].status == WaveSlot::Status::at_sync) waves.push_back(&arena->wave(i));
    }
    return waves;
  }

  [[nodiscard]] uint64_t instructions() const {
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; ++i) sum += arena->wave(i).instructions;
    return sum;
  }
};

}  // namespace wavejit::runtime
