// Which of the faults is in force that tests/mutation has compiled into a copy of the sources, and which of them a process reaches.
// WAVEJIT_MUTANT is the number of the fault, from 1. WAVEJIT_MUTANT_TRACE names a file of kMutants bytes instead: that of each fault
// that is asked for becomes 1, by whatever process, and none is in force.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace wavejit::mutation {

inline constexpr unsigned kMutants = 1 << 16;
inline constexpr unsigned kUnread = ~0U;     // of in_force: the environment has not been looked at
inline constexpr unsigned kTrace = ~0U - 1;  // of in_force: `reached` is being filled

inline std::atomic<unsigned> in_force{kUnread};
inline std::atomic<unsigned char*> reached{nullptr};

// By system calls of its own: open() may be one of the functions that ask.
inline void read_environment() {
  unsigned wanted = 0;
  if (const char* number = std::getenv("WAVEJIT_MUTANT")) {
    wanted = static_cast<unsigned>(std::strtoul(number, nullptr, 10));
  } else if (const char* path = std::getenv("WAVEJIT_MUTANT_TRACE")) {
    if (const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC); file >= 0) {
      void* bytes = mmap(nullptr, kMutants, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(file), 0);
      syscall(SYS_close, file);
      if (bytes != MAP_FAILED) {
        reached = static_cast<unsigned char*>(bytes);
        wanted = kTrace;
      }
    }
  }
  in_force = wanted;
}

// Out of the way of functions that ask: the answer before the environment has been read, and while reached faults are recorded.
[[gnu::cold, gnu::noinline]] inline bool ask(unsigned id) {
  if (in_force == kUnread) read_environment();
  if (in_force == kTrace) reached.load()[id] = 1;
  return in_force == id;
}

}  // namespace wavejit::mutation

namespace wavejit {

// True if fault `id` is in force.
inline bool mutant(unsigned id) {
  const unsigned now = mutation::in_force.load(std::memory_order_relaxed);
  if (now >= mutation::kTrace) [[unlikely]]
    return mutation::ask(id);
  return now == id;
}

}  // namespace wavejit
