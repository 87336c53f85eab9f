#include "runtime/launch.h"

#include <fmt/format.h>
#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/isa/decoder.h"
#include "internal/check.h"
#include "internal/exceptions.h"
#include "internal/hash.h"
#include "internal/trap_id.h"
#include "runtime/arena.h"
#include "runtime/background.h"
#include "runtime/fault.h"
#include "runtime/global_sync.h"
#include "runtime/memory_registry.h"
#include "runtime/schedule.h"
#include "runtime/specialisation.h"
#include "runtime/switches.h"
#include "runtime/symbols.h"
#include "runtime/thread_pool.h"
#include "runtime/watchdog.h"

namespace wavejit::runtime {
namespace {

// Instructions the interpreter executes before the dispatcher looks at the stop flag and the other waves, if there is no
// backward jump; and before it looks for translated code.
constexpr uint64_t kInterpreterBudget = 100'000;
constexpr uint64_t kTieredBudget = 5'000;
// Of a turn whose length is drawn, at most.
constexpr uint32_t kDrawnBudget = 400;

// Polls (WaveState::polls_left) of a wave's turn while others wait for theirs: few while nothing changes, more and more
// while it gets on. And of a wave that nobody waits for. No clock decides, so that one thread does the same every time.
constexpr uint32_t kFewPolls = 16, kMaxPolls = 512, kMaxInterpretedPolls = 64, kPollsAlone = 4096;
// Jumps from one translation to another in a turn.
constexpr unsigned kMaxJumps = 256;
// Waves of one launch that are set aside: see GlobalSync::kMaxWaiting.
constexpr uint32_t kMaxWavesAside = GlobalSync::kMaxWaiting;
// Rounds in which all waves only yield, after which a work-group lets others have a turn although it gets on.
constexpr unsigned kMaxRounds = 64;

// WAVEJIT_STRICT in the environment: a fallback is an error.
bool is_strict() {
  const char* value = std::getenv("WAVEJIT_STRICT");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

using Clock = std::chrono::steady_clock;
uint64_t ns_since(Clock::time_point start) {
  return std::chrono::nanoseconds(Clock::now() - start).count();
}

// Translated code as new waves enter it.
struct StartCode {
  // Whether it reads the work-item ids that the dispatcher writes, in partial and in complete work-groups.
  bool reads_ids[2] = {true, true};
  TranslationCache::Entry through;  // what complete work-groups of full waves enter if they run through, or nothing
};

// What the workers of one launch share.
struct Shared {
  const LaunchRequest& request;
  const DispatchState& state;
  Watch& watch;
  TranslationCache& translations;
  const interp::Interpreter* interpreter;  // also for the JIT: it words the errors of unsupported instructions
  ExecutionProfile* profile = nullptr;     // if executed instructions are wanted by opcode
  uint32_t config = 0;                     // TranslationCache configuration
  // TranslationCache specialisations for partial and for complete work-groups.
  uint32_t specialisation[2] = {0, 0};
  std::optional<uint32_t> last_waves;                 // another for those of complete work-groups
  bool full_exec = true, scratch_descriptors = true;  // switches
  // What waves start in, first of all most of them. With `background` they are interpreted until it is done.
  std::vector<TranslationCache::Query> starts;
  std::shared_ptr<const BackgroundTranslation> background;
  std::atomic<const StartCode*> start{nullptr};  // &start_code, once that is complete
  std::atomic<uint64_t>& done_groups;            // those whose waves have all ended
  uint64_t total_groups = 0;
  Schedule schedule;
  uint64_t chunk = 1;
  Team* team = nullptr;             // of the workers
  GroupTime* group_time = nullptr;  // to be measured
  Clock::time_point alone_until;    // if it begins with one worker
  // Written by all workers, once a chunk; what is above is only read.
  alignas(64) std::atomic<uint64_t> next_group{0};

  std::atomic<uint32_t> waves_aside{0};  // of work-groups that are set aside because all their waves seem to wait
  GlobalSync::Order order;               // of ds_ordered_count; GlobalSync's mutex guards it

  // At the end of a worker, or when it fails.
  alignas(64) std::mutex mutex;
  std::optional<Error> error;    // the first one
  std::set<uint64_t> fallbacks;  // PCs of units that could not be translated
  LaunchStats stats;
  StartCode start_code;

  void fail(Error e) {
    {
      const std::lock_guard lock(mutex);
      if (e.kernel.empty()) e.kernel = request.kernel->name;
      if (!error) error = std::move(e);
    }
    watch.stop();
  }

  // Whether waves go on in the interpreter where code could not be translated: with Engine::tiered, unless
  // WAVEJIT_STRICT forbids it. Said once for each place in the code. What is no code is the guest's mistake.
  bool falls_back(const Error& why) {
    const bool forgivable =
        why.code == ErrorCode::kInternal || why.code == ErrorCode::kOutOfMemory || why.code == ErrorCode::kUnsupported;
    if (request.engine != Engine::tiered || !forgivable || is_strict()) return false;
    const uint64_t pc = why.pc.value_or(0);
    {
      const std::lock_guard lock(mutex);
      if (!fallbacks.insert(pc).second) return true;
    }
    if (request.module->is_first_fallback(pc))
      std::fprintf(stderr, "wavejit: Kernel '%s' is interpreted from %#llx on, as that cannot be translated: %s\n",
                   demangled(request.kernel->name).c_str(), static_cast<unsigned long long>(pc), why.message.c_str());
    return true;
  }

  // Fills start_code for the answer to starts[0].
  void start_in(const TranslationCache::Entry& entry) {
    const auto& size = request.shape.workgroup;
    if (state.group(0).complete) {
      start_code.reads_ids[1] = entry.reads_ids;
      if (size[0] * size[1] * size[2] % kWaveSize == 0 && entry.runs_through && !entry.reads_ids &&
          !request.count_instructions && !schedule.is_drawn() && is_on(request.disabled_passes, kRunThrough))
        start_code.through = entry;
    }
    start.store(&start_code, std::memory_order_release);
  }

  // Where new waves start; nullptr while, or because, they are interpreted.
  const StartCode* translated() {
    const StartCode* code = start.load(std::memory_order_acquire);
    if (code || !background || !background->done.load(std::memory_order_acquire)) return code;
    if (background->error) {
      if (!falls_back(*background->error)) fail(*background->error);
      return nullptr;
    }
    const std::optional<TranslationCache::Entry> entry = translations.find_translated(starts[0]);
    WAVEJIT_CHECK(entry);
    const std::lock_guard lock(mutex);
    if (!start.load(std::memory_order_relaxed)) {
      add(background->counters);
      start_in(*entry);
    }
    return start.load(std::memory_order_relaxed);
  }

  void add(const TranslationCounters& counters) {
    stats.translate_ns += counters.translate_ns;
    stats.host_instructions += counters.host_instructions;
    stats.translations += counters.units;
    stats.cached_translations += counters.cached_units;
    stats.cache_ns += counters.cache_ns;
  }
};

std::string kernel_name(const Shared& shared) {
  return demangled(shared.request.kernel->name);
}

std::string where(const Shared& shared, const WaveState& wave) {
  return fmt::format("{}, work-group ({}, {}, {}), wave {}", describe_place(shared.request.module->object(), wave.pc),
                     wave.workgroup_id[0], wave.workgroup_id[1], wave.workgroup_id[2], wave.wave_in_group);
}

Error fault_error(const Shared& shared, const WaveState& wave, bool address_known) {
  const bool has_lane = wave.fault_lane < kWaveSize;
  const std::string address = address_known ? fmt::format("address {:#x}", wave.fault_address)
                                            : std::string("an address beyond the host's 48 bits");
  const bool misaligned = wave.fault_misaligned != 0;
  const std::string_view act = misaligned         ? "did an atomic operation, which needs alignment,"
                               : wave.fault_write ? "wrote memory it may not access"
                                                  : "read memory it may not access";
  std::string message = fmt::format("Kernel '{}' {} at {}: {}", kernel_name(shared), act, address, where(shared, wave));
  message += has_lane ? fmt::format(", lane {}", wave.fault_lane) : std::string(", scalar access");
  const std::string near = address_known ? describe_address(wave.fault_address) : std::string();
  message += near.empty() ? "." : fmt::format("; the address is {}.", near);
  Error error{.code = ErrorCode::kGuestFault, .message = std::move(message), .pc = wave.pc};
  error.misaligned = misaligned;
  if (has_lane) error.lane = wave.fault_lane;
  if (address_known) error.address = wave.fault_address;
  return error;
}

class Worker {
 public:
  explicit Worker(Shared& shared) : shared_(shared), arena_(acquire_arena()) {
    if (shared.profile) executed_ = std::make_unique<OpcodeCounts>();
  }
  ~Worker() { release_arena(std::move(arena_)); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run() {
    const DispatchState& state = shared_.state;
    Expected<void> prepared =
        arena_->prepare(state.shape().max_waves(), state.lds_bytes(), state.scratch_bytes_per_lane());
    if (!prepared) return shared_.fail(std::move(prepared.error()));
    scratch_words23_ = state.scratch_words23(*arena_);
    template_ = state.make_template(*arena_, shared_.watch.stop_flag());
    const GuestThread guest;
    mark_ = &guest_mark();
    host_mxcsr_ = _mm_getcsr();
    const pid_t thread = current_thread_id();
    shared_.watch.enter(thread);
    GlobalSync::device().enter();
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
      if (shared_.schedule.is_drawn()) draw_ = Draw(shared_.schedule.seed() + first);
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
    GlobalSync::device().leave();
    if (shared_.group_time && groups_ != 0 && interpreted_groups_ == 0)
      shared_.group_time->add(static_cast<float>(ns_since(start)) / static_cast<float>(groups_));
    shared_.watch.leave(thread);
    drop_set_aside();
    const std::lock_guard lock(shared_.mutex);
    LaunchStats& stats = shared_.stats;
    if (executed_) shared_.profile->add(*executed_);
    stats.guest_instructions += instructions_;
    stats.workgroups += groups_;
    stats.waves += waves_;
    stats.interpreted_workgroups += interpreted_groups_;
    stats.moved_waves += moved_waves_;
    shared_.add(counters_);
    stats.threads += groups_ != 0;
  }

 private:
  enum class Status : uint8_t { ready, at_barrier, at_sync, ended };
  using Arrival = TranslationCache::Arrival;
  struct Slot {  // of a wave of the work-group
    Status status = Status::ready;
    bool interpreted = false;
    bool stays_interpreted = false;    // it has come to code that cannot be translated
    Arrival arrival = Arrival::start;  // how it comes to its pc
    bool in_start_unit = true;         // the code that it was in last
    bool in_exec_full = true;
    uint32_t specialisation = 0;
    uint64_t full_exec = ~uint64_t{0};                 // the EXEC for which there is code of its own
    const backend::CompiledCode* parked_in = nullptr;  // at one of its polls
    uint32_t polls = kFewPolls;                        // of the next turn
    bool idle = false;                                 // nothing has changed in the last turn
    // Hashes of the registers behind the last turns: a loop may have several polls.
    std::array<uint64_t, 8> registers{};
    uint8_t oldest = 0;
  };
  // A work-group that has begun and in which no wave can go on before other work-groups do something: they wait for it
  // (GlobalSync), or seem to (polls).
  struct SetAside {
    std::unique_ptr<Arena> arena;
    DispatchState::WaveTemplate common;
    unsigned count = 0;
    std::array<Slot, kMaxWavesPerGroup> slots;
    std::vector<const WaveState*> waiting;
  };

  // Work-groups of the chunk from next_ on. Returns how many have ended.
  uint64_t run_groups_through() {
    const uint64_t first = next_;
    DispatchState::init_common(arena_->wave(0), template_, DispatchState::kAllLines);
    changed_lines_ |= start_->through.changed_lines;
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
    _mm_setcsr(host_mxcsr_);  // threads that are started inherit it
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
          const GuestScope scope(*mark_, wave, entry.code);
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
      std::fill_n(slots_.begin(), count_,
                  Slot{.interpreted = !start_, .specialisation = shared_.specialisation[group_.complete]});
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
      all_changed_ = true;  // the interpreter's waves, and where they go on
    } else if (all_changed_) {
      for (unsigned i = 0; i < shared_.state.shape().max_waves(); ++i)
        DispatchState::init_common(arena_->wave(i), template_, DispatchState::kAllLines);
      all_changed_ = false;
    }
    return all_changed_ ? DispatchState::kAllLines : changed_lines_;
  }

  [[nodiscard]] bool all_ended() const {
    return std::all_of(slots_.begin(), slots_.begin() + count_,
                       [](const Slot& slot) { return slot.status == Status::ended; });
  }

  void count_group() {
    for (unsigned i = 0; i < count_; ++i) instructions_ += arena_->wave(i).instructions;
    waves_ += count_;
    ++groups_;
    count_ = 0;
  }

  static constexpr unsigned kMomentsOfWaiting = 16;  // between two calls of LaunchRequest::waiting
  static constexpr unsigned kIdleRounds = 2;         // until a work-group seems to wait for others
  static constexpr unsigned kTurnsBetween = 2;       // of work-groups that are set aside, for each that begins
  static constexpr unsigned kProbes = 4;
  struct Cached {
    uint64_t pc = 0;
    uint64_t key = 0;
    bool exec_full = false;
    TranslationCache::Entry entry;
  };

  enum class Progress : uint8_t { ended, waits };

  // Resumes the waves in turn until all have ended, or until the work-group is better set aside: all waves wait for
  // other work-groups, or seem to while another one could go on. Waves that have ended do not take part in barriers
  // (Vega ISA manual, S_BARRIER). Behind a barrier the first wave's turn is last (docs/design.md, "Order of waves").
  Progress run_waves(bool resumed = false) {
    unsigned first = 0, idle_rounds = resumed, rounds = 0;
    alone_ = false;
    std::array<uint8_t, kMaxWavesPerGroup> order;
    std::iota(order.begin(), order.end(), uint8_t{0});
    for (;;) {
      unsigned ready = 0, waiting = 0, yielded = 0, idle = 0, at_sync = 0;
      if (shared_.schedule.is_drawn()) draw_.shuffle(std::span(order.data(), count_));
      for (unsigned turn = 0; turn < count_; ++turn) {
        const unsigned i = order[first + turn < count_ ? first + turn : first + turn - count_];
        Slot& slot = slots_[i];
        WaveState& wave = arena_->wave(i);
        if (slot.status == Status::at_barrier) ++waiting;
        if (slot.status == Status::at_sync && GlobalSync::device().released(wave)) slot.status = Status::ready;
        if (slot.status == Status::at_sync) ++at_sync;
        if (slot.status != Status::ready) continue;
        ++ready;
        const ExitReason reason = run_wave(wave, slot);
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
            slot.arrival = Arrival::jump;
            if (wave.trap_id == trap_id::kGlobalSync) {
              if (!synchronise(wave, slot)) return Progress::ended;
              break;
            }
            // Trap 3 is llvm.debugtrap, which does nothing without a debugger (AMDGPUUsage "Trap Handler ABI").
            if (wave.trap_id != 3) return trap(wave), Progress::ended;
            wave.pc += 4;
            break;
          default:
            fail(wave, reason);
            return Progress::ended;
        }
      }
      if (ready != 0 && shared_.schedule.is_drawn() && draw_.below(4) == 0 && others_could_go_on())
        return Progress::waits;
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
        if ((idle_rounds >= kIdleRounds || ++rounds >= kMaxRounds) && others_could_go_on()) return Progress::waits;
        alone_ = ready == 1 && !others_could_go_on();
        if (idle_rounds >= kIdleRounds) wait_a_moment();
        continue;
      }
      rounds = idle_rounds = 0;
      alone_ = false;
    }
  }

