#include "runtime/launch/worker.h"

#include <immintrin.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/launch/errors.h"
#include "runtime/launch/group_runner.h"
#include "runtime/launch/patience.h"
#include "runtime/launch/set_aside.h"
#include "runtime/launch/wave_runner.h"
#include "runtime/launch/work_group.h"
#include "runtime/memory/arena.h"
#include "runtime/memory/fault.h"
#include "runtime/translate/specialisation.h"

namespace wavejit::runtime {
namespace {

constexpr unsigned kTurnsBetween = 2;  // of work-groups that are set aside, for each that begins

OpcodeCounts opcodes_of(const interp::Profile& profile) {
  OpcodeCounts counts{};
  for (const auto& [pc, at] : profile) counts[static_cast<unsigned>(at.opcode)] += at.executed;
  return counts;
}

class Worker final : private GroupRunner::Others {
 public:
  explicit Worker(LaunchState& shared) : shared_(shared), waves_(shared) { current_.arena = acquire_arena(); }
  ~Worker() {
    drop_set_aside();  // after an exception
    release_arena(std::move(current_.arena));
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run() {
    const DispatchState& state = shared_.state;
    if (Expected<void> prepared = prepare_arena(); !prepared) return shared_.fail(std::move(prepared.error()));
    const GuestThread guest;
    waves_.begin(state.scratch_words23(*current_.arena));
    std::optional<Entered> entered(std::in_place, shared_.watch);
    const Clock::time_point start = shared_.group_time ? Clock::now() : Clock::time_point();
    while (!shared_.watch.stopping()) {
      if (!set_aside_.empty() && !may_begin()) {
        if (!turn_of_set_aside())
          set_aside_.wait_for_release();
        else if (++turns_ % (set_aside_.size() + 1) == 0)
          patience_.wait_a_moment();
        continue;
      }
      if (!run_chunk() && set_aside_.empty()) break;
    }
    entered.reset();
    waves_.end();
    if (shared_.group_time && groups_ != 0 && interpreted_groups_ == 0)
      shared_.group_time->add(static_cast<float>(ns_since(start)) / static_cast<float>(groups_));
    drop_set_aside();
    const std::lock_guard lock(shared_.mutex);
    LaunchStats& stats = shared_.stats;
    if (waves_.executed()) shared_.profile->add(*waves_.executed());
    if (const interp::Profile* profile = waves_.profile()) {
      interp::add(*shared_.request.profile, *profile);
      if (shared_.profile) shared_.profile->add(opcodes_of(*profile));
    }
    stats.guest_instructions += instructions_;
    stats.workgroups += groups_;
    stats.waves += waves_begun_;
    stats.interpreted_workgroups += interpreted_groups_;
    stats.moved_waves += waves_.moved_waves();
    shared_.add(waves_.counters());
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

  using Progress = GroupRunner::Progress;

  // The next work-groups that have not begun. False: there are none.
  bool run_chunk() {
    const DispatchState& state = shared_.state;
    const uint64_t first = shared_.next_group.fetch_add(shared_.chunk, std::memory_order_relaxed);
    if (first >= shared_.total_groups) return false;
    const uint64_t last = std::min(first + shared_.chunk, shared_.total_groups);
    next_ = first;
    last_of_chunk_ = last;
    place_ = state.group(shared_.schedule.group(first));
    if (shared_.schedule.is_drawn()) waves_.set_draw(Draw(shared_.schedule.seed() + first));
    if (shared_.later) {
      const uint64_t begun = shared_.groups_before + first;
      samples_next_ = LaterSamples::due_from(begun) - begun < last - first;
    }
    uint64_t ended = 0;
    while (next_ < last_of_chunk_ && !shared_.watch.stopping()) {
      start_ = shared_.translated();
      if (samples_next_) {
        ended += run_sampled_group();
      } else {
        ended += start_ && start_->through.code && place_.complete ? run_groups_through() : run_groups();
      }
      turns_between_groups();
    }
    shared_.done_groups.fetch_add(ended, std::memory_order_relaxed);
    if (shared_.alone_until != Clock::time_point() && last < shared_.total_groups &&
        Clock::now() >= shared_.alone_until)
      shared_.team->call_others();
    return true;
  }

  // Work-groups of the chunk from next_ on. Returns how many have ended.
  uint64_t run_groups_through() {
    const uint64_t first = next_;
    WaveState& wave = current_.arena->wave(0);
    DispatchState::init_common(wave, current_.common, DispatchState::kAllLines);
    waves_.changes().lines |= start_->through.changed_lines;
    const uint64_t waves = shared_.total_groups * full_waves();
    wave.streamed_items = static_cast<uint32_t>(std::min<uint64_t>(waves * kWaveSize, UINT32_MAX));
    run_as_guest([](void* self) { static_cast<Worker*>(self)->run_waves_through(); });
    _mm_sfence();  // behind streaming stores
    // A work-group that has not ended has begun all the same.
    const bool broken_off = shared_.watch.stopping() && next_ < last_of_chunk_;
    const uint64_t ended = next_ - first;
    next_ += broken_off;
    groups_ += next_ - first;
    waves_begun_ += (next_ - first) * full_waves();
    return ended;
  }

  void run_as_guest(void (*body)(void*)) {
    GuestFault fault;
    const GuestOutcome outcome = run_guest(body, this, fault);
    if (outcome == GuestOutcome::fault) shared_.fail(fault_error(shared_, *fault.wave, fault.address_known));
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
    Arena& arena = *current_.arena;
    WaveState& wave = arena.wave(0);
    for (; next_ < last_of_chunk_ && place_.complete; ++next_, state.advance(place_)) {
      for (unsigned i = 0; i < waves; ++i) {
        state.init_wave(wave, arena, place_, i, waves);
        ExitReason reason;
        {
          const GuestScope scope(waves_.mark(), wave, entry.code);
          reason = static_cast<ExitReason>(enter_(&wave, entry.index, entry.function));
        }
        if (reason != ExitReason::kEnd) return runner_.fail(wave, reason);
        if (shared_.watch.stopping()) return;
      }
    }
  }

  // The same, as general as it gets: waves take turns, and each has a state of its own.
  uint64_t run_groups() {
    const uint64_t first = next_;
    current_.count = 0;
    run_as_guest([](void* self) { static_cast<Worker*>(self)->run_groups_of_waves(); });
    const uint64_t ended = next_ - first - std::exchange(newly_set_aside_, 0);
    if (current_.count != 0) {  // one that has not ended
      count_group(current_);
      ++next_;
    }
    return ended;
  }

  // The next one, in the interpreter.
  uint64_t run_sampled_group() {
    waves_.begin_later_samples();
    const uint64_t ended = run_groups();
    samples_next_ = false;
    shared_.add_later(waves_.end_later_samples());
    return ended;
  }

  void run_groups_of_waves() {
    const DispatchState& state = shared_.state;
    do {
      WorkGroup& group = current_;
      const bool interpreted = !start_ || samples_next_ || begins_in_interpreter();
      group.count = state.init_group(*group.arena, group.common, lines_to_set_up(interpreted), place_,
                                     interpreted || start_->reads_ids[place_.complete]);
      group.arena->forget_turns();
      std::fill_n(group.slots.begin(), group.count,
                  WaveSlot{.interpreted = interpreted, .specialisation = shared_.specialisation[place_.complete]});
      interpreted_groups_ += interpreted;
      if (place_.complete && shared_.last_waves) {
        WaveSlot& last = group.slots[group.count - 1];
        last.specialisation = *shared_.last_waves;
        last.full_exec = last_wave_exec(state.shape().workgroup);
      }
      for (unsigned i = 0; i < group.count && interpreted; ++i)
        group.slots[i].in_exec_full = group.arena->wave(i).exec() == group.slots[i].full_exec;
      const Progress progress = runner_.run(group, false);
      if (shared_.watch.stopping() && !group.all_ended()) return;
      if (progress == Progress::ended)
        count_group(group);
      else if (!set_aside())
        return;
      ++next_;
      state.advance(place_);
      // Those that are set aside get turns between others.
    } while (next_ < last_of_chunk_ && !shared_.watch.stopping() && start_ && set_aside_.empty() && !samples_next_ &&
             !(start_->through.code && place_.complete));
  }

  // In a drawn order some work-groups do so although their code is translated.
  bool begins_in_interpreter() {
    return shared_.request.engine == Engine::tiered && shared_.schedule.is_drawn() && waves_.draw().below(2) != 0;
  }

  // Of the states of all waves of a work-group: what earlier ones may have changed.
  uint32_t lines_to_set_up(bool interpreted) {
    if (interpreted) {
      waves_.changes().all = true;  // the interpreter's waves, and where they go on
    } else if (waves_.changes().all) {
      for (unsigned i = 0; i < shared_.state.shape().max_waves(); ++i)
        DispatchState::init_common(current_.arena->wave(i), current_.common, DispatchState::kAllLines);
      waves_.changes().all = false;
    }
    return waves_.changes().all ? DispatchState::kAllLines : waves_.changes().lines;
  }

  void count_group(WorkGroup& group) {
    instructions_ += group.instructions();
    waves_begun_ += group.count;
    ++groups_;
    group.count = 0;
  }

  // GroupRunner::Others
  void call() override {
    if (shared_.alone_until == Clock::time_point()) return;
    waves_.restore_mxcsr();  // threads that are started inherit it
    shared_.team->call_others();
  }
  [[nodiscard]] bool could_go_on() override { return may_begin() || set_aside_.any_can_go_on(); }

  // Whether there is a work-group that has not begun, and the device would have room for it.
  [[nodiscard]] bool may_begin() const {
    const bool running = current_.count != 0;  // next_ is the one that runs
    return has_arena_ && (next_ + running < last_of_chunk_ || more_chunks()) &&
           (shared_.waves_aside.load(std::memory_order_relaxed) < shared_.request.device->waves() ||
            set_aside_.empty());
  }
  [[nodiscard]] bool more_chunks() const {
    return shared_.next_group.load(std::memory_order_relaxed) < shared_.total_groups;
  }

  // Puts the work-group that runs aside and makes room for another one. False: the launch has failed.
  bool set_aside() {
    // GlobalSync knows the waves by their places: nothing may fail once they have moved.
    set_aside_.make_room();
    const bool waits_at_sync = set_aside_.put(std::make_unique<WorkGroup>(std::move(current_)));
    ++newly_set_aside_;
    current_ = {};
    current_.arena = acquire_arena();
    Expected<void> prepared = prepare_arena();
    // Where the host has no room for another one, those that have begun share the thread until one has ended.
    has_arena_ = prepared.has_value();
    if (has_arena_) return true;
    if (waits_at_sync) {
      shared_.fail(std::move(prepared.error()));
      return false;
    }
    patience_.note_lack(std::move(prepared.error().message));
    return true;
  }

  Expected<void> prepare_arena() {
    const DispatchState& state = shared_.state;
    Arena& arena = *current_.arena;
    Expected<void> prepared =
        arena.prepare(state.shape().max_waves(), state.lds_bytes(), state.scratch_bytes_per_lane());
    if (!prepared) return prepared;
    current_.common = state.make_template(arena, shared_.request.device->gds(), shared_.watch.stop_flag());
    waves_.changes().all = true;
    return {};
  }

  // Before the next work-group begins: those that are known to be able to go on, and some of the others.
  void turns_between_groups() {
    while (!shared_.watch.stopping() && set_aside_.any_released()) turn_of_set_aside();
    for (unsigned i = 0; i < kTurnsBetween && !shared_.watch.stopping() && !set_aside_.empty(); ++i)
      turn_of_set_aside();
    // A chunk cannot be given back.
    while (next_ < last_of_chunk_ && !shared_.watch.stopping() && !set_aside_.empty() && !may_begin())
      if (!turn_of_set_aside()) set_aside_.wait_for_release();
  }

  // Goes on with a work-group that is set aside, if one can: the one that has waited for longest.
  bool turn_of_set_aside() {
    std::unique_ptr<WorkGroup> group = set_aside_.take();
    if (!group) return false;
    resumed_ = group.get();
    progress_ = Progress::ended;
    run_as_guest([](void* self) {
      auto& worker = *static_cast<Worker*>(self);
      worker.progress_ = worker.runner_.run(*worker.resumed_, true);
    });
    if (progress_ == Progress::waits) {
      (void)set_aside_.put(std::move(group));
      return true;
    }
    shared_.done_groups.fetch_add(group->all_ended(), std::memory_order_relaxed);
    forget_waves(*group->arena, group->count);
    count_group(*group);
    if (has_arena_) {
      release_arena(std::move(group->arena));
    } else {
      current_.arena = std::move(group->arena);
      has_arena_ = prepare_arena().has_value();
      if (has_arena_) patience_.note_memory();
    }
    return true;
  }

  void forget_waves(Arena& arena, unsigned count) {
    std::vector<const WaveState*> waves;
    waves.reserve(count);
    for (unsigned i = 0; i < count; ++i) waves.push_back(&arena.wave(i));
    shared_.request.device->sync().forget(waves);
  }

  // Of a launch that has failed.
  void drop_set_aside() {
    if (current_.is_at_sync()) forget_waves(*current_.arena, shared_.state.shape().max_waves());
    while (const std::unique_ptr<WorkGroup> group = set_aside_.drop()) {
      forget_waves(*group->arena, group->count);
      count_group(*group);
    }
  }

  LaunchState& shared_;
  WaveRunner waves_;
  Patience patience_{shared_, waves_};
  GroupRunner runner_{shared_, waves_, *this, patience_};
  SetAsideGroups set_aside_{shared_};
  WorkGroup current_;           // the next one to begin, or the one that runs
  bool has_arena_ = true;       // current_.arena is prepared for the next work-group
  DispatchState::Group place_;  // of next_ in the grid
  const backend::PlainEntryFn enter_ = backend::plain_entry();
  uint64_t next_ = 0, last_of_chunk_ = 0;  // work-groups
  const StartCode* start_ = nullptr;       // of the work-group
  bool samples_next_ = false;              // the next work-group is interpreted, for LaunchState::later
  uint64_t newly_set_aside_ = 0;           // by run_groups()
  WorkGroup* resumed_ = nullptr;           // by turn_of_set_aside()
  Progress progress_ = Progress::ended;    // of *resumed_
  uint64_t turns_ = 0;                     // of turn_of_set_aside() by run()
  uint64_t instructions_ = 0, groups_ = 0, waves_begun_ = 0, interpreted_groups_ = 0;
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
