// IR operations that are a single host instruction per register.
#pragma once

#include "backend-x86/lower/host_code.h"
#include "ir/function.h"

namespace wavejit::backend {

struct SimpleForm {
  ir::Op op;
  InstId avx2, avx512;  // kIdNone: the tier has no such instruction
  uint8_t element;      // bytes of a broadcast memory operand; 0: only full vectors (8- and 16-bit elements)
  uint8_t arity;
  bool commutes;
};

// Null if the operation on that type needs more than one instruction. Operands are in the order of the IR operation,
// and MXCSR determines the floating-point behaviour.
[[nodiscard]] const SimpleForm* find_simple_form(const ir::Inst& inst);

// Whether it can be emitted under a merge mask, by the select that is its only user.
[[nodiscard]] bool is_mergeable(const ir::Inst& inst);

}  // namespace wavejit::backend
