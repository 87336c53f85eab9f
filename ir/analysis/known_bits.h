// Which bits of an integer value can be set, from local facts (masks, shifts, lane numbers); bounded work per query.
#pragma once

#include <cstdint>

#include "ir/function.h"

namespace wavejit::ir {

// Bits that are one in some lane of some execution; a superset. The value is at most this number (unsigned).
[[nodiscard]] uint64_t possible_bits(const Inst* inst, unsigned depth = 6);

// Upper bound of the value (unsigned), at least as tight as possible_bits.
[[nodiscard]] uint64_t unsigned_maximum(const Inst* inst, unsigned depth = 6);

}  // namespace wavejit::ir
