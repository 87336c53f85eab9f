// Runs waves on one host thread, one turn at a time. Chooses between interpreter and translated code, moves waves from
// one translation to another, and suspends and resumes them at polls.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend-x86/compiler.h"
#include "internal/wave_state.h"
#include "runtime/kernel/execution_profile.h"
#include "runtime/launch/launch_state.h"
#include "runtime/launch/sampler.h"
#include "runtime/launch/schedule.h"
#include "runtime/memory/arena.h"
#include "runtime/memory/fault.h"
#include "runtime/translate/translation_cache.h"

namespace wavejit::runtime {

// Bookkeeping for a wave of the work-group, in addition to its WaveState.
struct WaveSlot {
  enum class Status : uint8_t { ready, at_barrier, at_sync, ended };
  Status status = Status::ready;
  bool interpreted = false;
  bool stays_interpreted = false;       // it has reached code that is not translated
  bool waits_for_translatable = false;  // and stays interpreted until MODE and pc allow a unit to begin
  TranslationCache::Arrival arrival = TranslationCache::Arrival::start;  // how it reached its pc
  bool in_start_unit = true;                                             // kind of the unit that it left last
  bool in_exec_full = true;
  bool idle = false;  // the last turn changed nothing
  uint32_t specialisation = 0;
  uint64_t full_exec = ~uint64_t{0};                 // the EXEC of the specialised variant
  uint64_t moved_at = 0;                             // where it has come from the interpreter (Query::moved_at)
  const backend::CompiledCode* parked_in = nullptr;  // at one of its polls
};

class WaveRunner {
 public:
  // What waves so far have changed of the parts of their states in front of the vector registers: everything, or these
  // lines (DispatchState::kAllLines).
  struct Changes {
    bool all = true;
    uint32_t lines = 0;
  };

  explicit WaveRunner(LaunchState& shared);

  // On the thread that runs the waves, which holds a GuestThread; `scratch_words23`: DispatchState::scratch_words23().
  void begin(uint64_t scratch_words23);
  // On the same thread, when it has run its last wave.
  void end();
  // Runs one turn of a wave in the arena, inside run_guest(): until the wave waits, or until others are due (kYield).
  // kStopped: an error has been reported, or the launch ends.
  [[nodiscard]] ExitReason run(Arena& arena, WaveState& wave, WaveSlot& slot) {
    slot.idle = true;  // at s_sleep
    arena_ = &arena;
    if (!slot.interpreted && !slot.parked_in) {
      const TranslationCache::Entry& entry = entry_of(wave, slot);
      if (entry.code) {
        const ExitReason reason = enter(wave, slot, entry);
        if (reason != ExitReason::kJump) return reason != ExitReason::kYield ? reason : yielded(wave, slot, entry.code);
      }
    }
    return run_on(wave, slot);
  }
  // Allows long turns if no other wave of the thread is waiting for its turn.
  void set_alone(bool alone) { alone_ = alone; }
  // Between these, waves that are interpreted are sampled for LaunchState::later. Returns what they did.
  void begin_later_samples();
  [[nodiscard]] interp::Profile end_later_samples();
  // Restores the MXCSR of wavejit's own code. Guest code may leave any value.
  void restore_mxcsr() const;

  [[nodiscard]] GuestMark& mark() { return *mark_; }
  [[nodiscard]] Changes& changes() { return changes_; }
  [[nodiscard]] Draw& draw() { return draw_; }  // of a schedule
  void set_draw(Draw draw);
  [[nodiscard]] const TranslationCounters& counters() const { return counters_; }
  [[nodiscard]] const OpcodeCounts* executed() const {
    return executed_.get();
  }  // by the interpreter, if that is wanted
  // What waves did, if that is wanted.
  [[nodiscard]] const interp::Profile* profile() const { return profile_.get(); }
  [[nodiscard]] uint64_t moved_waves() const { return moved_waves_; }  // to translated code

 private:
  static constexpr unsigned kProbes = 4;
  struct Cached {
    uint64_t pc = 0;
    uint64_t key = 0;
    uint64_t moved_at = 0;
    bool exec_full = false;
    TranslationCache::Entry entry;
  };