  // All that this thread has begun waits.
  void wait_a_moment() {
    sched_yield();
    if (!shared_.request.waiting || ++moments_ % kMomentsOfWaiting != 0) return;
    _mm_setcsr(host_mxcsr_);  // guest code leaves it as it likes
    shared_.request.waiting();
  }

  // Whether this thread has something else to do than to resume the work-group.
  [[nodiscard]] bool others_could_go_on() { return may_begin() || (!set_aside_.empty() && any_released()); }

  // Whether there is a work-group that has not begun, and the device would have room for it.
  [[nodiscard]] bool may_begin() const {
    const bool running = count_ != 0 && !resuming_;  // next_ is the one that runs
    return (next_ + running < last_of_chunk_ || more_chunks()) &&
           (shared_.waves_aside.load(std::memory_order_relaxed) < kMaxWavesAside || set_aside_.empty());
  }
  [[nodiscard]] bool more_chunks() const {
    return shared_.next_group.load(std::memory_order_relaxed) < shared_.total_groups;
  }

  // A wave at an instruction of GlobalSync. False: it cannot be executed, which is reported.
  bool synchronise(WaveState& wave, Slot& slot) {
    const std::span<const uint8_t> code = code_region(shared_.request.module->object(), wave.pc);
    isa::Instruction inst;
    const auto offset = static_cast<size_t>(wave.pc - reinterpret_cast<uint64_t>(code.data()));
    WAVEJIT_CHECK(!code.empty() && isa::decode(shared_.request.module->target(), code.subspan(offset), wave.pc, inst) ==
                                       isa::DecodeStatus::ok);
    switch (GlobalSync::device().execute(shared_.order, wave, inst)) {
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
                                             kernel_name(shared_), GlobalSync::kMaxWaiting, isa::describe(inst),
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
    put_aside(std::move(group));
    ++newly_set_aside_;
    count_ = 0;
    const DispatchState& state = shared_.state;
    arena_ = acquire_arena();
    Expected<void> prepared =
        arena_->prepare(state.shape().max_waves(), state.lds_bytes(), state.scratch_bytes_per_lane());
    if (!prepared) {
      shared_.fail(std::move(prepared.error()));
      return false;
    }
    template_ = state.make_template(*arena_, shared_.watch.stop_flag());
    all_changed_ = true;
    return true;
  }

  [[nodiscard]] static bool can_go_on(const std::unique_ptr<SetAside>& group) {
    return group->waiting.empty() || GlobalSync::device().any_released(group->waiting);
  }
  [[nodiscard]] bool any_released() { return std::any_of(set_aside_.begin(), set_aside_.end(), can_go_on); }

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
    const auto is_released = [](const std::unique_ptr<SetAside>& group) {
      return !group->waiting.empty() && GlobalSync::device().any_released(group->waiting);
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
    const auto found = std::find_if(set_aside_.begin(), set_aside_.end(), can_go_on);
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
      release_arena(std::move(group->arena));
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
    if (GlobalSync::device().wait(waiting, shared_.watch.stop_flag()) != GlobalSync::Wake::deadlock) return;
    const WaveState& wave = *waiting.front();
    shared_.fail({.code = ErrorCode::kTimeout,
                  .message = fmt::format("Kernel '{}' cannot end: {} waves wait at global wave sync or ordered counts, "
                                         "and nothing is running that could release them. One is behind {}.",
                                         kernel_name(shared_), waiting.size(), where(shared_, wave)),
                  .pc = wave.pc});
  }

  static void forget_waves_of(Arena& arena, unsigned count) {
    std::vector<const WaveState*> waves;
    for (unsigned i = 0; i < count; ++i) waves.push_back(&arena.wave(i));
    GlobalSync::device().forget(waves);
  }

  // Of a launch that has failed.
  void drop_set_aside() {
    if (std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.status == Status::at_sync; }))
      forget_waves_of(*arena_, shared_.state.shape().max_waves());
    for (const auto& group : set_aside_) {
      for (unsigned i = 0; i < group->count; ++i) instructions_ += group->arena->wave(i).instructions;
      waves_ += group->count;
      ++groups_;
      forget_waves_of(*group->arena, group->count);
    }
    set_aside_.clear();
  }

