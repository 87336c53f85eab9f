// Constant folding, and identities that need no new instruction.
#pragma once

#include <optional>
#include <span>

#include "ir/function.h"

namespace wavejit::ir {

// Evaluates a pure operation on one lane (or on scalars): integer, bitwise, conversions between types, masks as whole
// 64-bit values. `arguments` are the operands' values; a vector's value is the element of the lane. Empty for
// floating-point operations but for those of float_constants.h, and for operations that need more than one lane.
[[nodiscard]] std::optional<uint64_t> evaluate(const Inst& inst, std::span<const uint64_t> arguments);

// The constant result of `inst` if all of its operands are constants.
[[nodiscard]] std::optional<uint64_t> fold_to_constant(const Inst& inst);

// An operand, or an operand's operand, that `inst` equals: x for x + 0 or for pack64(lo32 x, hi32 x). Null if none
// does.
[[nodiscard]] Inst* fold_to_existing(const Inst& inst);

}  // namespace wavejit::ir
