// Order of instructions within a segment.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/schedule/sums.h"

namespace wavejit::backend {

// Calls visit(place) for each value whose registers the instruction reads, or one that is emitted with it.
void for_each_read(const Lowering& ctx, const Inst& inst, const std::function<void(const Inst*)>& visit);
// Calls visit(value) for each value that the emitted instruction makes: itself, or 64-bit values that a load takes as wholes.
void for_each_result(const Lowering& ctx, const Inst& inst, const std::function<void(const Inst*)>& visit);

// The same instructions, with reads of VGPRs in front of their first users: a value that waits does so in its row of the wave
// state, not in a spill slot.
[[nodiscard]] std::vector<const Inst*> with_late_reads(const Lowering& ctx, std::span<const Inst* const> insts);

// The dependences between the segment's instructions, numbered as these are.
[[nodiscard]] std::vector<schedule::Node> segment_nodes(const Lowering& ctx);

}  // namespace wavejit::backend
