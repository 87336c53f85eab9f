// f32 arithmetic on constants.
#pragma once

#include <optional>
#include <span>

#include "ir/function.h"

namespace wavejit::ir {

/// What an f32 operation gives for numbers, as bits. Empty where MODE matters for more than rounding, which is to nearest: for
/// denormals, infinities and NaNs, as operands or results, and next to the smallest normal number; and for other operations.
/// Depends on nothing of the host's floating-point environment, which is the embedding program's.
[[nodiscard]] std::optional<uint64_t> evaluate_f32(const Inst& inst, std::span<const uint64_t> arguments);

}  // namespace wavejit::ir
