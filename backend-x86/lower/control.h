// Entries, branches, phi copies and exits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

// The condition code for a predicate after `cmp a, b`.
[[nodiscard]] x86::CondCode scalar_condition(ir::ICmp p);
// What holds behind vucomiss a, b, or b, a if `swapped`, where a and b are in one of the relations: bits 0 to 3 for less,
// equal, greater, unordered. Nothing if no single condition tells.
struct FloatCondition {
  x86::CondCode condition;
  bool swapped;
};
[[nodiscard]] std::optional<FloatCondition> float_condition(uint32_t relations);

// Sets the flags; returns the condition that holds if `condition` does.
x86::CondCode emit_condition(Lowering& ctx, const Inst* condition);
x86::CondCode test_mask(Lowering& ctx, const Inst& test);  // of mask_any and mask_all
// Whether the flags are still those of comparing the two, or of testing one; or the zero flag alone, if nothing else is looked at.
[[nodiscard]] bool flags_are_of(const Lowering& ctx, const Gp& a, const Operand& b, bool zero_alone = false);

struct Copy {
  Operand to, from;  // from: a register or memory; `constant` is set instead for constants
  const Inst* constant = nullptr;
  unsigned chunk = 0, part = 0;
};
// Copies `value` of pass `from` to `destination` of pass `to` (null: outside of a region).
void add_copies(Lowering& ctx, std::vector<Copy>& copies, const Inst* destination, Pass* to, const Inst* value,
                Pass* from);
void emit_copies(Lowering& ctx, std::vector<Copy> copies);

void emit_entry_dispatch(Lowering& ctx);
// next: the label of the code emitted after the block.
void emit_terminator(Lowering& ctx, const ir::Block& block, const Label& next);
void leave(Lowering& ctx, ExitReason reason);

}  // namespace wavejit::backend
