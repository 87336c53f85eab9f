// State shared by the workers of one launch.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "frontend/interp/interpreter.h"
#include "internal/error.h"
#include "runtime/kernel/dispatch_state.h"
#include "runtime/kernel/kernel_times.h"
#include "runtime/launch/global_sync.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/schedule.h"
#include "runtime/launch/tier_up.h"
#include "runtime/launch/watchdog.h"
#include "runtime/threads/thread_pool.h"
#include "runtime/translate/counting_code.h"
#include "runtime/translate/later_samples.h"
#include "runtime/translate/translation_cache.h"

namespace wavejit::runtime {

using Clock = std::chrono::steady_clock;
[[nodiscard]] inline uint64_t ns_since(Clock::time_point start) {
  return std::chrono::nanoseconds(Clock::now() - start).count();
}

// Translated code that new waves enter.
struct StartCode {
  // Whether the code reads the work-item ids that the dispatcher writes, in partial and in complete work-groups.
  bool reads_ids[2] = {true, true};
  TranslationCache::Entry through;  // what complete work-groups of full waves enter if they run through, or nothing
};

// Another module, whose functions a kernel calls by their addresses, as rocFFT's do with a program's callbacks.
struct CalledModule {
  std::shared_ptr<Module> module;
  std::unique_ptr<const CountingLease> counting;  // if the launch's code counts
  TranslationCache& translations;
  uint32_t config = 0;  // the launch's, there
};

struct LaunchState {
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
  // The start code of waves; the first element serves most of them. With `tier_up`, waves are interpreted until it
  // is translated.
  std::vector<TranslationCache::Query> starts;
  std::optional<TierUp> tier_up;
  KernelTimes* kernel_samples = nullptr;         // if waves are sampled for translations
  LaterSamples* later = nullptr;                 // if some are once the kernel is translated
  uint64_t groups_before = 0;                    // of the kernel, for these: of launches that have ended
  std::atomic<const StartCode*> start{nullptr};  // &start_code, once that is complete
  std::atomic<uint64_t>& done_groups;            // those whose waves have all ended
  uint64_t total_groups = 0;
  Schedule schedule;
  uint64_t chunk = 1;
  Team* team = nullptr;             // of the workers
  GroupTime* group_time = nullptr;  // to be measured
  Clock::time_point alone_until;    // if it begins with one worker
  // Written by all workers, once per chunk of work-groups. Members above are only read.
  alignas(64) std::atomic<uint64_t> next_group{0};

  std::atomic<uint32_t> waves_aside{0};  // of work-groups that are set aside because all their waves seem to wait
  GlobalSync::Launch sync;               // GlobalSync's mutex guards it

  // At the end of a worker, or when it fails.
  alignas(64) std::mutex mutex;
  std::optional<Error> error;    // the first one
  std::set<uint64_t> fallbacks;  // PCs of units that could not be translated
  LaunchStats stats;
  StartCode start_code;
  mutable std::mutex called_mutex;  // of the list; what it points to stays
  mutable std::vector<std::unique_ptr<const CalledModule>> called;

  // Ends the launch with the error; the first error wins. Callable from any thread.
  void fail(Error e);

  // Returns true if waves continue in the interpreter where translation failed: with Engine::tiered, unless
  // WAVEJIT_STRICT forbids it. Prints a message once per place in the code. Bytes that are no code are an error of the
  // guest.
  [[nodiscard]] bool falls_back(const Error& why);

  // Fills start_code for the answer to starts[0].
  void start_in(const TranslationCache::Entry& entry);

  // Where new waves start; nullptr while, or because, they are interpreted.
  [[nodiscard]] const StartCode* translated();

  void add(const TranslationCounters& counters);

  // The module with code at `pc` if it is another than the kernel's. Lives as long as the launch.
  [[nodiscard]] const CalledModule* called_at(uint64_t pc) const;
  // The module with code at `pc`; the kernel's if there is none.
  [[nodiscard]] Module& module_at(uint64_t pc) const;
  [[nodiscard]] const interp::Interpreter& interpreter_at(uint64_t pc) const;
  // The configuration of translations.
  [[nodiscard]] TranslationCache::Config translation_config() const { return translation_config(profile); }
  // Where waves start in code that is translated anew.
  [[nodiscard]] std::vector<TranslationCache::Query> starts_anew(uint32_t anew) const;
  // What waves of a work-group did, for `later`. May have the kernel translated anew, for launches after it.
  void add_later(const interp::Profile& waves);
  // The same for a module with counters of its own.
  [[nodiscard]] TranslationCache::Config translation_config(ExecutionProfile* counters) const;
  // What waves have executed; for launches with a profile, when they have ended.
  [[nodiscard]] OpcodeCounts executed() const;
};

}  // namespace wavejit::runtime
