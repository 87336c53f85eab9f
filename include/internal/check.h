// Always-on invariant checks. They guard wavejit's own logic, never guest input (that returns an Error).
//
// A check that fails ends the process, but for one in the translator, where a ChecksThrow lives on the thread: it ends the
// translation.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace wavejit {

// A check has failed in a ChecksThrow's life.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace checks {
inline constinit thread_local unsigned t_throwing = 0;  // ChecksThrow objects of the thread
// For tests: the check that fails whatever its condition, counted over all threads from now on and in ChecksThrow's lives
// only. 0: none.
inline std::atomic<uint64_t> g_failing{0};

[[nodiscard]] inline bool is_to_fail() {
  return t_throwing != 0 && g_failing.load(std::memory_order_relaxed) != 0 &&
         g_failing.fetch_sub(1, std::memory_order_relaxed) == 1;
}
}  // namespace checks

class ChecksThrow {
 public:
  ChecksThrow() { ++checks::t_throwing; }
  ~ChecksThrow() { --checks::t_throwing; }
  ChecksThrow(const ChecksThrow&) = delete;
  ChecksThrow& operator=(const ChecksThrow&) = delete;
};

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition, const char* message) {
  if (checks::t_throwing != 0)
    throw InternalError(
        fmt::format("internal error at {}:{}: {}{}{}", file, line, condition, *message ? ": " : "", message));
  std::fprintf(stderr, "wavejit: internal error at %s:%d: %s%s%s\n", file, line, condition, *message ? ": " : "",
               message);
  std::abort();
}

}  // namespace wavejit

#define WAVEJIT_CHECK(condition, ...)                                                                 \
  do {                                                                                                \
    if (!(condition) || ::wavejit::checks::is_to_fail()) [[unlikely]]                                 \
      ::wavejit::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__).c_str()); \
  } while (false)

#ifdef NDEBUG
#define WAVEJIT_DCHECK(condition, ...) \
  do {                                 \
  } while (false)
#else
#define WAVEJIT_DCHECK(condition, ...) WAVEJIT_CHECK(condition, __VA_ARGS__)
#endif
