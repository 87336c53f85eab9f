#include "tools/doctor/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace wavejit::tools::doctor {
namespace {

using Clock = std::chrono::steady_clock;

void write_all(int file, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t done = write(file, text.data() + at, text.size() - at);
    if (done <= 0) return;
    at += static_cast<size_t>(done);
  }
}

// `body` runs in the child with the pipe's end; it does not return.
template <typename Body>
ChildEnd run(Body&& body, std::chrono::milliseconds limit) {
  ChildEnd end;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {.output = {}, .status = 127 << 8, .too_long = false};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    body(ends[1]);
    _exit(127);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    end.status = 127 << 8;
    return end;
  }
  const auto deadline = Clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{.fd = ends[0], .events = POLLIN, .revents = 0};
    const int count = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(left));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      end.too_long = true;
      kill(child, SIGKILL);
      break;
    }
    char buffer[4096];
    const ssize_t got = read(ends[0], buffer, sizeof buffer);
    if (got <= 0) break;
    end.output.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  while (waitpid(child, &end.status, 0) < 0 && errno == EINTR) {
  }
  return end;
}

}  // namespace

std::string ChildEnd::how() const {
  if (too_long) return "it took too long";
  if (WIFSIGNALED(status))
    return fmt::format("it was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("it ended with code {}", WEXITSTATUS(status));
}

ChildEnd run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                     std::chrono::milliseconds limit) {
  std::vector<char*> arguments;
  for (const std::string& a : command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  return run(
      [&](int file) {
        for (const std::string& variable : environment) putenv(const_cast<char*>(variable.c_str()));
        const int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, STDIN_FILENO);
        dup2(file, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        execvp(arguments[0], arguments.data());
      },
      limit);
}

ChildEnd run_forked(const std::function<std::string()>& function, std::chrono::milliseconds limit) {
  return run(
      [&](int file) {
        std::string text;
        try {
          text = function();
        } catch (const std::exception& e) {
          std::fprintf(stderr, "wavejit: %s\n", e.what());
          _exit(126);
        }
        write_all(file, text);
        _exit(0);
      },
      limit);
}

}  // namespace wavejit::tools::doctor
