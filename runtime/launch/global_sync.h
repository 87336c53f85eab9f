// Global wave sync (GWS) and ordered counts: instructions by which waves of different work-groups wait for each other.
//
// Facts: GCN3 and Vega ISA manuals, DS_GWS_INIT, DS_GWS_SEMA_V, _SEMA_BR, _SEMA_P, _SEMA_RELEASE_ALL, DS_GWS_BARRIER
// and DS_ORDERED_COUNT; LLVM, SIISelLowering (AMDGPUIntrinsics DS_ORDERED, "ds_gws"), for M0 and the offset's fields.
//
// A device has one table of resources for all of its launches; like the GDS it keeps its contents from launch to
// launch. Engines leave at these instructions (trap_id::kGlobalSync), and workers execute them here. All functions are
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>

#include "frontend/isa/instruction.h"
#include "internal/wave_state.h"

namespace wavejit::runtime {

class GlobalSync {
 public:
  static constexpr unsigned kResources = 64;

  // What is known of a launch.
  struct Launch {
    uint32_t device_waves = 0;   // Device::waves()
    uint32_t next_in_order = 0;  // the number of the wave whose turn it is at ds_ordered_count
  };
  enum class Outcome : uint8_t {
    done,         // the wave continues after the instruction
    waits,        // the wave waits; poll released()
    unsupported,  // the instruction's fields have no meaning
    too_many,     // more waves would wait than the device holds: hardware would hang as well
  };

  // Executes `inst` for the wave, or queues it.
  [[nodiscard]] Outcome execute(Launch& launch, WaveState& wave, const isa::Instruction& inst);
  // Returns true if a waiting wave may continue after its instruction, whose effects are then complete. Removes the
  // record of the wave in that case.
  [[nodiscard]] bool released(const WaveState& wave);
  // Like released(), but matches any waiter and keeps the record.
  [[nodiscard]] bool any_released(std::span<const WaveState* const> waves);
  // Removes the records of waves whose launch has failed.
  void forget(std::span<const WaveState* const> waves);

  // Registers threads that execute waves, in any launch on any device. wait() needs to know when the last one stops.
  static void enter();
  static void leave();
  enum class Wake : uint8_t { released, stopped, deadlock };
  // Sleeps until one of the waves is released, `*stop_flag` is set, or all threads of the process that execute waves
  // wait here for each other.
  [[nodiscard]] Wake wait(std::span<const WaveState* const> waves, const volatile uint32_t* stop_flag);

 private:
  struct Resource {
    uint64_t counter = 0;
    bool flag = false;  // flips each time that the barrier releases waves
    bool is_barrier = false;
    std::deque<const WaveState*> queue;
  };
  struct Waiting {
    bool released = false;
    bool flag = false;  // of the resource when the wave came to the barrier
    // For waves at ds_ordered_count: their launch, their numbers, and the operation to perform when their turn comes.
    Launch* launch = nullptr;
    uint32_t turn = 0;
    WaveState* wave = nullptr;
    isa::Instruction inst;
  };

  Outcome enqueue(Resource& resource, const Launch& launch, WaveState& wave);
  [[nodiscard]] bool has_room(const Launch& launch) const { return waiting_.size() - released_ < launch.device_waves; }
  void release(Resource& resource);
  void let_go(const WaveState* wave);
  Outcome ordered_count(Launch& launch, WaveState& wave, const isa::Instruction& inst);
  void count(Launch& launch, WaveState& wave, const isa::Instruction& inst);
  [[nodiscard]] bool is_released(const WaveState* wave) const;

  struct Process;  // what all devices have in common
  static Process& process();

  // Guarded by the process's mutex.
  std::array<Resource, kResources> resources_;
  std::unordered_map<const WaveState*, Waiting> waiting_;
  unsigned released_ = 0;  // of waiting_
};

}  // namespace wavejit::runtime
