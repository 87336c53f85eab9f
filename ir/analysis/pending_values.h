// The values that an analysis which walks a function until its facts are stable has to evaluate in a walk: all in the first
// one, then those with an operand whose facts have changed since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace wavejit::ir {

// For facts of a value that depend on those of its operands alone. Not thread-safe.
class PendingValues {
 public:
  explicit PendingValues(size_t values) : pending_(values, 1) {}

  // Returns whether another walk is needed.
  [[nodiscard]] bool next_round() { return std::exchange(some_, false); }
  // Returns whether the value is to be evaluated, which it is no longer then.
  [[nodiscard]] bool take(const Inst& inst) { return std::exchange(pending_[inst.id], 0) != 0; }
  // To be called when the facts of the value have changed.
  void add_users(const Inst& inst) {
    for (const Inst* user : inst.users) pending_[user->id] = 1;
    some_ = true;
  }

 private:
  std::vector<uint8_t> pending_;  // by instruction id
  bool some_ = true;              // facts have changed in this walk
};

}  // namespace wavejit::ir