  [[nodiscard]] bool has_full_exec(const WaveState& wave, const WaveSlot& slot) const {
    return wave.exec() == slot.full_exec;
  }
  // The members of TranslationCache::Query other than the place, packed.
  [[nodiscard]] uint64_t key_of(const WaveState& wave, const WaveSlot& slot) const {
    return wave.mode | uint64_t{slot.specialisation} << 32 | uint64_t{has_scratch_srd(wave)} << 59 |
           uint64_t{static_cast<uint8_t>(slot.arrival)} << 60 | uint64_t{slot.in_start_unit} << 62 |
           uint64_t{slot.in_exec_full && has_full_exec(wave, slot)} << 63;
  }
  [[nodiscard]] bool matches(const Cached& cached, const WaveState& wave, const WaveSlot& slot) const {
    return cached.pc == wave.pc && cached.moved_at == slot.moved_at && cached.key == key_of(wave, slot) &&
           cached.exec_full == has_full_exec(wave, slot);
  }
  // Returns true if s[0:3] hold the descriptor of the wave's private segment as functions get it, with the wave's
  // offset added.
  [[nodiscard]] bool has_scratch_srd(const WaveState& wave) const {
    const uint64_t base = wave.scratch_base & 0xffffffffffff;
    return base != 0 && wave.sgpr64(0) == (base | uint64_t{1} << 63) && wave.sgpr64(2) == scratch_words23_;
  }
  [[nodiscard]] static TranslationCache::Arrival arrival_behind(ExitReason reason) {
    return reason == ExitReason::kJump ? TranslationCache::Arrival::jump : TranslationCache::Arrival::resumed;
  }
  // Enters translated code at an entry.
  ExitReason enter(WaveState& wave, WaveSlot& slot, const TranslationCache::Entry& entry) {
    slot.in_start_unit = entry.in_start_unit;
    slot.in_exec_full = entry.exec_full;
    if (!entry.in_start_unit) slot.moved_at = 0;
    wave.lane_ways = lane_ways_;
    ExitReason reason;
    {
      const GuestScope scope(*mark_, wave, entry.code);
      reason = static_cast<ExitReason>(enter_(&wave, entry.index, entry.function));
    }
    slot.arrival = arrival_behind(reason);
    return reason;
  }

  ExitReason run_on(WaveState& wave, WaveSlot& slot);
  ExitReason enter_or_interpret(WaveState& wave, WaveSlot& slot);
  // Resumes translated code at the poll where the wave is parked.
  ExitReason go_on(WaveState& wave, WaveSlot& slot);
  // After kYield, from s_sleep or from a poll.
  ExitReason yielded(const WaveState& wave, WaveSlot& slot, const backend::CompiledCode* code);
  [[nodiscard]] uint32_t polls_of_turn(const WaveState& wave);
  void note_turn(const WaveState& wave, WaveSlot& slot, uint64_t registers, uint32_t most_polls);
  ExitReason interpret(WaveState& wave, WaveSlot& slot);
  [[nodiscard]] bool is_translatable(const WaveState& wave) const;
  ExitReason interpret_to_translatable(WaveState& wave, WaveSlot& slot);
  void tell_time();
  void move_to_translated(WaveState& wave, WaveSlot& slot, TranslationCache::Arrival arrival);
  ExitReason interpret_with(const interp::Interpreter& interpreter, WaveState& wave, uint64_t budget);
  ExitReason interpret_for(WaveState& wave, uint64_t budget);
  ExitReason interpret_called(WaveState& wave, uint64_t budget);
  // The waves of a work-group mostly continue at the same place, one after the other. A last wave that is not full has
  // code of its own.
  const TranslationCache::Entry& entry_of(const WaveState& wave, WaveSlot& slot) {
    const Cached& last = *last_[slot.full_exec == ~uint64_t{0}];
    return matches(last, wave, slot) ? last.entry : lookup(wave, slot);
  }
  const TranslationCache::Entry& lookup(const WaveState& wave, WaveSlot& slot);
  const TranslationCache::Entry& translate(const WaveState& wave, WaveSlot& slot, Cached& cached, uint64_t key);

  LaunchState& shared_;
  Arena* arena_ = nullptr;  // of the turn
  uint64_t scratch_words23_ = 0;
  uint64_t lane_ways_ = 0;  // of the thread
  std::array<Cached, 64> cache_{};
  std::array<Cached*, 2> last_{cache_.data(), cache_.data()};
  GuestMark* mark_ = nullptr;
  uint32_t host_mxcsr_ = 0;
  const backend::PlainEntryFn enter_ = backend::plain_entry();
  Changes changes_;
  bool alone_ = false;
  Draw draw_{0};
  TranslationCounters counters_;
  std::unique_ptr<OpcodeCounts> executed_;
  std::unique_ptr<interp::Profile> profile_;
  std::optional<Sampler> sampler_;  // if translations may follow that choose by samples
  bool is_sampled_ = false;         // the turn
  std::optional<interp::Profile> later_samples_;
  std::vector<uint64_t> moved_to_;  // loops at which waves have gone on in translated code
  uint64_t late_ns_ = 0;            // time spent in the interpreter after the translation was ready
  uint64_t moved_waves_ = 0;
  Clock::time_point told_;  // up to when LaunchState::tier_up knows of the time
};

}  // namespace wavejit::runtime
