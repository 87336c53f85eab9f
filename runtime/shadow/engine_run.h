// A launch in a child process of its own, and the memory that it wrote to.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/launch/launch.h"
#include "runtime/shadow/comparison.h"
#include "runtime/shadow/write_log.h"

namespace wavejit::runtime::shadow {

// A run in which all work-groups seem to wait goes on for this long: they may wait for each other.
inline constexpr std::chrono::seconds kPatience{1};

// The request as a process runs it in which there is nothing else: on this thread. `gives_up` is called when the kernel
// seems to wait for something outside, and does not return.
[[nodiscard]] LaunchRequest alone(LaunchRequest request, std::function<void()> gives_up);

class EngineRun {
 public:
  enum class Outcome : uint32_t {
    ended,
    error,     // of the launch: error() and message()
    waits,     // it seems to wait for something outside of it
    too_long,  // and has been stopped
    died,      // by a signal: message()
    failed,    // no child process, or no memory for what it wrote
  };

  // Forks, runs the request on one thread and waits for its end. `pages`: whose writes are of interest (WriteLog).
  EngineRun(const LaunchRequest& request, const std::vector<Interval>& pages, double limit_s, const AfterRun& after_run,
            pid_t parent);
  ~EngineRun();
  EngineRun(const EngineRun&) = delete;
  EngineRun& operator=(const EngineRun&) = delete;

  [[nodiscard]] Outcome outcome() const { return outcome_; }
  [[nodiscard]] ErrorCode error() const { return error_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] uint64_t ns() const { return ns_; }
  // What may have been written to, in whole pages; of merged().
  [[nodiscard]] std::span<const Interval> written() const { return written_; }
  // The page at this address as the run has left it: this process's own where it has not been written to.
  [[nodiscard]] const uint8_t* page(uint64_t address) const;

 private:
  void read(int file);

  Outcome outcome_ = Outcome::failed;
  ErrorCode error_ = ErrorCode::kOk;
  std::string message_;
  uint64_t ns_ = 0;
  std::vector<Interval> written_;
  std::vector<const uint8_t*> contents_;  // of each interval
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
};

}  // namespace wavejit::runtime::shadow
