// What goes wrong on the device: HIP 5.2 ends the process when a queue reports an error, so each case is a process.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>

#include "check.h"

__global__ void write_at(int* p, long index) { p[index] = 1; }
__global__ void stop() { __builtin_trap(); }
__global__ void endless(volatile int* p) {
  while (*p == 0) {
  }
}

// Runs `body` in a child; returns what it has written to stderr. It must not end well.
template <typename Body>
std::string message_of(Body&& body) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(ends[1], 2);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  std::printf("%s", text.c_str());
  CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
  return text;
}

bool has(const std::string& text, const char* what) { return text.find(what) != std::string::npos; }

int main() {
  const std::string outside = message_of([] {
    int* p;
    HIP(hipMalloc(&p, 4096));
    write_at<<<1, 1>>>(p, 1024 + 16);
    if (hipDeviceSynchronize() != hipSuccess) _exit(1);
  });
  CHECK(has(outside, "'write_at(int*, long)' wrote") && has(outside, "faults.cpp:11)"));
  CHECK(has(outside, "lane 0; the address is 64 bytes past the end of buffer 'device memory' (4096 bytes"));

  const std::string trap = message_of([] {
    stop<<<1, 64>>>();
    if (hipDeviceSynchronize() != hipSuccess) _exit(1);
  });
  CHECK(has(trap, "stop"));

  setenv("WAVEJIT_TIMEOUT", "0.5", 1);
  const std::string time = message_of([] {
    int* p;
    HIP(hipHostMalloc(&p, sizeof(int)));
    *p = 0;
    endless<<<1, 64>>>(p);
    if (hipDeviceSynchronize() != hipSuccess) _exit(1);
  });
  CHECK(has(time, "endless"));
}