  // A wave's turn: to where it waits, or until others are to have theirs.
  ExitReason run_wave(WaveState& wave, Slot& slot) {
    slot.idle = true;  // at s_sleep
    if (slot.interpreted) {
      const ExitReason reason = interpret(wave, slot);
      if (slot.interpreted) return reason;
    }
    for (unsigned jumps = 0;; ++jumps) {
      const ExitReason reason = slot.parked_in ? go_on(wave, slot) : enter(wave, slot);
      if (slot.parked_in) return reason;
      slot.arrival = reason == ExitReason::kJump ? Arrival::jump : Arrival::resumed;
      if (reason != ExitReason::kJump || shared_.watch.stopping()) return reason;
      if (jumps == kMaxJumps) {
        slot.idle = false;
        return ExitReason::kYield;
      }
    }
  }

  ExitReason enter(WaveState& wave, Slot& slot) {
    const TranslationCache::Entry entry = lookup(wave, slot);
    if (!entry.code) {
      if (!slot.stays_interpreted) return ExitReason::kStopped;  // lookup() has reported the error
      slot.interpreted = all_changed_ = true;
      return interpret(wave, slot);
    }
    slot.in_start_unit = entry.in_start_unit;
    slot.in_exec_full = entry.exec_full;
    if (!entry.polls) {
      const GuestScope scope(*mark_, wave, entry.code);
      return static_cast<ExitReason>(enter_(&wave, entry.index, entry.function));
    }
    backend::WaveStack* stack = arena_->stack_of(wave);
    if (!stack) {
      shared_.fail({.code = ErrorCode::kOutOfMemory, .message = "Cannot map host memory for the stack of a wave."});
      return ExitReason::kStopped;
    }
    return on_stack(wave, slot, entry.code, [&] { return stack->enter(wave, entry.index, entry.function); });
  }

