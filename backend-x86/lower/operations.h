// Which kind of operation an instruction is, and its code.
#pragma once

#include <cstdint>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

// Emitted once; for each chunk; for all chunks at once, between segments; at the end of a block.
enum class Shape : uint8_t { scalar, chunk, barrier, terminator };
[[nodiscard]] Shape shape_of(const Inst& inst);

void emit_chunk(Lowering& ctx, const Inst& inst, unsigned chunk);
void emit_scalar(Lowering& ctx, const Inst& inst);
void emit_barrier(Lowering& ctx, const Inst& inst);

}  // namespace wavejit::backend
