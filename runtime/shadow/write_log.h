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
  enum class Keeps : uint8_t { nothing, contents };

  // `pages`: whole pages of private memory that may be read and written; of merged(). `keeps`: what was in the memory
  // before the first write. Lives until the process ends.
  [[nodiscard]] static Expected<WriteLog*> start(std::vector<Interval> pages, Keeps keeps = Keeps::nothing);

  // What may have been written to so far, in whole pages, merged.
  [[nodiscard]] std::vector<Interval> written() const;

  // With Keeps::contents, pieces that may have been written to, in the order of the first write. They do not overlap.
  struct Piece {
    Interval pages;
    const uint8_t* before;  // its contents
  };
  [[nodiscard]] size_t pieces() const { return count_; }
  [[nodiscard]] Piece piece(size_t index) const { return {log_[index], before_ + index * kPiece}; }
  static constexpr uint64_t kPiece = 16 << 10;  // bytes of a piece, at most
  // Writes went through that are in no piece: there were too many.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  WriteLog(std::vector<Interval> pages, Keeps keeps) : pages_(std::move(pages)), keeps_(keeps) {}
  static bool on_write(uint64_t address);
  bool let_through(uint64_t address);
  [[nodiscard]] uint64_t bytes_let_through() const;

  std::vector<Interval> pages_;
  const Keeps keeps_;
  // Memory of their own: the handler must not allocate.
  Interval* log_ = nullptr;
  uint8_t* before_ = nullptr;
  size_t count_ = 0;
  bool overflowed_ = false;
};

}  // namespace wavejit::runtime::shadow