  ExitReason go_on(WaveState& wave, Slot& slot) {
    return on_stack(wave, slot, slot.parked_in, [&] { return backend::WaveStack::go_on(wave); });
  }

  template <typename Run>
  ExitReason on_stack(WaveState& wave, Slot& slot, const backend::CompiledCode* code, Run run) {
    wave.polls_left = alone_ ? kPollsAlone : slot.polls;
    ExitReason reason;
    {
      const GuestScope scope(*mark_, wave, code);
      reason = run();
    }
    const bool parked = backend::is_parked(wave);
    slot.parked_in = parked ? code : nullptr;
    if (parked) note_turn(slot, hash_of(backend::parked_registers(wave)));
    return reason;
  }

  [[nodiscard]] static uint64_t hash_of(std::span<const std::byte> bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
  }

  // Behind a turn that a poll has ended.
  void note_turn(Slot& slot, uint64_t registers, uint32_t most_polls = kMaxPolls) {
    slot.idle = std::find(slot.registers.begin(), slot.registers.end(), registers) != slot.registers.end();
    slot.registers[slot.oldest] = registers;
    slot.oldest = (slot.oldest + 1) % slot.registers.size();
    if (shared_.schedule.is_drawn())
      slot.polls = 1 + draw_.below(4 * kFewPolls);
    else if (!alone_)
      slot.polls = slot.idle ? kFewPolls : std::min(2 * slot.polls, most_polls);
  }

