// Shadow mode: dispatches run a second time, on copies of the process's memory, in the interpreter and in translated code, and
// what the two engines write is compared. The dispatch itself is not affected: docs/design/shadow.md.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/launch/launch.h"
#include "runtime/shadow/comparison.h"
#include "runtime/shadow/options.h"

namespace wavejit::runtime::shadow {

struct Counters {
  uint64_t dispatches = 0;
  std::array<uint64_t, kVerdicts> verdicts{};  // by Verdict
  uint64_t bytes = 0;                          // compared
  [[nodiscard]] uint64_t of(Verdict verdict) const { return verdicts[static_cast<unsigned>(verdict)]; }
  // What has been counted since `earlier`.
  [[nodiscard]] Counters since(const Counters& earlier) const;
  [[nodiscard]] uint64_t skipped() const;
  [[nodiscard]] uint64_t compared() const {
    return of(Verdict::equal) + of(Verdict::other_nans) + of(Verdict::different);
  }
};

// "12 dispatches: 10 compared (10 equal, 0 different), 1 depends on order, 1 skipped (1 waits for ...)."
[[nodiscard]] std::string summary(const Counters& counters);

// Thread-safe.
class Shadow {
 public:
  // `say` is given each difference, as lines without the last newline. `after_run`: for tests.
  using Say = std::function<void(std::string_view)>;
  Shadow(Options options, Say say, AfterRun after_run = nullptr);
  ~Shadow();  // as finish()
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  // Before launch(request): begins a comparison, unless the dispatch is left out. The comparison runs while the launch does.
  void begin(const LaunchRequest& request);
  // Waits for the comparisons that are under way.
  void finish();
  [[nodiscard]] Counters counters();

 private:
  struct Running;
  // Of a kernel, from its last comparison.
  struct Known {
    double ns_per_group = 0;  // of the interpreter
    unsigned waited = 0;      // how many comparisons one after the other have ended in Verdict::waits
    uint64_t left_out = 0;    // dispatches to go before the next attempt
  };
  [[nodiscard]] std::optional<Verdict> why_not(const LaunchRequest& request, const std::string& name);
  void start(const LaunchRequest& request, std::string name);
  void end_oldest();
  void count(Verdict verdict);

  const Options options_;
  const Say say_;
  const AfterRun after_run_;
  const size_t most_running_;
  std::mutex mutex_;
  Counters counters_;
  std::deque<Running> running_;
  std::vector<Report*> free_reports_;
  std::map<std::string, Known> known_;
};

// The process's, as WAVEJIT_SHADOW wants it; null without that variable. Writes the summary at the process's end, and to the
// file WAVEJIT_SHADOW_REPORT a line of JSON.
[[nodiscard]] Shadow* of_process();

}  // namespace wavejit::runtime::shadow
