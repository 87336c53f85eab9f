// Calls of out-of-line functions.
#pragma once

#include <span>

#include "backend-x86/helpers/helpers.h"
#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_out_of_line(Lowering& ctx, const Inst& inst);
bool emit_out_of_line_chunk(Lowering& ctx, const Inst& inst, unsigned chunk);

// Spills the operands to rows, calls, and loads the result.
void call_helper(Lowering& ctx, const Inst& inst, HelperFn function, std::span<Inst* const> operands,
                 unsigned first_chunk, unsigned chunks);
// Out of line: a helper computes the chunk, under its own MXCSR if `own_env`. Hot code continues at `join`.
void chunk_helper(Lowering& ctx, const Inst& inst, unsigned chunk, const Label& slow, const Label& join, bool own_env);

}  // namespace wavejit::backend
