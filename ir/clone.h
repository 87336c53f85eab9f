// Copies instructions with other operands, for passes that copy blocks.
#pragma once

#include <utility>
#include <vector>

#include "ir/function.h"

namespace wavejit::ir {

// The copy has everything but the operands from `original`. The caller inserts it into a block.
[[nodiscard]] inline Inst* clone(Function& function, const Inst& original, std::vector<Inst*> operands) {
  Inst* copy = function.create(original.op, original.type, std::move(operands));
  copy->imm = original.imm;
  copy->imm2 = original.imm2;
  copy->attr = original.attr;
  copy->mem = original.mem;
  copy->guest_pc = original.guest_pc;
  return copy;
}

}  // namespace wavejit::ir
