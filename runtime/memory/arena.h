// Memory that one work-group needs while it runs on a host thread: wave states, LDS and scratch.
//
// Arenas are expensive to map and are reused between work-groups and launches: acquire_arena() takes one from a free
// list. An arena is used by one thread at a time. Contents left by an earlier work-group are not cleared, as on the
// hardware.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "backend-x86/encode/parking.h"
#include "internal/error.h"
#include "internal/wave_state.h"

namespace wavejit::runtime {

inline constexpr unsigned kMaxWavesPerGroup = 16;    // 1,024 work-items
inline constexpr uint32_t kMaxLdsBytes = 64 * 1024;  // per work-group, GFX7 to GFX90A
inline constexpr uint32_t kLdsGranularity = 512;     // bytes; GFX8/GFX9 allocate LDS in 128-dword units
// Scratch per work-item that kernels with a dynamic stack (recursion, indirect calls) get in addition to their fixed
// size. LLVM itself assumes 16 KiB for an unknown callee's frame (AMDGPU -amdgpu-assume-external-call-stack-size).
inline constexpr uint32_t kDynamicStackBytes = 16 * 1024;
inline constexpr uint32_t kMaxScratchBytesPerLane = 512 * 1024;

// Polls (WaveState::polls_left) of a wave's turn while others wait for theirs and nothing changes.
inline constexpr uint32_t kFewPolls = 16;
// What is known of a wave's turns that ended at polls.
struct PolledTurns {
  uint32_t polls = 0;                   // of the next turn; 0: there has been none
  uint8_t oldest = 0;                   // of `registers`
  std::array<uint64_t, 8> registers{};  // hashes of them behind the last turns: a loop may have several polls
};

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Makes room for `waves` wave states and gives each `scratch_bytes_per_lane` bytes of swizzled scratch (a multiple of
  // 4), with an inaccessible page behind each wave's part. kOutOfMemory when the host refuses.
  [[nodiscard]] Expected<void> prepare(unsigned waves, uint32_t lds_bytes, uint32_t scratch_bytes_per_lane);

  [[nodiscard]] WaveState& wave(unsigned index) { return waves_[index]; }
  [[nodiscard]] PolledTurns& turns_of(const WaveState& wave) {
    has_turns_ = true;
    return turns_[&wave - waves_];
  }
  [[nodiscard]] uint32_t polls_of(const WaveState& wave) const { return turns_[&wave - waves_].polls; }
  // By WaveState::wave_in_group.
  [[nodiscard]] std::span<backend::ParkedWave, kMaxWavesPerGroup> parked_waves() { return parked_; }
  [[nodiscard]] backend::ParkedWave& parked(const WaveState& wave) { return parked_[&wave - waves_]; }
  // For the next work-group.
  void forget_turns() {
    if (!std::exchange(has_turns_, false)) return;
    turns_.fill({});
    for (backend::ParkedWave& wave : parked_) wave.forget();
  }
  // LDS of the prepared size, ending exactly before 4 GiB + 64 KiB of inaccessible addresses.
  [[nodiscard]] uint64_t lds_base() const { return lds_base_; }
  [[nodiscard]] uint32_t lds_size() const { return lds_size_; }
  [[nodiscard]] uint64_t scratch_base() const { return scratch_base_; }      // of wave 0
  [[nodiscard]] uint64_t scratch_stride() const { return scratch_stride_; }  // bytes between the waves' parts
  [[nodiscard]] uint64_t scratch_bytes() const { return scratch_stride_ * scratch_waves_; }
  [[nodiscard]] uint32_t scratch_bytes_per_lane() const { return scratch_bytes_per_lane_; }

 private:
  WaveState* waves_ = nullptr;
  std::array<backend::ParkedWave, kMaxWavesPerGroup> parked_;
  std::array<PolledTurns, kMaxWavesPerGroup> turns_;
  bool has_turns_ = false;
  unsigned wave_capacity_ = 0;
  uint64_t lds_mapping_ = 0;
  uint64_t lds_base_ = 0;
  uint32_t lds_size_ = 0;
  uint64_t scratch_base_ = 0;
  uint64_t scratch_stride_ = 0;
  unsigned scratch_waves_ = 0;
  uint32_t scratch_bytes_per_lane_ = 0;
};

[[nodiscard]] std::unique_ptr<Arena> acquire_arena();
void release_arena(std::unique_ptr<Arena> arena);
// For a fork(), whose child is to be able to call these.
[[nodiscard]] std::unique_lock<std::mutex> lock_arenas();

}  // namespace wavejit::runtime
