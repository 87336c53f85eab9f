// 64-bit values that come from memory or go there in halves: the access takes them whole.
#pragma once

#include <array>
#include <vector>

#include "ir/function.h"

namespace wavejit::backend {

struct Lowering;

// The 64-bit values that an access to memory takes as wholes; none: it takes dwords.
struct WideValues {
  std::array<const ir::Inst*, 2> pairs{};
  [[nodiscard]] bool any() const { return pairs[0] != nullptr; }
  [[nodiscard]] bool has(const ir::Inst* value) const { return value == pairs[0] || value == pairs[1]; }
};

// By instruction id.
struct WideAccesses {
  std::vector<WideValues> values;  // of loads and stores of one or two pairs of dwords
  std::vector<bool> absorbed;      // instructions for which a wide access does everything
};

[[nodiscard]] WideAccesses plan_wide_accesses(const Lowering& ctx);

}  // namespace wavejit::backend
