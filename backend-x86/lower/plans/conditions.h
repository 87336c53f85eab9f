// Compares of scalars whose only readers are branches and selects of scalars, directly or through `not`, are made by each
// reader, which looks at the flags: no register holds the condition. Readers of the opposite of a condition that is in a
// register look at that one.
#pragma once

namespace wavejit::backend {

struct Fusions;
struct Lowering;

void plan_conditions(const Lowering& ctx, Fusions& fusions);

}  // namespace wavejit::backend
