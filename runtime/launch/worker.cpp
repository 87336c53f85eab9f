#include "runtime/launch/worker.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/isa/decoder.h"
#include "internal/check.h"
#include "internal/trap_id.h"
#include "runtime/kernel/symbols.h"
#include "runtime/launch/errors.h"
#include "runtime/launch/wave_runner.h"
#include "runtime/memory/arena.h"
#include "runtime/memory/fault.h"
#include "runtime/translate/specialisation.h"

namespace wavejit::runtime {
namespace {

// Rounds in which all waves only yield, after which a work-group lets others have a turn although it gets on.
constexpr unsigned kMaxRounds = 64;

class Worker {
 public:
  explicit Worker(LaunchState& shared) : shared_(shared), arena_(acquire_arena()), runner_(shared) {}
  ~Worker() {
    drop_set_aside();  // after an exception
    release_arena(std::move(arena_));
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run() {
    const DispatchState& state = shared_.state;
    if (Expected<void> prepared = prepare_arena(); !prepared) return shared_.fail(std::move(prepared.error()));
    const GuestThread guest;
    runner_.begin(state.scratch_words23(*arena_));
    std::optional<Entered> entered(std::in_place, shared_.watch);
    const Clock::time_point start = shared_.group_time ? Clock::now() : Clock::time_point();
    while (!shared_.watch.stopping()) {
      if (!set_aside_.empty() && !may_begin()) {
        if (!turn_of_set_aside())
          wait_for_release();
        else if (++turns_ % (set_aside_.size() + 1) == 0)
          wait_a_moment();
        continue;
      }
      const uint64_t first = shared_.next_group.fetch_add(shared_.chunk, std::memory_order_relaxed);
      if (first >= shared_.total_groups) {
        if (set_aside_.empty()) break;
        continue;
      }
      const uint64_t last = std::min(first + shared_.chunk, shared_.total_groups);
      next_ = first;
      last_of_chunk_ = last;
      group_ = state.group(shared_.schedule.group(first));
      if (shared_.schedule.is_drawn()) runner_.draw() = Draw(shared_.schedule.seed() + first);
      uint64_t ended = 0;
      while (next_ < last_of_chunk_ && !shared_.watch.stopping()) {
        start_ = shared_.translated();
        ended += start_ && start_->through.code && group_.complete ? run_groups_through() : run_groups();
        turns_between_groups();
      }
      shared_.done_groups.fetch_add(ended, std::memory_order_relaxed);
      if (shared_.alone_until != Clock::time_point() && last < shared_.total_groups &&
          Clock::now() >= shared_.alone_until)
        shared_.team->call_others();
    }
    entered.reset();
    if (shared_.group_time && groups_ != 0 && interpreted_groups_ == 0)
      shared_.group_time->add(static_cast<float>(ns_since(start)) / static_cast<float>(groups_));
    drop_set_aside();
    const std::lock_guard lock(shared_.mutex);
    LaunchStats& stats = shared_.stats;
    if (runner_.executed()) shared_.profile->add(*runner_.executed());
    stats.guest_instructions += instructions_;
    stats.workgroups += groups_;
    stats.waves += waves_;
    stats.interpreted_workgroups += interpreted_groups_;
    stats.moved_waves += runner_.moved_waves();
    shared_.add(runner_.counters());
    stats.threads += groups_ != 0;
  }

 private:
  // While it lives, the launch's watchdog and the device's waves know of the thread.
  class Entered {
   public:
    explicit Entered(Watch& watch) : watch_(watch) {
      watch_.enter(thread_);
      GlobalSync::enter();
    }
    ~Entered() {
      GlobalSync::leave();
      watch_.leave(thread_);
    }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    Watch& watch_;
    const pid_t thread_ = current_thread_id();
  };

  using Status = WaveSlot::Status;
  // A work-group that has begun and in which no wave can go on before other work-groups do something: they wait for it
  // (GlobalSync), or seem to (polls).
  struct SetAside {
    std::unique_ptr<Arena> arena;
    DispatchState::WaveTemplate common;
    unsigned count = 0;
    std::array<WaveSlot, kMaxWavesPerGroup> slots;
    std::vector<const WaveState*> waiting;
  };

  // Work-groups of the chunk from next_ on. Returns how many have ended.
  uint64_t run_groups_through() {
    const uint64_t first = next_;
    DispatchState::init_common(arena_->wave(0), template_, DispatchState::kAllLines);
    runner_.changes().lines |= start_->through.changed_lines;
    run_as_guest([](void* self) { static_cast<Worker*>(self)->run_waves_through(); });
    // A work-group that has not ended has begun all the same.
    const bool broken_off = shared_.watch.stopping() && next_ < last_of_chunk_;
    const uint64_t ended = next_ - first;
    next_ += broken_off;
    groups_ += next_ - first;
    waves_ += (next_ - first) * full_waves();
    return ended;
  }

  void run_as_guest(void (*body)(void*)) {
    GuestFault fault;
    const GuestOutcome outcome = run_guest(body, this, fault);
    if (outcome == GuestOutcome::fault) shared_.fail(fault_error(shared_, *fault.wave, fault.address_known));
  }

  // What waves wait for may be done by work-groups that have not begun.
  void call_others() {
    if (shared_.alone_until == Clock::time_point()) return;
    runner_.restore_mxcsr();  // threads that are started inherit it
    shared_.team->call_others();
  }

  [[nodiscard]] unsigned full_waves() const {
    const auto& size = shared_.state.shape().workgroup;
    return size[0] * size[1] * size[2] / kWaveSize;
  }

  // Complete work-groups, as many as there are of them, wave after wave in the state of the first.
  void run_waves_through() {
    const DispatchState& state = shared_.state;
    const TranslationCache::Entry& entry = start_->through;
    const unsigned waves = full_waves();
    WaveState& wave = arena_->wave(0);
    for (; next_ < last_of_chunk_ && group_.complete; ++next_, state.advance(group_)) {
      for (unsigned i = 0; i < waves; ++i) {
        state.init_wave(wave, *arena_, group_, i, waves);
        ExitReason reason;
        {
          const GuestScope scope(runner_.mark(), wave, entry.code);
          reason = static_cast<ExitReason>(enter_(&wave, entry.index, entry.function));
        }
        if (reason != ExitReason::kEnd) return fail(wave, reason);
        if (shared_.watch.stopping()) return;
      }
    }
  }

  // The same, as general as it gets: waves take turns, and each has a state of its own.
  uint64_t run_groups() {
    const uint64_t first = next_;
    count_ = 0;
    run_as_guest([](void* self) { static_cast<Worker*>(self)->run_groups_of_waves(); });
    const uint64_t ended = next_ - first - std::exchange(newly_set_aside_, 0);
    if (count_ != 0) {  // one that has not ended
      count_group();
      ++next_;
    }
    return ended;
  }

  void run_groups_of_waves() {
    const DispatchState& state = shared_.state;
    do {
      count_ = state.init_group(*arena_, template_, lines_to_set_up(), group_,
                                !start_ || start_->reads_ids[group_.complete]);
      arena_->forget_turns();
      std::fill_n(slots_.begin(), count_,
                  WaveSlot{.interpreted = !start_, .specialisation = shared_.specialisation[group_.complete]});
      interpreted_groups_ += !start_;
      if (group_.complete && shared_.last_waves) {
        slots_[count_ - 1].specialisation = *shared_.last_waves;
        slots_[count_ - 1].full_exec = last_wave_exec(state.shape().workgroup);
      }
      const Progress progress = run_waves();
      if (shared_.watch.stopping() && !all_ended()) return;
      if (progress == Progress::ended)
        count_group();
      else if (!set_aside())
        return;
      ++next_;
      state.advance(group_);
      // Those that are set aside get turns between others.
    } while (next_ < last_of_chunk_ && !shared_.watch.stopping() && start_ && set_aside_.empty() &&
             !(start_->through.code && group_.complete));
  }

  // Of the states of all waves of a work-group: what earlier ones may have changed.
  uint32_t lines_to_set_up() {
    if (!start_) {
      runner_.changes().all = true;  // the interpreter's waves, and where they go on
    } else if (runner_.changes().all) {
      for (unsigned i = 0; i < shared_.state.shape().max_waves(); ++i)
        DispatchState::init_common(arena_->wave(i), template_, DispatchState::kAllLines);
      runner_.changes().all = false;
    }
    return runner_.changes().all ? DispatchState::kAllLines : runner_.changes().lines;
  }

  [[nodiscard]] bool all_ended() const {
    return std::all_of(slots_.begin(), slots_.begin() + count_,
                       [](const WaveSlot& slot) { return slot.status == Status::ended; });
  }

  void count_group() {
    for (unsigned i = 0; i < count_; ++i) instructions_ += arena_->wave(i).instructions;
    waves_ += count_;
    ++groups_;
    count_ = 0;
  }

  // Without a change, and without memory for another work-group.
  static constexpr std::chrono::seconds kLack{10};
  static constexpr unsigned kMomentsOfLack = 1024;   // between two looks at the clock
  static constexpr unsigned kMomentsOfWaiting = 16;  // between two calls of LaunchRequest::waiting
  static constexpr unsigned kIdleRounds = 2;         // until a work-group seems to wait for others
  static constexpr unsigned kTurnsBetween = 2;       // of work-groups that are set aside, for each that begins
  enum class Progress : uint8_t { ended, waits };

  // Resumes the waves in turn until all have ended, or until the work-group is better set aside: all waves wait for
  // other work-groups, or seem to while another one could go on. Waves that have ended do not take part in barriers
  // (Vega ISA manual, S_BARRIER). Behind a barrier the first wave's turn is last (docs/design.md, "Order of waves").
  Progress run_waves(bool resumed = false) {
    unsigned first = 0, idle_rounds = resumed, rounds = 0;
    runner_.set_alone(false);
    const bool drawn = shared_.schedule.is_drawn();
    std::array<uint8_t, kMaxWavesPerGroup> order;
    if (drawn) std::iota(order.begin(), order.end(), uint8_t{0});
    for (;;) {
      unsigned ready = 0, waiting = 0, yielded = 0, idle = 0, at_sync = 0;
      if (drawn) runner_.draw().shuffle(std::span(order.data(), count_));
      for (unsigned turn = first, left = count_; left != 0; --left, ++turn) {
        if (turn == count_) turn = 0;
        const unsigned i = drawn ? order[turn] : turn;
        WaveSlot& slot = slots_[i];
        WaveState& wave = arena_->wave(i);
        if (slot.status == Status::at_barrier) ++waiting;
        if (slot.status == Status::at_sync && sync().released(wave)) slot.status = Status::ready;
        if (slot.status == Status::at_sync) ++at_sync;
        if (slot.status != Status::ready) continue;
        ++ready;
        const ExitReason reason = runner_.run(*arena_, wave, slot);
        if (shared_.watch.stopping()) return Progress::ended;
        switch (reason) {
          case ExitReason::kEnd:
            slot.status = Status::ended;
            break;
          case ExitReason::kBarrier:
            slot.status = Status::at_barrier;
            break;
          case ExitReason::kYield:
            ++yielded;
            idle += slot.idle;
            break;
          case ExitReason::kTrap:
            slot.arrival = TranslationCache::Arrival::jump;
            if (wave.trap_id == trap_id::kGlobalSync) {
              if (!synchronise(wave, slot)) return Progress::ended;
              break;
            }
            // Trap 3 is llvm.debugtrap, which does nothing without a debugger (AMDGPUUsage "Trap Handler ABI").
            if (wave.trap_id != 3) return end_with(trap_error(shared_, wave)), Progress::ended;
            wave.pc += 4;
            break;
          default:
            fail(wave, reason);
            return Progress::ended;
        }
      }
      if (ready != 0 && drawn && runner_.draw().below(4) == 0 && others_could_go_on()) return Progress::waits;
      if (ready == 0) {
        if (at_sync != 0) return call_others(), Progress::waits;
        if (waiting == 0) return Progress::ended;
        for (unsigned i = 0; i < count_; ++i)
          if (slots_[i].status == Status::at_barrier) slots_[i].status = Status::ready;
        first = count_ > 1;
      } else if (yielded == ready) {
        // They may be waiting for a work-group that has not begun, is set aside, or is on another thread.
        call_others();
        idle_rounds = idle == ready ? idle_rounds + 1 : 0;
        changed_ |= idle != ready;
        if ((idle_rounds >= kIdleRounds || ++rounds >= kMaxRounds) && others_could_go_on()) return Progress::waits;
        runner_.set_alone(ready == 1 && !others_could_go_on());
        if (idle_rounds >= kIdleRounds) wait_a_moment();
        continue;
      }
      rounds = idle_rounds = 0;
      changed_ = true;
      runner_.set_alone(false);
    }
  }

  // All that this thread has begun waits.
  void wait_a_moment() {
    sched_yield();
    if (++moments_ % kMomentsOfWaiting != 0) return;
    runner_.restore_mxcsr();
    if (shared_.request.waiting) shared_.request.waiting();
    if (has_arena_ || moments_ % kMomentsOfLack != 0) return;
    const Clock::time_point now = Clock::now();
    if (std::exchange(changed_, false)) unchanged_since_ = now;
    if (now - unchanged_since_ > kLack)
      shared_.fail(
          {.code = ErrorCode::kOutOfMemory,
           .message = fmt::format("Kernel '{}' cannot end: its work-groups wait for others, and the host has no "
                                  "memory for more of them at a time. {}",
                                  kernel_name(shared_), lack_)});
  }

  // Whether this thread has something else to do than to resume the work-group.
  [[nodiscard]] bool others_could_go_on() { return may_begin() || (!set_aside_.empty() && any_released()); }

  // Whether there is a work-group that has not begun, and the device would have room for it.
  [[nodiscard]] bool may_begin() const {
    const bool running = count_ != 0 && !resuming_;  // next_ is the one that runs
    return has_arena_ && (next_ + running < last_of_chunk_ || more_chunks()) &&
           (shared_.waves_aside.load(std::memory_order_relaxed) < shared_.request.device->waves() ||
            set_aside_.empty());
  }
  [[nodiscard]] bool more_chunks() const {
    return shared_.next_group.load(std::memory_order_relaxed) < shared_.total_groups;
  }

  // A wave at an instruction of GlobalSync. False: it cannot be executed, which is reported.
  bool synchronise(WaveState& wave, WaveSlot& slot) {
    const std::span<const uint8_t> code = code_region(shared_.request.module->object(), wave.pc);
    isa::Instruction inst;
    const auto offset = static_cast<size_t>(wave.pc - reinterpret_cast<uint64_t>(code.data()));
    WAVEJIT_CHECK(!code.empty() && isa::decode(shared_.request.module->target(), code.subspan(offset), wave.pc, inst) ==
                                       isa::DecodeStatus::ok);
    switch (sync().execute(shared_.sync, wave, inst)) {
      case GlobalSync::Outcome::done:
        break;
      case GlobalSync::Outcome::waits:
        slot.status = Status::at_sync;
        break;
      case GlobalSync::Outcome::unsupported:
        fail(wave, ExitReason::kUnsupported);
        return false;
      case GlobalSync::Outcome::too_many:
        shared_.fail({.code = ErrorCode::kTimeout,
                      .message = fmt::format("Kernel '{}' cannot end: more than {} waves wait for each other, which is "
                                             "more than a device holds at a time, at {} in {}.",
                                             kernel_name(shared_), shared_.request.device->waves(), isa::describe(inst),
                                             where(shared_, wave)),
                      .pc = wave.pc});
        return false;
    }
    wave.pc = inst.next_pc();
    return true;
  }

  // Puts the work-group aside and makes room for another one.
  bool set_aside() {
    auto group = std::make_unique<SetAside>(
        SetAside{.arena = std::move(arena_), .common = template_, .count = count_, .slots = slots_, .waiting = {}});
    group->waiting = waiting_at_sync(*group->arena);
    const bool waits_at_sync = !group->waiting.empty();
    put_aside(std::move(group));
    ++newly_set_aside_;
    count_ = 0;
    arena_ = acquire_arena();
    Expected<void> prepared = prepare_arena();
    // Where the host has no room for another one, those that have begun share the thread until one has ended.
    has_arena_ = prepared.has_value();
    if (has_arena_) return true;
    if (waits_at_sync) {
      shared_.fail(std::move(prepared.error()));
      return false;
    }
    changed_ = true;
    lack_ = std::move(prepared.error().message);
    return true;
  }

  Expected<void> prepare_arena() {
    const DispatchState& state = shared_.state;
    Expected<void> prepared =
        arena_->prepare(state.shape().max_waves(), state.lds_bytes(), state.scratch_bytes_per_lane());
    if (!prepared) return prepared;
    template_ = state.make_template(*arena_, shared_.request.device->gds(), shared_.watch.stop_flag());
    runner_.changes().all = true;
    return {};
  }

  [[nodiscard]] GlobalSync& sync() const { return shared_.request.device->sync(); }
  [[nodiscard]] bool can_go_on(const std::unique_ptr<SetAside>& group) const {
    return group->waiting.empty() || sync().any_released(group->waiting);
  }
  [[nodiscard]] auto first_that_can_go_on() {
    return std::find_if(set_aside_.begin(), set_aside_.end(), [this](const auto& group) { return can_go_on(group); });
  }
  [[nodiscard]] bool any_released() { return first_that_can_go_on() != set_aside_.end(); }

  // The waves without which the work-group does not get on; none if it may get on anyway.
  [[nodiscard]] std::vector<const WaveState*> waiting_at_sync(Arena& arena) const {
    std::vector<const WaveState*> waiting;
    for (unsigned i = 0; i < count_; ++i) {
      if (slots_[i].status == Status::ready) return {};
      if (slots_[i].status == Status::at_sync) waiting.push_back(&arena.wave(i));
    }
    return waiting;
  }

  void put_aside(std::unique_ptr<SetAside> group) {
    // GlobalSync counts the others.
    if (group->waiting.empty()) shared_.waves_aside.fetch_add(group->count, std::memory_order_relaxed);
    set_aside_.push_back(std::move(group));
  }

  // Before the next work-group begins: those that are known to be able to go on, and some of the others.
  void turns_between_groups() {
    const auto is_released = [this](const std::unique_ptr<SetAside>& group) {
      return !group->waiting.empty() && sync().any_released(group->waiting);
    };
    while (!shared_.watch.stopping() && std::any_of(set_aside_.begin(), set_aside_.end(), is_released))
      turn_of_set_aside();
    for (unsigned i = 0; i < kTurnsBetween && !shared_.watch.stopping() && !set_aside_.empty(); ++i)
      turn_of_set_aside();
    // A chunk cannot be given back.
    while (next_ < last_of_chunk_ && !shared_.watch.stopping() && !set_aside_.empty() && !may_begin())
      if (!turn_of_set_aside()) wait_for_release();
  }

  // Goes on with a work-group that is set aside, if one can: the one that has waited for longest.
  bool turn_of_set_aside() {
    const auto found = first_that_can_go_on();
    if (found == set_aside_.end()) return false;
    std::unique_ptr<SetAside> group = std::move(*found);
    set_aside_.erase(found);
    if (group->waiting.empty()) shared_.waves_aside.fetch_sub(group->count, std::memory_order_relaxed);
    const auto exchange = [&] {
      std::swap(arena_, group->arena);
      std::swap(template_, group->common);
      std::swap(slots_, group->slots);
    };
    exchange();
    count_ = group->count;
    resumed_ = Progress::ended;
    resuming_ = true;
    run_as_guest([](void* self) {
      auto& worker = *static_cast<Worker*>(self);
      worker.resumed_ = worker.run_waves(true);
    });
    resuming_ = false;
    group->waiting.clear();
    if (resumed_ == Progress::ended) {
      const bool ended = all_ended();
      count_group();
      shared_.done_groups.fetch_add(ended, std::memory_order_relaxed);
      forget_waves_of(*arena_, group->count);
      exchange();
      if (has_arena_) {
        release_arena(std::move(group->arena));
      } else {
        arena_ = std::move(group->arena);
        has_arena_ = prepare_arena().has_value();
      }
      return true;
    }
    group->waiting = waiting_at_sync(*arena_);
    count_ = 0;
    exchange();
    put_aside(std::move(group));
    return true;
  }

  // Nothing is left to do but to wait for what other threads do.
  void wait_for_release() {
    std::vector<const WaveState*> waiting;
    for (const auto& group : set_aside_) waiting.insert(waiting.end(), group->waiting.begin(), group->waiting.end());
    if (sync().wait(waiting, shared_.watch.stop_flag()) != GlobalSync::Wake::deadlock) return;
    const WaveState& wave = *waiting.front();
    shared_.fail({.code = ErrorCode::kTimeout,
                  .message = fmt::format("Kernel '{}' cannot end: {} waves wait at global wave sync or ordered counts, "
                                         "and nothing is running that could release them. One is behind {}.",
                                         kernel_name(shared_), waiting.size(), where(shared_, wave)),
                  .pc = wave.pc});
  }

  void forget_waves_of(Arena& arena, unsigned count) {
    std::vector<const WaveState*> waves;
    waves.reserve(count);
    for (unsigned i = 0; i < count; ++i) waves.push_back(&arena.wave(i));
    sync().forget(waves);
  }

  // Of a launch that has failed.
  void drop_set_aside() {
    if (std::any_of(slots_.begin(), slots_.end(), [](const WaveSlot& slot) { return slot.status == Status::at_sync; }))
      forget_waves_of(*arena_, shared_.state.shape().max_waves());
    for (const auto& group : set_aside_) {
      for (unsigned i = 0; i < group->count; ++i) instructions_ += group->arena->wave(i).instructions;
      waves_ += group->count;
      ++groups_;
      forget_waves_of(*group->arena, group->count);
    }
    set_aside_.clear();
  }

  // A wave that an engine has left for no ordinary reason.
  void fail(const WaveState& wave, ExitReason reason) {
    if (!shared_.watch.stopping()) end_with(exit_error(shared_, wave, reason));
  }
  void end_with(Error error) {
    runner_.restore_mxcsr();
    shared_.fail(std::move(error));
  }

  LaunchState& shared_;
  std::unique_ptr<Arena> arena_;
  bool has_arena_ = true;  // arena_ is prepared for the next work-group
  WaveRunner runner_;
  unsigned count_ = 0;
  std::array<WaveSlot, kMaxWavesPerGroup> slots_{};
  DispatchState::WaveTemplate template_;
  DispatchState::Group group_;  // next_
  const backend::PlainEntryFn enter_ = backend::plain_entry();
  uint64_t next_ = 0, last_of_chunk_ = 0;            // work-groups
  const StartCode* start_ = nullptr;                 // of the work-group
  std::deque<std::unique_ptr<SetAside>> set_aside_;  // who has waited for longest first
  uint64_t newly_set_aside_ = 0;                     // by run_groups()
  Progress resumed_ = Progress::ended;
  bool resuming_ = false;  // a work-group that was set aside runs
  uint64_t turns_ = 0, moments_ = 0;
  bool changed_ = true;  // something, since it has been looked at
  Clock::time_point unchanged_since_;
  std::string lack_;  // why there is no arena
  uint64_t instructions_ = 0, groups_ = 0, waves_ = 0, interpreted_groups_ = 0;
};

}  // namespace

void run_worker(LaunchState& shared) {
  try {
    Worker(shared).run();
  } catch (const std::bad_alloc&) {
    shared.fail({.code = ErrorCode::kOutOfMemory, .message = "Out of memory."});
  }
}

}  // namespace wavejit::runtime