  // Interprets the wave for a while. It moves to translated code (of its own: where it is now, no code starts) when it
  // has been interpreted for as long as the kernel took to translate since it could have been entered there.
  ExitReason interpret(WaveState& wave, Slot& slot) {
    const interp::Interpreter& interpreter = *shared_.interpreter;
    const bool late = shared_.background && !slot.stays_interpreted && shared_.translated();
    const Clock::time_point start = late ? Clock::now() : Clock::time_point();
    const uint64_t before = wave.instructions;
    uint64_t budget = shared_.background ? kTieredBudget : kInterpreterBudget;
    if (shared_.schedule.is_drawn() && draw_.below(2) != 0) budget = 1 + draw_.below(kDrawnBudget);
    const GuestScope scope(*mark_, wave, nullptr);
    wave.polls_left = alone_ ? kPollsAlone : slot.polls;
    ExitReason reason = executed_ ? interpreter.run_counting(wave, budget, *executed_) : interpreter.run(wave, budget);
    if (reason == ExitReason::kYield && wave.polls_left == 0)
      note_turn(slot, hash_of(std::as_bytes(std::span(wave.sgpr))) ^ wave.pc ^ wave.scc, kMaxInterpretedPolls);
    else if (wave.instructions - before >= budget)
      slot.idle = false;
    wave.polls_left = 0;
    if (!late) return reason;
    late_ns_ += ns_since(start);
    if (reason != ExitReason::kYield || late_ns_ < shared_.background->counters.translate_ns) return reason;
    // To where a loop begins, so that waves meet there.
    constexpr auto kSteps = 4096;
    for (auto i = 0; i < kSteps && reason == ExitReason::kYield; ++i) {
      const uint64_t pc = wave.pc;
      reason = interpreter.run(wave, 1);
      if (reason != ExitReason::kYield || wave.pc > pc) continue;
      slot.interpreted = slot.in_start_unit = slot.in_exec_full = false;
      slot.arrival = Arrival::jump;
      ++moved_waves_;
      break;
    }
    return reason;
  }

