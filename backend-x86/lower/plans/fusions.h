// Values that are not emitted where they stand, but as part of their only user.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/function.h"

namespace wavejit::backend {

struct Lowering;

// Several plans add to it: divisions.h, conditions.h, negations.h and ternary_logic.h.
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

}  // namespace wavejit::backend
