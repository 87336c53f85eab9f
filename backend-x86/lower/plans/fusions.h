// Values that are not emitted where they stand, but as part of their only user.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/function.h"

namespace wavejit::backend {

struct Lowering;

// Several plans add to it: those below, divisions.h and ternary_logic.h.
struct Fusions {
  explicit Fusions(size_t values) : fused(values) {}
  std::vector<bool> fused;  // by instruction id
  [[nodiscard]] bool has(const ir::Inst* inst) const { return fused[inst->id]; }
};

// Whether the instruction can be emitted at the place of its user: its operands have their values there, too.
[[nodiscard]] bool can_sink(const Lowering& ctx, const Fusions& fusions, const ir::Inst& inst, const ir::Inst& user);

// Compares into branches and masks, loads for all lanes into splats, address computations into accesses of one lane, and
// values into the selects that merge them.
void plan_fusions(const Lowering& ctx, Fusions& fusions);

// Compares of scalars whose only readers are branches and selects of scalars, directly or through `not`, are made by each
// reader, which looks at the flags: no register holds the condition. Readers of the opposite of a condition that is in a
// register look at that one (conditions.cpp).
void plan_conditions(const Lowering& ctx, Fusions& fusions);

// Sign changes folded into the fused multiply-adds that use them (negations.cpp).
void plan_negations(const Lowering& ctx, Fusions& fusions);

}  // namespace wavejit::backend
