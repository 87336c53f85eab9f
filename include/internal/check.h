// Always-on invariant checks. They guard wavejit's own logic, never guest input (that returns an Error).
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace wavejit {

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "wavejit: internal error at %s:%d: %s%s%s\n", file, line, condition, *message ? ": " : "",
               message);
  std::abort();
}

}  // namespace wavejit

#define WAVEJIT_CHECK(condition, ...)                                                                 \
  do {                                                                                                \
    if (!(condition)) [[unlikely]]                                                                    \
      ::wavejit::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__).c_str()); \
  } while (false)

#ifdef NDEBUG
#define WAVEJIT_DCHECK(condition, ...) \
  do {                                 \
  } while (false)
#else
#define WAVEJIT_DCHECK(condition, ...) WAVEJIT_CHECK(condition, __VA_ARGS__)
#endif
