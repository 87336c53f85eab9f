// Sign changes folded into the fused multiply-adds that use them.
#pragma once

namespace wavejit::backend {

struct Fusions;
struct Lowering;

void plan_negations(const Lowering& ctx, Fusions& fusions);

}  // namespace wavejit::backend