  TranslationCache::Entry lookup(const WaveState& wave, Slot& slot) {
    const bool exec_full = wave.exec() == slot.full_exec;
    const bool scratch_srd = has_scratch_srd(wave);
    const uint64_t key = wave.mode | uint64_t{slot.specialisation} << 32 |
                         uint64_t{static_cast<uint8_t>(slot.arrival)} << 60 | uint64_t{slot.in_start_unit} << 62 |
                         uint64_t{slot.in_exec_full && exec_full} << 63 | uint64_t{scratch_srd} << 59;
    const auto matches = [&](const Cached& cached) {
      return cached.pc == wave.pc && cached.key == key && cached.exec_full == exec_full;
    };
    // The waves of a work-group mostly go on at the same place one after the other.
    if (matches(*last_)) return last_->entry;
    Cached* free = nullptr;
    for (unsigned i = 0; i < kProbes && !free; ++i) {
      Cached& cached = cache_[(wave.pc / 4 + i) % cache_.size()];
      if (matches(cached)) return (last_ = &cached)->entry;
      if (!cached.entry.code) free = &cached;
    }
    if (!free) free = &cache_[wave.pc / 4 % cache_.size()];
    return translate(wave, slot, *free, key);
  }

  // Whether s[0:3] hold the descriptor of the wave's private segment, as functions get it: the wave's offset added.
  [[nodiscard]] bool has_scratch_srd(const WaveState& wave) const {
    const uint64_t base = wave.scratch_base & 0xffffffffffff;
    return base != 0 && wave.sgpr64(0) == (base | uint64_t{1} << 63) && wave.sgpr64(2) == scratch_words23_;
  }

  TranslationCache::Entry translate(const WaveState& wave, Slot& slot, Cached& cached, uint64_t key) {
    _mm_setcsr(host_mxcsr_);  // guest code leaves it as it likes
    const TranslationCache::Query query{.config = shared_.config,
                                        .specialisation = slot.specialisation,
                                        .pc = wave.pc,
                                        .mode = wave.mode,
                                        .exec_full = shared_.full_exec && wave.exec() == slot.full_exec,
                                        .scratch_srd = shared_.scratch_descriptors && has_scratch_srd(wave),
                                        .arrival = slot.arrival,
                                        .from_start_unit = slot.in_start_unit,
                                        .from_exec_full = slot.in_exec_full};
    Expected<TranslationCache::Entry> found = shared_.translations.find(query, counters_);
    if (!found) {
      slot.stays_interpreted = shared_.falls_back(found.error());
      if (!slot.stays_interpreted) shared_.fail(std::move(found.error()));
      return {};
    }
    changed_lines_ |= found->changed_lines;
    cached = {.pc = wave.pc, .key = key, .exec_full = wave.exec() == slot.full_exec, .entry = *found};
    last_ = &cached;
    return *found;
  }

  void trap(const WaveState& wave) {
    _mm_setcsr(host_mxcsr_);
    if (wave.trap_id >= trap_id::kException) return exception(wave);
    shared_.fail({.code = ErrorCode::kGuestTrap,
                  .message = fmt::format("Kernel '{}' executed s_trap {}{}: {}.", kernel_name(shared_), wave.trap_id,
                                         wave.trap_id == 2 ? " (abort or failed assertion)" : "", where(shared_, wave)),
                  .pc = wave.pc});
  }

  // There is no trap handler to tell, so the dispatch ends (AMDGPUUsage, "Trap Handler ABI").
  void exception(const WaveState& wave) {
    static constexpr const char* kNames[] = {
        "invalid operation", "input denormal", "division by zero",        "overflow",
        "underflow",         "inexact",        "integer division by zero"};
    std::string names;
    for (unsigned i = 0; i < std::size(kNames); ++i)
      if ((wave.trap_id >> i & 1) != 0) names += fmt::format("{}{}", names.empty() ? "" : ", ", kNames[i]);
    const std::span<const uint8_t> code = code_region(shared_.request.module->object(), wave.pc);
    isa::Instruction inst;
    std::string what = "An instruction";
    if (!code.empty() &&
        isa::decode(shared_.request.module->target(), code.subspan(wave.pc - reinterpret_cast<uint64_t>(code.data())),
                    wave.pc, inst) == isa::DecodeStatus::ok)
      what = isa::describe(inst);
    shared_.fail({.code = ErrorCode::kGuestTrap,
                  .message = fmt::format("Kernel '{}': {} raised an exception that MODE has trap ({}): {}.",
                                         kernel_name(shared_), what, names, where(shared_, wave)),
                  .pc = wave.pc});
  }

  void fail(const WaveState& wave, ExitReason reason) {
    _mm_setcsr(host_mxcsr_);
    if (reason == ExitReason::kFault) return shared_.fail(fault_error(shared_, wave, true));
    if (reason == ExitReason::kUnsupported || reason == ExitReason::kIllegal) {
      Error error;
      if (code_region(shared_.request.module->object(), wave.pc).empty()) {
        error = {.code = ErrorCode::kIllegalInstruction, .message = "Control flow left the code.", .pc = wave.pc};
      } else {
        error = shared_.interpreter->describe_exit(wave);
      }
      error.message += fmt::format(" At {}.", where(shared_, wave));
      if (!error.pc) error.pc = wave.pc;
      return shared_.fail(std::move(error));
    }
    if (shared_.watch.stopping()) return;
    shared_.fail({.code = ErrorCode::kInternal,
                  .message = fmt::format("The engine left with reason {} at {}.", static_cast<unsigned>(reason),
                                         where(shared_, wave)),
                  .pc = wave.pc});
  }

