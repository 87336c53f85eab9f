// Which exceptions instructions raise.
#pragma once

#include "frontend/isa/instruction.h"
#include "internal/semantics/exceptions.h"

namespace wavejit::isa {

// From tables/exceptions.def and the instruction's `clamp`; Kind::none for what raises nothing.
[[nodiscard]] exceptions::Rule raises(const Instruction& instruction);

// Whether the instruction reads TRAPSTS, or can make exceptions trap: where code has none of these, it does not matter
// what raises exceptions.
[[nodiscard]] bool observes_exceptions(const Instruction& instruction);

}  // namespace wavejit::isa
