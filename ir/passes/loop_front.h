// Makes code in front of a loop that is executed a number of times that is known there (counted_loop.h).
#pragma once

#include <unordered_map>

#include "ir/passes/counted_loop.h"
#include "ir/passes/lane_code.h"

namespace wavejit::ir::passes {

class LoopFront : protected LaneCode {
 protected:
  // The loop outlives this.
  LoopFront(Function& function, const CountedLoop& loop) : LaneCode(function), loop_(loop) {}

  // Code is made in a new block in front of the loop from begin() on; end() lets it go on to the header.
  void begin();
  void end();

  // The value in the first iteration.
  Inst* first(Inst* value);
  // The number of the last iteration, as i64; that of the first one is 0.
  Inst* last_iteration();
  Inst* wide(Inst* value) { return value->type == kI64 ? value : make(Op::zext64, kI64, {value}); }

  const CountedLoop& loop_;

 private:
  std::unordered_map<const Inst*, Inst*> first_;
};

}  // namespace wavejit::ir::passes
