// Constant evaluation and the identities that need no new instruction.
#pragma once

#include <optional>
#include <span>

#include "ir/function.h"

namespace wavejit::ir {

// The meaning of a pure operation on one lane (or on scalars): integer, bitwise, conversions between types, masks as
// whole 64-bit values. `arguments` are the operands' values (a vector's value is that of the lane); nothing for
// operations that need more than one lane or are floating point.
[[nodiscard]] std::optional<uint64_t> evaluate(const Inst& inst, std::span<const uint64_t> arguments);

// The constant `inst` amounts to when all its operands are constants.
[[nodiscard]] std::optional<uint64_t> fold_to_constant(const Inst& inst);

// An operand (or operand's operand) that `inst` equals, e.g. x for x + 0 or pack64(lo32 x, hi32 x); null when there is
// none.
[[nodiscard]] Inst* fold_to_existing(const Inst& inst);

}  // namespace wavejit::ir
