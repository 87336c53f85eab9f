// What the floating-point rows of ops.def compute in one lane, in scalar C++ (docs/isa-decisions.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/function.h"

namespace wavejit::backend {

// Nothing for operations that are not floating-point or work on more than a lane. `arguments`: bits of the operands.
[[nodiscard]] std::optional<uint64_t> float_model(const ir::Inst& inst, std::span<const uint64_t> arguments);
// Whether the bits are a NaN of the operation's result type (payloads and signs of NaNs are free).
[[nodiscard]] bool is_nan_result(const ir::Inst& inst, uint64_t bits);

}  // namespace wavejit::backend