  Shared& shared_;
  std::unique_ptr<Arena> arena_;
  unsigned count_ = 0;
  uint64_t scratch_words23_ = 0;
  std::array<Slot, kMaxWavesPerGroup> slots_{};
  std::array<Cached, 64> cache_{};
  Cached* last_ = cache_.data();
  GuestMark* mark_ = nullptr;
  DispatchState::WaveTemplate template_;
  DispatchState::Group group_;  // next_
  // What work-groups so far have changed of the waves' states: everything, or these lines.
  bool all_changed_ = true;
  uint32_t changed_lines_ = 0;
  uint32_t host_mxcsr_ = 0;
  const backend::PlainEntryFn enter_ = backend::plain_entry();
  TranslationCounters counters_;
  uint64_t next_ = 0, last_of_chunk_ = 0;            // work-groups
  std::unique_ptr<OpcodeCounts> executed_;           // by the interpreter, if that is wanted
  const StartCode* start_ = nullptr;                 // of the work-group
  std::deque<std::unique_ptr<SetAside>> set_aside_;  // who has waited for longest first
  uint64_t newly_set_aside_ = 0;                     // by run_groups()
  Progress resumed_ = Progress::ended;
  Draw draw_{0};           // of a schedule
  bool resuming_ = false;  // a work-group that was set aside runs
  bool alone_ = false;     // the work-group has one wave that can go on, and this thread nothing else
  uint64_t turns_ = 0, moments_ = 0;
  uint64_t late_ns_ = 0;  // interpreted although there was translated code
  uint64_t instructions_ = 0, groups_ = 0, waves_ = 0, interpreted_groups_ = 0, moved_waves_ = 0;
};

Error timeout_error(const LaunchRequest& request, const Shared& shared) {
  return {.code = ErrorCode::kTimeout,
          .message = fmt::format("Kernel '{}' did not end within {:g} s; {} of {} work-groups had ended.",
                                 kernel_name(shared), static_cast<double>(request.timeout_ns) / 1e9,
                                 shared.done_groups.load(), shared.total_groups),
          .kernel = request.kernel->name};
}

// Has the code translated that waves start in: what most of them need at once, before the clock starts, or all of it in
// the background.
Expected<void> prepare_start(Shared& shared) {
  TranslationCache& cache = shared.translations;
  TranslationCounters counters;
  const auto is_translated = [&](const TranslationCache::Query& query) {
    return cache.find_kept(query, counters).has_value();
  };
  if (shared.request.engine == Engine::tiered && !shared.profile &&
      !std::all_of(shared.starts.begin(), shared.starts.end(), is_translated)) {
    shared.add(counters);
    shared.background = translate_in_background(shared.request.module, shared.starts);
    return {};
  }
  Expected<TranslationCache::Entry> entry = cache.find(shared.starts[0], counters);
  shared.add(counters);
  if (!entry && shared.falls_back(entry.error())) return {};
  if (!entry) {
    Error& error = entry.error();
    if (error.kernel.empty()) error.kernel = shared.request.kernel->name;
    return tl::unexpected<Error>(std::move(error));
  }
  shared.start_in(*entry);
  return {};
}

}  // namespace

