// Both engines on copies of the process's memory, and what they wrote compared. All of it happens in child processes of
// fork(), whose memory the system copies when somebody writes to it: docs/design/shadow.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "runtime/launch/launch.h"
#include "runtime/shadow/options.h"

namespace wavejit::runtime::shadow {

enum class Verdict : uint32_t {
  none,  // not yet, or the child has died
  equal,
  other_nans,  // equal but for payloads and signs of NaNs, of which nothing is promised
  different,
  order_dependent,  // the interpreter writes other bytes when work-groups and waves have their turns in another order
  // Not compared:
  left_out,      // the options say so
  waits,         // for the host, or for other dispatches
  too_long,      // beyond the limit
  error,         // both engines end with the same error
  untranslated,  // there is no translation
  failed,        // no memory for a copy, or no process
};
inline constexpr unsigned kVerdicts = static_cast<unsigned>(Verdict::failed) + 1;

// In memory that the process and its child share.
struct Report {
  std::atomic<bool> ready{false};  // the child has its own copy of memory that is shared between processes
  std::atomic<Verdict> verdict{Verdict::none};
  const char* volatile running = nullptr;  // the engine that the child itself runs
  uint64_t interpreter_ns = 0;             // the first run; the limit where that was too little
  uint64_t bytes = 0;                      // of pages that were compared
  char text[16384] = "";                   // what differs, as lines; ends with a zero
};

// For tests: is called after the launch by the process that has run it, and may change what it has written.
using AfterRun = std::function<void(const LaunchRequest& request)>;

// For the child: compares, and leaves the answer in the report. Returns sooner if the parent process ends.
void compare(const LaunchRequest& request, const Options& options, const AfterRun& after_run, Report& report);

}  // namespace wavejit::runtime::shadow
