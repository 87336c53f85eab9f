// What floating-point instructions leave in TRAPSTS: a second opinion on include/internal/semantics/exceptions.h, from
// exact arithmetic and MPFR's flags.
#pragma once

#include <cstdint>
#include <string_view>

#include "tests/model/opcodes.h"

namespace wavejit::model {

// TRAPSTS.EXCP (Vega ISA manual, "Exception Field Bits").
inline constexpr unsigned kInvalid = 1, kInputDenormal = 2, kDivideByZero = 4, kOverflow = 8, kUnderflow = 16,
                          kInexact = 32, kIntegerDivideByZero = 64;

// Sources as for Model; `clamp` is the bit of the instruction.
using Raises = unsigned (*)(const Lane& lane, const Bits* sources);

// Null for instructions without exceptions.
[[nodiscard]] Raises exceptions_of(std::string_view opcode);

// "invalid, inexact", for failures.
[[nodiscard]] const char* exception_name(unsigned bit);

}  // namespace wavejit::model
