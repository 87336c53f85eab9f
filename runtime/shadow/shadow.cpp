#include "runtime/shadow/shadow.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <numeric>
#include <utility>

#include "runtime/kernel/symbols.h"
#include "runtime/memory/arena.h"
#include "runtime/memory/memory_registry.h"
#include "runtime/shadow/memory.h"
#include "runtime/threads/thread_pool.h"

namespace wavejit::runtime::shadow {
namespace {

// A child that has not ended after as many limits of a run, and this many seconds, is stuck.
constexpr double kStuckLimits = 40, kStuckSeconds = 180;

constexpr unsigned kMostWaited = 10;

const char* reason(Verdict verdict) {
  switch (verdict) {
    case Verdict::left_out:
      return "left out by the options";
    case Verdict::waits:
      return "waiting for the host or other dispatches";
    case Verdict::too_long:
      return "longer or larger than the limits";
    case Verdict::error:
      return "ending with the same error";
    case Verdict::untranslated:
      return "not translated";
    case Verdict::failed:
      return "without memory or a process for them";
    case Verdict::none:
    case Verdict::equal:
    case Verdict::other_nans:
    case Verdict::different:
    case Verdict::order_dependent:
      break;
  }
  return "?";
}

Report* new_report() {
  void* memory = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<Report*>(memory);
}

}  // namespace

Counters Counters::since(const Counters& earlier) const {
  Counters counters{.dispatches = dispatches - earlier.dispatches, .bytes = bytes - earlier.bytes};
  for (unsigned i = 0; i < kVerdicts; ++i) counters.verdicts[i] = verdicts[i] - earlier.verdicts[i];
  return counters;
}

uint64_t Counters::skipped() const {
  return std::accumulate(verdicts.begin() + static_cast<unsigned>(Verdict::left_out), verdicts.end(), uint64_t{0});
}

std::string summary(const Counters& counters) {
  std::string text = fmt::format("{} {}: {} compared ({} equal", counters.dispatches,
                                 counters.dispatches == 1 ? "dispatch" : "dispatches", counters.compared(),
                                 counters.of(Verdict::equal));
  if (const uint64_t nans = counters.of(Verdict::other_nans); nans != 0)
    text += fmt::format(", {} equal but for NaNs' payloads", nans);
  text += fmt::format(", {} different), {} order-dependent, ", counters.of(Verdict::different),
                      counters.of(Verdict::order_dependent));
  const uint64_t skipped = counters.skipped();
  text += fmt::format("{} skipped", skipped);
  const char* separator = " (";
  for (unsigned i = static_cast<unsigned>(Verdict::left_out); i < kVerdicts; ++i) {
    if (counters.verdicts[i] == 0) continue;
    text += fmt::format("{}{} {}", separator, counters.verdicts[i], reason(static_cast<Verdict>(i)));
    separator = ", ";
  }
  return text + (skipped != 0 ? ")." : ".");
}

struct Shadow::Running {
  pid_t child = -1;
  int pipe_end = -1;  // its other end is held by the child and nobody else
  Report* report = nullptr;
  std::string kernel;
  uint64_t groups = 0;
};

Shadow::Shadow(Options options, Say say, AfterRun after_run)
    : options_(std::move(options)),
      say_(std::move(say)),
      after_run_(std::move(after_run)),
      most_running_(options_.jobs != 0 ? options_.jobs : std::clamp(available_cpus() / 2, 1u, 8u)) {}

Shadow::~Shadow() {
  try {
    finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wavejit: shadow mode ends without its last comparisons: %s\n", error.what());
  }
  for (Report* report : free_reports_) munmap(report, sizeof(Report));
}

void Shadow::begin(const LaunchRequest& request) {
  std::string name = demangled(request.kernel->name);
  const std::lock_guard lock(mutex_);
  ++counters_.dispatches;
  if (const std::optional<Verdict> verdict = why_not(request, name)) return count(*verdict);
  while (running_.size() >= most_running_) end_oldest();
  start(request, std::move(name));
}

std::optional<Verdict> Shadow::why_not(const LaunchRequest& request, const std::string& name) {
  if ((counters_.dispatches - 1) % options_.every != 0 ||
      (options_.kernel && !std::regex_search(name, *options_.kernel)))
    return Verdict::left_out;
  if (const auto known = known_.find(name); known != known_.end()) {
    Known& kernel = known->second;
    if (kernel.left_out != 0) return --kernel.left_out, Verdict::waits;
    if (kernel.ns_per_group * static_cast<double>(request.shape.total_groups()) > options_.limit_s * 1e9)
      return Verdict::too_long;
  }
  if (!backend::host_supports(request.tier)) return Verdict::untranslated;
  // Translated here, so that children need not do it each time anew.
  LaunchRequest translation = request;
  translation.engine = Engine::jit;
  translation.only_translates = true;
  translation.executed = nullptr;
  translation.cancellation = nullptr;
  translation.progress = nullptr;
  translation.timeout_ns = 0;
  LaunchStats stats;
  if (const Expected<void> done = launch(translation, stats); !done)
    return done.error().code == ErrorCode::kInvalidArgument ? Verdict::error : Verdict::untranslated;
  return std::nullopt;
}

void Shadow::start(const LaunchRequest& request, std::string name) {
  Report* report = nullptr;
  if (!free_reports_.empty()) {
    report = free_reports_.back();
    free_reports_.pop_back();
  } else {
    report = new_report();
  }
  int ends[2];
  if (!report || pipe2(ends, O_CLOEXEC) != 0) {
    if (report) free_reports_.push_back(report);
    return count(Verdict::failed);
  }
  new (report) Report;
  const bool has_foreign = watched_memory().has_foreign;
  pid_t child = -1;
  {
    // Other threads' locks would never be released in the child. Those of moments that are not among these cost a comparison.
    const auto registry = lock_registry();
    const auto arenas = lock_arenas();
    ModulesForkLock modules;
    child = fork();
    if (child == 0)
      modules.unlock_in_child();
    else
      modules.unlock_in_parent();
  }
  if (child == 0) {
    close(ends[0]);
    compare(request, options_, after_run_, *report);
    _exit(0);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    free_reports_.push_back(report);
    return count(Verdict::failed);
  }
  running_.push_back({.child = child,
                      .pipe_end = ends[0],
                      .report = report,
                      .kernel = std::move(name),
                      .groups = request.shape.total_groups()});
  // The launch would write to memory that the child has not copied yet.
  if (has_foreign) {
    pollfd entry{.fd = ends[0], .events = POLLIN, .revents = 0};
    while (!report->ready.load(std::memory_order_acquire) && poll(&entry, 1, 1) == 0) {
    }
  }
}

void Shadow::end_oldest() {
  using Clock = std::chrono::steady_clock;
  const Running oldest = std::move(running_.front());
  running_.pop_front();
  const double seconds = kStuckLimits * options_.limit_s + kStuckSeconds;
  const Clock::time_point end = Clock::now() + std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  Report& report = *oldest.report;
  pollfd entry{.fd = oldest.pipe_end, .events = POLLIN, .revents = 0};
  // The pipe alone would not do: processes that the program forks meanwhile may hold its other end.
  while (report.verdict.load(std::memory_order_acquire) == Verdict::none && poll(&entry, 1, 100) <= 0)
    if (Clock::now() > end) {
      kill(oldest.child, SIGKILL);
      break;
    }
  close(oldest.pipe_end);
  // The program may have waited for it, as for any child.
  int status = 0;
  while (waitpid(oldest.child, &status, 0) < 0 && errno == EINTR) {
  }
  Verdict verdict = report.verdict.load(std::memory_order_acquire);
  if (verdict == Verdict::none) {
    verdict = Verdict::failed;
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL && report.running) {
      verdict = Verdict::different;
      fmt::format_to_n(report.text, sizeof report.text - 1, "Kernel '{}': signal {} ended the process of its {}.",
                       oldest.kernel, WTERMSIG(status), report.running);
    }
  }
  count(verdict);
  counters_.bytes += report.bytes;
  Known& kernel = known_[oldest.kernel];
  if (report.interpreter_ns != 0)
    kernel.ns_per_group = static_cast<double>(report.interpreter_ns) / static_cast<double>(oldest.groups);
  // Each attempt takes a second: they become rare.
  kernel.waited = verdict == Verdict::waits ? std::min(kernel.waited + 1, kMostWaited) : 0;
  kernel.left_out = (uint64_t{1} << kernel.waited) - 1;
  if (verdict == Verdict::different) {
    say_(fmt::format("shadow: {}", report.text));
    if (options_.abort) std::abort();
  }
  free_reports_.push_back(oldest.report);
}

void Shadow::finish() {
  const std::lock_guard lock(mutex_);
  while (!running_.empty()) end_oldest();
}

Counters Shadow::counters() {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void Shadow::count(Verdict verdict) {
  ++counters_.verdicts[static_cast<unsigned>(verdict)];
}

}  // namespace wavejit::runtime::shadow
