// Loops that are executed a number of times that is known when they begin, and the values that go up or down in them by a constant.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "ir/analysis/loops.h"

namespace wavejit::ir::passes {

class CountedLoop {
 public:
  // For a loop without loops inside. It is entered from one block, and is left from its only latch, or for `aside`. None if it has
  // another way out, or no counter that decides at the latch. Loop and function outlive the result; the values that it is asked for
  // do not change. Not thread-safe.
  [[nodiscard]] static std::optional<CountedLoop> find(const Loop& loop, const Block* aside);

  // By how much the value grows from one iteration to the next, modulo its width; none if that is no constant.
  // 0: the loop does not change it.
  [[nodiscard]] std::optional<int64_t> step_of(const Inst* value) const;

  // The latch goes back to the header as long as `value` is in this relation to `bound`, which does not change. The value
  // changes by one each time.
  struct Counter {
    Inst *value = nullptr, *bound = nullptr;
    ICmp staying{};
    bool up = false;
  };
  [[nodiscard]] const Counter& counter() const { return counter_; }

  [[nodiscard]] bool contains(const Inst* inst) const { return loop_->body.contains(inst->parent); }
  [[nodiscard]] const Loop& loop() const { return *loop_; }
  [[nodiscard]] Block* latch() const { return loop_->latches[0]; }
  [[nodiscard]] Block* before() const { return loop_->header->predecessors[from_before_]; }
  // Numbers of the header's predecessors.
  [[nodiscard]] size_t from_before() const { return from_before_; }
  [[nodiscard]] size_t from_latch() const { return 1 - from_before_; }

 private:
  explicit CountedLoop(const Loop& loop) : loop_(&loop) {}
  [[nodiscard]] bool find_counter();
  [[nodiscard]] std::optional<int64_t> compute_step(const Inst* value) const;

  const Loop* loop_;
  size_t from_before_ = 0;
  Counter counter_;
  mutable std::unordered_map<const Inst*, std::optional<int64_t>> steps_;
};

}  // namespace wavejit::ir::passes
