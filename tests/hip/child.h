// Programs of which HIP ends the process, or that must not share HIP's state: each case is a child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "check.h"

struct ChildResult {
  std::string text;  // what it has written to stdout and stderr
  int status;        // as waitpid gives it

  bool has(const char* what) const { return text.find(what) != std::string::npos; }
  bool ended_well() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

// Runs `body` in a child. The parent must not have used HIP before: its threads are not in the child.
template <typename Body>
ChildResult run_child(Body&& body) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  std::fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    body();
    std::fflush(stdout);
    _exit(0);
  }
  close(ends[1]);
  ChildResult result = {};
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) result.text.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  CHECK(waitpid(child, &result.status, 0) == child);
  std::printf("%s", result.text.c_str());
  return result;
}
