// A process that stops at each of its system calls: it can be killed there, or the call made to fail.
#pragma once

#include <sys/types.h>

#include <functional>

namespace wavejit::test {

// What happens at a system call that concerns files, counted from 0.
struct Incident {
  enum class What { none, kill_before, kill_after, error } what = What::none;
  unsigned at = 0;
  int error = 0;  // what it is made to fail with, instead of being made
};

struct TracedEnd {
  bool possible = true;   // false: this system does not let processes be traced
  bool happened = false;  // the process has come as far as the incident
  bool killed = false;
  int exit_code = -1;
};

// Runs `body` in a child process, which should have one thread; its result is the exit code, or kException.
inline constexpr int kException = 114;
[[nodiscard]] TracedEnd run_traced(const Incident& incident, const std::function<int()>& body);

}  // namespace wavejit::test
