// Values for which one register serves all chunks: those that all lanes share, and lane-wise operations of such values
// (which may still differ by lane within a chunk, as lane & 7 does).
#pragma once

#include <vector>

#include "ir/function.h"

namespace wavejit::backend {

struct Lowering;

// Whether that holds for the value, by what is known of those that have registers.
[[nodiscard]] bool is_invariant(const Lowering& ctx, const std::vector<bool>& invariant, const ir::Inst* inst);

// By instruction id.
[[nodiscard]] std::vector<bool> plan_invariance(const Lowering& ctx);

}  // namespace wavejit::backend
