// Which memory this process writes to, by page protection. For child processes that nothing else runs in: no system call of
// another thread meets a protected page, and what this thread writes outside of guest code is let through as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "internal/error.h"

namespace wavejit::runtime::shadow {

struct Interval {
  uint64_t begin = 0, end = 0;
  bool operator==(const Interval&) const = default;
};

// Ascending, without overlaps or neighbours.
[[nodiscard]] std::vector<Interval> merged(std::vector<Interval> intervals);

// One at a time in a process.
class WriteLog {
 public:
  // `pages`: whole pages of private memory that may be read and written; of merged().
  [[nodiscard]] static Expected<WriteLog*> start(std::vector<Interval> pages);
  // Writes go through again. Returns what may have been written to since start(), in whole pages, merged.
  [[nodiscard]] std::vector<Interval> stop();

 private:
  explicit WriteLog(std::vector<Interval> pages) : pages_(std::move(pages)) {}
  static bool on_write(uint64_t address);
  bool let_through(uint64_t address);

  std::vector<Interval> pages_;
  Interval* log_ = nullptr;  // pages of its own: the handler must not allocate
  size_t count_ = 0;
};

}  // namespace wavejit::runtime::shadow
