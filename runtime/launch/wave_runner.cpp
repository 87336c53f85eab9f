#include "runtime/launch/wave_runner.h"

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "backend-x86/encode/parking.h"
#include "internal/hash.h"
#include "runtime/launch/lane_ways.h"

namespace wavejit::runtime {
namespace {

// Instructions the interpreter executes before the dispatcher looks at the stop flag and the other waves, if there is no
// backward jump; and before it looks for translated code.
constexpr uint64_t kInterpreterBudget = 100'000;
constexpr uint64_t kTieredBudget = 5'000;
// How often a thread says that it has interpreted.
constexpr std::chrono::microseconds kTold{20};
// Of a turn whose length is drawn, at most.
constexpr uint32_t kDrawnBudget = 400;

// Polls of a wave's turn while others wait for theirs, at most: there are more and more of them, from kFewPolls on, while it
// gets on. And of a wave that nobody waits for. No clock decides, so that one thread does the same every time.
constexpr uint32_t kMaxPolls = 512, kMaxInterpretedPolls = 64, kPollsAlone = 4096;
// Jumps from one translation to another in a turn.
constexpr unsigned kMaxJumps = 256;

uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

WaveRunner::WaveRunner(LaunchState& shared) : shared_(shared) {
  if (shared.profile) executed_ = std::make_unique<OpcodeCounts>();
  if (shared.request.profile) profile_ = std::make_unique<interp::Profile>();
  if (shared.kernel_samples) sampler_.emplace(*shared.kernel_samples, shared.translations.samples());
}

void WaveRunner::begin(uint64_t scratch_words23) {
  scratch_words23_ = scratch_words23;
  mark_ = &guest_mark();
  lane_ways_ = lane_ways_of_thread();
  host_mxcsr_ = _mm_getcsr();
  told_ = Clock::now();
}

void WaveRunner::end() {
  if (sampler_) sampler_->hand_over();
  if (shared_.tier_up && !shared_.tier_up->translation()) shared_.tier_up->add(ns_since(told_));
}

void WaveRunner::set_draw(Draw draw) {
  draw_ = draw;
  draw_lane_ways(lane_ways_, draw_);
}

void WaveRunner::begin_later_samples() {
  later_samples_.emplace();
  late_ns_ = 0;
}

interp::Profile WaveRunner::end_later_samples() {
  interp::Profile samples = *std::move(later_samples_);
  later_samples_.reset();
  return samples;
}

void WaveRunner::restore_mxcsr() const {
  _mm_setcsr(host_mxcsr_);
}

ExitReason WaveRunner::run_on(WaveState& wave, WaveSlot& slot) {
  if (slot.interpreted) {
    const ExitReason reason = interpret(wave, slot);
    if (slot.interpreted) return reason;
  }
  for (unsigned jumps = 0;; ++jumps) {
    const ExitReason reason = slot.parked_in ? go_on(wave, slot) : enter_or_interpret(wave, slot);
    if (reason != ExitReason::kJump || shared_.watch.stopping()) return reason;
    if (jumps == kMaxJumps) {
      slot.idle = false;
      return ExitReason::kYield;
    }
  }
}

ExitReason WaveRunner::enter_or_interpret(WaveState& wave, WaveSlot& slot) {
  const TranslationCache::Entry& entry = entry_of(wave, slot);
  if (!entry.code) {
    if (!slot.stays_interpreted) return ExitReason::kStopped;  // lookup() has reported the error
    slot.interpreted = changes_.all = true;
    return interpret(wave, slot);
  }
  const ExitReason reason = enter(wave, slot, entry);
  return reason == ExitReason::kYield ? yielded(wave, slot, entry.code) : reason;
}

ExitReason WaveRunner::go_on(WaveState& wave, WaveSlot& slot) {
  wave.polls_left = polls_of_turn(wave);
  wave.lane_ways = lane_ways_;
  const backend::CompiledCode* code = std::exchange(slot.parked_in, nullptr);
  ExitReason reason;
  {
    const GuestScope scope(*mark_, wave, code);
    reason = arena_->parked(wave).go_on(wave);
  }
  slot.arrival = arrival_behind(reason);
  return reason == ExitReason::kYield ? yielded(wave, slot, code) : reason;
}

ExitReason WaveRunner::yielded(const WaveState& wave, WaveSlot& slot, const backend::CompiledCode* code) {
  const backend::ParkedWave& parked = arena_->parked(wave);
  switch (parked.state()) {
    case backend::ParkedWave::State::none:
      return ExitReason::kYield;
    case backend::ParkedWave::State::parked:
      slot.parked_in = code;
      note_turn(wave, slot, hash_of(parked.registers()), kMaxPolls);
      return ExitReason::kYield;
    case backend::ParkedWave::State::no_memory:
      break;
  }
  restore_mxcsr();
  shared_.fail(
      {.code = ErrorCode::kOutOfMemory, .message = "There is no host memory for a wave that waits at a poll."});
  return ExitReason::kStopped;
}

uint32_t WaveRunner::polls_of_turn(const WaveState& wave) {
  if (alone_) return kPollsAlone;
  const uint32_t polls = arena_->polls_of(wave);
  return polls != 0 ? polls : kFewPolls;
}

// Behind a turn that a poll has ended.
void WaveRunner::note_turn(const WaveState& wave, WaveSlot& slot, uint64_t registers, uint32_t most_polls) {
  PolledTurns& turns = arena_->turns_of(wave);
  slot.idle = std::find(turns.registers.begin(), turns.registers.end(), registers) != turns.registers.end();
  turns.registers[turns.oldest] = registers;
  turns.oldest = (turns.oldest + 1) % turns.registers.size();
  if (shared_.schedule.is_drawn())
    turns.polls = 1 + draw_.below(4 * kFewPolls);
  else if (!alone_)
    turns.polls = slot.idle ? kFewPolls : std::min(2 * std::max(turns.polls, kFewPolls), most_polls);
}

ExitReason WaveRunner::interpret_with(const interp::Interpreter& interpreter, WaveState& wave, uint64_t budget) {
  if (profile_) return interpreter.run_profiling(wave, budget, *profile_);
  if (later_samples_) return interpreter.run_profiling(wave, budget, *later_samples_);
  if (is_sampled_) return interpreter.run_profiling(wave, budget, sampler_->profile());
  return executed_ ? interpreter.run_counting(wave, budget, *executed_) : interpreter.run(wave, budget);
}

// Interprets `budget` instructions, and as many again behind each jump to another module's code.
[[gnu::always_inline]] inline ExitReason WaveRunner::interpret_for(WaveState& wave, uint64_t budget) {
  const ExitReason reason = interpret_with(*shared_.interpreter, wave, budget);
  return reason == ExitReason::kIllegal ? interpret_called(wave, budget) : reason;
}

// Where the kernel's own interpreter has come to what is none of its code.
ExitReason WaveRunner::interpret_called(WaveState& wave, uint64_t budget) {
  const interp::Interpreter* interpreter = shared_.interpreter;
  for (unsigned jumps = 0; jumps != kMaxJumps; ++jumps) {
    const interp::Interpreter* next = &shared_.interpreter_at(wave.pc);
    if (next == interpreter) return ExitReason::kIllegal;
    const ExitReason reason = interpret_with(*next, wave, budget);
    if (reason != ExitReason::kIllegal) return reason;
    interpreter = next;
  }
  return ExitReason::kYield;
}

// Interprets the wave for a while. It moves to translated code (of its own: where it is now, no code starts) when it
// has been interpreted for as long as the kernel took to translate since it could have been entered there; in a drawn
// order, when that is drawn.
ExitReason WaveRunner::interpret(WaveState& wave, WaveSlot& slot) {
  if (shared_.request.translated_part != lift::kAllCode || slot.waits_for_translatable)
    return interpret_to_translatable(wave, slot);
  if (shared_.tier_up && !shared_.tier_up->translation()) tell_time();
  const bool drawn = shared_.schedule.is_drawn();
  if (drawn && sampler_) {
    restore_mxcsr();
    sampler_->hand_over();  // for the translation of the next place to which a wave moves
  }
  const bool may_move = shared_.request.engine == Engine::tiered;
  const bool late = may_move && !slot.stays_interpreted && shared_.translated();
  const Clock::time_point start = late ? Clock::now() : Clock::time_point();
  const uint64_t before = wave.instructions;
  uint64_t budget = shared_.tier_up || later_samples_ ? kTieredBudget : kInterpreterBudget;
  if (drawn && draw_.below(2) != 0) budget = 1 + draw_.below(may_move ? 2u << draw_.below(8) : kDrawnBudget);
  is_sampled_ = sampler_ && !later_samples_ && sampler_->is_due();
  if (is_sampled_) budget = std::min(budget, Sampler::kTurn);
  const GuestScope scope(*mark_, wave, nullptr);
  wave.polls_left = polls_of_turn(wave);
  ExitReason reason = interpret_for(wave, budget);
  if (sampler_) sampler_->count(wave.instructions - before, std::exchange(is_sampled_, false));
  if (reason == ExitReason::kYield && wave.polls_left == 0)
    note_turn(wave, slot, hash_of(std::as_bytes(std::span(wave.sgpr))) ^ wave.pc ^ wave.scc, kMaxInterpretedPolls);
  else if (wave.instructions - before >= budget)
    slot.idle = false;
  wave.polls_left = 0;
  if (!late) return reason;
  late_ns_ += ns_since(start);
  if (reason != ExitReason::kYield) return reason;
  const auto translation_ns = [&] {
    return shared_.tier_up ? shared_.tier_up->translation()->counters.translate_ns
                           : expected_translation_ns(*shared_.request.kernel);
  };
  if (drawn ? draw_.below(4) != 0 : late_ns_ < translation_ns()) return reason;
  // To where a loop begins, best of all one that has been translated for earlier waves.
  constexpr auto kSteps = 4096;
  for (auto i = 0; i < kSteps && reason == ExitReason::kYield; ++i) {
    const uint64_t pc = wave.pc;
    reason = interpret_for(wave, 1);
    if (reason != ExitReason::kYield || wave.pc > pc) continue;
    if (drawn && !shared_.schedule.moves_at(wave.pc)) continue;
    const bool is_known = std::find(moved_to_.begin(), moved_to_.end(), wave.pc) != moved_to_.end();
    if (!is_known && !moved_to_.empty() && !drawn && i < kSteps / 2) continue;
    if (shared_.called_at(wave.pc)) {
      slot.in_start_unit = slot.in_exec_full = false;
      move_to_translated(wave, slot, TranslationCache::Arrival::jump);
      break;
    }
    if (!is_known) moved_to_.push_back(wave.pc);
    slot.moved_at = wave.pc;
    move_to_translated(wave, slot, TranslationCache::Arrival::moved);
    break;
  }
  return reason;
}

// That the thread has interpreted since it said so last. Not in a GuestScope.
void WaveRunner::tell_time() {
  const Clock::time_point now = Clock::now();
  if (now - told_ < kTold) return;
  restore_mxcsr();
  if (sampler_) sampler_->hand_over();
  shared_.tier_up->add(std::chrono::nanoseconds(now - told_).count());
  told_ = now;
}

void WaveRunner::move_to_translated(WaveState& wave, WaveSlot& slot, TranslationCache::Arrival arrival) {
  if (!slot.waits_for_translatable) ++moved_waves_;
  slot.interpreted = slot.stays_interpreted = slot.waits_for_translatable = false;
  wave.polls_left = kFewPolls;
  slot.arrival = arrival;
}

// Whether a unit may begin where the wave is. While VGPR indexing is on, each operand of a unit that begins there may be any of
// 256 registers: an instruction becomes thousands. Compilers switch it on for single instructions.
bool WaveRunner::is_translatable(const WaveState& wave) const {
  return shared_.request.translated_part.contains(wave.pc) && (wave.mode & mode::kGprIdxEn) == 0;
}

// Interprets instructions one by one until a unit may begin where the wave is, and returns kJump then.
ExitReason WaveRunner::interpret_to_translatable(WaveState& wave, WaveSlot& slot) {
  const GuestScope scope(*mark_, wave, nullptr);
  wave.polls_left = polls_of_turn(wave);
  slot.idle = false;
  for (uint64_t left = kInterpreterBudget; left != 0; --left) {
    if (is_translatable(wave)) {
      slot.in_start_unit = slot.in_exec_full = false;
      move_to_translated(wave, slot, TranslationCache::Arrival::jump);
      return ExitReason::kJump;
    }
    const ExitReason reason = interpret_for(wave, 1);
    if (reason != ExitReason::kYield) {
      wave.polls_left = 0;
      return reason;
    }
    if (wave.polls_left == 0) {
      note_turn(wave, slot, hash_of(std::as_bytes(std::span(wave.sgpr))) ^ wave.pc ^ wave.scc, kMaxInterpretedPolls);
      break;
    }
  }
  wave.polls_left = 0;
  return ExitReason::kYield;
}

const TranslationCache::Entry& WaveRunner::lookup(const WaveState& wave, WaveSlot& slot) {
  Cached* free = nullptr;
  for (unsigned i = 0; i < kProbes && !free; ++i) {
    Cached& cached = cache_[(wave.pc / 4 + i) % cache_.size()];
    if (matches(cached, wave, slot)) return (last_[slot.full_exec == ~uint64_t{0}] = &cached)->entry;
    if (!cached.entry.code) free = &cached;
  }
  if (!free) free = &cache_[wave.pc / 4 % cache_.size()];
  return translate(wave, slot, *free, key_of(wave, slot));
}

// An entry without code: there is none, and the error is reported or the wave is to be interpreted.
const TranslationCache::Entry& WaveRunner::translate(const WaveState& wave, WaveSlot& slot, Cached& cached,
                                                     uint64_t key) {
  static constexpr TranslationCache::Entry kNone;
  restore_mxcsr();
  if (!is_translatable(wave)) {
    slot.stays_interpreted = slot.waits_for_translatable = true;
    return kNone;
  }
  const TranslationCache::Query query{.config = shared_.config,
                                      .specialisation = slot.specialisation,
                                      .pc = wave.pc,
                                      .mode = wave.mode,
                                      .exec_full = shared_.full_exec && has_full_exec(wave, slot),
                                      .scratch_srd = shared_.scratch_descriptors && has_scratch_srd(wave),
                                      .arrival = slot.arrival,
                                      .from_start_unit = slot.in_start_unit,
                                      .from_exec_full = slot.in_exec_full,
                                      .moved_at = slot.moved_at};
  const auto find_in = [&](const CalledModule& other) {
    TranslationCache::Query there = query;
    there.config = other.config;
    there.exec_full &= wave.exec() == ~uint64_t{0};
    return other.translations.find_function(there, counters_);
  };
  const CalledModule* const other = shared_.called_at(wave.pc);
  Expected<TranslationCache::Entry> found = other ? find_in(*other) : shared_.translations.find(query, counters_);
  if (!found) {
    slot.stays_interpreted = shared_.falls_back(found.error());
    if (!slot.stays_interpreted) shared_.fail(std::move(found.error()));
    return kNone;
  }
  changes_.lines |= found->changed_lines;
  cached = {
      .pc = wave.pc, .key = key, .moved_at = slot.moved_at, .exec_full = has_full_exec(wave, slot), .entry = *found};
  last_[slot.full_exec == ~uint64_t{0}] = &cached;
  return cached.entry;
}

}  // namespace wavejit::runtime
