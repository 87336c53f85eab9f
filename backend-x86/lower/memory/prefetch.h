// Code of prefetches (plans/prefetches.h).
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

void emit_prefetches(Lowering& ctx, const ir::Block& block);  // at the end of the block
// From an address to that of the next iteration, in bytes. Null: there is none.
Gp stream_distance(Lowering& ctx, const Inst& access);
// From what is accessed to what the next work-group or round does, in bytes: a number, or a register. None: no idea.
Operand advance_distance(Lowering& ctx, const Inst& access);

struct MemoryAccess;
// What the next iteration of the loop accesses, or the next work-group.
void prefetch_next(MemoryAccess& access, const Gp& pointer);
// From here to what the next work-group accesses; none where that is not known, or no displacement.
[[nodiscard]] Operand next_group(const MemoryAccess& access);
void prefetch_line(MemoryAccess& access, const Mem& at);

}  // namespace wavejit::backend
