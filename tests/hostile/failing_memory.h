// Memory that runs out: the preloaded library of failing_memory.cpp, and limits of the address space.
#pragma once

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace wavejit::hostile {

// The `nth` allocation from now on fails, of any thread (0: none does); with `all`, all later ones, too. Returns how many
// there have been since the last call.
inline uint64_t fail_allocation(uint64_t nth, bool all = false) {
  using Function = uint64_t (*)(uint64_t, bool);
  static const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "wavejit_fail_allocation"));
  if (!function) {
    std::fprintf(stderr, "the library of failing allocations is not preloaded\n");
    std::exit(2);
  }
  return function(nth, all);
}

// How much more address space than now the process may have; ~0: any.
inline void limit_addresses(uint64_t bytes) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(RLIMIT_AS, &limit);
  uint64_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    unsigned long long now = 0;
    if (std::fscanf(file, "%llu", &now) == 1) pages = now;
    std::fclose(file);
  }
  limit.rlim_cur = bytes == ~uint64_t{0} ? limit.rlim_max : pages * 4096 + bytes;
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
}

// Runs the program of `arguments` again, with what "limit=BYTES" instead of "limits" as its first argument. Its status.
inline int run_limited(char** arguments, uint64_t bytes) {
  const pid_t child = fork();
  if (child == 0) {
    std::string what = "limit=" + std::to_string(bytes);
    arguments[1] = what.data();
    execv("/proc/self/exe", arguments);
    _exit(2);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child ? status : -1;
}

// By the first of a program's arguments: "one", attempt() with each allocation failing in turn, of the later ones some; "all",
// some with all later ones failing; "limits", with ever more address space, from none on. It returns whether it has come to
// its end, and otherwise had a proper error. After each, work() has to succeed.
template <typename Attempt, typename Work>
int with_failing_memory(char** arguments, Attempt&& attempt, Work&& work) {
  const std::string what = arguments[1];
  // glibc loads what it needs for an exception that passes through call_once() when the first one does, or ends the process.
  try {
    std::once_flag once;
    std::call_once(once, [] { throw 1; });
  } catch (int) {
  }
  constexpr int kFailed = 3;  // status of a process whose attempt has ended with an error
  if (what.starts_with("limit=")) {
    limit_addresses(std::stoull(what.substr(what.find('=') + 1)));
    const bool ended = attempt();
    limit_addresses(~uint64_t{0});
    work();
    return ended ? 0 : kFailed;
  }
  unsigned failed = 0, runs = 0;
  if (what == "limits") {
    // Each in a process of its own, which has nothing yet that could be used again.
    for (uint64_t bytes = 0; bytes < (uint64_t{64} << 30);
         bytes = bytes < (1 << 20) ? bytes + (128 << 10) : bytes + bytes / 4) {
      const int status = run_limited(arguments, bytes);
      if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != kFailed)) {
        std::fprintf(stderr, "with %llu bytes more: status %#x\n", static_cast<unsigned long long>(bytes),
                     static_cast<unsigned>(status));
        return 1;
      }
      ++runs;
      failed += WEXITSTATUS(status) != 0;
    }
  } else {
    work();
    const bool all = what == "all";
    for (uint64_t nth = 1;; nth += 1 + nth / (all ? 4 : 24)) {
      fail_allocation(nth, all);
      const bool ended = attempt();
      const uint64_t count = fail_allocation(0);
      work();
      ++runs;
      failed += !ended;
      if (count < nth) break;
    }
  }
  std::printf("%u runs, %u of them ended with an error\n", runs, failed);
  return failed != 0 ? 0 : 1;
}

}  // namespace wavejit::hostile