Expected<void> launch(const LaunchRequest& request, LaunchStats& stats) {
  const codeobject::Kernel& kernel = *request.kernel;
  if (Expected<void> ok = check_shape(kernel, request.shape, request.shape_limits); !ok) return ok;
  const auto invalid = [&](std::string message) {
    return tl::unexpected<Error>(
        Error{.code = ErrorCode::kInvalidArgument, .message = std::move(message), .kernel = kernel.name});
  };
  if (request.lds_bytes > kMaxLdsBytes)
    return invalid(fmt::format("Kernel '{}' would need {} bytes of LDS per work-group; the hardware has {}.",
                               kernel.name, request.lds_bytes, kMaxLdsBytes));
  if (kernel.descriptor.private_segment_size > kMaxScratchBytesPerLane)
    return invalid(fmt::format("Kernel '{}' asks for {} bytes of scratch per work-item; the limit is {}.", kernel.name,
                               kernel.descriptor.private_segment_size, kMaxScratchBytesPerLane));

  Module& module = *request.module;
  // Code that counts is this launch's own, and so are its counters.
  ExecutionProfile profile;
  const std::unique_ptr<TranslationCache> own_translations = request.executed ? module.private_translations() : nullptr;
  const bool records_exceptions = module.records_exceptions(kernel);
  const DispatchState state(module.target(), kernel, request.shape, request.lds_bytes, request.kernarg,
                            kernel.descriptor.entry, records_exceptions, request.packet, request.queue);
  const uint64_t total_groups = request.shape.total_groups();
  // Outlives the watch, which reads it for progress reports. On a cache line of its own, as workers write it.
  alignas(64) std::atomic<uint64_t> done_groups{0};
  std::function<void()> progress;
  if (request.progress) progress = [&] { request.progress(done_groups.load(std::memory_order_relaxed), total_groups); };
  Watch watch(request.timeout_ns, std::move(progress), request.cancellation);
  Shared shared{.request = request,
                .state = state,
                .watch = watch,
                .translations = own_translations ? *own_translations : module.translations(),
                .interpreter = &module.interpreter(),
                .profile = request.executed ? &profile : nullptr,
                .done_groups = done_groups,
                .total_groups = total_groups,
                .schedule = Schedule(request.schedule, total_groups, request.shape.max_waves(), kMaxWavesAside)};
  const auto threads = static_cast<uint32_t>(std::clamp<uint64_t>(request.threads, 1, shared.total_groups));
  if (!shared.schedule.is_drawn())
    shared.chunk = std::clamp<uint64_t>(shared.total_groups / (uint64_t{threads} * 64), 1, 32);

  if (request.engine != Engine::interpreter) {
    TranslationCache& cache = shared.translations;
    shared.config = cache.config_id({.tier = request.tier,
                                     .disabled_passes = request.disabled_passes,
                                     .count_instructions = request.count_instructions,
                                     .profile = shared.profile});
    shared.full_exec = is_on(request.disabled_passes, kFullExec);
    shared.scratch_descriptors = is_on(request.disabled_passes, kScratchDescriptors);
    Specialisation specialisation = specialisation_of(kernel, request.shape, request.lds_bytes, request.kernarg);
    if (!is_on(request.disabled_passes, kLdsSize)) specialisation.lds_size.reset();
    const auto for_any_shape = [&] {
      specialisation.workgroup.reset();
      specialisation.known_args = 0;
      specialisation.local_pointers.clear();
    };
    if (!is_on(request.disabled_passes, kDispatchShape)) for_any_shape();
    shared.specialisation[1] = cache.specialisation_id(specialisation);
    const auto& size = request.shape.workgroup;
    const uint32_t items = size[0] * size[1] * size[2];
    if (items % kWaveSize != 0 && specialisation.workgroup && shared.full_exec &&
        is_on(request.disabled_passes, kLastWaves)) {
      specialisation.last_wave = true;
      const uint32_t id = cache.specialisation_id(specialisation);
      if (cache.is_for_last_waves(id)) shared.last_waves = id;
      specialisation.last_wave = false;
    }
    for_any_shape();
    if (request.shape.has_partial_groups()) shared.specialisation[0] = cache.specialisation_id(specialisation);
    // All but the tail of a grid starts in the code for full waves.
    const auto start_query = [&](uint32_t id, bool exec_full) {
      shared.starts.push_back({.config = shared.config,
                               .specialisation = id,
                               .pc = kernel.descriptor.entry,
                               .mode = kernel.descriptor.mode | (records_exceptions ? exceptions::kRecords : 0),
                               .exec_full = shared.full_exec && exec_full});
    };
    const bool complete = state.group(0).complete;
    if (complete && (items >= kWaveSize || !shared.last_waves))
      start_query(shared.specialisation[1], items >= kWaveSize);
    if (complete && shared.last_waves) start_query(*shared.last_waves, true);
    if (request.shape.has_partial_groups()) start_query(shared.specialisation[0], false);
    if (Expected<void> ok = prepare_start(shared); !ok) {
      stats = shared.stats;
      return ok;
    }
  }

  const Clock::time_point start = Clock::now();
  const std::function<void(uint32_t)> work = [&shared](uint32_t) { Worker(shared).run(); };
  Team team(threads, work);
  bool alone = false;
  if (threads > 1) {
    shared.team = &team;
    shared.group_time = &module.group_time(kernel);
    const auto worth = worth_sharing();
    const float ns = shared.group_time->ns() * static_cast<float>(total_groups);
    alone = ns != 0 && ns < static_cast<float>(worth.count());
    if (alone) shared.alone_until = start + worth;
  }
  team.run(alone);
  shared.stats.wall_ns = ns_since(start);
  if (shared.background && !request.count_instructions) shared.stats.guest_instructions = 0;  // those in part
  const auto& grid = request.shape.grid;
  shared.stats.work_items = uint64_t{grid[0]} * grid[1] * grid[2];
  shared.stats.fallbacks = static_cast<uint32_t>(shared.fallbacks.size());
  stats = shared.stats;
  if (request.executed) *request.executed = profile.total();
  if (shared.error) return tl::unexpected<Error>(std::move(*shared.error));
  if (request.cancellation && request.cancellation->cancelled() && done_groups < total_groups)
    return tl::unexpected<Error>(Error{.code = ErrorCode::kTimeout,
                                       .message = fmt::format("Kernel '{}' was stopped.", kernel_name(shared)),
                                       .kernel = kernel.name});
  if (watch.timed_out() && done_groups < total_groups) return tl::unexpected<Error>(timeout_error(request, shared));
  return {};
}

}  // namespace wavejit::runtime
