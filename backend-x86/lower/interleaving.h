// How many chunks of a segment are emitted side by side (interleaving.cpp).
#pragma once

#include <span>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

[[nodiscard]] unsigned chunks_side_by_side(const Lowering& ctx, std::span<const Inst* const> insts);

}  // namespace wavejit::backend
